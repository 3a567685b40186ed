"""Head against base: the table for 40 runs per arm, scipy, and an enumeration written here."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, binom, boschloo_exact, fisher_exact

from gate import stats
from gate.stats import Test

TESTS: tuple[Test, ...] = ("unconditional", "boschloo", "fisher")


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
    assert round(stats.exact_power(40, 40, 0.95, 0.75, test=test), 3) == power_95_75
    assert round(stats.exact_power(40, 40, 1.0, 0.95, test=test), 3) == power_1_95
    assert round(stats.exact_power(40, 40, 1.0, 0.90, test=test), 3) == power_1_90
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
        (120, 130, 60, 80),
    ],
)
def test_p_value__equals_scipy(x1: int, n1: int, x2: int, n2: int) -> None:
    table = np.array([[x1, x2], [n1 - x1, n2 - x2]])  # scipy takes the arms as columns
    boschloo = stats.exact_test(x1, n1, x2, n2, test="boschloo")
    assert boschloo == pytest.approx(boschloo_exact(table, alternative="greater", n=128).pvalue, abs=1e-6)
    fisher = stats.exact_test(x1, n1, x2, n2, test="fisher")
    assert fisher == pytest.approx(fisher_exact(table, alternative="greater").pvalue, rel=1e-9)


def _enumerated(n1: int, n2: int) -> NDArray[np.float64]:
    """Every p-value of the unconditional test, from all tables and 4,000 rates each."""
    x1, x2 = np.arange(n1 + 1)[:, None], np.arange(n2 + 1)[None, :]

    def log_likelihood(k: NDArray[np.int64], n: int) -> NDArray[np.float64]:
        rate = np.clip(k / n, 1e-300, None)
        other = np.clip(1 - k / n, 1e-300, None)
        return np.asarray(k * np.log(rate) + (n - k) * np.log(other), dtype=np.float64)

    ratio = log_likelihood(x1, n1) + log_likelihood(x2, n2) - log_likelihood(x1 + x2, n1 + n2)
    statistic = np.sign(x1 * n2 - x2 * n1) * np.sqrt(np.maximum(2 * ratio, 0))
    raw = np.zeros((n1 + 1, n2 + 1))
    for total in range(n1 + n2 + 1):
        low = beta.ppf(5e-7, total, n1 + n2 - total + 1) if total else 0.0
        high = beta.ppf(1 - 5e-7, total + 1, n1 + n2 - total) if total < n1 + n2 else 1.0
        rates = np.linspace(low, high, 4000)
        chance = np.asarray(binom.pmf(x1, n1, rates))[:, None, :] * np.asarray(binom.pmf(x2.T, n2, rates))
        for head in range(max(0, total - n1), min(total, n2) + 1):
            extreme = statistic >= statistic[total - head, head] - 1e-7
            raw[total - head, head] = chance[extreme].sum(axis=0).max() + 1e-6
    p = [[min(1.0, raw[base:, : head + 1].max()) for head in range(n2 + 1)] for base in range(n1 + 1)]
    return np.array(p)


@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (1, 7), (7, 7), (5, 9), (11, 4)])
def test_p_value__equals_enumeration(n1: int, n2: int) -> None:
    expected = _enumerated(n1, n2)
    found = np.array([[stats.exact_test(i, n1, j, n2) for j in range(n2 + 1)] for i in range(n1 + 1)])
    assert (found >= expected - 1e-9).all()  # an upper bound of the true maximum, a grid gives a lower one
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (9, 9), (6, 13), (30, 4)])
def test_rejection_boundary__holds_the_tables_up_to_alpha(n1: int, n2: int, test: Test) -> None:
    p = np.array([[stats.exact_test(i, n1, j, n2, test=test) for j in range(n2 + 1)] for i in range(n1 + 1)])
    for alpha in {0.05, 0.2, 0.5, *p[p < 1][::3]}:  # the p-values themselves too: a table at alpha exactly is rejected
        boundary = np.array(stats.rejection_boundary(n1, n2, alpha=float(alpha), test=test))
        assert ((np.arange(n2 + 1) <= boundary[:, None]) == (p <= alpha)).all()


@pytest.mark.parametrize("test", TESTS)
def test_p_value__ties_are_kept_together(test: Test) -> None:
    n = 17
    for base in range(n + 1):  # passes and failures, and the arms, exchanged at once: an equally extreme table
        for head in range(0, n + 1, 3):
            mirrored = stats.exact_test(n - head, n, n - base, n, test=test)
            assert stats.exact_test(base, n, head, n, test=test) == pytest.approx(mirrored, rel=1e-9)


@pytest.mark.parametrize("test", TESTS)
def test_p_value__extremes(test: Test) -> None:
    assert stats.exact_test(0, 5, 5, 5, test=test) == 1
    assert stats.exact_test(0, 20, 0, 2000, test=test) == 1
    assert stats.exact_test(20, 20, 2000, 2000, test=test) == 1
    assert stats.exact_test(1, 1, 0, 1, test=test) == pytest.approx(0.5 if test == "fisher" else 0.25, abs=2e-6)
    assert stats.exact_test(2000, 2000, 0, 20, test=test) < 2e-6


@pytest.mark.parametrize("test", TESTS)
def test_size__large_and_unequal_arms_keep_alpha(test: Test) -> None:
    for n1, n2 in [(20, 2000), (2000, 20), (1, 300), (300, 1)]:
        assert stats.test_size(n1, n2, test=test) <= 0.05


def test_rejection_boundary__alpha_of_one_in_a_million() -> None:
    assert set(stats.rejection_boundary(40, 40, alpha=1e-6)) == {-1}  # gamma alone is that much
    assert stats.test_size(40, 40, alpha=1e-6) == 0
    fails = stats.rejection_boundary(40, 40, alpha=1e-6, test="fisher")[40]
    at, above = (
        fisher_exact(np.array([[40, k], [0, 40 - k]]), alternative="greater").pvalue for k in (fails, fails + 1)
    )
    assert at <= 1e-6 < above
    assert 0 < stats.test_size(40, 40, alpha=1e-6, test="boschloo") <= 1e-6


def test_fisher__level_of_exactly_alpha_is_rejected() -> None:
    assert stats.exact_test(3, 3, 0, 3, test="fisher") == 0.05  # 1 of the C(6,3) = 20 ways
    assert stats.rejection_boundary(3, 3, alpha=0.05, test="fisher")[3] == 0
    assert stats.step_down([(3, 3, 0, 3)]) == [0.05]


def test_exact_test__one_sighting_of_an_old_leak() -> None:
    assert stats.exact_test(40, 40, 39, 40, test="fisher") == pytest.approx(0.5)


@pytest.mark.parametrize(("probes", "chance"), [(20, 0.61), (50, 0.91)])
def test_exact_power__unchanged_suite_without_control_blocks_falsely(probes: int, chance: float) -> None:
    assert 1 - (1 - stats.exact_power(40, 40, 0.95, 0.95)) ** probes == pytest.approx(chance, abs=5e-3)


@pytest.mark.parametrize(
    ("name", "heavy"), [("exact_test", "scipy.stats"), ("runs_for_power", "scipy.stats"), ("wilson_interval", "numpy")]
)
def test_import__does_not_load_what_starts_slowly(name: str, heavy: str) -> None:
    code = f"import sys; from gate.stats import {name}; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_import__what_runs_a_suite_starts_without_numpy() -> None:
    code = (
        "import sys, gate.rerun, gate.suite, gate.pipeline.prepare, gate.pipeline.run; sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_import__of_what_is_not_there_is_an_error() -> None:
    with pytest.raises(ImportError, match="no_such_test"):
        from gate.stats import no_such_test  # type: ignore[attr-defined]  # noqa: F401 (it must fail)


def test_import__every_public_name_is_there() -> None:
    assert all(getattr(stats, name).__module__.startswith("gate.stats.") for name in stats.__all__ if name != "Test")
