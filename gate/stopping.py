"""When a phase has had enough runs. Pure: the same runs give the same answer in whatever order they finish."""

from collections.abc import Mapping
from typing import Protocol

from gate.report import Phase, RunRecord

Key = tuple[str, Phase]
"""Name of an experiment, and its phase."""


class Rule(Protocol):
    """Looks at the runs of one phase in the order of their index."""

    def add(self, record: RunRecord) -> str:
        """Take the next run; return why no further one is needed, empty while some are."""


class Watch:
    """Follows one phase. `counted`: how many runs count, from the first on, once that is decided."""

    def __init__(self, planned_runs: int, rule: Rule | None = None) -> None:
        self.planned_runs, self._rule = planned_runs, rule
        self.counted: int | None = None
        self.stop_reason = ""
        self._taken = 0
        self._early: dict[int, RunRecord] = {}

    def add(self, record: RunRecord) -> None:
        """Take a run; the rule sees it once all before it are there."""
        if self._rule is None or self.counted is not None:
            return
        self._early[record.index] = record
        while self.counted is None and (following := self._early.pop(self._taken, None)) is not None:
            self._taken += 1
            if reason := self._rule.add(following):
                self.counted, self.stop_reason = self._taken, reason
                self._early.clear()

    def needs(self, index: int) -> bool:
        """Return whether a run is to be carried out, or counts."""
        return index < (self.planned_runs if self.counted is None else self.counted)


Watches = Mapping[Key, Watch]
