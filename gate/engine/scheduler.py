"""Which run comes next."""

from collections import deque
from collections.abc import Collection, Sequence
from typing import get_args

from gate.engine.schedule import PlannedRun
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
        planned: Sequence[PlannedRun],
        watches: Watches,
        *,
        done: Collection[tuple[str, Phase, int]] = (),
        by_value: bool = False,
    ) -> None:
        self._watches = watches
        self.todo = todo = [p for p in planned if p.key not in done]
        missing: dict[str, int] = {}
        for run in todo:
            missing[run.experiment.name] = missing.get(run.experiment.name, 0) + 1
        place = {name: at for at, name in enumerate(missing)}
        if by_value:
            value = {p.experiment.name: (_rank(p.experiment), missing[p.experiment.name]) for p in todo}
            place = {name: at for at, name in enumerate(sorted(missing, key=value.__getitem__))}

        def order(run: PlannedRun) -> tuple[int, int]:
            at = place[run.experiment.name]
            return (at, run.index) if by_value else (run.index, at)

        turns: dict[object, list[PlannedRun]] = {}
        for run in sorted(todo, key=order):
            turns.setdefault((run.group, run.index) if run.group else run.key, []).append(run)
        self._turns = deque(turns.values())

    def next(self) -> Turn:
        """Return the next turn, empty if there is none."""
        while self._turns:
            turn = self._turns.popleft()
            if needed := tuple(p for p in turn if self._watches[p.key[:2]].needs(p.index)):
                return needed
        return ()


def _rank(experiment: Experiment) -> int:
    """Return how grave the gravest probe of an experiment is, 0 for critical."""
    return min(get_args(Severity).index(p.severity) for p in experiment.probes)
