"""The largest probability of a set of tables over all rates, as a certified upper bound.

A set is given as a boundary: for each number of base passes, the head passes up to which a table belongs to it. The
rates, p for the head and p + drop for the base, are cut into cells. On each the probability is written as its Taylor
polynomial around the middle m plus a rest. With h = p - m and z = h * sqrt(n1/(p1 q1) + n2/(p2 q2)), the
derivatives of a product of two binomial laws are orthogonal (Krawtchouk) polynomials under that law, so by
Cauchy-Schwarz the rest after degree K is at most sqrt(g (1 - g) * sum over m > K of z^(2m) / m!), g = probability at m.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DEGREE = 10
HALF_WIDTH = 0.4  # of a cell, in units of z: with DEGREE 10 the rest stays under 4e-9
WINDOW_EXPONENT = 70.0  # mass left outside a window <= 2 exp(-70) per arm, by Bernstein's inequality
ROUNDING = 1e-15  # per log-factorial of all runs: what floating point may lose, relative to a probability's root

_ORDERS = np.arange(DEGREE + 1)
_DIAGONALS = (np.add.outer(_ORDERS, _ORDERS).ravel()[:, None] == _ORDERS).astype(np.float64)
_BINOMIALS = np.array([[math.comb(i, j) for j in _ORDERS] for i in _ORDERS], dtype=np.float64)
_LAG = np.maximum(np.subtract.outer(_ORDERS, _ORDERS), 0)
PARTS = 8  # pieces a Bernstein polynomial is split into at each step of the search for its maximum
TINY = 1e-16
COMPLEMENT_ROUNDING = 1e-14
DECIMALS = 1e12  # p-values are rounded up there, so that one table has one p-value however it was reached
PRECISION = 1e-9  # of that search, relative


def _affine(start: float, stop: float) -> Floats:
    """Maps coefficients of u^j into coefficients of v^j, where u runs from `start` to `stop` as v runs from -1 to 1."""
    middle, half = (start + stop) / 2, (stop - start) / 2
    matrix: Floats = _BINOMIALS * middle**_LAG * half**_ORDERS
    return matrix


def _to_bernstein() -> Floats:
    """Maps coefficients of u^j on [-1, 1] to Bernstein coefficients, which bound the polynomial and meet its ends."""
    unit = _affine(-3, 1)  # u = 2t - 1 with t on [0, 1]
    weights = np.where(_ORDERS[:, None] <= _ORDERS, _BINOMIALS.T / _BINOMIALS[-1][:, None], 0)
    matrix: Floats = unit @ weights
    return matrix


_BERNSTEIN = _to_bernstein()
_UNBERNSTEIN = np.linalg.inv(_BERNSTEIN)
_SPLIT = np.concatenate(
    [_UNBERNSTEIN @ _affine(-1 + 2 * i / PARTS, -1 + 2 * (i + 1) / PARTS) @ _BERNSTEIN for i in range(PARTS)], axis=1
)


@dataclass(frozen=True)
class Polynomials:
    """Per cell, an upper bound of the probability of a set of tables: coefficients in u, -1..1 across the cell."""

    coefficients: Floats

    def upper_bounds(self) -> Floats:
        """A quick upper bound on each cell."""
        bounds: Floats = (self.coefficients @ _BERNSTEIN).max(axis=1)
        return bounds

    def largest(self, decide_at: float | None = None) -> float:
        """The largest value on any cell, at most one part in 1e9 too high.

        If `decide_at` is given, only on which side of it that value lies.
        """
        pieces = self.coefficients @ _BERNSTEIN
        reached = 0.0
        while True:
            ends = pieces[:, ::DEGREE]
            reached = max(reached, float(ends.max()))
            tops = pieces.max(axis=1)
            top = float(tops.max())
            if decide_at is not None and (reached > decide_at or top <= decide_at):
                return min(1.0, max(reached, top))
            enough = reached * (1 + PRECISION) + TINY
            if top <= enough:
                return min(1.0, enough)
            pieces = (pieces[tops > enough] @ _SPLIT).reshape(-1, DEGREE + 1)


class RateCells:
    """The rates p in [0, 1 - drop] of the head, cut into cells, with what the laws of both arms need on each."""

    def __init__(self, base_runs: int, head_runs: int, drop: float) -> None:
        self.drop = drop
        self.edges = _cell_edges(base_runs, head_runs, drop)
        self.middle = (self.edges[:-1] + self.edges[1:]) / 2
        self.half = (self.edges[1:] - self.edges[:-1]) / 2
        base_rate, head_rate = self.middle + drop, self.middle
        information = base_runs / (base_rate * (1 - base_rate)) + head_runs / (head_rate * (1 - head_rate))
        z2 = self.half**2 * information
        tail = z2 ** (DEGREE + 1) / math.factorial(DEGREE + 1) / (1 - z2 / (DEGREE + 2))
        self._rest_per_deviation = np.sqrt(tail) + ROUNDING * float(gammaln(base_runs + head_runs + 1.0))
        self._base_first, self._base = _taylor_window(base_runs, base_rate, self.half)
        if drop == 0 and base_runs == head_runs:
            self._head_first, head = self._base_first, self._base
        else:
            self._head_first, head = _taylor_window(head_runs, head_rate, self.half)
        cells, _, width = head.shape
        sums = np.zeros((cells, width + 1, DEGREE + 1))  # counts before degrees, so that one count's row is one copy
        np.cumsum(head.transpose(0, 2, 1), axis=1, out=sums[:, 1:])
        self._sums = sums.reshape(-1, DEGREE + 1)
        self._columns = self._base_first[:, None] + np.arange(self._base.shape[2])
        self._rows = np.arange(cells)[:, None] * (width + 1)
        self._width = width
        cut = self._base.shape[2] <= base_runs or width <= head_runs
        self._extra_rest = TINY + (4 * math.exp(-WINDOW_EXPONENT / 2) if cut else 0.0)
        self.largest_rest = float(self._rest_per_deviation.max()) / 2 + self._extra_rest

    def __len__(self) -> int:
        return len(self.middle)

    def polynomials(
        self, boundary: Ints, first: int = 0, last: int | None = None, *, above: bool = False
    ) -> Polynomials:
        """Probability of head passes up to (or `above`) boundary[base passes], on the cells first..last (exclusive)."""
        part = slice(first, last)
        index = boundary[self._columns[part]] - (self._head_first[part, None] - 1)
        np.maximum(index, 0, out=index)
        np.minimum(index, self._width, out=index)
        index += self._rows[part]
        products = self._base[part] @ self._sums[index]
        coefficients = products.reshape(len(products), -1) @ _DIAGONALS
        if above:
            coefficients = -coefficients
            coefficients[:, 0] += 1 + COMPLEMENT_ROUNDING
        centre = np.minimum(np.maximum(coefficients[:, 0], 0), 1)
        coefficients[:, 0] += np.sqrt(centre * (1 - centre)) * self._rest_per_deviation[part] + self._extra_rest
        return Polynomials(coefficients)

    def within(self, polynomials: Polynomials, low: float, high: float, first: int) -> Polynomials:
        """The same polynomials, whose first cell is number `first`, on no other rates than [low, high]."""
        coefficients = polynomials.coefficients.copy()
        for cell in {0, len(coefficients) - 1}:
            middle, half = self.middle[first + cell], self.half[first + cell]
            start, stop = max(-1.0, (low - middle) / half), min(1.0, (high - middle) / half)
            if start > -1 or stop < 1:
                coefficients[cell] = coefficients[cell] @ _affine(start, max(start, stop))
        return Polynomials(coefficients)

    def covering(self, low: Floats, high: Floats) -> tuple[Ints, Ints]:
        """First cell and one past the last cell that together contain the rates [low, high]."""
        first = np.clip(np.searchsorted(self.edges, low, side="right") - 1, 0, len(self) - 1)
        last = np.clip(np.searchsorted(self.edges, high, side="left"), first + 1, len(self))
        return first, last


@lru_cache(maxsize=16)
def rate_cells(base_runs: int, head_runs: int, drop: float = 0.0) -> RateCells:
    """The cells for two arms, built once per pair of run counts."""
    return RateCells(base_runs, head_runs, drop)


def largest_probability(base_runs: int, head_runs: int, boundary: Ints, decide_at: float | None = None) -> float:
    """Upper bound, over all rates the two arms may share, of P(head passes <= boundary[base passes])."""
    return rate_cells(base_runs, head_runs).polynomials(boundary).largest(decide_at)


def _cell_edges(base_runs: int, head_runs: int, drop: float) -> Floats:
    """Edges of cells of about equal width in z, from 0 to 1 - drop."""
    angle = np.linspace(0, math.pi, 4001)
    middle = (angle[1:] + angle[:-1]) / 2
    span = 1 - drop
    head_rate = span * np.sin(middle / 2) ** 2
    base_fail = span * np.cos(middle / 2) ** 2
    information = base_runs / ((head_rate + drop) * base_fail) + head_runs / (head_rate * (base_fail + drop))
    speed = np.sqrt(information) * span * np.sin(middle) / 2
    distance = np.concatenate([[0.0], np.cumsum(speed) * (angle[1] - angle[0])])
    count = max(2, math.ceil(distance[-1] / (2 * HALF_WIDTH)))
    inner = np.interp(np.linspace(0, distance[-1], count + 1)[1:-1], distance, angle)
    edges: Floats = np.concatenate([[0.0], span * np.sin(inner / 2) ** 2, [span]])
    return edges


def _taylor_window(runs: int, rate: Floats, half: Floats) -> tuple[Ints, Floats]:
    """Per cell, the first count of a window that holds nearly all of the binomial law, and the Taylor terms there.

    The terms are half^j / j! * d^j/dp^j of each count's probability for j = 0..DEGREE: cells x degrees x counts. They
    obey the recurrence of the Krawtchouk polynomials.
    """
    variance = runs * rate * (1 - rate)
    radius = np.ceil(WINDOW_EXPONENT / 3 + np.sqrt((WINDOW_EXPONENT / 3) ** 2 + 2 * WINDOW_EXPONENT * variance))
    width = min(runs + 1, 2 * int(radius.max()) + 2)
    first = np.clip(np.floor(runs * rate - radius), 0, runs + 1 - width).astype(np.int64)
    count = first[:, None] + np.arange(width)
    log_factorial = gammaln(np.arange(runs + 1) + 1.0)
    p, q, h = rate[:, None], 1 - rate[:, None], half[:, None]
    log_pmf = log_factorial[-1] - log_factorial[count] - log_factorial[runs - count]
    result = np.empty((len(rate), DEGREE + 1, width))
    result[:, 0] = np.exp(log_pmf + count * np.log(p) + (runs - count) * np.log1p(-p))
    slope = h * (count / p - (runs - count) / q)
    result[:, 1] = slope * result[:, 0]
    for j in range(1, DEGREE):
        shift = j * h * (1 / p - 1 / q)
        result[:, j + 1] = (slope - shift) * result[:, j] - (runs - j + 1) * (h * h / (p * q)) * result[:, j - 1]
        result[:, j + 1] /= j + 1
    return first, result


def rounded_up(p: float) -> float:
    """`p` as it is reported."""
    return min(1.0, math.ceil(p * DECIMALS) / DECIMALS)


def binomial_pmf(runs: int, rate: float) -> Floats:
    """Probabilities of 0..runs passes at this rate."""
    count = np.arange(runs + 1)
    if rate in (0, 1):
        certain: Floats = (count == runs * rate).astype(np.float64)
        return certain
    log_pmf = gammaln(runs + 1.0) - gammaln(count + 1.0) - gammaln(runs - count + 1.0)
    pmf: Floats = np.exp(log_pmf + count * math.log(rate) + (runs - count) * math.log1p(-rate))
    return pmf


def region_probability(boundary: Ints, head_runs: int, base_rate: float, head_rate: float) -> float:
    """P(head passes <= boundary[base passes]) at one pair of rates, an exact sum."""
    base = binomial_pmf(len(boundary) - 1, base_rate)
    head = np.concatenate([[0.0], np.cumsum(binomial_pmf(head_runs, head_rate))])
    return min(1.0, max(0.0, float(base @ head[boundary + 1])))
