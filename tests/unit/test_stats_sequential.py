"""The truncated sequential test: specification's figures, and every sequence of runs enumerated."""

import math
from itertools import product

import pytest

from gate import stats


def test_characteristics__ninety_five_against_eighty_five() -> None:
    at_threshold = stats.sprt_characteristics(0.95, 0.10, alpha=0.05, beta=0.2, max_runs=52, rate=0.95)
    below = stats.sprt_characteristics(0.95, 0.10, alpha=0.05, beta=0.2, max_runs=52, rate=0.85)
    assert round(at_threshold[1], 4) == 0.0291
    assert round(below[0], 4) == 0.1688
    assert round(at_threshold[3]) == 26


def test_decide__forcing_a_decision_at_the_limit_would_break_alpha() -> None:
    sprt = stats.Sprt(0.95, 0.10, alpha=0.05, beta=0.2, max_runs=52)
    failed, forced = 0.0, 0.0
    going = {0: 1.0}
    for runs in range(1, 53):
        following: dict[int, float] = {}
        for passes, chance in going.items():
            following[passes] = following.get(passes, 0.0) + 0.05 * chance
            following[passes + 1] = following.get(passes + 1, 0.0) + 0.95 * chance
        decisions = {passes: sprt.decide(passes, runs) for passes in following}
        failed += sum(chance for passes, chance in following.items() if decisions[passes] == "fail")
        going = {passes: chance for passes, chance in following.items() if decisions[passes] == "continue"}
        if runs == 52:
            for passes, chance in following.items():
                likelier_bad = passes * math.log(0.85 / 0.95) + (runs - passes) * math.log(0.15 / 0.05) > 0
                forced += chance * (decisions[passes] == "inconclusive" and likelier_bad)
    assert round(failed, 4) == 0.0291
    assert round(failed + forced, 4) == 0.0876


@pytest.mark.parametrize(("threshold", "min_effect"), [(0.9, 0.3), (1.0, 0.2), (0.6, 0.6), (0.5, 0.5), (0.8, 0.1)])
@pytest.mark.parametrize("rate", [0.0, 0.4, 0.85, 1.0])
def test_characteristics__equal_enumeration_of_all_sequences(threshold: float, min_effect: float, rate: float) -> None:
    ends = {"pass": 0.0, "fail": 0.0, "inconclusive": 0.0}
    expected_runs = 0.0
    for sequence in product([True, False], repeat=9):
        sprt = stats.Sprt(threshold, min_effect, alpha=0.1, beta=0.2, max_runs=9)
        chance, decision, runs = 1.0, "continue", 0
        for passed in sequence:
            chance *= rate if passed else 1 - rate
            if decision == "continue":
                decision = sprt.update(passed)
                runs += 1
        ends[decision] += chance
        expected_runs += chance * runs
    found = stats.sprt_characteristics(threshold, min_effect, alpha=0.1, beta=0.2, max_runs=9, rate=rate)
    assert found == pytest.approx((ends["pass"], ends["fail"], ends["inconclusive"], expected_runs))


def test_sprt__first_failure_decides_at_a_threshold_of_one() -> None:
    sprt = stats.Sprt(1.0, 0.1, alpha=0.05, beta=0.1, max_runs=100)
    assert [sprt.update(True) for _ in range(5)] == ["continue"] * 5
    assert sprt.update(False) == "fail"


def test_sprt__a_decision_stands() -> None:
    sprt = stats.Sprt(1.0, 0.5, alpha=0.05, beta=0.1, max_runs=3)
    assert [sprt.update(True) for _ in range(3)] == ["continue", "continue", "inconclusive"]
    assert sprt.update(False) == "inconclusive"
    assert (sprt.passes, sprt.runs) == (3, 3)


def test_sprt__refuses_what_is_no_result() -> None:
    with pytest.raises(ValueError, match="passed must be a bool, got 1"):
        stats.Sprt(0.9, 0.1, alpha=0.05, beta=0.1, max_runs=3).update(1)  # type: ignore[arg-type]
