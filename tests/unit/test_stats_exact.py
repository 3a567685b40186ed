"""The exact tests against the published table for 40 runs per arm and against scipy."""

import pytest
from scipy.stats import boschloo_exact, fisher_exact

from gate import stats
from gate.stats import Test


@pytest.mark.parametrize(
    ("test", "size", "power_95_75", "power_1_95", "power_1_90", "fails_all_pass"),
    [
        pytest.param("fisher", 0.0307, 0.750, 0.048, 0.371, 35, id="fisher"),
        pytest.param("boschloo", 0.0487, 0.830, 0.138, 0.577, 36, id="boschloo"),
        pytest.param("unconditional", 0.0465, 0.830, 0.323, 0.777, 37, id="unconditional"),
    ],
)
def test_table__forty_runs_per_arm(
    test: Test, size: float, power_95_75: float, power_1_95: float, power_1_90: float, fails_all_pass: int
) -> None:
    assert stats.test_size(40, 40, test=test) == pytest.approx(size, abs=5e-5)
    assert stats.exact_power(40, 40, 0.95, 0.75, test=test) == pytest.approx(power_95_75, abs=5e-4)
    assert stats.exact_power(40, 40, 1.0, 0.95, test=test) == pytest.approx(power_1_95, abs=5e-4)
    assert stats.exact_power(40, 40, 1.0, 0.90, test=test) == pytest.approx(power_1_90, abs=5e-4)
    assert stats.rejection_boundary(40, 40, test=test)[40] == fails_all_pass


@pytest.mark.parametrize(
    ("x1", "n1", "x2", "n2"),
    [
        (37, 40, 33, 40),
        (40, 40, 36, 40),
        (20, 25, 5, 12),
        (7, 9, 8, 30),
        (50, 60, 50, 60),
        (1, 1, 0, 1),
        (3, 3, 20, 60),
    ],
)
def test_p_value__equals_scipy(x1: int, n1: int, x2: int, n2: int) -> None:
    table = [[x1, x2], [n1 - x1, n2 - x2]]  # scipy takes the arms as columns
    boschloo = stats.exact_test(x1, n1, x2, n2, test="boschloo")
    assert boschloo == pytest.approx(boschloo_exact(table, alternative="greater", n=64).pvalue, abs=1e-6)
    fisher = stats.exact_test(x1, n1, x2, n2, test="fisher")
    assert fisher == pytest.approx(fisher_exact(table, alternative="greater").pvalue, rel=1e-9)
