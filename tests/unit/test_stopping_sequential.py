"""`sampling: {mode: sprt}`: runs go on until the thresholds are decided, and the counts are compared with nothing."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest

from gate.compare import compare
from gate.errors import InvalidFileError, UsageError
from gate.experiment import Experiment, parse_experiment
from gate.judge import Tally
from gate.report import SEQUENTIAL_STOP, ExperimentReport, RunRecord
from gate.stats import Sprt
from gate.stopping import watch_suite
from tests.builders import EXPERIMENT, POLICY, parsed, records, report

MOST = 52
"""The limit of the documented example: 95 % against 85 %."""


def sequential(threshold: float = 0.95, max_runs: int | None = MOST) -> Experiment:
    return replace(parsed(threshold), sequential=True, max_runs=max_runs)


def judged(experiment: Experiment, runs: Sequence[RunRecord]) -> ExperimentReport:
    watches = watch_suite([experiment], lambda e: e.planned_runs(40), POLICY)
    for record in runs:
        watches[record.experiment, record.phase].add(record)
    tally = Tally(experiment)
    for record in runs:
        if watches[record.experiment, record.phase].needs(record.index):
            tally.add(record)
    return tally.report(planned_runs=MOST, seed=0, stops={phase: watch for (_, phase), watch in watches.items()})


def runs(chaos: Sequence[bool]) -> list[RunRecord]:
    return records("baseline", [True] * MOST) + records("chaos", chaos)


def draws(rate: float, seed: int) -> list[bool]:
    draw = random.Random(seed)
    return [draw.random() < rate for _ in range(MOST)]


@pytest.mark.parametrize(
    ("decision", "status"), [("pass", "held"), ("fail", "weakness"), ("inconclusive", "inconclusive")]
)
def test_status__is_what_the_sequential_test_says(decision: str, status: str) -> None:
    found = 0
    for seed in range(120):
        chaos = draws([0.99, 0.9, 0.8][seed % 3], seed)
        test = Sprt(0.95, 0.10, alpha=0.05, beta=1 - POLICY.power, max_runs=MOST)
        said = [test.update(passed) for passed in chaos][-1]
        if said != decision:
            continue
        found += 1
        shuffled = runs(chaos)
        random.Random(seed).shuffle(shuffled)
        made = judged(sequential(), shuffled)
        phase, probe = made.phases[1], made.probes[1]
        assert (made.status, probe.decision, probe.runs) == (status, decision, test.runs)
        assert phase.stop_reason == (SEQUENTIAL_STOP if test.runs < MOST else "")
    assert found > 5


def test_must__is_decided_by_its_first_failure() -> None:
    made = judged(sequential(1.0), runs([True, True, False, *[True] * 49]))
    assert (made.status, made.probes[1].runs, made.probes[1].decision) == ("weakness", 3, "fail")


def test_runs__that_are_lost_say_nothing() -> None:
    lost = [r.model_copy(update={"outcome": "infra"}) if r.phase == "chaos" else r for r in runs([False] * MOST)]
    made = judged(sequential(), lost)
    assert made.status == "inconclusive" and len(made.phases[1].runs) == MOST


def test_runs__go_on_until_a_fault_has_fired() -> None:
    quiet = records("baseline", [True] * MOST) + records("chaos", [True] * MOST, fired=0)
    assert len(judged(sequential(), quiet).phases[1].runs) == MOST


@pytest.mark.parametrize(
    ("override", "max_runs", "expected"), [(None, 30, 30), (None, None, 100), (7, 30, 7)], ids=["file", "2.5", "--runs"]
)
def test_max_runs__of_the_option_then_the_file_then_two_and_a_half_times(
    override: int | None, max_runs: int | None, expected: int
) -> None:
    assert sequential(max_runs=max_runs).planned_runs(40, override) == expected


def test_file__says_how_runs_are_sampled() -> None:
    own = EXPERIMENT.replace("agentic-chaos/v1", "agent-chaos-gate/v1").replace("THRESHOLD", "0.95")
    made = parse_experiment(own + "  sampling: {mode: sprt, max_runs: 60}\n", "e.yaml")
    assert (made.sequential, made.planned_runs(40)) == (True, 60)
    with pytest.raises(InvalidFileError, match="max_runs is for mode sprt"):
        parse_experiment(own + "  sampling: {max_runs: 60}\n", "e.yaml")


def test_threshold__that_leaves_no_room_for_the_drop_is_refused_before_any_run() -> None:
    with pytest.raises(UsageError, match=r"e\.yaml: output_matches"):
        watch_suite([sequential(0.05)], lambda _: MOST, POLICY)


@pytest.mark.parametrize(("chaos", "verdict"), [([True] * MOST, "pass"), ([False] * MOST, "inconclusive")])
def test_counts__are_in_no_test_of_two_rates(chaos: list[bool], verdict: str) -> None:
    base, head = judged(sequential(), runs([True] * MOST)), judged(sequential(), runs(chaos))
    made = compare(report(base), report(head), policy=POLICY, today=date(2026, 1, 1))
    row = made.rows[1]
    assert (row.verdict, row.decided_by, row.p_value, row.pass_at) == (verdict, "sequential", None, None)
    assert made.status_changes == [] if verdict == "pass" else made.status_changes[0].head == "weakness"


def test_counts__of_a_sequential_base_are_not_compared_either() -> None:
    base, head = judged(sequential(), runs([True] * MOST)), judged(parsed(0.95), runs([False] * MOST))
    row = compare(report(base), report(head), policy=POLICY, today=date(2026, 1, 1)).rows[1]
    assert (row.verdict, row.decided_by) == ("inconclusive", "sequential")
