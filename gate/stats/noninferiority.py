"""Do the data rule out a drop that matters? The exact non-inferiority test behind PASS, and its boundary."""

from functools import lru_cache

import numpy as np

from gate.stats.cells import Ints, rate_cells, rounded_up
from gate.stats.checks import check_level, check_runs, check_table
from gate.stats.order import score


def noninferiority_test(
    base_passes: int, base_runs: int, head_passes: int, head_runs: int, *, min_effect: float
) -> float:
    """p-value of "head's pass rate is lower than base's by at least `min_effect`"; small means PASS.

    Tables are ordered by the Farrington-Manning score and the probability of one at least as favourable is maximised
    over every pair of rates that differ by `min_effect`: a certified upper bound, at most 1e-8 above the true maximum.
    """
    check_table(base_passes, base_runs, head_passes, head_runs)
    check_level("min_effect", min_effect)
    return _p_value(int(base_passes), int(base_runs), int(head_passes), int(head_runs), float(min_effect))


def noninferiority_boundary(base_runs: int, head_runs: int, *, min_effect: float, beta: float) -> tuple[int, ...]:
    """For each number of base passes: fewest head passes that PASS at level `beta`, `head_runs` + 1 if none."""
    check_runs(base_runs, head_runs)
    check_level("min_effect", min_effect)
    check_level("beta", beta)
    return _boundary(int(base_runs), int(head_runs), float(min_effect), float(beta))


@lru_cache(maxsize=65536)
def _p_value(base_passes: int, base_runs: int, head_passes: int, head_runs: int, drop: float) -> float:
    order = score(base_runs, head_runs, drop)
    failing = order.boundary(order.level(base_passes, head_passes))
    return rounded_up(_largest_pass(base_runs, head_runs, drop, failing))


@lru_cache(maxsize=4096)
def _boundary(base_runs: int, head_runs: int, drop: float, beta: float) -> tuple[int, ...]:
    """Bisects the score: the set of passing tables grows with it, and so does its largest probability."""
    order = score(base_runs, head_runs, drop)
    low = order.level(0, head_runs) - 1
    high = order.level(base_runs, 0)
    inside, outside = np.full(base_runs + 1, head_runs, dtype=np.int64), order.boundary(high)
    while high - low > 1e-9 * max(1.0, abs(low)) and not np.array_equal(inside, outside):
        middle = (low + high) / 2
        candidate = order.boundary(middle, outside, inside)
        if np.array_equal(candidate, inside):
            low = middle
        elif np.array_equal(candidate, outside):
            high = middle
        elif _largest_pass(base_runs, head_runs, drop, candidate, beta) <= beta:
            low, inside = middle, candidate
        else:
            high, outside = middle, candidate
    return tuple((inside + 1).tolist())


def _largest_pass(base_runs: int, head_runs: int, drop: float, failing: Ints, decide_at: float | None = None) -> float:
    """Upper bound, over all rates that differ by `drop`, of the probability of more head passes than `failing`."""
    return rate_cells(base_runs, head_runs, drop).polynomials(failing, above=True).largest(decide_at)
