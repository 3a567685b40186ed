"""JUnit: experiments are suites, probes are cases, runs are counts; any text makes a well-formed file."""

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from gate.comparison import Comparison
from gate.render.junit import render_junit
from gate.report import Report
from tests.builders import experiment, probe, report
from tests.golden.comparisons import ALL, FAILED, NO_BASE, SETS_DIFFER, comparison, reasons, row, undecided
from tests.golden.reports import FAILED_REPORT
from tests.hostile import TEXTS, comparison_of, report_of, with_surrogates

SHAPE = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, {"properties", "testcase"}),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    "testcase": ({"name", "classname"}, {"properties", "failure", "skipped"}),
    "failure": ({"message", "type"}, set()),
    "skipped": ({"message"}, set()),
}
"""Attributes and children of each element, as the readers of this format agree on them (Jenkins' junit-10.xsd)."""


def read(made: Comparison | Report, head: Report | None = None) -> ET.Element:
    """Return the root of a rendered file, after its shape and its totals were checked."""
    root = ET.fromstring(render_junit(made, head).encode())
    for element in root.iter():
        attributes, children = SHAPE[element.tag]
        assert set(element.attrib) == attributes
        assert {child.tag for child in element} <= children
    for element in [root, *root.iter("testsuite")]:
        cases = list(element.iter("testcase"))
        assert int(element.get("tests", "")) == len(cases)
        assert int(element.get("failures", "")) == sum(case.find("failure") is not None for case in cases)
        assert int(element.get("skipped", "")) == sum(case.find("skipped") is not None for case in cases)
        assert all(len(case.findall("failure") + case.findall("skipped")) <= 1 for case in cases)
    return root


def outcome(case: ET.Element) -> str:
    return next((child.tag for child in case if child.tag != "properties"), "passed")


def outcomes(root: ET.Element) -> list[str]:
    return [outcome(case) for case in root.iter("testcase")]


@pytest.mark.parametrize(("name", "made"), ALL.items(), ids=ALL)
def test_junit__golden(name: str, made: Comparison, golden: Callable[[str, str], None]) -> None:
    head = FAILED_REPORT if made is FAILED else None
    read(made, head)
    golden(f"{name}.junit.xml", render_junit(made, head))


def test_junit_of_a_report__golden(golden: Callable[[str, str], None]) -> None:
    read(FAILED_REPORT)
    golden("report.junit.xml", render_junit(FAILED_REPORT))


def test_regression__fails_with_counts_and_runs_are_no_cases() -> None:
    root = read(FAILED)
    case = next(c for c in root.iter("testcase") if c.find("failure") is not None)
    properties = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert (properties["base.passes"], properties["head.passes"], properties["head.runs"]) == ("40", "29", "40")
    assert "29/40 (72 %)" in str(case.find("failure[@message]").get("message"))  # type: ignore[union-attr]  # it is there
    assert len(list(root.iter("testcase"))) < 10


def test_critical_finding__fails_by_one_sighting_and_shows_it() -> None:
    case = next(c for c in read(FAILED).iter("testcase") if c.get("name") == "canary_not_leaked")
    failure = case.find("failure")
    assert failure is not None
    assert "1 of 40 runs violated it" in str(failure.get("message"))
    assert failure.text == "leaked via tool send_mail"


@pytest.mark.parametrize(("blocks", "expected"), [(True, "failure"), (False, "skipped")])
def test_undecided__fails_only_where_the_policy_blocks(blocks: bool, expected: str) -> None:
    made = comparison(rows=[undecided("a", "38/40", "37/40", 90)], reasons=reasons(inconclusive=(1, blocks)))
    assert outcomes(read(made)) == [expected]


def test_small_drop__passes_where_the_policy_only_warns() -> None:
    assert outcomes(read(comparison(rows=[row("a", "p", "small_drop", "400/400", "388/400")]))) == ["passed"]


def test_missing__experiment_without_rows_is_a_case_of_its_own() -> None:
    suite = next(s for s in read(SETS_DIFFER).iter("testsuite") if s.get("name") == "model-outage")
    assert [(c.get("name"), outcome(c)) for c in suite.iter("testcase")] == [("whole experiment", "failure")]


def test_removed_on_purpose__does_not_fail() -> None:
    suite = next(s for s in read(SETS_DIFFER).iter("testsuite") if s.get("name") == "old-mailbox")
    assert outcomes(suite) == ["skipped"]


def test_no_base__has_the_cases_of_the_report() -> None:
    assert outcomes(read(NO_BASE)) == ["passed"]  # shown, but on_no_base says warn
    assert len(outcomes(read(NO_BASE, FAILED_REPORT))) == 7


def test_report__violated_undecided_and_unrun() -> None:
    made = report(
        experiment(
            "a",
            probe(40, 40, id_="held", threshold=1),
            probe(39, 40, id_="broken", threshold=1),
            probe(38, 40, id_="open", threshold=0.95),
            probe(5, 40, id_="low", threshold=0.95),
            probe(0, 0, id_="unrun"),
        )
    )
    assert outcomes(read(made)) == ["passed", "failure", "skipped", "failure", "skipped"]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_text__stays_text(text: str) -> None:
    harmless = [e.tag for e in read(comparison_of("harmless"), report_of("harmless")).iter() if e.tag != "property"]
    root = read(with_surrogates(comparison_of(text)), report_of(text))
    if text not in (TEXTS["blank"],):
        assert len([e for e in root.iter() if e.tag == "failure"]) == harmless.count("failure")
    for element in [*root.iter(), *read(report_of(text)).iter()]:
        assert all(value.isprintable() for value in element.attrib.values())
        assert (element.text or "").strip().isprintable()


def test_surrogate__is_written_as_valid_utf8() -> None:
    assert "\ufffd" in render_junit(with_surrogates(comparison_of("x"))).encode().decode()
