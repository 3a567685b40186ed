"""Many tests at once: p-values adjusted so that the chance of even one false alarm in the suite stays within alpha."""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from gate.stats.cells import Floats
from gate.stats.checks import check_rate, check_table
from gate.stats.order import TIE, tail_ways


def holm(p_values: Iterable[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given. Holm (1979), Scand. J. Statist. 6:65."""
    values = list(p_values)
    for index, value in enumerate(values):
        check_rate(f"p_values[{index}]", value)
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted = [0.0] * len(values)
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(values) - rank) * values[index]))
        adjusted[index] = running
    return adjusted


def step_down(tables: Iterable[Sequence[int]]) -> list[float]:
    """Adjusted p-values, in the order given, of one-sided Fisher tests.

    Each table is (base_passes, base_runs, head_passes, head_runs).

    Holm's steps, but each probe still in play is charged only the largest level its own margins can attain at or below
    the current one, so a probe that cannot be significant costs nothing. The family-wise error rate stays within alpha
    for probes with runs of their own and for probes judged on the same runs; the proof is in docs/statistics.md.
    """
    checked: list[tuple[int, int, int, int]] = []
    for index, table in enumerate(tables):
        if len(table) != 4:
            raise ValueError(f"tables[{index}] must be (base_passes, base_runs, head_passes, head_runs), got {table!r}")
        base_passes, base_runs, head_passes, head_runs = table
        try:
            check_table(base_passes, base_runs, head_passes, head_runs)
        except ValueError as error:
            raise ValueError(f"tables[{index}]: {error}") from None
        checked.append((int(base_passes), int(base_runs), int(head_passes), int(head_runs)))
    levels = [_margin_levels(n1, n2, x1 + x2) for x1, n1, x2, n2 in checked]
    own = np.array([level[x2 - max(0, x1 + x2 - n1)] for level, (x1, n1, x2, _) in zip(levels, checked, strict=True)])
    order = np.argsort(own, kind="stable")
    charged = np.zeros(len(own))
    for rank, index in enumerate(order):
        limits = own[order[: rank + 1]] * (1 + TIE)
        attainable = np.concatenate([[0.0], levels[index]])
        charged[: rank + 1] += attainable[np.searchsorted(levels[index], limits, side="right")]
    adjusted = np.empty(len(own))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(charged))
    values: list[float] = adjusted.tolist()
    return values


@lru_cache(maxsize=4096)
def _margin_levels(base_runs: int, head_runs: int, total: int) -> Floats:
    """Fisher's level of every table with this total of passes, from the fewest head passes to the most."""
    all_ways = math.comb(base_runs + head_runs, total)
    return np.array([ways / all_ways for ways in tail_ways(base_runs, head_runs, total)])
