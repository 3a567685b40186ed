"""Which tables are more extreme than which: three orderings, each as the boundary of the tables beyond a level.

A boundary holds, for each number of base passes, the head passes up to which (or, for non-inferiority, from which) a
table is at least as extreme; it never falls as the base passes more. Ties are kept together within a relative 1e-9.
"""

import math
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import islice

import numpy as np
from scipy.special import gammaln, xlogy

from gate.stats.cells import Floats, Ints

TIE = 1e-9
SCORES_KEPT = 2**15


class LikelihoodRatio:
    """Order by the signed root of the likelihood ratio of "two rates" against "one rate"; here squared, sign kept.

    Large where head is worse than base. Monotone in each arm: its derivative in base passes is half the difference
    between the logits of the base's rate and of the common rate, and likewise for the head.
    """

    def __init__(self, base_runs: int, head_runs: int) -> None:
        self.base_runs, self.head_runs = base_runs, head_runs
        self._base = _entropy(base_runs)
        self._head = _entropy(head_runs)
        self._both = _entropy(base_runs + head_runs)
        self._arrays = np.array(self._base), np.array(self._head), np.array(self._both)

    def level(self, base_passes: int, head_passes: int) -> float:
        """The statistic of one table."""
        side = base_passes * self.head_runs - head_passes * self.base_runs
        if side == 0:
            return 0.0
        ratio = self._base[base_passes] + self._head[head_passes] - self._both[base_passes + head_passes]
        return max(ratio, 0.0) * (2 if side > 0 else -2)

    def levels(self, base_passes: Ints, head_passes: Ints) -> Floats:
        """The statistics of many tables."""
        base, head, both = self._arrays
        ratio = base[base_passes] + head[head_passes] - both[base_passes + head_passes]
        side = np.sign(base_passes * self.head_runs - head_passes * self.base_runs)
        values: Floats = 2 * side * np.maximum(ratio, 0)
        return values

    def boundary(self, level: float) -> Ints:
        """Per base passes: most head passes with a statistic of at least `level`, -1 if none."""
        limit = (level - TIE * abs(level) - 1e-12) / 2
        base_terms, head_terms, both_terms = self._base, self._head, self._both
        n1, n2 = self.base_runs, self.head_runs
        result, head = [], 0  # head: fewest head passes not known to belong
        for base in range(n1 + 1):
            known = base_terms[base]
            while head <= n2:
                worse = base * n2 - head * n1
                if worse > 0:
                    inside = known + head_terms[head] - both_terms[base + head] >= limit
                else:
                    inside = limit <= 0 and (worse == 0 or known + head_terms[head] - both_terms[base + head] <= -limit)
                if not inside:
                    break
                head += 1
            result.append(head - 1)
        return np.array(result, dtype=np.int64)


class Score:
    """Order by the Farrington-Manning score of "the drop is exactly `drop`": small where the data rule the drop out."""

    def __init__(self, base_runs: int, head_runs: int, drop: float) -> None:
        self.base_runs, self.head_runs, self.drop = base_runs, head_runs, drop

    @cached_property
    def _scores(self) -> Floats | None:
        """The scores of all tables where the arms are small enough that looking them up pays, else None."""
        if (self.base_runs + 1) * (self.head_runs + 1) > SCORES_KEPT:
            return None
        return self.statistic(np.arange(self.base_runs + 1)[:, None], np.arange(self.head_runs + 1))

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

    def boundary(self, level: float, least: Ints | None = None, most: Ints | None = None) -> Ints:
        """Per base passes: most head passes with a statistic above `level` (tables that do not pass), -1 if none.

        `least` and `most`, where known, are boundaries of a higher and of a lower level.
        """
        limit = level + TIE * abs(level) + 1e-12
        if self._scores is not None:
            failing: Ints = (self._scores > limit).sum(axis=1) - 1
            return failing
        base = np.arange(self.base_runs + 1)
        low = np.full(self.base_runs + 1, -1, dtype=np.int64) if least is None else least
        high = np.full(self.base_runs + 1, self.head_runs, dtype=np.int64) if most is None else most
        while (open_ := np.flatnonzero(low < high)).size:
            middle = (low[open_] + high[open_] + 1) >> 1
            above = self.statistic(base[open_], middle) > limit
            low, high = low.copy(), high.copy()
            low[open_] = np.where(above, middle, low[open_])
            high[open_] = np.where(above, high[open_], middle - 1)
        return low


class Fisher:
    """Order by the one-sided level of Fisher's exact test."""

    def __init__(self, base_runs: int, head_runs: int) -> None:
        self.base_runs, self.head_runs = base_runs, head_runs
        self._log_base = _log_choose(base_runs)
        self._log_head = _log_choose(head_runs)
        self._log_both = _log_choose(base_runs + head_runs)

    def _point(self, base_passes: int, head_passes: int) -> float:
        """Probability of this table given its margin."""
        log_ways = self._log_base[base_passes] + self._log_head[head_passes]
        return math.exp(log_ways - self._log_both[base_passes + head_passes])

    def level(self, base_passes: int, head_passes: int) -> float:
        """P(head passes this few or fewer | margin), correctly rounded."""
        total = base_passes + head_passes
        tail = islice(
            tail_ways(self.base_runs, self.head_runs, total), head_passes - max(0, total - self.base_runs), None
        )
        return next(tail) / math.comb(self.base_runs + self.head_runs, total)

    def _one_more_pass(self, base_passes: int, head_passes: int) -> float:
        """level(base, head) - level(base + 1, head): the last of the margin's passes falling on the head's next run."""
        left = self.base_runs + self.head_runs - base_passes - head_passes
        return self._point(base_passes, head_passes) * (self.head_runs - head_passes) / left

    def boundary(self, level: float) -> Ints:
        """Per base passes: most head passes with a level of at most `level`, -1 if none."""
        return self.boundary_and_next(level)[0]

    def boundary_and_next(self, level: float) -> tuple[Ints, float]:
        """The boundary, and the smallest level that any table beyond it has (2 if there is none).

        Walks the staircase once, from where all base runs pass. Levels on it stay near `level`, so the steps, each one
        term of a hypergeometric law, lose no accuracy.
        """
        limit = level * (1 + TIE)
        result = np.full(self.base_runs + 1, -1, dtype=np.int64)
        beyond = 2.0
        base, head = self.base_runs, 0
        current = self._point(base, 0)  # with all base runs passing, one table is the whole tail
        if current > limit:
            return result, current
        while head < self.head_runs:
            following = self._point(base, head + 1)
            if following > limit:
                beyond = following
                break
            head, current = head + 1, following
        result[base] = head
        while base > 0:
            base -= 1
            current += self._one_more_pass(base, head)
            while current > limit:
                beyond = min(beyond, current)
                if head == 0:
                    return result, beyond
                current += self._one_more_pass(base, head - 1) - self._point(base, head)
                head -= 1
            result[base] = head
        return result, beyond


@lru_cache(maxsize=16)
def score(base_runs: int, head_runs: int, drop: float) -> Score:
    """The ordering for two arms and a drop, built once."""
    return Score(base_runs, head_runs, drop)


@lru_cache(maxsize=16)
def fisher(base_runs: int, head_runs: int) -> Fisher:
    """The ordering for two arms, built once."""
    return Fisher(base_runs, head_runs)


def _entropy(runs: int) -> list[float]:
    """k log(k/n) + (n - k) log((n - k)/n) for k = 0..n: the largest log likelihood of k passes."""
    passes = np.arange(runs + 1.0)
    values: list[float] = (xlogy(passes, passes / runs) + xlogy(runs - passes, (runs - passes) / runs)).tolist()
    return values


def tail_ways(base_runs: int, head_runs: int, total: int) -> Iterator[int]:
    """In how many ways `total` passes fall on the runs with head passing k or fewer, for each possible k upwards."""
    head = max(0, total - base_runs)
    term = math.comb(base_runs, total - head) * math.comb(head_runs, head)
    ways = term
    yield ways
    for k in range(head, min(total, head_runs)):
        term = term * ((total - k) * (head_runs - k)) // ((k + 1) * (base_runs - total + k + 1))
        ways += term
        yield ways


def _log_choose(runs: int) -> list[float]:
    """log of C(runs, k) for k = 0..runs."""
    count = np.arange(runs + 1.0)
    values: list[float] = (gammaln(runs + 1.0) - gammaln(count + 1) - gammaln(runs - count + 1)).tolist()
    return values


def _restricted_base_rate(base_rate: Floats, head_rate: Floats, ratio: float, drop: float) -> Floats:
    """Most likely base rate if the head's is lower by `drop`. Farrington and Manning (1990), Stat. Med. 9:1447."""
    a = 1 + ratio
    b = -(1 + ratio + base_rate + ratio * head_rate + drop * (ratio + 2))
    c = drop * drop + drop * (2 * base_rate + ratio + 1) + base_rate + ratio * head_rate
    d = -base_rate * drop * (1 + drop)
    v = (b / (3 * a)) ** 3 - b * c / (6 * a * a) + d / (2 * a)
    u = np.copysign(np.sqrt(np.maximum((b / (3 * a)) ** 2 - c / (3 * a), 1e-300)), v)
    cosine = np.divide(v, u**3, out=np.zeros_like(v), where=u**3 != 0)
    angle = (math.pi + np.arccos(np.clip(cosine, -1, 1))) / 3
    rate: Floats = np.clip(2 * u * np.cos(angle) - b / (3 * a), drop, 1)
    for _ in range(2):  # arccos loses half the digits near its ends: polish
        value = ((a * rate + b) * rate + c) * rate + d
        slope = (3 * a * rate + 2 * b) * rate + c
        step = np.where(np.abs(slope) > 1e-9, value / np.where(slope == 0, 1, slope), 0)
        rate = np.clip(rate - step, drop, 1)
    return rate
