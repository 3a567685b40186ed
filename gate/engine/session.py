"""One run's faults, in the public format's order of random draws, and what the run leaves behind."""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from gate.experiment import FaultSpec
from gate.faults import Delay, Effect, Injection, Override, Raise, Redirect, Repeat, Return
from gate.report import FaultCount
from gate.trace import Event, Trace

CALL_POINTS = frozenset({"llm.call", "tool.call", "control", "agent.call", "payment.call"})
"""Points before a call: there is no value to change yet."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the agent is to do: wait, then carry out the effect. `changed`: the value is no longer what was sent."""

    delay_s: float
    effect: Return | Raise | Repeat | Override | Redirect
    changed: bool


class Session:
    """The state of one run: its generator, its counts and its trace. Without faults every value passes."""

    def __init__(self, faults: Sequence[FaultSpec] = (), seed: int | None = None) -> None:
        self.faults = tuple(faults)
        self.trace = Trace()
        self._rng = random.Random(seed)  # noqa: S311 (the format's generator, not a secret)
        self._seen: Counter[tuple[int, str]] = Counter()
        self._applied: Counter[int] = Counter()
        self._fired: Counter[int] = Counter()
        self._history: dict[tuple[str, str], list[Any]] = {}
        self._times: list[int] = []
        self.may_have_broken_the_run = False
        """A fault raised, or acted on a model call: an error of the run may be its doing."""

    @property
    def points(self) -> frozenset[str]:
        """Return where a fault may act: elsewhere nothing need be asked."""
        return frozenset(point for fault in self.faults for point in fault.points)

    @property
    def counts(self) -> list[FaultCount]:
        """Return per fault how often it acted, and how often it met what it could not change."""
        return [
            FaultCount(fired=self._fired[i], no_op=self._applied[i] - self._fired[i]) for i in range(len(self.faults))
        ]

    def record(self, kind: str, name: str, data: dict[str, Any], at: int = 0) -> None:
        """Append an event; `at` orders events that came over different connections."""
        self.trace.events.append(Event(kind, name, data))
        self._times.append(at)

    def close(self) -> Trace:
        """Return the trace with its events in the order of their times."""
        order = sorted(range(len(self._times)), key=self._times.__getitem__)
        self.trace.events = [self.trace.events[i] for i in order]
        self._times = [self._times[i] for i in order]
        return self.trace

    def intercept(
        self, point: str, name: str, value: Any, *, can: Collection[str] = ("repeat", "override"), at: int = 0
    ) -> Decision:
        """Let the faults act on a value, in the order of the file.

        `can` is the control flow that the caller knows how to carry out.
        """
        history = self._history.setdefault((point, name), [])
        previous = tuple(history)
        if value is not None:
            history.append(value)
        delay_s, changed = 0.0, False
        for index, spec in enumerate(self.faults):
            if not self._acts(index, spec, point, name):
                continue
            planted: set[str] = set()
            effect = spec.fault.apply(value, Injection(point, name, self._rng, previous, planted))
            self._applied[index] += 1
            data = {"point": point, "target": name, "params": spec.fault.model_dump()}
            if not _takes_effect(effect, point, can):
                self.record("fault.no_op", spec.fault.type, data, at)
                continue
            self._fired[index] += 1
            self.trace.canaries |= planted
            self.may_have_broken_the_run |= isinstance(effect, Raise) or point.startswith("llm.")
            self.record("fault", spec.fault.type, data, at)
            if isinstance(effect, Delay):
                delay_s += effect.seconds
            elif isinstance(effect, Return) or (isinstance(effect, Override) and point not in CALL_POINTS):
                value, changed = effect.value, True
            else:
                return Decision(delay_s, effect, changed=True)
        return Decision(delay_s, Return(value, changed), changed)

    def _acts(self, index: int, spec: FaultSpec, point: str, name: str) -> bool:
        """Return whether a fault acts on this call; draws once where the format draws."""
        if not spec.matches(point, name):
            return False
        self._seen[index, name] += 1
        if self._seen[index, name] <= spec.after_calls:
            return False
        if spec.max_injections is not None and self._applied[index] >= spec.max_injections:
            return False
        return self._rng.random() < spec.probability


def _takes_effect(effect: Effect, point: str, can: Collection[str]) -> bool:
    """Return whether the agent will notice."""
    if isinstance(effect, Return):
        return effect.changed and point not in CALL_POINTS
    if isinstance(effect, Repeat):
        return point in CALL_POINTS and "repeat" in can and effect.times > 0
    if isinstance(effect, Override):
        return point not in CALL_POINTS or "override" in can
    if isinstance(effect, Redirect):
        return "redirect" in can
    return True
