"""Planning: runs for a power, smallest visible drop, runs that settle a row."""

import pytest
from scipy.stats import binom

from gate import stats


@pytest.mark.parametrize(
    ("base_rate", "drop", "runs"),
    [
        (0.90, 0.05, 553),
        (0.90, 0.10, 164),
        (0.90, 0.20, 50),
        (0.90, 0.30, 26),
        (0.95, 0.05, 357),
        (0.95, 0.10, 114),
        (0.95, 0.20, 40),
        (0.95, 0.30, 22),
        (0.99, 0.05, 171),
        (0.99, 0.10, 67),
        (0.99, 0.20, 29),
        (0.99, 0.30, 19),
        (1.00, 0.05, 110),
        (1.00, 0.10, 54),
        (1.00, 0.20, 27),
        (1.00, 0.30, 18),
    ],
)
def test_runs_for_power__boschloo_table(base_rate: float, drop: float, runs: int) -> None:
    assert stats.runs_for_power(base_rate, drop, test="boschloo") == runs


@pytest.mark.parametrize(("base_rate", "drop"), [(0.95, 0.2), (1.0, 0.1), (0.5, 0.5), (0.99, 0.3)])
@pytest.mark.parametrize("base_runs", [None, 100])
def test_runs_for_power__no_smaller_number_is_enough(base_rate: float, drop: float, base_runs: int | None) -> None:
    def power(runs: int) -> float:
        return stats.exact_power(base_runs or runs, runs, base_rate, base_rate - drop)

    runs = stats.runs_for_power(base_rate, drop, base_runs=base_runs)
    assert power(runs) >= 0.80
    assert all(power(fewer) < 0.80 for fewer in range(1, runs))


@pytest.mark.parametrize(
    ("test", "base_rate", "drop", "runs"),
    [
        ("unconditional", 1.0, 0.10, 29),
        ("boschloo", 1.0, 0.10, 29),
        ("unconditional", 0.95, 0.20, 25),
        ("boschloo", 0.95, 0.20, 23),
    ],
)
def test_runs_for_power__base_of_a_hundred(test: stats.Test, base_rate: float, drop: float, runs: int) -> None:
    assert stats.runs_for_power(base_rate, drop, base_runs=100, test=test) == runs


def test_runs_for_power__power_is_saw_toothed() -> None:
    power = [stats.exact_power(100, runs, 0.95, 0.75) for runs in (29, 30)]
    assert power[1] < power[0]


def test_runs_for_power__says_what_is_out_of_reach() -> None:
    with pytest.raises(ValueError, match=r"power 0\.8 is out of reach"):
        stats.runs_for_power(0.95, 0.05, base_runs=40)
    with pytest.raises(ValueError, match="min_effect must not exceed base_rate"):
        stats.runs_for_power(0.3, 0.4)
    with pytest.raises(ValueError, match="alpha must exceed 1e-06"):
        stats.runs_for_power(0.95, 0.2, alpha=1e-6)


@pytest.mark.parametrize(("base_rate", "drop"), [(0.95, 0.2), (1.0, 0.1), (0.99, 0.05), (0.9, 0.1)])
def test_about_runs_for_power__is_exact_up_to_two_hundred(base_rate: float, drop: float) -> None:
    about = stats.about_runs_for_power(base_rate, drop, alpha=0.05, power=0.8, max_runs=2000)
    assert about == stats.runs_for_power(base_rate, drop)


def test_about_runs_for_power__above_is_round_and_near() -> None:
    about = stats.about_runs_for_power(0.9, 0.05, alpha=0.05, power=0.8, max_runs=2000)
    assert about is not None
    assert 540 <= about <= 590  # 540 is the fewest, as the page says
    assert about % 10 == 0


@pytest.mark.parametrize(("alpha", "max_runs"), [(1e-6, 2000), (0.05, 100)], ids=["level of gamma", "limit"])
def test_about_runs_for_power__none_where_out_of_reach(alpha: float, max_runs: int) -> None:
    assert stats.about_runs_for_power(0.95, 0.05, alpha=alpha, power=0.8, max_runs=max_runs) is None


def test_about_runs_for_power__names_what_is_impossible() -> None:
    with pytest.raises(ValueError, match=r"min_effect must not exceed base_rate \(0\.3\), got 0\.4"):
        stats.about_runs_for_power(0.3, 0.4, alpha=0.05, power=0.8, max_runs=100)
    with pytest.raises(ValueError, match="max_runs must be 1 or more, got 0"):
        stats.about_runs_for_power(0.9, 0.4, alpha=0.05, power=0.8, max_runs=0)


def test_exact_power__certain_rates() -> None:
    assert stats.exact_power(20, 20, 1.0, 0.0) == 1
    assert stats.exact_power(20, 20, 1.0, 1.0) == 0
    assert stats.exact_power(20, 20, 0.0, 0.0) == 0
    assert stats.exact_power(1, 1, 1.0, 0.0) == 0


def test_smallest_visible_drop__has_the_power_and_less_has_not() -> None:
    drop = stats.smallest_visible_drop(39, 40, 40, alpha=0.05, power=0.8)
    assert drop is not None
    rate = 39 / 40
    assert stats.exact_power(40, 40, rate, rate - drop) >= 0.8
    assert stats.exact_power(40, 40, rate, rate - drop + 2e-6) < 0.8


def test_smallest_visible_drop__none_where_nothing_is_visible() -> None:
    assert stats.smallest_visible_drop(1, 1, 1, alpha=0.05, power=0.8) is None
    assert stats.smallest_visible_drop(0, 40, 40, alpha=0.05, power=0.8) is None


def test_runs_to_settle__fewest_that_pass_an_unchanged_agent() -> None:
    def chance(runs: int) -> float:
        return stats.pass_probability(runs, runs, 77 / 80, 77 / 80, alpha=0.05, min_effect=0.1, beta=0.2)

    runs = stats.runs_to_settle(38, 40, 39, 40, alpha=0.05, min_effect=0.1, power=0.8, max_runs=100)
    assert runs is not None
    assert chance(runs) >= 0.8
    assert all(chance(fewer) < 0.8 for fewer in range(1, runs))


def test_runs_to_settle__none_above_the_limit() -> None:
    settle = stats.runs_to_settle(30, 40, 29, 40, alpha=0.05, min_effect=0.1, power=0.9, max_runs=100)
    assert settle is None


def test_pass_probability__needs_both_no_regression_and_no_drop() -> None:
    fails = stats.rejection_boundary(400, 400)
    passes = stats.noninferiority_boundary(400, 400, min_effect=0.1, beta=0.2)
    expected = 0.0
    for base in range(401):
        neither = 1 - binom.cdf(max(fails[base], passes[base] - 1), 400, 0.91)
        expected += float(binom.pmf(base, 400, 0.95) * neither)
    assert any(fail >= least for fail, least in zip(fails, passes, strict=True))  # both bind, so the order matters
    assert stats.pass_probability(400, 400, 0.95, 0.91, alpha=0.05, min_effect=0.1, beta=0.2) == pytest.approx(expected)
