"""With a base, a suite spares the runs that can change no verdict; how many run at a time changes nothing."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gate.cli import cli
from gate.config import Config, RunConfig
from gate.engine.journal import read_records
from gate.errors import UsageError
from gate.report import DECIDED_STOP, SEQUENTIAL_STOP, Report
from gate.suite import Commit, run_and_report
from tests.e2e.engine_agents.harness import AGENTS, experiment

ANSWERS: list[dict[str, Any]] = [{"type": "output_matches", "params": {"pattern": "answer"}}]


def reported(probability: float, parallel: int, spec: dict[str, Any] = {}, **changes: Any) -> Report:  # noqa: B006
    """Return the report of an agent whose guard fails in that share of the chaos runs."""
    faults: list[dict[str, Any]] = [
        {"type": "control_outage", "probability": probability},
        {"type": "latency", "params": {"seconds": 0}},
    ]
    made = [experiment("polite:guarded", name="test", runs=40, seed=7, probes=ANSWERS, faults=faults, **spec)]
    return run_and_report(
        made,
        Config(run=RunConfig(parallel=parallel)),
        directory=AGENTS,
        python=(sys.executable,),
        environment={"PATH": os.environ["PATH"]},
        target=None,
        runs=None,
        seed=None,
        commit=Commit(),
        on_record=lambda _: None,
        **changes,
    )


@pytest.fixture(scope="module")
def base() -> Report:
    """A base in which nothing failed, under the definition that head has."""
    held, dropped = reported(0.0, 8), reported(0.5, 8)
    chaos = [p.model_copy(update={"passes": 40}) if p.phase == "chaos" else p for p in held.experiments[0].probes]
    faults = dropped.experiments[0].faults
    changes = {"fingerprint": dropped.experiments[0].fingerprint, "probes": chaos, "faults": faults}
    return held.model_copy(update={"experiments": [held.experiments[0].model_copy(update=changes)]})


def timeless(report: Report) -> dict[str, Any]:
    made = report.model_dump(exclude={"started_at", "ended_at", "spend"})
    for phase in made["experiments"][0]["phases"]:
        del phase["seconds"]
    return made


def test_base__spares_runs_whose_number_does_not_depend_on_how_many_run_at_a_time(base: Report, tmp_path: Path) -> None:
    one = reported(0.5, 1, base=base)
    baseline, chaos = one.experiments[0].phases
    assert (len(baseline.runs), baseline.stop_reason) == (40, "")
    assert len(chaos.runs) < 15 and chaos.stop_reason == DECIDED_STOP
    assert sum(not all(r.passed) for r in chaos.runs) == 3
    journal = tmp_path / "journal.jsonl"
    many = reported(0.5, 16, base=base, journal=journal)
    assert timeless(many) == timeless(one)
    carried_out = len(list(read_records(journal)))
    assert many.spend.runs == carried_out > sum(len(p.runs) for p in many.experiments[0].phases)


def test_sprt__stops_by_itself_however_many_run_at_a_time() -> None:
    spec = {"sampling": {"mode": "sprt", "max_runs": 60}, "pass_rate": 0.95}
    one, many = (reported(0.5, parallel, spec) for parallel in (1, 16))
    assert timeless(one) == timeless(many)
    baseline, chaos = one.experiments[0].phases
    assert (baseline.stop_reason, chaos.stop_reason) == (SEQUENTIAL_STOP, SEQUENTIAL_STOP)
    assert (one.experiments[0].status, chaos.planned_runs) == ("weakness", 60)
    assert len(chaos.runs) < 15
    assert [p.decision for p in one.experiments[0].probes] == ["pass", "fail"]


def test_base__what_was_stopped_is_not_stored_as_one(base: Report, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(reported(0.5, 4, base=base).to_json())
    command = ["record", str(tmp_path / "report.json"), "--store", f"file:{tmp_path / 'base.json'}"]
    with pytest.raises(UsageError, match="'test' was stopped early"):
        CliRunner().invoke(cli, command, catch_exceptions=False)
    assert not (tmp_path / "base.json").exists()


def test_base__taken_away_a_resumed_run_is_completed(base: Report, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    reported(0.5, 4, base=base, journal=journal)
    assert timeless(reported(0.5, 4, journal=journal, resume=True)) == timeless(reported(0.5, 4))
