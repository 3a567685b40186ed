"""Which run comes next."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import get_args

from gate.engine.schedule import PlannedPhase, PlannedRun
from gate.experiment import Experiment
from gate.policy import Severity
from gate.report import Phase
from gate.stopping import Watches

Turn = tuple[PlannedRun, ...]
"""Planned runs that are one and the same: carried out once, and judged for the experiment of each."""


class Scheduler:
    """Hands out what is still needed: run by run through all experiments and phases, so that none lies behind.

    With `by_value`, for a budget that may be too small for all, it is experiment by experiment: those with a critical
    probe first, and those that want the fewest runs first among them, since half an experiment decides little.
    """

    def __init__(
        self,
        planned: Sequence[PlannedPhase],
        watches: Watches,
        *,
        done: Collection[tuple[str, Phase, int]] = (),
        by_value: bool = False,
    ) -> None:
        self._watches, self._done = watches, done
        had = Counter((name, phase) for name, phase, _ in done)
        self.todo = [p for p in planned if had[p.key] < watches[p.key].limit]
        if by_value:
            missing: Counter[str] = Counter()
            for phase in self.todo:
                missing[phase.experiment.name] += watches[phase.key].limit - had[phase.key]
            planned = sorted(planned, key=lambda p: (_rank(p.experiment), missing[p.experiment.name]))
        bundles: dict[object, list[PlannedPhase]] = {}
        for phase in planned:
            bundles.setdefault(phase.group or phase.key, []).append(phase)
        parts: dict[str, list[list[PlannedPhase]]] = {}
        for bundle in bundles.values():
            parts.setdefault(bundle[0].experiment.name if by_value else "", []).append(bundle)
        self._parts = list(parts.values())

    def turns(self, *, second: bool = False) -> Iterator[Turn]:
        """Yield what is needed at the time that it is asked for; the runs of second looks once the first have ended."""
        for part in self._parts:
            limits = [self._watches[p.key].limit if second else p.runs for bundle in part for p in bundle]
            for index in range(max(limits)):
                for bundle in part:
                    open_ones = (p for p in bundle if (index >= p.runs) is second and self._is_open(p, index))
                    if turn := tuple(p.run(index) for p in open_ones):
                        yield turn

    def _is_open(self, phase: PlannedPhase, index: int) -> bool:
        """Return whether a run is there to be carried out."""
        return self._watches[phase.key].needs(index) and (*phase.key, index) not in self._done


def _rank(experiment: Experiment) -> int:
    """Return how grave the gravest probe of an experiment is, 0 for critical."""
    return min(get_args(Severity).index(p.severity) for p in experiment.probes)
