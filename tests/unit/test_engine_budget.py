"""The meter of a budget: what was used up, and what is kept back for the confirmation of what looks worse."""

from gate.config import Budget
from gate.engine.budget import Meter
from gate.report import RunRecord
from tests.builders import records


def run(tokens: int) -> RunRecord:
    return records("chaos", [True])[0].model_copy(update={"tokens": tokens})


def metered(budget: Budget, runs: int, clock: list[float] | None = None) -> Meter:
    meter = Meter(budget, {}, clock=lambda: (clock or [0.0])[0])
    for _ in range(runs):
        meter.add(run(10))
    return meter


def test_kept_back__counts_as_used_up_at_the_mean_of_what_ran() -> None:
    meter = metered(Budget(tokens=1_000), 10)
    meter.keep_back("one", 80)  # 100 tokens are gone, 800 kept: 100 are left
    for left in range(10, 0, -1):
        assert not meter.is_over, left
        meter.add(run(10))
    assert meter.is_over


def test_kept_back__no_more_than_there_is_room_for() -> None:
    meter = metered(Budget(tokens=1_000), 10)
    meter.keep_back("one", 80)
    meter.keep_back("two", 20)  # 10 would fit
    meter.keep_back("one", 95)  # in place of the 80
    assert not meter.is_over
    meter.keep_back("two", 10)
    assert meter.is_over


def test_kept_back__of_time_by_the_clock() -> None:
    clock = [0.0]
    meter = metered(Budget(minutes=10), 6, clock)
    clock[0] = 60.0
    meter.keep_back("one", 50)  # 10 s a run
    assert not meter.is_over
    clock[0] = 66.0  # 11 s a run: 1.1 minutes gone and 9.2 kept
    assert meter.is_over


def test_kept_back__without_a_budget_nothing_ends() -> None:
    meter = metered(Budget(), 10)
    meter.keep_back("one", 10**6)
    assert not meter.is_over
