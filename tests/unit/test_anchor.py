"""Head against a pinned report: what is worse than it, and that no verdict depends on it."""

import itertools
from datetime import date
from typing import Any

import pytest

from gate.anchor import with_anchor
from gate.compare import compare
from gate.comparison import Anchor
from gate.confirmation import Confirmation
from gate.report import DECIDED_STOP, ExperimentReport, Report, Tool
from tests.builders import POLICY, experiment, probe, report

PINNED = Anchor(name="v1.0")


def against(pinned: Report | None, head: Report, base: Report | None = None, named: Anchor = PINNED) -> Anchor:
    """Return what head shows against a pinned report, and see to it that the verdict is that without one."""
    alone = compare(base or head, head, policy=POLICY, today=date(2026, 1, 2))
    made = with_anchor(alone, named, pinned, head)
    assert made.anchor is not None
    assert made.model_copy(update={"anchor": None}) == alone
    return made.anchor


def one(passes: int, runs: int = 40, name: str = "e", **more: Any) -> ExperimentReport:
    return experiment(name, probe(passes, runs), **more)


@pytest.mark.parametrize(
    ("passes", "worse"),
    [
        # as for a base: alpha .05, a single row of 40/40 fails at 37 or fewer
        pytest.param(38, [], id="38"),
        pytest.param(37, [(40, 37)], id="37"),
    ],
)
def test_single_probe__worse_by_the_exact_test(passes: int, worse: list[tuple[int, int]]) -> None:
    made = against(report(one(40), commit="a" * 40), report(one(passes)))
    assert [(d.anchor.passes, d.head.passes) for d in made.worse] == worse
    assert (made.name, made.commit, made.probes, made.compared, made.problem) == ("v1.0", "a" * 40, 1, 1, "")


def test_slow_ratcheting__shows_although_every_step_passes() -> None:
    # a base of 40 of 40 fails at 37 or fewer, so that no step of one blocks; three of them are a regression
    steps = [report(one(passes)) for passes in (40, 39, 38, 37)]
    for base, head in itertools.pairwise(steps):
        assert compare(base, head, policy=POLICY, today=date(2026, 1, 2)).exit_code == 0
    assert [(d.anchor.passes, d.head.passes) for d in against(steps[0], steps[-1], base=steps[-2]).worse] == [(40, 37)]


def test_family__is_corrected_by_step_down() -> None:
    names = [f"e{i}" for i in range(20)]
    pinned = report(*(one(38, name=n) for n in names))
    drop = report(*(one(33 if n == "e0" else 38, name=n) for n in names))
    assert not against(pinned, drop).worse  # alone, 38 -> 33 is below alpha
    [worst] = against(pinned, report(*(one(10 if n == "e0" else 38, name=n) for n in names))).worse
    assert (worst.experiment, worst.anchor.passes, worst.head.passes) == ("e0", 38, 10)
    assert worst.p_value < 0.001


def test_small_drop__is_worse_too() -> None:
    assert len(against(report(one(400, 400)), report(one(386, 400))).worse) == 1


def stopped(passes: int, runs: int) -> ExperimentReport:
    """Return an experiment whose chaos phase of 40 was stopped, since its comparison with the base was decided."""
    made = one(passes, runs, outcomes=("ok",) * runs)
    [phase] = made.phases
    return made.model_copy(
        update={"phases": [phase.model_copy(update={"planned_runs": 40, "stop_reason": DECIDED_STOP})]}
    )


def test_stopped_head__counts_as_if_the_rest_had_passed() -> None:
    pinned = report(one(40), one(40, name="f"))
    # 30 of 33 are 37 of 40 at best: Fisher's level of 3 failures of 80 all on one side is C(40,3)/C(80,3) = .12; as 30
    # of 40 it would be less than .001
    assert not against(pinned, report(stopped(30, 33), one(40, name="f"))).worse
    # 5 of 20 are 25 of 40 at best
    [drop] = against(pinned, report(stopped(5, 20), one(40, name="f"))).worse
    assert (drop.head.passes, drop.head.runs, drop.spared) == (5, 20, 20)


def extended(first: int, passes: int) -> ExperimentReport:
    """Return an experiment with 40 runs and 60 more, since its comparison with the base was open."""
    counted = probe(passes, 100).model_copy(update={"first_look": (first, 40)})
    made = experiment("e", counted, outcomes=("ok",) * 100)
    [phase] = made.phases
    return made.model_copy(update={"phases": [phase.model_copy(update={"planned_runs": 40, "max_runs": 100})]})


def test_second_look__leaves_the_counts_of_the_first() -> None:
    # that there was a second depends on what the first has shown: only the first is tested at alpha
    pinned = report(one(40), one(40, name="f"))
    assert not against(pinned, report(extended(39, 70), one(40, name="f"))).worse
    [drop] = against(pinned, report(extended(30, 90), one(40, name="f"))).worse
    assert (drop.head.passes, drop.head.runs, drop.spared) == (30, 40, 0)


def test_not_compared__is_counted() -> None:
    sequential = experiment("e", probe(0, 40).model_copy(update={"decision": "fail"}))
    silent = experiment("f", probe(40, 40), fired=0, status="inconclusive")
    gone = experiment("g", probe(40, 40))
    pinned = report(one(40), silent, gone)
    made = against(pinned, report(sequential, one(0, name="f"), one(0, name="new")))
    assert (made.probes, made.compared, made.worse, made.changed) == (3, 0, [], [])


def test_changed_definition__is_named_and_not_compared() -> None:
    made = against(report(one(40), one(40, name="f")), report(one(0, fingerprint="other"), one(40, name="f")))
    assert (made.changed, made.probes, made.compared, made.worse) == (["e"], 2, 1, [])


def test_another_tool__is_a_problem_in_words() -> None:
    pinned = report(one(40), commit="a" * 40).model_copy(update={"tool": Tool(name="JUnit XML", version="1")})
    made = against(pinned, report(one(0)))
    assert (
        made.problem == "it was written by JUnit XML, this report by agent-chaos-gate: their counts mean other things"
    )
    assert (made.commit, made.compared, made.worse) == ("a" * 40, 0, [])


def test_stopped_report__is_no_anchor() -> None:
    made = against(report(stopped(20, 20)), report(one(0)))
    assert "was stopped early" in made.problem
    assert not made.worse


def test_head_run_again__is_what_is_compared() -> None:
    # 0 of 3 are 37 of 40 at best, which a family of two does not call; the fresh 0 of 80 are worse whatever came first
    pinned = report(one(40), one(40, name="f"))
    head = report(stopped(0, 3), one(40, name="f"))
    assert not against(pinned, head).worse
    base_again, head_again = (report(one(passes, 80, outcomes=("ok",) * 80)) for passes in (80, 0))
    confirmation = Confirmation(base=base_again, head=head_again)
    compared = compare(pinned, head, policy=POLICY, today=date(2026, 1, 2), confirmation=confirmation)
    made = with_anchor(compared, PINNED, pinned, head, confirmation).anchor
    assert made is not None
    [drop] = made.worse
    assert (drop.experiment, drop.head.passes, drop.head.runs, drop.spared) == ("e", 0, 80, 0)


def test_no_report__keeps_the_problem() -> None:
    named = Anchor(name="v1.0", problem="there is no such tag")
    assert against(None, report(one(0)), named=named) == named
