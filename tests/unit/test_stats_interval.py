"""One rate: Wilson intervals, thresholds and the runs they need. Expected figures from the closed formula, by hand."""

import math

import pytest

from gate import stats


@pytest.mark.parametrize(
    ("passes", "runs", "low", "high"),
    [
        (40, 40, 91.2, 100.0),
        (29, 40, 57.2, 83.9),
        (15, 30, 33.2, 66.8),
        (8, 10, 49.0, 94.3),
        (28, 30, 78.7, 98.2),
        (23, 30, 59.1, 88.2),
        (80, 100, 71.1, 86.7),
    ],
)
def test_wilson_interval__published_figures(passes: int, runs: int, low: float, high: float) -> None:
    interval = stats.wilson_interval(passes, runs)
    assert (round(100 * interval.low, 1), round(100 * interval.high, 1)) == (low, high)


@pytest.mark.parametrize("runs", [1, 2, 7, 1_000_000])
def test_wilson_interval__all_fail_starts_at_zero_and_all_pass_ends_at_one(runs: int) -> None:
    assert stats.wilson_interval(0, runs).low == 0
    assert stats.wilson_interval(runs, runs).high == 1


def test_wilson_interval__ends_solve_the_score_equation() -> None:
    z = 2.5758293035489004  # the 99.5 % point of the normal law
    for end in stats.wilson_interval(33, 47, confidence=0.99):
        assert abs(33 / 47 - end) == pytest.approx(z * math.sqrt(end * (1 - end) / 47), rel=1e-9)


@pytest.mark.parametrize(
    ("passes", "runs", "threshold", "verdict"),
    [
        pytest.param(28, 30, 0.8, "inconclusive", id="28-of-30-is-not-enough"),
        pytest.param(29, 30, 0.8, "pass", id="29-of-30-is"),
        pytest.param(15, 30, 0.8, "fail", id="wholly-below"),
        pytest.param(100, 100, 1.0, "inconclusive", id="nothing-proves-one"),
        pytest.param(999_999, 1_000_000, 1.0, "fail", id="one-failure-refutes-one"),
        pytest.param(0, 10, 0.0, "pass", id="nothing-is-below-zero"),
    ],
)
def test_threshold_verdict__three_values(passes: int, runs: int, threshold: float, verdict: str) -> None:
    assert stats.threshold_verdict(passes, runs, threshold) == verdict


def test_runs_needed__ninety_five_percent() -> None:
    assert stats.runs_needed(0.95) == 73


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 0.8, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_runs_needed__one_fewer_is_too_few(threshold: float, confidence: float) -> None:
    runs = stats.runs_needed(threshold, confidence)
    assert stats.wilson_interval(runs, runs, confidence).low >= threshold
    assert runs == 1 or stats.wilson_interval(runs - 1, runs - 1, confidence).low < threshold


def test_runs_needed__no_number_proves_one() -> None:
    with pytest.raises(ValueError, match="threshold must be below 1"):
        stats.runs_needed(1.0)


@pytest.mark.parametrize(("runs", "percent", "digits"), [(40, 7.2, 1), (100, 2.95, 2), (299, 0.997, 3)])
def test_zero_failure_bound__published_figures(runs: int, percent: float, digits: int) -> None:
    assert round(100 * stats.zero_failure_bound(runs), digits) == percent
    assert (1 - stats.zero_failure_bound(runs)) ** runs == pytest.approx(0.05)
