"""A suite that has used up its budget begins no further run, and judges what has run."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from gate.config import Budget, Config, RunConfig
from gate.errors import BrokenEnvironmentError
from gate.report import Report
from gate.suite import Commit, run_and_report
from tests.e2e.engine_agents.harness import AGENTS, experiment


def report(budget: Budget, entrypoint: str = "polite:thinks", **changes: Any) -> Report:
    suite = [experiment(entrypoint, name=name, runs=5, args=changes.pop("args", {})) for name in ("one", "two")]
    return run_and_report(
        suite,
        Config(run=RunConfig(parallel=1, budget=budget)),
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


def test_budget__of_tokens_is_checked_between_runs() -> None:
    made = report(Budget(tokens=84 * 7))  # a run takes 84
    assert made.spend.tokens == 84 * 7
    one, two = made.experiments
    assert [(len(p.runs), p.planned_runs, p.stop_reason) for p in one.phases] == [
        (5, 5, ""),
        (2, 5, "the budget was used up"),
    ]
    assert [len(p.runs) for p in two.phases] == [0, 0]
    assert two.status == "inconclusive"


def test_budget__that_is_not_used_up_changes_nothing() -> None:
    made = report(Budget(tokens=10**6, minutes=5))
    assert made.spend.runs == 20
    assert {p.stop_reason for e in made.experiments for p in e.phases} == {""}


def test_budget__counts_what_ran_before_it_was_resumed(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    report(Budget(tokens=84 * 3), journal=journal)
    made = report(Budget(tokens=84 * 4), journal=journal, resume=True)
    assert made.spend.runs == 4


def test_budget__of_time() -> None:
    with pytest.raises(BrokenEnvironmentError, match="no valid run"):
        report(Budget(minutes=1e-9))
