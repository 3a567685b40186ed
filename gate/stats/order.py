"""Which tables are more extreme than which: three orderings, each as the boundary of the tables beyond a level.

A boundary holds, for each number of base passes, the head passes up to which (or, for non-inferiority, from which) a
table is at least as extreme; it never falls as the base passes more. Ties are kept together within a relative 1e-9.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from gate.stats.cells import Floats, Ints

TIE = 1e-9


class LikelihoodRatio:
    """Order by the signed root of the likelihood ratio of "two rates" against "one rate"; here squared, sign kept.

    Monotone in each arm: the derivative in base passes is logit(base rate) - logit(common rate).
    """

    def __init__(self, base_runs: int, head_runs: int) -> None:
        self.base_runs, self.head_runs = base_runs, head_runs
        self._base = _entropy(base_runs)
        self._head = _entropy(head_runs)
        self._both = _entropy(base_runs + head_runs)

    def statistic(self, base_passes: Ints, head_passes: Ints) -> Floats:
        """Large where head is worse than base."""
        ratio = self._base[base_passes] + self._head[head_passes] - self._both[base_passes + head_passes]
        side = np.sign(base_passes * self.head_runs - head_passes * self.base_runs)
        signed: Floats = 2 * side * np.maximum(ratio, 0)
        return signed

    def level(self, base_passes: int, head_passes: int) -> float:
        """The statistic of one table."""
        return float(self.statistic(np.array([base_passes]), np.array([head_passes]))[0])

    def boundary(self, level: float) -> Ints:
        """Per base passes: most head passes with a statistic of at least `level`, -1 if none."""
        base = np.arange(self.base_runs + 1)
        limit = level - TIE * abs(level) - 1e-12
        return _last_true(self.base_runs, self.head_runs, lambda head: self.statistic(base, head) >= limit)


class Score:
    """Order by the Farrington-Manning score of "the drop is exactly `drop`": small where the data rule the drop out."""

    def __init__(self, base_runs: int, head_runs: int, drop: float) -> None:
        self.base_runs, self.head_runs, self.drop = base_runs, head_runs, drop

    def statistic(self, base_passes: Ints, head_passes: Ints) -> Floats:
        """Observed drop minus `drop`, over its standard error at the most likely rates that differ by `drop`."""
        n1, n2, drop = self.base_runs, self.head_runs, self.drop
        p1, p2 = base_passes / n1, head_passes / n2
        base_rate = _restricted_base_rate(p1, p2, n2 / n1, drop)
        head_rate = base_rate - drop
        variance = base_rate * (1 - base_rate) / n1 + head_rate * (1 - head_rate) / n2
        score: Floats = (p1 - p2 - drop) / np.sqrt(variance)
        return score

    def level(self, base_passes: int, head_passes: int) -> float:
        """The statistic of one table."""
        return float(self.statistic(np.array([base_passes]), np.array([head_passes]))[0])

    def boundary(self, level: float) -> Ints:
        """Per base passes: most head passes with a statistic above `level` (the tables that do not pass), -1 if none."""
        base = np.arange(self.base_runs + 1)
        limit = level + TIE * abs(level) + 1e-12
        return _last_true(self.base_runs, self.head_runs, lambda head: self.statistic(base, head) > limit)


class Fisher:
    """Order by the one-sided level of Fisher's exact test."""

    def __init__(self, base_runs: int, head_runs: int) -> None:
        self.base_runs, self.head_runs = base_runs, head_runs
        self._log_base = log_choose(base_runs)
        self._log_head = log_choose(head_runs)
        self._log_both = log_choose(base_runs + head_runs)

    def _point(self, base_passes: int, head_passes: int) -> float:
        """Probability of this table given its margin."""
        log_ways = self._log_base[base_passes] + self._log_head[head_passes]
        return math.exp(log_ways - self._log_both[base_passes + head_passes])

    def level(self, base_passes: int, head_passes: int) -> float:
        """P(head passes this few or fewer | margin)."""
        total = base_passes + head_passes
        least = max(0, total - self.base_runs)
        return min(1.0, math.fsum(self._point(total - k, k) for k in range(least, head_passes + 1)))

    def _one_more_pass(self, base_passes: int, head_passes: int) -> float:
        """level(base, head) - level(base + 1, head): the last of the margin's passes falling on the head's next run."""
        left = self.base_runs + self.head_runs - base_passes - head_passes
        return self._point(base_passes, head_passes) * (self.head_runs - head_passes) / left

    def boundary(self, level: float) -> Ints:
        """Per base passes: most head passes with a level of at most `level`, -1 if none. Walks the staircase once."""
        limit = level * (1 + TIE)
        result = np.full(self.base_runs + 1, -1, dtype=np.int64)
        base, head = self.base_runs, 0
        current = self._point(base, 0)
        while (
            head < self.head_runs and self._point(base, head + 1) <= limit
        ):  # all base runs pass: one table is the tail
            head += 1
            current = self._point(base, head)
        if current > limit:
            return result
        result[base] = head
        while base > 0:
            base -= 1
            current += self._one_more_pass(base, head)
            while head >= 0 and current > limit:
                if head == 0:
                    return result
                # level(base, head - 1) from level(base, head): one pass less, and it was the head's
                current = current - self._point(base, head) + self._one_more_pass(base, head - 1)
                head -= 1
            result[base] = head
        return result


@lru_cache(maxsize=16)
def likelihood_ratio(base_runs: int, head_runs: int) -> LikelihoodRatio:
    """The ordering for two arms, built once."""
    return LikelihoodRatio(base_runs, head_runs)


@lru_cache(maxsize=16)
def fisher(base_runs: int, head_runs: int) -> Fisher:
    """The ordering for two arms, built once."""
    return Fisher(base_runs, head_runs)


def _last_true(base_runs: int, head_runs: int, holds: Callable[[Ints], NDArray[np.bool_]]) -> Ints:
    """Per base passes, the largest head passes for which `holds`, which is true up to some point; by bisection."""
    low = np.full(base_runs + 1, -1, dtype=np.int64)
    high = np.full(base_runs + 1, head_runs + 1, dtype=np.int64)
    for _ in range((head_runs + 1).bit_length()):
        middle = (low + high) >> 1
        true = (middle < 0) | holds(np.clip(middle, 0, head_runs))
        open_ = high - low > 1
        low = np.where(open_ & true, middle, low)
        high = np.where(open_ & ~true, middle, high)
    return low


def _entropy(runs: int) -> Floats:
    """k log(k/n) + (n - k) log((n - k)/n) for k = 0..n: the largest log likelihood of k passes."""
    passes = np.arange(runs + 1.0)
    value: Floats = xlogy(passes, passes / runs) + xlogy(runs - passes, (runs - passes) / runs)
    return value


@lru_cache(maxsize=64)
def log_choose(runs: int) -> list[float]:
    """log of C(runs, k) for k = 0..runs."""
    count = np.arange(runs + 1.0)
    values: list[float] = (gammaln(runs + 1.0) - gammaln(count + 1) - gammaln(runs - count + 1)).tolist()
    return values


def _restricted_base_rate(base_rate: Floats, head_rate: Floats, ratio: float, drop: float) -> Floats:
    """Most likely base rate given that the head's is lower by `drop`. Farrington and Manning (1990), Stat. Med. 9:1447."""
    a = 1 + ratio
    b = -(1 + ratio + base_rate + ratio * head_rate + drop * (ratio + 2))
    c = drop * drop + drop * (2 * base_rate + ratio + 1) + base_rate + ratio * head_rate
    d = -base_rate * drop * (1 + drop)
    v = (b / (3 * a)) ** 3 - b * c / (6 * a * a) + d / (2 * a)
    u = np.copysign(np.sqrt(np.maximum((b / (3 * a)) ** 2 - c / (3 * a), 1e-300)), v)
    angle = (math.pi + np.arccos(np.clip(v / u**3, -1, 1))) / 3
    rate = np.clip(2 * u * np.cos(angle) - b / (3 * a), drop, 1)
    for _ in range(2):  # arccos loses half the digits near its ends: polish
        value = ((a * rate + b) * rate + c) * rate + d
        slope = (3 * a * rate + 2 * b) * rate + c
        step = np.where(np.abs(slope) > 1e-9, value / np.where(slope == 0, 1, slope), 0)
        rate = np.clip(rate - step, drop, 1)
    return rate
