"""The quick bound by which searches skip numbers of runs: never below the exact probability, and near it."""

import pytest

from gate import stats
from gate.stats.relaxed import pass_bound


@pytest.mark.parametrize("rate", [1.0, 0.99, 0.95, 0.8, 0.5, 0.02, 0.0])
@pytest.mark.parametrize(("runs", "drop", "beta"), [(5, 0.3, 0.1), (40, 0.1, 0.2), (77, 0.05, 0.1), (120, 0.5, 0.2)])
def test_pass_bound__is_at_least_the_probability(rate: float, runs: int, drop: float, beta: float) -> None:
    exact = stats.pass_probability(runs, runs, rate, rate, alpha=0.05, min_effect=drop, beta=beta)
    assert pass_bound(runs, rate, drop, beta) >= exact


@pytest.mark.parametrize("rate", [0.99, 0.95, 0.8])
@pytest.mark.parametrize("runs", [40, 100, 200])
def test_pass_bound__is_near(rate: float, runs: int) -> None:
    exact = stats.pass_probability(runs, runs, rate, rate, alpha=0.05, min_effect=0.1, beta=0.2)
    assert pass_bound(runs, rate, 0.1, 0.2) == pytest.approx(exact, abs=0.05)


def test_runs_to_settle__above_two_hundred_is_round_and_near() -> None:
    runs = stats.runs_to_settle(70, 80, 70, 80, alpha=0.05, min_effect=0.05, power=0.8, max_runs=2000)
    assert runs is not None
    assert 257 <= runs <= 280  # 257 is the fewest, by certified boundaries one by one
    assert runs % 10 == 0
    assert stats.pass_probability(runs, runs, 0.875, 0.875, alpha=0.05, min_effect=0.05, beta=0.2) > 0.77  # teeth
