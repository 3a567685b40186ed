"""The unconditional exact test: likelihood-ratio ordering, maximum over the rates that the total of passes allows.

The raw p-value of a table is the largest probability, over the common rates inside the Clopper-Pearson interval of its
total of passes, of a table at least as extreme, plus what that interval may miss. Berger and Boos (1994), JASA 89:1012.
Since the interval moves with the total, raw p-values need not be monotone; the p-value is the largest raw one among all
tables at least as bad (base passes as many or more, head passes as few or fewer). Among tables with one total, raw
p-values follow the ordering, so of those tables only the mildest of each total counts: those in the column below the
table (base passes the same, head passes fewer) and in the row beside it (base passes more, head passes the same).
"""

from functools import lru_cache

import numpy as np
from scipy.special import betaincinv

from gate.stats.cells import Floats, Ints, Polynomials, rate_cells, rounded_up
from gate.stats.order import LikelihoodRatio

FEW = 6  # totals left over when it is quicker to settle them one by one
GAMMA = 1e-6  # what the interval may miss; small enough for levels corrected for many probes


class BergerBoos:
    """The test for two arms; holds what all tables of these arms share."""

    def __init__(self, base_runs: int, head_runs: int) -> None:
        self.base_runs, self.head_runs = base_runs, head_runs
        self.order = LikelihoodRatio(base_runs, head_runs)
        self.cells = rate_cells(base_runs, head_runs)
        low, high = _rate_ranges(base_runs + head_runs)
        first, last = self.cells.covering(low, high)
        self.low, self.high = low.tolist(), high.tolist()  # per total of passes
        self.first, self.last = first, last  # cells that contain those rates
        self.first_middle = np.searchsorted(self.cells.middle, low)  # cells whose middles are among them
        self.last_middle = np.searchsorted(self.cells.middle, high, side="right")

    def p_value(self, base_passes: int, head_passes: int) -> float:
        """The monotone p-value of one table."""
        whole = self._polynomials(base_passes, head_passes, 0, len(self.cells))
        worst = self._largest_inside(base_passes + head_passes, whole, 0)
        bounds = whole.upper_bounds() + GAMMA
        worst = self._worst_in_column(base_passes, head_passes, bounds, worst)
        return self._worst_in_row(base_passes, head_passes, bounds, worst)

    def raw(self, base_passes: int, head_passes: int, decide_at: float | None = None) -> float:
        """The raw p-value of one table; only on which side of `decide_at` it lies, if given."""
        total = base_passes + head_passes
        first = int(self.first[total])
        part = self._polynomials(base_passes, head_passes, first, int(self.last[total]))
        return self._largest_inside(total, part, first, decide_at)

    def _polynomials(self, base_passes: int, head_passes: int, first: int, last: int) -> Polynomials:
        return self.cells.polynomials(self.order.boundary(self.order.level(base_passes, head_passes)), first, last)

    def _largest_inside(
        self, total: int, polynomials: Polynomials, start: int, decide_at: float | None = None
    ) -> float:
        """gamma plus the maximum over the rates `total` allows of polynomials whose first cell is number `start`."""
        first, last = int(self.first[total]), int(self.last[total])
        part = Polynomials(polynomials.coefficients[first - start : last - start])
        part = self.cells.within(part, self.low[total], self.high[total], first)
        limit = None if decide_at is None else decide_at - GAMMA
        return rounded_up(part.largest(limit) + GAMMA)

    def _worst_in_column(self, base_passes: int, head_passes: int, bounds: Floats, worst: float) -> float:
        """Largest of `worst` and the raw p-values down the column.

        `bounds` bounds the table's own probabilities on each cell, hence those of the whole column. Only where they
        exceed `worst` on a cell that a lower total reaches and this one does not can a table below matter.
        """
        totals = np.arange(base_passes + head_passes, base_passes - 1, -1)
        reach = self.first[totals]
        at = 0
        while at < len(totals) - 1:
            bad = np.flatnonzero(bounds[: reach[at] + 1] > worst)
            if not bad.size:
                break
            at = max(at + 1, int(np.searchsorted(-reach, -bad[-1])))
            if at >= len(totals):
                break
            total = int(totals[at])
            here = self._polynomials(base_passes, total - base_passes, 0, int(self.last[total]))
            tops = here.upper_bounds() + GAMMA
            if tops[self.first[total] :].max() > worst:
                worst = max(worst, self._largest_inside(total, here, 0))
            bounds = np.minimum(bounds[: reach[at] + 1], tops[: reach[at] + 1])
        return worst

    def _worst_in_row(self, base_passes: int, head_passes: int, bounds: Floats, worst: float) -> float:
        """The same along the row, where totals and their rates rise."""
        totals = np.arange(base_passes + head_passes, self.base_runs + head_passes + 1)
        reach = self.last[totals]
        offset = 0  # bounds[0] is cell number `offset`
        at = 0
        while at < len(totals) - 1:
            bounds, offset = bounds[int(reach[at]) - 1 - offset :], int(reach[at]) - 1
            bad = np.flatnonzero(bounds > worst)
            if not bad.size:
                break
            at = max(at + 1, int(np.searchsorted(reach, offset + bad[0] + 1)))
            if at >= len(totals):
                break
            total = int(totals[at])
            start = min(offset, int(self.first[total]))
            here = self._polynomials(total - head_passes, head_passes, start, len(self.cells))
            tops = here.upper_bounds() + GAMMA
            if tops[self.first[total] - start : self.last[total] - start].max() > worst:
                worst = max(worst, self._largest_inside(total, here, start))
            bounds = np.minimum(bounds, tops[offset - start :])
        return worst

    def boundary(self, alpha: float) -> Ints:
        """Per base passes: most head passes whose monotone p-value is at most alpha."""
        totals = np.arange(self.base_runs + self.head_runs + 1)
        inside = np.maximum(0, totals - self.base_runs) - 1  # per total: most head passes known to have raw p <= alpha
        outside = np.minimum(totals, self.head_runs) + 1  # per total: fewest known not to
        while (open_ := np.flatnonzero(outside - inside > 1)).size:
            middle = (inside[open_] + outside[open_]) >> 1
            if open_.size > FEW:
                levels = self.order.levels(open_ - middle, middle)
                at = int(np.argpartition(levels, levels.size // 2)[levels.size // 2])
                self._sort_by_level(float(levels[at]), alpha, inside, outside)
            else:
                at = 0
            total, head = int(open_[at]), int(middle[at])
            if inside[total] < head < outside[total]:
                if self.raw(total - head, head, alpha) <= alpha:
                    inside[total] = head
                else:
                    outside[total] = head
        return _close(inside, self.base_runs, self.head_runs)

    def _sort_by_level(self, level: float, alpha: float, inside: Ints, outside: Ints) -> None:
        """Move the limits of every total as far as one evaluation, of all tables beyond `level`, settles them.

        Where that set is improbable enough at all rates a total allows, its own tables of that total are inside; where
        it is too probable at one of those rates, the other tables of that total, with even larger sets, are outside.
        """
        beyond = self.order.boundary(level)
        reached = np.arange(self.base_runs + 1) + beyond  # the largest total in each column, rising
        totals = np.arange(len(inside))
        head = totals - np.searchsorted(reached, totals)
        polynomials = self.cells.polynomials(beyond)
        highest = _range_maximum(polynomials.upper_bounds(), self.first, self.last) + GAMMA
        known = polynomials.coefficients[:, 0] - self.cells.largest_rest
        lowest = _range_maximum(known, self.first_middle, self.last_middle) + GAMMA
        np.copyto(inside, np.maximum(inside, np.minimum(head, outside - 1)), where=highest <= alpha)
        np.copyto(outside, np.minimum(outside, np.maximum(head + 1, inside + 1)), where=lowest > alpha)


@lru_cache(maxsize=16)
def berger_boos(base_runs: int, head_runs: int) -> BergerBoos:
    """The test for two arms, prepared once."""
    return BergerBoos(base_runs, head_runs)


def _close(mildest: Ints, base_runs: int, head_runs: int) -> Ints:
    """The largest monotone set of tables none of which is milder than its total allows."""
    boundary = np.empty(base_runs + 1, dtype=np.int64)
    allowed = head_runs
    for base in range(base_runs, -1, -1):
        head = -1
        while head < allowed and head + 1 <= mildest[base + head + 1]:
            head += 1
        boundary[base] = allowed = head
    return boundary


def _range_maximum(values: Floats, first: Ints, last: Ints) -> Floats:
    """Largest of values[first:last] for each pair, -1 where the range is empty."""
    pairs = np.column_stack([first, np.maximum(last, first + 1)]).ravel()
    maxima: Floats = np.maximum.reduceat(np.concatenate([values, [-1.0, -1.0]]), pairs)[::2]
    return np.where(last > first, maxima, -1.0)


@lru_cache(maxsize=64)
def _rate_ranges(runs: int) -> tuple[Floats, Floats]:
    """Clopper-Pearson interval at 1 - gamma for every number of passes of `runs`."""
    passes = np.arange(runs + 1.0)
    low = np.zeros(runs + 1)
    low[1:] = betaincinv(passes[1:], runs - passes[1:] + 1, GAMMA / 2)
    return low, 1 - low[::-1]
