"""One rate: the Wilson score interval, what it says about a threshold, and how many runs it takes to say it."""

import math
from statistics import NormalDist
from typing import Literal, NamedTuple

from gate.stats.checks import check_count, check_level, check_passes, check_rate


class Interval(NamedTuple):
    """Two ends of a confidence interval for a rate."""

    low: float
    high: float


def wilson_interval(passes: int, runs: int, confidence: float = 0.95) -> Interval:
    """Two-sided Wilson score interval of the pass rate behind `passes` of `runs`.

    All-fail starts at exactly 0 and all-pass ends at exactly 1. Wilson (1927), JASA 22:209.
    """
    check_passes("passes", passes, "runs", runs)
    check_level("confidence", confidence)
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    failures = runs - passes
    middle = passes + z2 / 2
    half = math.sqrt(z2 * (passes * (failures / runs) + z2 / 4))
    low = 0.0 if passes == 0 else max(0.0, (middle - half) / (runs + z2))
    high = 1.0 if failures == 0 else min(1.0, (middle + half) / (runs + z2))
    return Interval(low, high)


def threshold_verdict(
    passes: int, runs: int, threshold: float, confidence: float = 0.95
) -> Literal["pass", "fail", "inconclusive"]:
    """Whether the Wilson interval lies at or above `threshold`, below it, or contains it.

    One failure refutes a threshold of 1; no number of passes proves it, so all runs passing is inconclusive.
    """
    check_rate("threshold", threshold)
    interval = wilson_interval(passes, runs, confidence)
    if threshold == 1 and passes < runs:
        return "fail"
    if interval.low >= threshold:
        return "pass"
    return "fail" if interval.high < threshold else "inconclusive"


def runs_needed(threshold: float, confidence: float = 0.95) -> int:
    """Fewest runs that, all passing, put the lower end of the Wilson interval at `threshold` or above.

    `threshold` lies in [0, 1): no number of runs proves a rate of 1, so 1 raises ValueError.
    """
    check_rate("threshold", threshold)
    check_level("confidence", confidence)
    if threshold == 1:
        raise ValueError(f"threshold must be below 1, got {threshold!r}: no number of runs proves a rate of 1")
    z2 = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
    runs = max(1, math.ceil(z2 * threshold / (1 - threshold)))  # low end of n/n is n / (n + z2)
    while runs > 1 and wilson_interval(runs - 1, runs - 1, confidence).low >= threshold:
        runs -= 1
    while wilson_interval(runs, runs, confidence).low < threshold:
        runs += 1
    return runs


def zero_failure_bound(runs: int, confidence: float = 0.95) -> float:
    """Upper bound of the failure rate after `runs` runs without a failure: 1 - (1 - confidence)^(1/runs)."""
    check_count("runs", runs, at_least=1)
    check_level("confidence", confidence)
    return -math.expm1(math.log1p(-confidence) / runs)
