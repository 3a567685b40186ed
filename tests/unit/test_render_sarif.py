"""SARIF: the published schema takes it, ids and fingerprints are stable, nothing foreign steers it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from gate.comparison import Comparison, CriticalFinding
from gate.render.sarif import MAX_RESULTS, NO_FILE, render_sarif
from gate.report import Report
from tests.golden.comparisons import ALL, FAILED, PASSED, SETS_DIFFER, comparison, counts, huge, row
from tests.golden.reports import FAILED_REPORT
from tests.hostile import TEXTS, comparison_of, report_of, with_surrogates

SCHEMA = json.loads((Path(__file__).parents[1] / "schemas" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
CHECK = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())


def read(made: Comparison, head: Report | None = None) -> dict[str, Any]:
    """Return the one run of a rendered file, after the schema took it."""
    document = json.loads(render_sarif(made, head))
    CHECK.validate(document)
    run: dict[str, Any] = document["runs"][0]
    return run


def ids(run: dict[str, Any]) -> list[str]:
    return [result["ruleId"] for result in run["results"]]


@pytest.mark.parametrize(("name", "made"), ALL.items(), ids=ALL)
def test_sarif__golden(name: str, made: Comparison, golden: Callable[[str, str], None]) -> None:
    head = FAILED_REPORT if made is FAILED else None
    read(made, head)
    golden(f"{name}.sarif", render_sarif(made, head))


def test_schema__refuses_what_the_standard_does_not_know() -> None:
    document = json.loads(render_sarif(FAILED))
    document["runs"][0]["results"][0]["verdict"] = "fail"
    assert not CHECK.is_valid(document)
    del document["runs"][0]["results"][0]["verdict"], document["runs"][0]["tool"]
    assert not CHECK.is_valid(document)


def test_rules__one_for_each_kind_and_severity() -> None:
    run = read(FAILED)
    assert ids(run) == ["critical-finding/critical", "regression/high", "small-drop/high"]
    rules = {rule["id"]: rule["properties"]["security-severity"] for rule in run["tool"]["driver"]["rules"]}
    assert rules == {"critical-finding/critical": "9.5", "regression/high": "8.0", "small-drop/high": "8.0"}
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_place__is_the_line_of_the_probe() -> None:
    critical, regression, drop = (r["locations"][0]["physicalLocation"] for r in read(FAILED, FAILED_REPORT)["results"])
    assert regression["artifactLocation"]["uri"] == "experiments/control-guardrail-dos.yaml"
    assert regression["region"] == {"startLine": 14}
    assert critical["region"] == {"startLine": 1}  # its report is older and knows no line
    assert (drop["artifactLocation"]["uri"], drop["region"]) == (NO_FILE, {"startLine": 1})


def test_level__says_what_blocks() -> None:
    assert [r["level"] for r in read(FAILED)["results"]] == ["error", "error", "warning"]


def test_passed__has_a_run_without_results() -> None:
    run = read(PASSED)
    assert run["results"] == [] and run["invocations"][0]["executionSuccessful"]


def test_accepted__is_suppressed_with_its_reason() -> None:
    results = read(SETS_DIFFER)["results"]
    suppressed = {r["message"]["text"].split(" ")[0]: r["suppressions"] for r in results if "suppressions" in r}
    assert set(suppressed) == {"old-mailbox", "tool-error"}
    assert suppressed["old-mailbox"][0]["justification"] == "the mailbox tool is gone"
    assert all(r["level"] == "note" for r in results if "suppressions" in r)


def test_fingerprint__survives_other_counts_and_other_neighbours() -> None:
    def prints(*rows: Any) -> list[str]:
        results = read(comparison(rows=list(rows)))["results"]
        return [r["partialFingerprints"]["primaryLocationLineHash"] for r in results]

    one, other = row("a", "p", "regressed", "40/40", "20/40"), row("a", "q", "regressed", "40/40", "20/40")
    again = row("a", "p", "regressed", "39/40", "25/40")
    assert prints(one)[0] == prints(other, again)[1]
    assert len(set(prints(one, other))) == 2


def test_place__is_the_experiment_file() -> None:
    uris = [
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in read(FAILED, FAILED_REPORT)["results"]
    ]
    outage, dos = (f"experiments/control-guardrail-{name}.yaml" for name in ("outage", "dos"))
    assert uris == [outage, dos, NO_FILE]


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("experiments/a b#1.yaml", "experiments/a%20b%231.yaml"),
        ("./x/../experiments/é.yaml", "experiments/%C3%A9.yaml"),
        ("../outside.yaml", NO_FILE),
        ("/etc/passwd", NO_FILE),
        ("https://evil.example/x", NO_FILE),
        ("javascript:alert(1)", NO_FILE),
        ("C:\\x.yaml", NO_FILE),
        ("a\nb.yaml", NO_FILE),
        ("", NO_FILE),
    ],
)
def test_place__stays_within_the_repository(path: str, uri: str) -> None:
    report = report_of("x")
    report = report.model_copy(update={"experiments": [report.experiments[0].model_copy(update={"path": path})]})
    made = comparison(rows=[row("x", "p", "regressed", "40/40", "20/40")])
    place = read(made, report)["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == uri


def test_many__are_cut_gravest_first_and_the_rest_is_counted() -> None:
    made = huge(3 * (MAX_RESULTS + 10))
    grave = CriticalFinding(
        experiment="e", probe="p", label="p", phase="chaos", threshold=1, head=counts("1/2"), base=None, p_value=None,
        detail="",
    )  # fmt: skip
    document = json.loads(render_sarif(made.model_copy(update={"new_critical": [grave]})))
    run = document["runs"][0]
    assert len(run["results"]) == MAX_RESULTS
    left_out = run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert left_out.startswith("11 more findings")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_text__stays_one_printable_line(text: str) -> None:
    for result in read(with_surrogates(comparison_of(text)), report_of(text))["results"]:
        assert result["message"]["text"].isprintable()


def test_surrogate__is_written_as_valid_utf8() -> None:
    assert "\\ud800" not in render_sarif(with_surrogates(comparison_of("x"))).encode().decode()
