"""A report can be read again whatever the suite: too many runs are refused, and texts make room."""

import pytest
from pydantic import TypeAdapter

from gate.errors import UsageError
from gate.report import MAX_BYTES, Failure, PhaseReport, Report, RunSummary, TraceEvent
from gate.room import PASSED_BYTES, RUN_BYTES, RUNS_ROOM, TEXT_ROOM, refuse_too_many, with_room
from gate.trace import MAX_RUNS
from tests import builders


def failing(texts: int, trace: int, text: str = "\N{PILE OF POO}") -> Report:
    """Return a report of 40 experiments with 20 failures each, of so many characters."""
    event = TraceEvent(kind="tool.call", name="send", data=text * trace)
    failures = [
        Failure(phase="chaos", index=i, seed=i, outcome="ok", probes=["p"], detail=text * texts, trace=[event] * 3)
        for i in range(20)
    ]
    one = builders.experiment("e", builders.probe(20, 40)).model_copy(update={"failures": failures})
    return builders.report(*(one.model_copy(update={"name": f"e{i}"}) for i in range(40)))


def test_room__hundred_experiments_of_ten_thousand_runs_are_refused() -> None:
    experiments = [builders.parsed()] * 100
    with pytest.raises(UsageError, match=r"2,000,000 runs are more than one report can hold, about 157,894 here"):
        refuse_too_many(experiments, [MAX_RUNS] * 100)  # 12 MB / (70 + 6) bytes
    refuse_too_many(experiments, [700] * 100)


def test_room__is_enough_for_the_most_runs_that_are_not_refused() -> None:
    longest = RunSummary(index=MAX_RUNS - 1, seed=-(10**9), outcome="gate_error", passed=(False,) * 3)
    assert len(TypeAdapter(RunSummary).dump_json(longest)) + 1 <= RUN_BYTES + 3 * PASSED_BYTES
    assert RUNS_ROOM + TEXT_ROOM <= 0.9 * MAX_BYTES


def test_report__is_indented_unless_that_makes_it_unreadable() -> None:
    runs = [RunSummary(index=1, seed=1, outcome="ok", passed=(False,) * 500)] * 3_000
    phase = PhaseReport(phase="chaos", planned_runs=3_000, runs=runs)
    made = builders.report(builders.experiment("e", builders.probe(1, 1)).model_copy(update={"phases": [phase]}))
    assert len(made.model_dump_json(indent=1)) > MAX_BYTES
    text = made.to_json()
    assert (len(text) <= MAX_BYTES, "\n " in text) == (True, False)
    assert "\n " in failing(1, 1).to_json()


@pytest.mark.parametrize(
    ("texts", "trace", "failures", "events"),
    [(10, 10, 20, 3), (100, 4_000, 20, 0), (4_000, 4_000, 9, 0)],
    ids=["all", "without events", "some failures"],
)
def test_room__events_go_first_then_failures_and_each_experiment_keeps_some(
    texts: int, trace: int, failures: int, events: int
) -> None:
    made = with_room(failing(texts, trace))
    assert min(len(e.failures) for e in made.experiments) == failures
    assert min(len(f.trace) for e in made.experiments for f in e.failures) == events


def test_room__that_nobody_takes_is_left_to_the_others() -> None:
    made = failing(4_000, 4_000)
    quiet = [e.model_copy(update={"failures": []}) for e in made.experiments[:-1]]
    made = with_room(made.model_copy(update={"experiments": [*quiet, made.experiments[-1]]}))
    assert len(made.experiments[-1].failures) == 20
