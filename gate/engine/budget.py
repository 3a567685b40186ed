"""What a suite has used up of its budget."""

import time
from collections.abc import Callable

from gate.config import Budget
from gate.errors import UsageError
from gate.prices import Prices, UnpricedError, cost
from gate.report import RunRecord


class Meter:
    """Adds up what runs took. `problem`: why a budget in USD cannot be kept; from then on no run may begin."""

    def __init__(self, budget: Budget, prices: Prices, clock: Callable[[], float] = time.monotonic) -> None:
        self._budget, self._prices, self._clock = budget, prices, clock
        self._started = clock()
        self._tokens, self._usd = 0, 0.0
        self.problem: UsageError | None = None

    def add(self, record: RunRecord) -> None:
        """Take one run; what it took counts where it was carried out, not where it is shared."""
        if record.shared_with:
            return
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
        budget = self._budget
        return self.problem is not None or any(
            limit is not None and used >= limit
            for limit, used in (
                (budget.usd, self._usd),
                (budget.tokens, self._tokens),
                (budget.minutes, (self._clock() - self._started) / 60),
            )
        )


def usd_of(record: RunRecord, prices: Prices) -> float:
    """Return what the model responses of one run cost.

    Raises:
        UnpricedError: a response does not say what it took, or its model has no price.
    """
    if record.unmetered:
        raise UnpricedError(f"{record.unmetered} model response(s) do not say what they took")
    return cost(record.usage, prices)
