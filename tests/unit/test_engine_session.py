"""Random draws, counts and events of one run. Expected draws: the published checks of the public format."""

import random
from typing import Any, ClassVar

import pytest

from gate.engine.session import Session
from gate.experiment import FaultSpec
from gate.faults import Delay, Effect, Fault, Injection, Override, Raise, Redirect, Repeat, Return
from gate.faults.controls import ControlOutage, ForceVerdict
from gate.faults.injection import InjectInstruction
from gate.faults.reliability import Error, Latency
from gate.report import FaultCount


class Fixed(Fault):
    """Does what it was told to; has no type, so that files cannot name it."""

    type: ClassVar[str] = ""
    points: ClassVar[tuple[str, ...]] = ("tool.call", "tool.result", "llm.call")
    effect: Any

    def apply(self, value: Any, injection: Injection) -> Effect:
        effect: Effect = self.effect
        return effect


def spec(fault: Fault, target: str = "*", **options: Any) -> FaultSpec:
    values: dict[str, Any] = {"points": fault.points, "probability": 1.0, "after_calls": 0, "max_injections": None}
    return FaultSpec(fault, target, **values | options)


@pytest.mark.parametrize(("seed", "canary"), [(0, "c2094cac"), (7, "269e0d37"), (42, "06671ad1")])
def test_draws__canary_of_a_seed(seed: int, canary: str) -> None:
    session = Session([spec(InjectInstruction())], seed)
    decision = session.intercept("tool.result", "fetch_page", "text")
    assert f"AC-CANARY-{canary}" in decision.effect.value  # type: ignore[union-attr]
    assert session.trace.canaries == {f"AC-CANARY-{canary}"}


def test_draws__seeds_7_to_46_at_30_percent_fire_11_times() -> None:
    sessions = [Session([spec(ControlOutage(), probability=0.3)], seed) for seed in range(7, 47)]
    for session in sessions:
        session.intercept("control", "guardrail", None)
    assert sum(s.counts[0].fired for s in sessions) == 11


def test_draws__one_per_matching_call_even_at_certainty() -> None:
    session, reference = Session([spec(Latency(jitter=1.0))], 3), random.Random(3)
    for _ in range(4):
        reference.random()
        expected = max(0.0, 2.0 + reference.uniform(-1.0, 1.0))
        assert session.intercept("tool.call", "t", None).delay_s == expected


def test_draws__skipped_calls_draw_nothing() -> None:
    fault = spec(InjectInstruction(), after_calls=2, max_injections=1)
    session = Session([fault], 0)
    texts = [session.intercept("tool.result", "t", "x").effect.value for _ in range(4)]  # type: ignore[union-attr]
    assert [("c2094cac" in t) for t in texts] == [False, False, True, False]


def test_after_calls__counted_per_target_name() -> None:
    session = Session([spec(Error(), after_calls=1)], 0)
    changed = [session.intercept("tool.call", name, None).changed for name in ("a", "b", "a", "b")]
    assert changed == [False, False, True, True]


@pytest.mark.parametrize(
    ("point", "name", "acts"),
    [("tool.result", "send_mail", True), ("tool.result", "Send_mail", False), ("tool.call", "send_mail", False)],
)
def test_match__by_point_and_case_sensitive_glob(point: str, name: str, acts: bool) -> None:
    assert Session([spec(InjectInstruction(), "send_*")], 0).intercept(point, name, "x").changed is acts


def test_no_op__is_counted_but_not_fired_and_plants_nothing() -> None:
    session = Session([spec(InjectInstruction())], 0)
    decision = session.intercept("tool.result", "t", 5)
    assert not decision.changed
    assert session.counts == [FaultCount(fired=0, no_op=1)]
    assert session.trace.canaries == set()
    assert [e.kind for e in session.trace.events] == ["fault.no_op"]


@pytest.mark.parametrize(
    ("point", "effect", "can", "fires"),
    [
        ("tool.call", Return("x"), ("repeat", "override"), False),
        ("tool.result", Return("x"), (), True),
        ("tool.call", Repeat(1), ("repeat",), True),
        ("tool.call", Repeat(0), ("repeat",), False),
        ("tool.call", Repeat(1), (), False),
        ("tool.result", Repeat(1), ("repeat",), False),
        ("tool.call", Override(1), ("override",), True),
        ("tool.call", Override(1), (), False),
        ("tool.result", Override(1), (), True),
        ("llm.call", Redirect("eu.invalid", None), ("redirect",), True),
        ("llm.call", Redirect("eu.invalid", None), ("repeat", "override"), False),
        ("tool.call", Raise("ChaosError", "no"), (), True),
        ("tool.call", Delay(1.0), (), True),
    ],
)
def test_effect__fires_only_where_the_caller_can_carry_it_out(
    point: str, effect: Effect, can: tuple[str, ...], fires: bool
) -> None:
    session = Session([spec(Fixed(effect=effect))], 0)
    session.intercept(point, "t", None, can=can)
    assert session.counts == [FaultCount(fired=int(fires), no_op=int(not fires))]


def test_effects__add_up_until_one_ends_the_call() -> None:
    faults = [
        spec(Fixed(effect=Delay(1.0))),
        spec(Fixed(effect=Delay(0.5))),
        spec(Fixed(effect=Raise("ChaosTimeout", "late"))),
        spec(Fixed(effect=Delay(9.0))),
    ]
    session = Session(faults, 0)
    decision = session.intercept("tool.call", "t", None)
    assert (decision.delay_s, decision.effect) == (1.5, Raise("ChaosTimeout", "late"))
    assert [c.fired for c in session.counts] == [1, 1, 1, 0]


def test_fault_event__as_in_the_public_format() -> None:
    session = Session([spec(ForceVerdict(verdict=False), "guard*")], 0)
    session.intercept("control", "guardrail", None)
    (event,) = session.trace.events
    assert (event.kind, event.name) == ("fault", "force_verdict")
    assert event.data == {"point": "control", "target": "guardrail", "params": {"verdict": False}}


def test_previous__holds_earlier_values_as_they_were_sent() -> None:
    seen: list[tuple[Any, ...]] = []

    class Watching(Fault):
        points: ClassVar[tuple[str, ...]] = ("tool.result",)

        def apply(self, value: Any, injection: Injection) -> Effect:
            seen.append(tuple(injection.previous))
            return Return("changed")

    session = Session([spec(Watching())], 0)
    for value in ("a", None, "b", "c"):
        session.intercept("tool.result", "t", value)
    assert seen == [(), ("a",), ("a",), ("a", "b")]


def test_close__orders_events_by_time_and_keeps_ties() -> None:
    session = Session()
    for at, name in [(3, "c"), (1, "a"), (3, "d"), (2, "b")]:
        session.record("tool.call", name, {}, at)
    assert [e.name for e in session.close().events] == ["a", "b", "c", "d"]


def test_points__are_those_of_the_faults() -> None:
    assert Session().points == frozenset()
    assert Session([spec(ControlOutage()), spec(Fixed(effect=Delay(0)), points=("llm.call",))]).points == {
        "control",
        "llm.call",
    }
