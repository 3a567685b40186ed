"""PASS: a drop of min_effect is ruled out. Figures of the specification, and an enumeration written here."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from gate import stats


@pytest.mark.parametrize(("runs", "fewest"), [(20, 21), (30, 30), (40, 39), (60, 58), (100, 95)])
def test_boundary__head_a_perfect_base_needs(runs: int, fewest: int) -> None:
    assert stats.noninferiority_boundary(runs, runs, min_effect=0.10, beta=0.10)[runs] == fewest


@pytest.mark.parametrize(
    ("beta", "rate", "chance"),
    [(0.1, 0.95, 0.714), (0.1, 0.99, 0.957), (0.1, 1.0, 1.0), (0.2, 0.95, 0.783), (0.2, 0.99, 0.957), (0.2, 1.0, 1.0)],
)
def test_pass_probability__unchanged_agents(beta: float, rate: float, chance: float) -> None:
    found = stats.pass_probability(40, 40, rate, rate, alpha=0.05, min_effect=0.1, beta=beta)
    assert round(found, 3) == chance


def test_pass_probability__whole_suite_without_extension() -> None:
    one = stats.pass_probability(40, 40, 0.95, 0.95, alpha=0.05, min_effect=0.1, beta=0.2)
    assert one**20 == pytest.approx(0.01, abs=5e-3)


def test_noninferiority_test__a_drop_of_four_is_no_pass() -> None:
    assert stats.noninferiority_test(30, 30, 26, 30, min_effect=0.10) > 0.5


def _restricted(x1: int, n1: int, x2: int, n2: int, drop: float) -> float:
    """Farrington-Manning score, the restricted rates found by numerical maximisation."""

    def loss(head: float) -> float:
        base = head + drop
        value = 0.0
        for count, rate in ((x1, base), (n1 - x1, 1 - base), (x2, head), (n2 - x2, 1 - head)):
            if count:
                value -= count * np.log(max(rate, 1e-300))
        return value

    head = float(minimize_scalar(loss, bounds=(0, 1 - drop), method="bounded", options={"xatol": 1e-10}).x)
    base = head + drop
    return float((x1 / n1 - x2 / n2 - drop) / np.sqrt(base * (1 - base) / n1 + head * (1 - head) / n2))


def _enumerated(n1: int, n2: int, drop: float) -> NDArray[np.float64]:
    score = np.array([[_restricted(i, n1, j, n2, drop) for j in range(n2 + 1)] for i in range(n1 + 1)])
    head = np.linspace(0, 1 - drop, 4001)
    base_chance = np.asarray(binom.pmf(np.arange(n1 + 1)[:, None], n1, np.minimum(head + drop, 1)))
    head_chance = np.asarray(binom.pmf(np.arange(n2 + 1)[:, None], n2, head))
    chance = base_chance[:, None, :] * head_chance
    p = [[chance[score <= value + 1e-6].sum(axis=0).max() for value in row] for row in score]
    return np.array(p)


@pytest.mark.parametrize(
    ("n1", "n2", "drop"), [(1, 1, 0.1), (6, 6, 0.1), (5, 9, 0.3), (9, 4, 0.02), (4, 7, 0.5), (2, 12, 0.9)]
)
def test_p_value__equals_enumeration(n1: int, n2: int, drop: float) -> None:
    expected = _enumerated(n1, n2, drop)
    found = np.array(
        [[stats.noninferiority_test(i, n1, j, n2, min_effect=drop) for j in range(n2 + 1)] for i in range(n1 + 1)]
    )
    assert (found >= expected - 1e-9).all()
    assert found == pytest.approx(expected, abs=2e-6)
    assert (np.diff(found, axis=1) <= 1e-12).all()
    assert (np.diff(found, axis=0) >= -1e-12).all()


@pytest.mark.parametrize(("n1", "n2", "drop"), [(1, 1, 0.6), (9, 9, 0.1), (13, 6, 0.3), (200, 2, 0.5), (300, 120, 0.1)])
@pytest.mark.parametrize("beta", [0.01, 0.1, 0.2, 0.5])
def test_boundary__holds_the_tables_up_to_beta(n1: int, n2: int, drop: float, beta: float) -> None:
    boundary = stats.noninferiority_boundary(n1, n2, min_effect=drop, beta=beta)
    for base in range(0, n1 + 1, max(1, n1 // 15)):
        fewest = boundary[base]
        if fewest <= n2:
            assert stats.noninferiority_test(base, n1, fewest, n2, min_effect=drop) <= beta
        if fewest > 0:
            assert stats.noninferiority_test(base, n1, fewest - 1, n2, min_effect=drop) > beta


@pytest.mark.parametrize("drop", [1e-6, 0.5, 0.999])
def test_p_value__extremes(drop: float) -> None:
    for n1, n2 in [(1, 1), (1, 100), (100, 1), (20, 2000)]:
        worst = stats.noninferiority_test(n1, n1, 0, n2, min_effect=drop)
        best = stats.noninferiority_test(0, n1, n2, n2, min_effect=drop)
        assert worst == pytest.approx(1)
        assert 0 < best <= worst
