"""Experiments that are the same without faults have their baseline carried out once."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from gate.config import Config, RunConfig
from gate.experiment import Experiment
from gate.report import ExperimentReport, Report, RunRecord
from gate.sharing import baseline_groups
from gate.suite import Commit, run_and_report
from tests.e2e.engine_agents.harness import AGENTS, experiment, run

CONTROL: list[dict[str, Any]] = [{"type": "control_outage", "probability": 0.3}]
PROBES: list[dict[str, Any]] = [{"type": "output_matches", "params": {"pattern": "answer"}}]
JUDGE: dict[str, Any] = {"type": "judge", "params": {"judge": "judged:polite", "criterion": "is polite:"}}


def suite() -> list[Experiment]:
    return [
        experiment("polite:guarded", name="one", runs=6, seed=7, faults=CONTROL, probes=PROBES),
        experiment("polite:guarded", name="longer", runs=9, seed=7, probes=[{"type": "no_unhandled_error"}, *PROBES]),
        experiment("polite:guarded", name="other seed", runs=6, seed=8, faults=CONTROL, probes=PROBES),
    ]


def reported(experiments: list[Experiment], **changes: Any) -> Report:
    return run_and_report(
        experiments,
        Config(run=RunConfig(parallel=4)),
        directory=AGENTS,
        python=(sys.executable,),
        environment={"PATH": os.environ["PATH"]},
        target=None,
        runs=None,
        seed=None,
        commit=Commit(),
        on_record=changes.pop("on_record", lambda _: None),
        **changes,
    )


def counts(report: ExperimentReport) -> list[tuple[str, str, int, int]]:
    return [(p.id, p.phase, p.passes, p.runs) for p in report.probes]


def test_shared_baseline__counts_are_those_of_separate_runs() -> None:
    together = reported(suite())
    apart = [reported([one]) for one in suite()]
    assert [counts(e) for e in together.experiments] == [counts(r.experiments[0]) for r in apart]
    assert [e.status for e in together.experiments] == [r.experiments[0].status for r in apart]
    assert sum(r.spend.runs for r in apart) == 2 * (6 + 9 + 6)
    assert together.spend.runs == 9 + 6 + (6 + 9 + 6), "9 serve `one` and `longer`"


def test_shared_baseline__is_marked_in_the_report() -> None:
    one, longer, other = (e.phases for e in reported(suite()).experiments)
    assert one[0].group == longer[0].group != other[0].group
    assert one[0].group
    assert {p[1].group for p in (one, longer, other)} == {""}


def test_shared_baseline__one_experiment_bears_what_a_run_took() -> None:
    records = [r for r in run(*suite()) if r.phase == "baseline"]
    payers = [(r.experiment, r.index, r.shared_with) for r in records]
    assert [p for p in payers if p[2]] == [("longer", i, "one") for i in range(6)]


def test_shared_baseline__resumes_like_any_other(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    whole = reported(suite(), journal=journal)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:13]) + lines[13][:40])
    again: list[RunRecord] = []
    made = reported(suite(), journal=journal, resume=True, on_record=again.append)
    assert [counts(e) for e in made.experiments] == [counts(e) for e in whole.experiments]
    assert len(again) == 42 - 12


def test_shared_baseline__every_experiment_has_its_own_judge() -> None:
    experiments = [
        experiment("judged:agent", name=name, args={"answer": "fine"}, probes=[probe])
        for name, probe in [
            ("one", JUDGE),
            ("two", JUDGE | {"params": JUDGE["params"] | {"criterion": "is kind:"}}),
            ("none", {"type": "no_unhandled_error"}),
        ]
    ]
    baseline = {r.experiment: r for r in run(*experiments) if r.phase == "baseline"}
    assert baseline["one"].probes[0].detail.startswith("is polite: 'fine'")
    assert baseline["two"].probes[0].detail.startswith("is kind: 'fine'")
    assert baseline["none"].shared_with == "one"


@pytest.mark.parametrize(
    "change",
    [
        {"args": {"text": "x"}},
        {"seed": 1},
        {"target": {"env": {"A": "b"}}},
        {"target": {"isolation": "process"}},
        {"target": {"timeout_s": 5.0}},
        {"target": {"instrument": {"tool": ["polite:fetch"]}}},
        {"infra_errors": ["Overloaded"]},
    ],
    ids=lambda c: str(c),
)
def test_groups__whatever_a_run_depends_on_keeps_baselines_apart(change: dict[str, Any]) -> None:
    plain = experiment("polite:echo", name="plain", seed=0)
    same = experiment("polite:echo", name="same", seed=0, runs=3, probes=PROBES, faults=CONTROL)
    other = experiment("polite:echo", name="other", **({"seed": 0} | change))
    groups = baseline_groups([plain, same, other])
    assert groups["plain"] == groups["same"] != groups["other"]
