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
WINDOW_EXPONENT = 51.0  # mass left outside a window <= 2 exp(-51) per arm, by Bernstein's inequality
ROUNDING = 1e-12

_SUM_INDEX = np.add.outer(np.arange(DEGREE + 1), np.arange(DEGREE + 1)).ravel()
_DIAGONALS = (_SUM_INDEX[:, None] == np.arange(DEGREE + 1)).astype(np.float64)
_SAMPLES = np.linspace(-1, 1, 9)
_SAMPLE_POWERS = np.vander(_SAMPLES, DEGREE + 1, increasing=True).T.copy()


def _bernstein_matrix() -> Floats:
    """Maps coefficients of u^j on [-1, 1] to Bernstein coefficients, whose largest bounds the polynomial from above."""
    degree = DEGREE
    matrix = np.zeros((degree + 1, degree + 1))
    for power in range(degree + 1):  # u = 2t - 1, so u^j = sum over i of C(j,i) (2t)^i (-1)^(j-i)
        for i in range(power + 1):
            weight = math.comb(power, i) * 2.0**i * (-1.0) ** (power - i)
            for k in range(i, degree + 1):
                matrix[power, k] += weight * math.comb(k, i) / math.comb(degree, i)
    return matrix


_BERNSTEIN = _bernstein_matrix()


@dataclass(frozen=True)
class Polynomials:
    """Per cell, the probability of a set of tables: coefficients in u (-1..1 across the cell), and the largest rest."""

    coefficients: Floats
    rest: Floats

    def complement(self) -> "Polynomials":
        """The same for the tables outside the set."""
        coefficients = -self.coefficients
        coefficients[:, 0] += 1
        return Polynomials(coefficients, self.rest)

    def upper_bounds(self) -> Floats:
        """A quick upper bound on each whole cell."""
        bounds: Floats = (self.coefficients @ _BERNSTEIN).max(axis=1) + self.rest
        return bounds


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
        self._rest_per_deviation = np.sqrt(tail)
        self._base_first, self._base = _taylor_window(base_runs, base_rate, self.half)
        self._head_first, head = _taylor_window(head_runs, head_rate, self.half)
        self._head_sums = np.concatenate([np.zeros((*head.shape[:2], 1)), np.cumsum(head, axis=2)], axis=2)
        cut = self._base.shape[2] <= base_runs or head.shape[2] <= head_runs
        self._window_rest = 4 * math.exp(-WINDOW_EXPONENT / 2) if cut else 0.0

    def polynomials(self, boundary: Ints, first: int = 0, last: int | None = None) -> Polynomials:
        """Probability of {head passes <= boundary[base passes]} on the cells first..last (exclusive)."""
        part = slice(first, last)
        base, sums = self._base[part], self._head_sums[part]
        columns = self._base_first[part, None] + np.arange(base.shape[2])
        index = boundary[columns] - self._head_first[part, None] + 1
        np.clip(index, 0, sums.shape[2] - 1, out=index)
        gathered = np.take_along_axis(sums, index[:, None, :], axis=2)
        products = base @ gathered.transpose(0, 2, 1)
        coefficients = products.reshape(len(base), -1) @ _DIAGONALS
        centre = np.clip(coefficients[:, 0], 0, 1)
        rest = np.sqrt(centre * (1 - centre)) * self._rest_per_deviation[part] + self._window_rest + ROUNDING
        return Polynomials(coefficients, rest)

    def largest(self, polynomials: Polynomials, low: float = 0.0, high: float = 1.0, first: int = 0) -> float:
        """Upper bound of the probability over the head's rates in [low, high], which the cells given must cover."""
        coefficients = polynomials.coefficients
        part = slice(first, first + len(coefficients))
        middle, half = self.middle[part], self.half[part]
        start = np.clip((low - middle) / half, -1, 1)
        stop = np.clip((high - middle) / half, -1, 1)
        whole = (start == -1) & (stop == 1)
        values = coefficients @ _SAMPLE_POWERS
        reached = float(values[whole].max()) if whole.any() else 0.0
        for cell in np.flatnonzero(~whole):
            points = np.linspace(start[cell], stop[cell], len(_SAMPLES))
            reached = max(reached, float(np.polyval(coefficients[cell, ::-1], points).max()))
        bound = reached
        for cell in np.flatnonzero(polynomials.upper_bounds() > reached):
            top = _largest_on(coefficients[cell], float(start[cell]), float(stop[cell]))
            bound = max(bound, top + float(polynomials.rest[cell]))
        return min(1.0, bound)

    def covering(self, low: float, high: float) -> tuple[int, int]:
        """First cell and one past the last cell that together contain the rates [low, high]."""
        first = int(np.searchsorted(self.edges, low, side="right")) - 1
        last = int(np.searchsorted(self.edges, high, side="left"))
        first = min(max(first, 0), len(self.middle) - 1)
        return first, min(max(last, first + 1), len(self.middle))


@lru_cache(maxsize=16)
def rate_cells(base_runs: int, head_runs: int, drop: float = 0.0) -> RateCells:
    """The cells for two arms, built once per pair of run counts."""
    return RateCells(base_runs, head_runs, drop)


def largest_probability(base_runs: int, head_runs: int, boundary: Ints) -> float:
    """Upper bound, over all rates the two arms may share, of P(head passes <= boundary[base passes])."""
    cells = rate_cells(base_runs, head_runs)
    return cells.largest(cells.polynomials(boundary))


def _largest_on(coefficients: Floats, start: float, stop: float) -> float:
    """Largest value of a polynomial on [start, stop]: at an end or where the derivative vanishes."""
    descending = coefficients[::-1]
    points = np.array([start, stop])
    derivative = np.polyder(descending)
    derivative[np.abs(derivative) < 1e-300] = 0.0
    critical = np.clip(np.roots(derivative).real, start, stop)
    return float(np.polyval(descending, np.concatenate([points, critical])).max())


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
    """Per cell: first count of a window that holds all but 2 exp(-51) of the binomial law, and there its scaled Taylor
    coefficients half^j / j! * d^j/dp^j of the probability of each count, j = 0..DEGREE (cells x degrees x counts)."""
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


def binomial_pmf(runs: int, rate: float) -> Floats:
    """Probabilities of 0..runs passes at this rate."""
    count = np.arange(runs + 1)
    if rate in (0, 1):
        return (count == runs * rate).astype(np.float64)
    log_pmf = gammaln(runs + 1.0) - gammaln(count + 1.0) - gammaln(runs - count + 1.0)
    pmf: Floats = np.exp(log_pmf + count * math.log(rate) + (runs - count) * math.log1p(-rate))
    return pmf


def region_probability(boundary: Ints, head_runs: int, base_rate: float, head_rate: float) -> float:
    """P(head passes <= boundary[base passes]) at one pair of rates, an exact sum."""
    base = binomial_pmf(len(boundary) - 1, base_rate)
    head = np.concatenate([[0.0], np.cumsum(binomial_pmf(head_runs, head_rate))])
    return min(1.0, max(0.0, float(base @ head[boundary + 1])))
