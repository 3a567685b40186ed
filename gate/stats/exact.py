"""Is head worse than base? Exact one-sided tests of two pass rates, their rejection boundaries and their size."""

from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from scipy.special import betaincinv

from gate.stats.cells import Floats, Ints, Polynomials, RateCells, largest_probability, rate_cells
from gate.stats.checks import check_level, check_runs, check_table
from gate.stats.order import LikelihoodRatio, fisher, likelihood_ratio

Test = Literal["unconditional", "boschloo", "fisher"]

GAMMA = 1e-6  # what the Berger-Boos interval may miss; added to every p-value


def exact_test(
    base_passes: int, base_runs: int, head_passes: int, head_runs: int, *, test: Test = "unconditional"
) -> float:
    """One-sided p-value of "head's pass rate is not below base's"; small means a regression.

    `unconditional` orders tables by the signed root of the likelihood ratio and maximises over the common rate inside
    the Berger-Boos interval; `boschloo` orders by Fisher's level and maximises over all rates; `fisher` conditions on
    the passes of both arms. The maximum is a certified upper bound, at most 1e-8 above the true one.
    """
    check_table(base_passes, base_runs, head_passes, head_runs)
    check_test(test)
    return _p_value(int(base_passes), int(base_runs), int(head_passes), int(head_runs), test)


def rejection_boundary(
    base_runs: int, head_runs: int, *, alpha: float = 0.05, test: Test = "unconditional"
) -> tuple[int, ...]:
    """For each number of base passes 0..`base_runs`: most head passes with `exact_test` <= `alpha`, -1 if none."""
    check_runs(base_runs, head_runs)
    check_level("alpha", alpha)
    check_test(test)
    return _boundary(int(base_runs), int(head_runs), float(alpha), test)


def test_size(  # noqa: PT028  # not a pytest test: the size of a test
    base_runs: int, head_runs: int, *, alpha: float = 0.05, test: Test = "unconditional"
) -> float:
    """Upper bound, within 1e-8, of the largest probability over all common rates that the test at `alpha` rejects."""
    boundary = rejection_boundary(base_runs, head_runs, alpha=alpha, test=test)
    if max(boundary) < 0:
        return 0.0
    return largest_probability(base_runs, head_runs, np.array(boundary, dtype=np.int64))


test_size.__test__ = False  # type: ignore[attr-defined]  # its public name looks like a test to pytest


def check_test(test: str) -> None:
    """Raise ValueError unless `test` names one of the three tests."""
    if test not in get_args(Test):
        raise ValueError(f"test must be one of {', '.join(get_args(Test))}, got {test!r}")


@lru_cache(maxsize=65536)
def _p_value(base_passes: int, base_runs: int, head_passes: int, head_runs: int, test: Test) -> float:
    if test == "unconditional":
        return _BergerBoos(base_runs, head_runs).p_value(base_passes, head_passes)
    order = fisher(base_runs, head_runs)
    level = order.level(base_passes, head_passes)
    if test == "fisher" or head_passes == head_runs or base_passes == 0:
        return level if test == "fisher" else 1.0
    return largest_probability(base_runs, head_runs, order.boundary(level))


@lru_cache(maxsize=4096)
def _boundary(base_runs: int, head_runs: int, alpha: float, test: Test) -> tuple[int, ...]:
    if test == "unconditional":
        boundary = _BergerBoos(base_runs, head_runs).boundary(alpha)
    elif test == "fisher":
        boundary = fisher(base_runs, head_runs).boundary(alpha / (1 + 1e-9))
    else:
        boundary = _boschloo_boundary(base_runs, head_runs, alpha)
    return tuple(boundary.tolist())


def _boschloo_boundary(base_runs: int, head_runs: int, alpha: float) -> Ints:
    """The largest set of tables up to one Fisher level whose probability stays within alpha at every rate."""
    order = fisher(base_runs, head_runs)
    low, high = alpha / 2, 1.0
    inside = order.boundary(low)
    while largest_probability(base_runs, head_runs, inside) > alpha:
        high, low = low, low / 2
        inside = order.boundary(low)
        if max(inside) < 0:
            return inside
    outside = order.boundary(high)
    while high > low * (1 + 1e-9) and not np.array_equal(inside, outside):
        middle = (low + high) / 2 if high > 2 * low else (low * high) ** 0.5
        candidate = order.boundary(middle)
        if np.array_equal(candidate, inside):
            low = middle
        elif largest_probability(base_runs, head_runs, candidate) <= alpha:
            low, inside = middle, candidate
        else:
            high, outside = middle, candidate
    return inside


class _BergerBoos:
    """The unconditional test for two arms.

    A table's raw p-value takes its maximum over the rates its own total of passes leaves possible. Since that range
    depends on the total, raw p-values need not be monotone; the p-value is the largest raw one among all tables at
    least as bad (base passes as many or more, head passes as few or fewer). On one margin raw p-values follow the
    ordering, so of those tables only the mildest on each margin counts: down the column of x, and along its row.
    """

    def __init__(self, base_runs: int, head_runs: int) -> None:
        self.base_runs, self.head_runs = base_runs, head_runs
        self.order: LikelihoodRatio = likelihood_ratio(base_runs, head_runs)
        self.cells: RateCells = rate_cells(base_runs, head_runs)
        self.low, self.high = _rate_ranges(base_runs + head_runs)

    def raw(self, base_passes: int, head_passes: int, polynomials: Polynomials | None = None) -> float:
        """gamma plus the largest probability, over the rates inside the interval, of a table at least as extreme."""
        total = base_passes + head_passes
        low, high = float(self.low[total]), float(self.high[total])
        first, last = self.cells.covering(low, high)
        if polynomials is None:
            boundary = self.order.boundary(self.order.level(base_passes, head_passes))
            part = self.cells.polynomials(boundary, first, last)
        else:
            part = Polynomials(polynomials.coefficients[first:last], polynomials.rest[first:last])
        return min(1.0, self.cells.largest(part, low, high, first) + GAMMA)

    def p_value(self, base_passes: int, head_passes: int) -> float:
        """The monotone p-value of one table."""
        polynomials = self._polynomials(base_passes, head_passes)
        worst = self.raw(base_passes, head_passes, polynomials)
        column = [(base_passes, head) for head in range(head_passes - 1, -1, -1)]
        row = [(base, head_passes) for base in range(base_passes + 1, self.base_runs + 1)]
        start = polynomials.upper_bounds() + GAMMA
        for tables in (column, row):
            bound = start
            for base, head in tables:
                reachable = self._touched(base + head, bound > worst)
                if not (bound > worst).any():
                    break
                if not reachable:
                    continue
                polynomials = self._polynomials(base, head)
                worst = max(worst, self.raw(base, head, polynomials))
                bound = np.minimum(bound, polynomials.upper_bounds() + GAMMA)
        return worst

    def boundary(self, alpha: float) -> Ints:
        """Per base passes: most head passes whose monotone p-value is at most alpha."""
        total_runs = self.base_runs + self.head_runs
        mildest = np.empty(total_runs + 1, dtype=np.int64)  # per margin: most head passes with raw p-value <= alpha
        head = -1
        for total in range(total_runs + 1):
            least, most = max(0, total - self.base_runs), min(total, self.head_runs)
            head = min(max(head, least - 1), most)
            while head < most and self._raw_at_most(total - head - 1, head + 1, alpha):
                head += 1
            while head >= least and not self._raw_at_most(total - head, head, alpha):
                head -= 1
            mildest[total] = head
        return _close(mildest, self.base_runs, self.head_runs)

    def _raw_at_most(self, base_passes: int, head_passes: int, alpha: float) -> bool:
        return self.raw(base_passes, head_passes) <= alpha

    def _polynomials(self, base_passes: int, head_passes: int) -> Polynomials:
        return self.cells.polynomials(self.order.boundary(self.order.level(base_passes, head_passes)))

    def _touched(self, total: int, cells: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> bool:
        first, last = self.cells.covering(float(self.low[total]), float(self.high[total]))
        return bool(cells[first:last].any())


def _close(mildest: Ints, base_runs: int, head_runs: int) -> Ints:
    """The largest monotone set of tables none of which is milder than its margin allows."""
    boundary = np.empty(base_runs + 1, dtype=np.int64)
    allowed = head_runs
    for base in range(base_runs, -1, -1):
        head = -1
        while head < allowed and head + 1 <= mildest[base + head + 1]:
            head += 1
        boundary[base] = allowed = head
    return boundary


@lru_cache(maxsize=64)
def _rate_ranges(runs: int) -> tuple[Floats, Floats]:
    """Clopper-Pearson interval at 1 - gamma for every number of passes of `runs`."""
    passes = np.arange(runs + 1.0)
    low = np.zeros(runs + 1)
    low[1:] = betaincinv(passes[1:], runs - passes[1:] + 1, GAMMA / 2)
    return low, 1 - low[::-1]
