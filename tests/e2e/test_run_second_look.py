"""What the planned runs leave open gets more of them, the same however many run at a time and whoever interrupts."""

import os
import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gate.config import Budget, Config, RunConfig
from gate.engine.journal import read_records
from gate.errors import UsageError
from gate.policy import Policy
from gate.report import BUDGET_STOP, Report, RunRecord
from gate.stopping import Key
from gate.suite import Commit, run_and_report
from tests.e2e.engine_agents.harness import AGENTS, experiment

ANSWERS: list[dict[str, Any]] = [{"type": "output_matches", "params": {"pattern": "answer|done"}}]
OUTAGE, SEED, N, MOST = 0.05, 50, 26, 60
FAILS = [random.Random(SEED + at).random() < OUTAGE for at in range(MOST)]
"""The outage is the only fault that draws: these runs fail."""
POLICY = Policy()  # type: ignore[call-arg]  # the defaults stand in the model


def reported(
    *,
    entrypoint: str = "polite:guarded",
    parallel: int = 8,
    names: tuple[str, ...] = ("test",),
    runs: int = N,
    **changes: Any,
) -> Report:
    faults: list[dict[str, Any]] = [
        {"type": "control_outage", "probability": OUTAGE},
        {"type": "latency", "params": {"seconds": 0}},
    ]
    budget = changes.pop("budget", Budget())
    return run_and_report(
        [experiment(entrypoint, name=name, seed=SEED, probes=ANSWERS, faults=faults, pass_rate=0.5) for name in names],
        Config(run=RunConfig(parallel=parallel, max_runs=MOST, budget=budget), policy=POLICY),
        directory=AGENTS,
        python=(sys.executable,),
        environment={"PATH": os.environ["PATH"]},
        target=None,
        runs=runs,
        seed=None,
        commit=Commit(),
        on_record=changes.pop("on_record", lambda _: None),
        **changes,
    )


@pytest.fixture(scope="module")
def base() -> Report:
    """A base of 40 runs of which none failed."""
    made = reported(runs=40, names=("test", "twin"))
    held = [
        e.model_copy(
            update={"probes": [p.model_copy(update={"passes": 40}) if p.phase == "chaos" else p for p in e.probes]}
        )
        for e in made.experiments
    ]
    return made.model_copy(update={"experiments": held})


def timeless(report: Report) -> dict[str, Any]:
    made = report.model_dump(exclude={"started_at", "ended_at", "spend"})
    for one in made["experiments"]:
        for phase in one["phases"]:
            del phase["seconds"]
    return made


@pytest.fixture(scope="module")
def one_at_a_time(base: Report) -> Report:
    return reported(parallel=1, base=base)


def test_second_look__is_taken_by_the_phase_that_is_open(one_at_a_time: Report) -> None:
    assert sum(FAILS[:N]) == 1
    baseline, chaos = one_at_a_time.experiments[0].phases
    assert (baseline.planned_runs, baseline.max_runs, baseline.extended) == (N, MOST, False)
    assert (chaos.planned_runs, chaos.max_runs, chaos.extended) == (N, MOST, True)
    probe = next(p for p in one_at_a_time.experiments[0].probes if p.phase == "chaos")
    assert probe.first_look == (N - 1, N)
    assert (probe.runs - probe.passes, probe.runs) == (sum(FAILS[: len(chaos.runs)]), len(chaos.runs))
    assert [r.seed for r in chaos.runs] == list(range(SEED, SEED + len(chaos.runs)))


def test_second_look__does_not_depend_on_how_many_run_at_a_time(one_at_a_time: Report, base: Report) -> None:
    said: list[tuple[str, int]] = []
    many = reported(parallel=16, base=base, on_limit=lambda name, phase, runs: said.append((phase, runs)))
    assert timeless(many) == timeless(one_at_a_time)
    chaos = [runs for phase, runs in said if phase == "chaos"]
    ended = len(one_at_a_time.experiments[0].phases[1].runs)
    assert set(chaos) == {MOST, ended} and chaos == sorted(chaos, reverse=True), "more, then as few as it takes"


@pytest.mark.parametrize("killed_after", [10, 2 * N + 5])
def test_second_look__interrupted_and_resumed_is_the_same(
    one_at_a_time: Report, base: Report, tmp_path: Path, killed_after: int
) -> None:
    journal, left = tmp_path / "journal.jsonl", [killed_after]

    def die(_: RunRecord) -> None:
        left[0] -= 1
        if not left[0]:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        reported(parallel=4, base=base, journal=journal, on_record=die)
    assert len(list(read_records(journal))) < one_at_a_time.spend.runs
    planned: list[tuple[Mapping[Key, int], Mapping[Key, int]]] = []
    resumed = reported(base=base, journal=journal, resume=True, on_plan=lambda *both: planned.append(both))
    assert timeless(resumed) == timeless(one_at_a_time)
    [(runs, done)] = planned
    assert all(runs[key] >= max(done[key], N) for key in runs)
    with pytest.raises(UsageError, match="another runs"):
        reported(base=base, journal=journal, resume=True, runs=N + 1)


def test_second_look__stays_where_the_first_is_to_be_whole(one_at_a_time: Report, base: Report, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    reported(base=base, journal=journal)
    whole = reported(base=base, journal=journal, resume=True, whole=True)
    baseline, chaos = whole.experiments[0].phases
    assert (len(baseline.runs), baseline.stop_reason) == (N, "")
    assert chaos.runs == one_at_a_time.experiments[0].phases[1].runs


def test_second_look__of_a_shared_baseline_is_that_of_separate_runs(one_at_a_time: Report, base: Report) -> None:
    both = reported(base=base, names=("test", "twin"))
    for one in both.experiments:
        assert [len(p.runs) for p in one.phases] == [len(p.runs) for p in one_at_a_time.experiments[0].phases]


def test_second_look__that_the_budget_cuts_short_is_none() -> None:
    known = reported(entrypoint="polite:thinks", runs=40)
    few, more = 8, 5
    budget = Budget(tokens=84 * (2 * few + more))  # 84 a run
    made = reported(entrypoint="polite:thinks", runs=few, parallel=1, base=known, budget=budget)
    # 8 of 8 are open against 40 of 40; the phases take turns in what is left
    assert [(len(p.runs), p.planned_runs, p.max_runs, p.stop_reason) for p in made.experiments[0].phases] == [
        (few + 3, few, MOST, BUDGET_STOP),
        (few + 2, few, MOST, BUDGET_STOP),
    ]
