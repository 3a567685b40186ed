"""What `render` takes: a comparison, a comparison with head's report, or a report alone."""

from datetime import date

import pytest

from gate.errors import InvalidFileError, UsageError
from gate.readers import read_any
from gate.render.source import read_source, render_as
from tests.golden.comparisons import FAILED
from tests.golden.reports import FAILED_REPORT

DAY = date(2026, 2, 1)
START = {
    "markdown": "❌ **FAIL**",
    "summary": "❌ **FAIL**",
    "html": "<!doctype html>",
    "sarif": "{",
    "junit": "<?xml",
    "svg": "<svg ",
}


@pytest.mark.parametrize("form", START)
def test_comparison__in_every_format(form: str) -> None:
    source = read_source(FAILED.to_json().encode(), "c.json", FAILED_REPORT, DAY, read_any)
    assert render_as(form, source).startswith(START[form])


@pytest.mark.parametrize("form", START)
def test_report_alone__in_every_format(form: str) -> None:
    source = read_source(FAILED_REPORT.to_json().encode(), "r.json", None, DAY, read_any)
    assert source.comparison.base is None and source.head == FAILED_REPORT
    assert render_as(form, source)


def test_report_alone__junit_judges_it_by_its_own_thresholds() -> None:
    source = read_source(FAILED_REPORT.to_json().encode(), "r.json", None, DAY, read_any)
    assert 'type="violated"' in render_as("junit", source)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("# hello", "neither JSON nor XML"),
        ('{"verdict": "fail", "blocks": true, "exit_code": 1, "rows": []}', "policy: Field required"),
        ('{"schema_version": 1, "started_at": "x", "ended_at": "x", "experiments": []}', "suite: Field required"),
    ],
    ids=["no JSON", "half a comparison", "half a report"],
)
def test_neither__says_what_is_wrong_with_what_it_looks_like(text: str, named: str) -> None:
    with pytest.raises(InvalidFileError) as error:
        read_source(text.encode(), "x.json", None, DAY, read_any)
    assert f"x.json: {named}" in str(error.value)


def test_report_of_another_tool__says_what_it_cannot_say() -> None:
    cases = "".join(f'<testcase name="t[{n}-2]"/>' for n in (1, 2))
    source = read_source(f"<testsuite>{cases}</testsuite>".encode(), "j.xml", None, DAY, read_any)
    for form in ("markdown", "summary", "html"):
        assert "no thresholds, severities, seeds or commit in the file" in render_as(form, source)


def test_report__has_no_other_report_beside_it() -> None:
    with pytest.raises(UsageError, match="only a comparison"):
        read_source(FAILED_REPORT.to_json().encode(), "r.json", FAILED_REPORT, DAY, read_any)
