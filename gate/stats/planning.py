"""How many runs, how much power, how small a drop: planning figures, all exact sums over the rejection boundary."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from gate.stats.berger_boos import GAMMA
from gate.stats.cells import binomial_pmf, region_probability
from gate.stats.checks import check_count, check_level, check_passes, check_rate, check_runs, check_table
from gate.stats.exact import Test, check_test, rejection_boundary
from gate.stats.noninferiority import noninferiority_boundary
from gate.stats.relaxed import pass_bound

MAX_PLANNED_RUNS = 5_000
CERTIFIED_RUNS = 200
"""Up to here `runs_to_settle` is the fewest, exactly; above, a round number a few percent above the fewest."""

FAR_MORE_RUNS = 20  # times the runs of a given base: what the head cannot reach there is called out of reach


def exact_power(
    base_runs: int,
    head_runs: int,
    base_rate: float,
    head_rate: float,
    *,
    alpha: float = 0.05,
    test: Test = "unconditional",
) -> float:
    """Probability that the test at `alpha` calls a regression when the true pass rates are these."""
    check_runs(base_runs, head_runs)
    check_rate("base_rate", base_rate)
    check_rate("head_rate", head_rate)
    boundary = np.array(rejection_boundary(base_runs, head_runs, alpha=alpha, test=test), dtype=np.int64)
    return region_probability(boundary, head_runs, base_rate, head_rate)


def runs_for_power(
    base_rate: float,
    min_effect: float,
    *,
    alpha: float = 0.05,
    power: float = 0.80,
    base_runs: int | None = None,
    test: Test = "unconditional",
) -> int:
    """Fewest runs per arm (of the head alone if `base_runs` is given) with which a drop of `min_effect` is called with
    probability `power` or more.

    Exact power is saw-toothed: a few more runs than this can have slightly less. No smaller number reaches `power`.
    Raises ValueError where the drop is larger than the rate, and where the power is out of reach: for any number of
    runs up to 5,000 or, with a base given, still at 20 times its runs.
    """
    check_rate("base_rate", base_rate)
    check_level("min_effect", min_effect)
    if min_effect > base_rate:
        raise ValueError(f"min_effect must not exceed base_rate ({base_rate}), got {min_effect!r}")
    check_level("alpha", alpha)
    check_level("power", power)
    check_test(test)
    if test == "unconditional" and alpha <= GAMMA:
        raise ValueError(f"alpha must exceed {GAMMA} for the unconditional test, got {alpha!r}")
    if base_runs is not None:
        check_count("base_runs", base_runs, at_least=1)
    runs = _runs_for_power(base_rate, min_effect, alpha, power, base_runs, test)
    if runs is None:
        raise ValueError(f"power {power!r} is out of reach at min_effect {min_effect!r}, base_runs {base_runs!r}")
    return runs


@lru_cache(maxsize=1024)
def _runs_for_power(
    base_rate: float, drop: float, alpha: float, power: float, base_runs: int | None, test: Test
) -> int | None:
    head_rate = max(0.0, base_rate - drop)

    def arms(runs: int) -> tuple[int, int]:
        return (runs if base_runs is None else base_runs), runs

    def enough_at_best(runs: int) -> bool:
        n1, n2 = arms(runs)
        shared = (base_rate + head_rate) / 2
        return most_powerful(n1, n2, (shared, shared), (base_rate, head_rate), alpha) >= power

    def enough(runs: int) -> bool:
        return exact_power(*arms(runs), base_rate, head_rate, alpha=alpha, test=test) >= power

    most = MAX_PLANNED_RUNS if base_runs is None else max(MAX_PLANNED_RUNS // 50, FAR_MORE_RUNS * base_runs)
    if base_runs is not None and not enough(most):
        return None
    return _fewest(enough, enough_at_best, most)


def about_runs_for_power(
    base_rate: float, min_effect: float, *, alpha: float, power: float, max_runs: int
) -> int | None:
    """What `runs_for_power` says for two arms alike, at once: exact up to 200 runs, None above `max_runs`.

    In between a round number, a few percent above the fewest.
    """
    check_rate("base_rate", base_rate)
    check_level("min_effect", min_effect)
    if min_effect > base_rate:
        raise ValueError(f"min_effect must not exceed base_rate ({base_rate}), got {min_effect!r}")
    check_level("alpha", alpha)
    check_level("power", power)
    check_count("max_runs", max_runs, at_least=1)
    return None if alpha <= GAMMA else _about_runs_for_power(base_rate, min_effect, alpha, power, max_runs)


@lru_cache(maxsize=1024)
def _about_runs_for_power(base_rate: float, drop: float, alpha: float, power: float, max_runs: int) -> int | None:
    head_rate = max(0.0, base_rate - drop)
    shared = (base_rate + head_rate) / 2

    def enough_at_best(runs: int) -> bool:
        return most_powerful(runs, runs, (shared, shared), (base_rate, head_rate), alpha) >= power

    first = _first_possible(enough_at_best, max_runs)
    if first is None:
        return None
    for runs in range(first, min(CERTIFIED_RUNS, max_runs) + 1):
        if exact_power(runs, runs, base_rate, head_rate, alpha=alpha) >= power:
            return runs
    return _rounded(max(first, CERTIFIED_RUNS), max_runs)


def _rounded(runs: int, max_runs: int) -> int | None:
    """A few percent more runs, as a round number; None if too many."""
    rounded = math.ceil(runs * 1.05 / 10) * 10
    return rounded if rounded <= max_runs else None


def smallest_visible_drop(
    base_passes: int, base_runs: int, head_runs: int, *, alpha: float, power: float, test: Test = "unconditional"
) -> float | None:
    """Smallest drop from the base's observed rate that `head_runs` runs call a regression with probability `power`.

    None if not even a head that never passes would be called one that often. Precise to 1e-6, from above.
    """
    check_passes("base_passes", base_passes, "base_runs", base_runs)
    check_count("head_runs", head_runs, at_least=1)
    check_level("alpha", alpha)
    check_level("power", power)
    rate = base_passes / base_runs
    boundary = np.array(rejection_boundary(base_runs, head_runs, alpha=alpha, test=test), dtype=np.int64)

    def seen(drop: float) -> bool:
        return region_probability(boundary, head_runs, rate, max(0.0, rate - drop)) >= power

    if not seen(rate):
        return None
    low, high = 0.0, rate
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def runs_to_settle(
    base_passes: int,
    base_runs: int,
    head_passes: int,
    head_runs: int,
    *,
    alpha: float,
    min_effect: float,
    power: float,
    max_runs: int,
) -> int | None:
    """Fewest runs per arm with which an unchanged agent would PASS with probability `power`, None above `max_runs`.

    Unchanged means that both arms have the pooled rate observed here. PASS means that a drop of `min_effect` is ruled
    out at level 1 - `power` and that no regression is called at `alpha`. All runs are fresh, none of the old ones kept.
    Exact up to 200; above that a round number a few percent above the fewest, since power has teeth wider than that.
    """
    check_table(base_passes, base_runs, head_passes, head_runs)
    check_level("alpha", alpha)
    check_level("min_effect", min_effect)
    check_level("power", power)
    check_count("max_runs", max_runs, at_least=1)
    rate = (base_passes + head_passes) / (base_runs + head_runs)
    return _runs_to_settle(rate, float(alpha), float(min_effect), float(power), int(max_runs))


@lru_cache(maxsize=4096)
def _runs_to_settle(rate: float, alpha: float, drop: float, power: float, max_runs: int) -> int | None:
    base_rate = min(1.0, max(rate + drop / 2, drop))
    null = (base_rate, max(0.0, base_rate - drop))

    def enough_at_best(runs: int) -> bool:
        return most_powerful(runs, runs, null, (rate, rate), 1 - power) >= power

    def may_be_enough(runs: int) -> bool:
        return pass_bound(runs, rate, drop, 1 - power) >= power

    def enough(runs: int) -> bool:
        return may_be_enough(runs) and _passes(runs, rate, alpha, drop, power)

    first = _first_possible(enough_at_best, max_runs)
    if first is None:
        return None
    fewest = next((runs for runs in range(first, min(CERTIFIED_RUNS, max_runs) + 1) if enough(runs)), None)
    if fewest is not None:
        return fewest
    runs = max(first, CERTIFIED_RUNS + 1)
    while runs <= max_runs and not may_be_enough(runs):
        runs += max(1, runs // 100)
    return _rounded(runs, max_runs)


def _passes(runs: int, rate: float, alpha: float, drop: float, power: float) -> bool:
    """Whether an unchanged agent of this rate passes that often; the costlier boundary only if the other allows it."""
    passing = np.array(noninferiority_boundary(runs, runs, min_effect=drop, beta=1 - power), dtype=np.int64)
    if 1 - region_probability(passing - 1, runs, rate, rate) < power:
        return False
    return pass_probability(runs, runs, rate, rate, alpha=alpha, min_effect=drop, beta=1 - power) >= power


def pass_probability(
    base_runs: int,
    head_runs: int,
    base_rate: float,
    head_rate: float,
    *,
    alpha: float,
    min_effect: float,
    beta: float,
) -> float:
    """Probability that a comparison says PASS (drop of `min_effect` ruled out, no regression called) at these rates."""
    check_rate("base_rate", base_rate)
    check_rate("head_rate", head_rate)
    failing = np.array(rejection_boundary(base_runs, head_runs, alpha=alpha), dtype=np.int64)
    passing = np.array(noninferiority_boundary(base_runs, head_runs, min_effect=min_effect, beta=beta), dtype=np.int64)
    below = np.maximum(failing, passing - 1)
    return 1 - region_probability(below, head_runs, base_rate, head_rate)


def most_powerful(
    base_runs: int, head_runs: int, null: tuple[float, float], rates: tuple[float, float], level: float
) -> float:
    """Power at `rates` of the best test there is, at `level`, of the one pair of rates `null` (Neyman-Pearson).

    No test that keeps `level` at `null` has more power, so it tells from which number of runs on a search can start.
    """
    null_base, null_head = binomial_pmf(base_runs, null[0]), binomial_pmf(head_runs, null[1])
    base, head = binomial_pmf(base_runs, rates[0]), binomial_pmf(head_runs, rates[1])
    base_kept, head_kept = base > 1e-12, head > 1e-12
    chance = np.multiply.outer(base[base_kept], head[head_kept]).ravel()
    cost = np.multiply.outer(null_base[base_kept], null_head[head_kept]).ravel()
    order = np.argsort(cost / chance)
    spent = np.cumsum(cost[order])
    affordable = int(np.searchsorted(spent, level, side="right"))
    gained = float(chance[order[:affordable]].sum())
    if affordable < len(order):
        before = spent[affordable - 1] if affordable else 0.0
        gained += float(chance[order[affordable]] * (level - before) / cost[order[affordable]])
    return min(1.0, gained + 1e-9)


def _fewest(enough: Callable[[int], bool], enough_at_best: Callable[[int], bool], limit: int) -> int | None:
    """Fewest runs that are enough, given a condition that holds for all of them and is monotone; None above `limit`."""
    first = _first_possible(enough_at_best, limit)
    return None if first is None else next((runs for runs in range(first, limit + 1) if enough(runs)), None)


def _first_possible(condition: Callable[[int], bool], limit: int) -> int | None:
    """Fewest runs that meet a monotone condition; None above `limit`."""
    low, high = 0, 1
    while not condition(high):
        if high >= limit:
            return None
        low, high = high, min(2 * high, limit)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high
