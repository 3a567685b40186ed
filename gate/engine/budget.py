"""What a suite has used up of its budget."""

import time
from collections.abc import Callable, Iterator

from gate.config import Budget
from gate.errors import UsageError
from gate.prices import Prices, UnpricedError, cost
from gate.report import RunRecord


class Meter:
    """Adds up what runs took. `problem`: why a budget in USD cannot be kept; from then on no run may begin.

    What is kept back for later runs counts as used up, each at what a run has taken so far on average.
    """

    def __init__(self, budget: Budget, prices: Prices, clock: Callable[[], float] = time.monotonic) -> None:
        self._budget, self._prices, self._clock = budget, prices, clock
        self._started = clock()
        self._runs, self._tokens, self._usd = 0, 0, 0.0
        self._kept: dict[str, int] = {}
        self.problem: UsageError | None = None

    def add(self, record: RunRecord) -> None:
        """Take one run; what it took counts where it was carried out, not where it is shared."""
        if record.shared_with:
            return
        self._runs += 1
        self._tokens += record.tokens
        if self._budget.usd is None:
            return
        try:
            self._usd += usd_of(record, self._prices)
        except UnpricedError as error:
            self.problem = self.problem or UsageError(
                f"a budget in USD cannot be kept: {error}",
                where=f"run.budget.usd, {record.experiment} ({record.phase} run {record.index})",
                fix="complete run.prices, or take a budget in minutes; what ran is in the journal (run --resume)",
            )

    @property
    def is_over(self) -> bool:
        """Return whether no further run may begin."""
        return self.problem is not None or any(used >= limit for used, limit in self._uses(sum(self._kept.values())))

    def keep_back(self, purpose: str, runs: int) -> None:
        """Let so many runs be left for a purpose, as far as there is room for all of them now."""
        rest = sum(self._kept.values()) - self._kept.get(purpose, 0)
        if runs > self._kept.get(purpose, 0) and all(used <= limit for used, limit in self._uses(rest + runs)):
            self._kept[purpose] = runs

    def _uses(self, later: int) -> Iterator[tuple[float, float]]:
        """Yield what is used up with so many later runs, and the limit of it."""
        minutes = (self._clock() - self._started) / 60
        budget = self._budget
        for used, limit in ((self._usd, budget.usd), (self._tokens, budget.tokens), (minutes, budget.minutes)):
            if limit is not None:
                yield used * (1 + later / max(1, self._runs)), limit


def usd_of(record: RunRecord, prices: Prices) -> float:
    """Return what the model responses of one run cost.

    Raises:
        UnpricedError: a response does not say what it took, or its model has no price.
    """
    if record.unmetered:
        raise UnpricedError(f"{record.unmetered} model response(s) do not say what they took")
    return cost(record.usage, prices)
