"""What holds for all counts: intervals, size, the PASS promise, monotone boundaries and p-values."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import bdtr
from scipy.stats import binom

from gate import stats
from gate.stats import Test

TESTS: tuple[Test, ...] = ("unconditional", "boschloo", "fisher")
GRID = np.sin(np.linspace(0, np.pi / 2, 801)) ** 2  # rates, closer together towards 0 and 1

PAIRS = [
    (n1, n2)
    for n1, n2 in [
        *((1, n) for n in (1, 2, 5, 40, 100)),
        *((n, 1) for n in (3, 17, 100)),
        *((n, n) for n in (2, 3, 7, 10, 20, 30, 41, 64)),
        *((n, n + 1) for n in (4, 19, 40)),
        *((n + 1, n) for n in (6, 33)),
        (2, 90),
        (90, 2),
        (5, 110),
        (110, 5),
        (10, 60),
        (60, 10),
        (40, 100),
        (100, 40),
        (100, 20),
        (25, 75),
        (48, 36),
        (120, 100),
    ]
]

arms = st.integers(1, 30)


@st.composite
def passes_and_runs(draw: st.DrawFn, most: int = 10_000) -> tuple[int, int]:
    runs = draw(st.integers(1, most))
    return draw(st.integers(0, runs)), runs


@given(passes_and_runs(), st.floats(0.01, 0.9999))
def test_wilson_interval__inside_the_unit_interval_and_around_the_rate(
    counts: tuple[int, int], confidence: float
) -> None:
    passes, runs = counts
    low, high = stats.wilson_interval(passes, runs, confidence)
    assert 0 <= low <= passes / runs <= high <= 1


@given(passes_and_runs(), st.floats(0.01, 0.9999))
def test_wilson_interval__mirrors(counts: tuple[int, int], confidence: float) -> None:
    passes, runs = counts
    here, there = (stats.wilson_interval(k, runs, confidence) for k in (passes, runs - passes))
    assert here.low == pytest.approx(1 - there.high, abs=1e-12)
    assert here.high == pytest.approx(1 - there.low, abs=1e-12)


@given(passes_and_runs(), st.floats(0, 1))
def test_threshold_verdict__one_more_pass_never_makes_it_worse(counts: tuple[int, int], threshold: float) -> None:
    passes, runs = counts
    order = ["fail", "inconclusive", "pass"]
    if passes < runs:
        now, better = (stats.threshold_verdict(k, runs, threshold) for k in (passes, passes + 1))
        assert order.index(better) >= order.index(now)


def _rejects(
    boundary: NDArray[np.int64], n1: int, n2: int, base: NDArray[np.float64], head: NDArray[np.float64]
) -> float:
    """Largest P(head passes <= boundary[base passes]) over pairs of rates, from scipy's binomial laws."""
    chance = binom.pmf(np.arange(n1 + 1)[:, None], n1, base)
    tail = np.where(boundary[:, None] >= 0, bdtr(np.maximum(boundary, 0)[:, None], n2, head), 0)
    return float((chance * tail).sum(axis=0).max())


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize(("n1", "n2"), PAIRS)
def test_size__at_most_alpha_at_every_rate(n1: int, n2: int, test: Test) -> None:
    for alpha in (0.05, 0.01, 0.2):
        boundary = np.array(stats.rejection_boundary(n1, n2, alpha=alpha, test=test))
        bound = stats.test_size(n1, n2, alpha=alpha, test=test)
        on_grid = _rejects(boundary, n1, n2, GRID, GRID)
        assert on_grid <= bound + 1e-12
        assert bound <= alpha
        assert bound - on_grid < 1e-4
        assert (np.diff(boundary) >= 0).all()


@pytest.mark.parametrize(("n1", "n2"), PAIRS)
def test_pass__at_most_beta_at_a_true_drop_of_min_effect(n1: int, n2: int) -> None:
    for min_effect, beta in ((0.1, 0.1), (0.1, 0.2), (0.02, 0.2), (0.5, 0.05)):
        boundary = np.array(stats.noninferiority_boundary(n1, n2, min_effect=min_effect, beta=beta))
        head = (1 - min_effect) * GRID
        base = np.minimum(head + min_effect, 1)
        chance = binom.pmf(np.arange(n1 + 1)[:, None], n1, base)
        tail = np.where(boundary[:, None] > 0, 1 - bdtr(np.maximum(boundary - 1, 0)[:, None], n2, head), 1)
        assert (chance * tail).sum(axis=0).max() <= beta + 1e-12
        assert (np.diff(boundary) >= 0).all()
        assert boundary.min() >= 0
        assert boundary.max() <= n2 + 1


@settings(max_examples=60, deadline=None)
@given(arms, arms, st.data(), st.sampled_from(TESTS))
def test_exact_test__worse_head_or_better_base_never_raises_p(
    n1: int, n2: int, data: st.DataObject, test: Test
) -> None:
    base = data.draw(st.integers(0, n1))
    head = data.draw(st.integers(0, n2))
    p = stats.exact_test(base, n1, head, n2, test=test)
    assert 0 < p <= 1
    if head > 0:
        assert stats.exact_test(base, n1, head - 1, n2, test=test) <= p * (1 + 1e-8)  # the bounds' precision
    if base < n1:
        assert stats.exact_test(base + 1, n1, head, n2, test=test) <= p * (1 + 1e-8)  # the bounds' precision


@settings(max_examples=60, deadline=None)
@given(arms, arms, st.data(), st.sampled_from(TESTS), st.floats(1e-4, 0.5))
def test_exact_test__agrees_with_its_boundary(n1: int, n2: int, data: st.DataObject, test: Test, alpha: float) -> None:
    base = data.draw(st.integers(0, n1))
    head = data.draw(st.integers(0, n2))
    rejected = head <= stats.rejection_boundary(n1, n2, alpha=alpha, test=test)[base]
    assert rejected == (stats.exact_test(base, n1, head, n2, test=test) <= alpha)


@settings(max_examples=60, deadline=None)
@given(arms, arms, st.data(), st.floats(0.01, 0.99), st.floats(0.01, 0.5))
def test_noninferiority_test__agrees_with_its_boundary(
    n1: int, n2: int, data: st.DataObject, min_effect: float, beta: float
) -> None:
    base = data.draw(st.integers(0, n1))
    head = data.draw(st.integers(0, n2))
    passes = head >= stats.noninferiority_boundary(n1, n2, min_effect=min_effect, beta=beta)[base]
    assert passes == (stats.noninferiority_test(base, n1, head, n2, min_effect=min_effect) <= beta)


@settings(max_examples=60, deadline=None)
@given(arms, arms, st.data(), st.floats(0.01, 0.99))
def test_noninferiority_test__better_head_or_worse_base_never_raises_p(
    n1: int, n2: int, data: st.DataObject, min_effect: float
) -> None:
    base = data.draw(st.integers(0, n1))
    head = data.draw(st.integers(0, n2))
    p = stats.noninferiority_test(base, n1, head, n2, min_effect=min_effect)
    assert 0 < p <= 1
    if head < n2:
        assert stats.noninferiority_test(base, n1, head + 1, n2, min_effect=min_effect) <= p * (
            1 + 1e-8
        )  # the bounds' precision
    if base > 0:
        assert stats.noninferiority_test(base - 1, n1, head, n2, min_effect=min_effect) <= p * (
            1 + 1e-8
        )  # the bounds' precision


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 200), st.floats(0, 1))
def test_same_counts_twice__never_regress(runs: int, share: float) -> None:
    passes = round(share * runs)
    assert stats.exact_test(passes, runs, passes, runs) > 0.2


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm__keeps_the_order_and_never_lowers(p_values: list[float]) -> None:
    adjusted = stats.holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    ranked = sorted(zip(p_values, adjusted, strict=True))
    assert all(a[1] <= b[1] for a, b in pairwise(ranked))


table = st.tuples(st.integers(1, 12), st.integers(1, 12)).flatmap(
    lambda runs: st.tuples(st.integers(0, runs[0]), st.just(runs[0]), st.integers(0, runs[1]), st.just(runs[1]))
)


@given(st.lists(table, min_size=1, max_size=8))
def test_step_down__between_fisher_and_holm(tables: list[tuple[int, int, int, int]]) -> None:
    fisher = [stats.exact_test(*counts, test="fisher") for counts in tables]
    for own, ours, theirs in zip(fisher, stats.step_down(tables), stats.holm(fisher), strict=True):
        assert own * (1 - 1e-9) <= ours <= theirs * (1 + 1e-9)
