"""Is head worse than base? Exact one-sided tests of two pass rates, their rejection boundaries and their size."""

from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from gate.stats.berger_boos import berger_boos
from gate.stats.cells import Ints, largest_probability
from gate.stats.checks import check_level, check_runs, check_table
from gate.stats.order import TIE, fisher

Test = Literal["unconditional", "boschloo", "fisher"]


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


def test_size(
    base_runs: int,
    head_runs: int,
    *,
    alpha: float = 0.05,  # noqa: PT028  # the size of a test, not a pytest test
    test: Test = "unconditional",  # noqa: PT028
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
        return berger_boos(base_runs, head_runs).p_value(base_passes, head_passes)
    order = fisher(base_runs, head_runs)
    level = order.level(base_passes, head_passes)
    if test == "fisher":
        return level
    return largest_probability(base_runs, head_runs, order.boundary(level))


@lru_cache(maxsize=4096)
def _boundary(base_runs: int, head_runs: int, alpha: float, test: Test) -> tuple[int, ...]:
    if test == "unconditional":
        boundary = berger_boos(base_runs, head_runs).boundary(alpha)
    elif test == "fisher":
        boundary = _fisher_boundary(base_runs, head_runs, alpha)
    else:
        boundary = _boschloo_boundary(base_runs, head_runs, alpha)
    return tuple(boundary.tolist())


def _fisher_boundary(base_runs: int, head_runs: int, alpha: float) -> Ints:
    """The tables with a level of at most alpha; those too near to tell in floating point are computed exactly."""
    order = fisher(base_runs, head_runs)
    boundary, certain = order.boundary(alpha), order.boundary(alpha * (1 - 2 * TIE))
    for base in np.flatnonzero(boundary > certain).tolist():
        while boundary[base] > certain[base] and order.level(base, int(boundary[base])) > alpha:
            boundary[base] -= 1
    return boundary


def _boschloo_boundary(base_runs: int, head_runs: int, alpha: float) -> Ints:
    """The largest set of tables up to one Fisher level whose probability stays within alpha at every rate.

    Given the margin, Fisher's test keeps alpha, so the search starts from level alpha and goes up.
    """
    order = fisher(base_runs, head_runs)
    inside, following = order.boundary_and_next(alpha / (1 + TIE))
    limit = 1.0
    guess = 1.5 * alpha
    while following < limit * (1 - TIE):
        level = max(following, min(guess, (following * limit) ** 0.5))
        candidate, after = order.boundary_and_next(level)
        if largest_probability(base_runs, head_runs, candidate, alpha) <= alpha:
            inside, following, guess = candidate, after, 1.5 * level
        else:
            limit, guess = level, 1.0
    return inside
