"""Many tests: Holm, and the discrete step-down against an enumeration of every outcome."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact, hypergeom

from gate import stats

Table = tuple[int, int, int, int]


def test_holm__worked_example() -> None:
    assert stats.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert stats.holm([0.5, 0.9]) == [1.0, 1.0]
    assert stats.holm([]) == []


def test_step_down__one_table_is_fisher() -> None:
    assert stats.step_down([(40, 40, 36, 40)]) == pytest.approx([stats.exact_test(40, 40, 36, 40, test="fisher")])
    assert stats.step_down([]) == []


def test_step_down__perfect_probes_cost_nothing() -> None:
    tables = [(40, 40, 40, 40)] * 500 + [(40, 40, 35, 40)]
    assert stats.step_down(tables)[-1] == pytest.approx(stats.exact_test(40, 40, 35, 40, test="fisher"))


def _by_definition(tables: list[Table]) -> list[float]:
    """Section by section from the definition, levels from scipy."""

    def level(x1: int, n1: int, x2: int, n2: int) -> float:
        return float(fisher_exact(np.array([[x1, x2], [n1 - x1, n2 - x2]]), alternative="greater").pvalue)

    def attainable(table: Table, limit: float) -> float:
        x1, n1, x2, n2 = table
        total = x1 + x2
        levels = [hypergeom.cdf(k, n1 + n2, total, n2) for k in range(max(0, total - n1), min(total, n2) + 1)]
        return max([float(p) for p in levels if p <= limit * (1 + 1e-9)], default=0.0)

    own = [level(*table) for table in tables]
    order = sorted(range(len(own)), key=own.__getitem__)
    adjusted = [0.0] * len(own)
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, sum(attainable(tables[other], own[index]) for other in order[rank:]))
        adjusted[index] = min(1.0, running)
    return adjusted


def test_step_down__equals_its_definition() -> None:
    tables = [(40, 40, 36, 40), (38, 40, 31, 40), (10, 12, 3, 9), (12, 12, 12, 12), (38, 40, 31, 40), (5, 6, 6, 6)]
    assert stats.step_down(tables) == pytest.approx(_by_definition(tables), rel=1e-9)


def test_step_down__never_above_holm() -> None:
    tables = [(40, 40, 36, 40), (38, 40, 31, 40), (39, 40, 34, 40), (37, 40, 38, 40)]
    holm = stats.holm([stats.exact_test(*table, test="fisher") for table in tables])
    assert all(ours <= theirs + 1e-12 for ours, theirs in zip(stats.step_down(tables), holm, strict=True))


@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.9, 0.3), (0.95, 0.8), (0.7, 0.7)])
def test_step_down__family_wise_error_by_enumeration(rates: tuple[float, float], alpha: float) -> None:
    """Two unchanged probes and one that did get worse: a false call of an unchanged one happens at most alpha often."""
    n1, n2 = 5, 5
    arms = [[(i, n1, j, n2) for i in range(n1 + 1) for j in range(n2 + 1)] for _ in rates]
    chances = [
        [float(binom.pmf(i, n1, rate) * binom.pmf(j, n2, rate)) for i in range(n1 + 1) for j in range(n2 + 1)]
        for rate in rates
    ]
    for worse in [(5, 5, 0, 5), (5, 5, 2, 5)]:
        false = 0.0
        for (first, p), (second, q) in product(*(zip(a, c, strict=True) for a, c in zip(arms, chances, strict=True))):
            if min(stats.step_down([first, second, worse])[:2]) <= alpha:
                false += p * q
        assert false <= alpha
