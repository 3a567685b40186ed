"""Two reports of one tool are compared by the command; two of different tools are not; limits are shown."""

import json
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gate.cli import cli
from gate.compare import compare
from gate.comparison import Comparison
from gate.errors import InvalidFileError
from gate.readers import read_any
from gate.render.markdown import render_summary
from gate.report import Report
from tests import builders

SAMPLES = Path(__file__).parents[1] / "samples"
AGENTASSAY = str(SAMPLES / "agentassay/base.json"), str(SAMPLES / "agentassay/head.json")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def judged(base: Report | None, head: Report) -> Comparison:
    return compare(base, head, policy=head.policy, today=date(2026, 1, 1))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["compare", *arguments])


def test_compare__agentassays_drop_blocks(here: Path) -> None:
    done = run(*AGENTASSAY)
    assert done.exit_code == 1
    made = json.loads((here / "comparison.json").read_text())
    assert [(r["verdict"], r["base"], r["head"]) for r in made["rows"]] == [
        ("regressed", {"passes": 9, "runs": 10}, {"passes": 4, "runs": 10})
    ]


def test_compare__shows_what_the_format_cannot_say(here: Path) -> None:
    shown = " ".join(run(*AGENTASSAY).output.split())
    assert "no thresholds, severities, seeds or commit in the file" in shown
    assert "all trials of the file are one row" in shown


def test_compare__the_published_guardrail_blocks(here: Path) -> None:
    names = [str(SAMPLES / f"agentic-chaos-security/mailbot-{v}.json") for v in ("hardened", "fail_closed")]
    assert run(*names).exit_code == 1
    made = json.loads((here / "comparison.json").read_text())
    regressed = [(r["experiment"], r["probe"]) for r in made["rows"] if r["verdict"] == "regressed"]
    assert regressed == [("guardrail-dos-availability", "output_matches('^Summary:')")]


def test_compare__the_same_file_twice_does_not_block(here: Path) -> None:
    for name in ("promptfoo/out.json", "inspect/log.json", "pytest/repeat.junit.xml"):
        assert run(str(SAMPLES / name), str(SAMPLES / name)).exit_code == 0


def test_compare__policy_of_the_configuration_holds_where_the_file_has_none(here: Path) -> None:
    (here / "chaos-gate.yaml").write_text("version: 1\npolicy: {on_regression: warn}\n")
    assert run(*AGENTASSAY).exit_code == 0
    made = json.loads((here / "comparison.json").read_text())
    assert made["policy"]["on_regression"] == "warn"
    assert [w for w in made["warnings"] if w["kind"] == "policy_differs"] == []


def test_compare__two_tools_are_refused(here: Path) -> None:
    done = run(str(SAMPLES / "promptfoo/out.json"), str(SAMPLES / "inspect/log.json"))
    assert isinstance(done.exception, InvalidFileError)
    assert "base was written by promptfoo, head by Inspect" in str(done.exception)
    assert not (here / "comparison.json").exists()


def test_compare__a_pinned_report_is_shown_and_blocks_nothing(here: Path) -> None:
    for name, passes in (("pinned", 40), ("base", 33), ("head", 32)):
        made = builders.report(builders.experiment("e", builders.probe(passes, 40)))
        (here / f"{name}.json").write_text(made.to_json(), encoding="utf-8")
    done = run("base.json", "head.json", "--anchor", "pinned.json")
    assert done.exit_code == 0
    assert "Against the anchor — pinned.json; only shown, blocks nothing" in done.output
    assert "e · output_matches() — 40/40 (100 %) → 32/40 (80 %), p" in done.output
    assert len(json.loads((here / "comparison.json").read_text())["anchor"]["worse"]) == 1


def test_compare__history_is_shown_beside_the_rows(here: Path) -> None:
    counts = {"baseline/passed": [8, 10]}
    entry = {"commit": "c" * 40, "run_id": 1, "attempt": 1, "ended_at": "2026-01-01", "tool_version": "1"}
    entry["experiments"] = [{"name": "trials", "status": "held", "counts": counts}]
    (here / "main.json").write_text(json.dumps({"schema_version": 1, "ref": "main", "entries": [entry]}))
    run(*AGENTASSAY, "--history", "main.json")
    made = json.loads((here / "comparison.json").read_text())
    assert made["rows"][0]["history"] == [{"passes": 8, "runs": 10}]
    (here / "main.json").write_text("{}")
    assert "main.json: ref: Field required" in str(run(*AGENTASSAY, "--history", "main.json").exception)


def test_compare__an_absent_file_is_named(here: Path) -> None:
    assert "nothing.xml: cannot be read" in str(run("nothing.xml", "nothing.xml").exception)


def test_same_tool__is_kept_by_a_stored_report() -> None:
    head = read_any((SAMPLES / "promptfoo/out.json").read_bytes(), "out.json")
    base = read_any(head.to_json().encode(), "stored.json")
    assert judged(base, head).verdict == "inconclusive"


def test_limits__are_told_once_for_both_and_apart_for_one() -> None:
    base = read_any(b"[true, false]", "base.json")
    head = read_any(b'[{"scenario_id": "a", "passed": true}]', "head.json")
    details = [n.detail for n in judged(base, head).warnings]
    assert [d.partition(":")[0] for d in details] == ["AgentAssay", "AgentAssay", "base AgentAssay"]
    assert [n.detail.partition(":")[0] for n in judged(None, base).warnings] == ["AgentAssay"] * 3


@pytest.mark.parametrize(
    "name", ["agentassay/base.json", "promptfoo/out.json", "inspect/log.json", "pytest/repeat.junit.xml"]
)
def test_limits__are_shown_in_full(name: str) -> None:
    report = read_any((SAMPLES / name).read_bytes(), name)
    assert "…" not in render_summary(judged(report, report)).partition("Notes")[2].partition("<details>")[0]
