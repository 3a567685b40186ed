"""A quick bound, from above, of the chance that a comparison says PASS: what keeps the level at a few rates only.

A test must keep its level at every pair of rates. Asked to keep it at a handful of pairs near those of interest, the
region can only be larger, and so can the chance to land in it. Searches skip with this bound the numbers of runs that
cannot be enough, and compute a certified boundary only where there may be.
"""

import numpy as np

from gate.stats.cells import Ints, binomial_pmf
from gate.stats.order import Score

NEGLIGIBLE = 1e-10
"""Counts with less probability than this in one arm are left out; what they carry is added to the bound."""

PAIRS = np.linspace(-2, 2, 9)
"""Where the level is kept: so many standard errors from the most likely rates that differ by the drop."""


def pass_bound(runs: int, rate: float, min_effect: float, beta: float) -> float:
    """At least the probability of ruling out a drop of `min_effect` at level `beta`, both arms having this rate."""
    kept = _likely(runs, rate)
    law = binomial_pmf(runs, rate)[kept]
    order = np.argsort(Score(runs, runs, min_effect).statistic(kept[:, None], kept).ravel())
    gained = np.cumsum(np.multiply.outer(law, law).ravel()[order])
    lower = min(max(rate - min_effect / 2, 0.0), 1 - min_effect)
    step = (max(lower * (1 - lower), 1 / runs) / runs) ** 0.5
    affordable = len(order)
    for head_rate in np.unique(np.clip(lower + step * PAIRS, 0, 1 - min_effect)).tolist():
        base, head = binomial_pmf(runs, min(1.0, head_rate + min_effect))[kept], binomial_pmf(runs, head_rate)[kept]
        spent = np.cumsum(np.multiply.outer(base, head).ravel()[order])
        affordable = min(affordable, int(np.searchsorted(spent, beta, side="right")))
    left_out = max(0.0, 1 - float(gained[-1]))
    return min(1.0, (float(gained[affordable - 1]) if affordable else 0.0) + left_out + 1e-9)


def _likely(runs: int, rate: float) -> Ints:
    kept = np.flatnonzero(binomial_pmf(runs, rate) > NEGLIGIBLE)
    return np.arange(kept[0], kept[-1] + 1)
