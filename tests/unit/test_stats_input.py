"""Every public function refuses impossible counts and rates, naming the argument and the value."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from gate import stats

COUNTS: list[tuple[Callable[..., object], dict[str, Any], str, str]] = [
    (stats.wilson_interval, {"passes": 3, "runs": 5}, "passes", "runs"),
    (stats.threshold_verdict, {"passes": 3, "runs": 5, "threshold": 0.5}, "passes", "runs"),
    *[
        (function, {"base_passes": 3, "base_runs": 5, "head_passes": 3, "head_runs": 5, **more}, passes, runs)
        for function, more in list[tuple[Callable[..., object], dict[str, Any]]](
            [
                (stats.exact_test, {}),
                (stats.noninferiority_test, {"min_effect": 0.1}),
                (stats.runs_to_settle, {"alpha": 0.05, "min_effect": 0.1, "power": 0.8, "max_runs": 9}),
            ]
        )
        for passes, runs in [("base_passes", "base_runs"), ("head_passes", "head_runs")]
    ],
    (
        stats.smallest_visible_drop,
        {"base_passes": 3, "base_runs": 5, "head_runs": 5, "alpha": 0.05, "power": 0.8},
        "base_passes",
        "base_runs",
    ),
]


@pytest.mark.parametrize(("function", "good", "passes", "runs"), COUNTS)
@pytest.mark.parametrize("bad", [-1, 6, 2.0, True, math.nan, "3", None], ids=repr)
def test_passes__impossible(
    function: Callable[..., object], good: dict[str, Any], passes: str, runs: str, bad: object
) -> None:
    with pytest.raises(ValueError, match=rf"^{passes} must .*, got {bad!r}$"):
        function(**{**good, passes: bad})


@pytest.mark.parametrize(("function", "good", "passes", "runs"), COUNTS)
@pytest.mark.parametrize("bad", [0, -5, 5.0, True, math.inf], ids=repr)
def test_runs__impossible(
    function: Callable[..., object], good: dict[str, Any], passes: str, runs: str, bad: object
) -> None:
    with pytest.raises(ValueError, match=rf"^{runs} must .*, got {bad!r}$"):
        function(**{**good, runs: bad})


def _sprt(**arguments: Any) -> object:
    return stats.Sprt(**arguments)


ARMS: dict[str, Any] = {"base_runs": 5, "head_runs": 5}
TABLE: dict[str, Any] = {"base_passes": 3, "base_runs": 5, "head_passes": 3, "head_runs": 5}
SPRT: dict[str, Any] = {"threshold": 0.9, "min_effect": 0.1, "alpha": 0.05, "beta": 0.1, "max_runs": 9}
LEVELS: list[tuple[Callable[..., object], dict[str, Any], str]] = [
    (stats.wilson_interval, {"passes": 3, "runs": 5}, "confidence"),
    (stats.runs_needed, {"threshold": 0.9}, "confidence"),
    (stats.zero_failure_bound, {"runs": 5}, "confidence"),
    (stats.noninferiority_test, TABLE, "min_effect"),
    (stats.rejection_boundary, ARMS, "alpha"),
    (stats.test_size, ARMS, "alpha"),
    (stats.noninferiority_boundary, {**ARMS, "beta": 0.1}, "min_effect"),
    (stats.noninferiority_boundary, {**ARMS, "min_effect": 0.1}, "beta"),
    (stats.exact_power, {**ARMS, "base_rate": 0.9, "head_rate": 0.8}, "alpha"),
    (stats.runs_for_power, {"base_rate": 0.9}, "min_effect"),
    (stats.runs_for_power, {"base_rate": 0.9, "min_effect": 0.2}, "alpha"),
    (stats.runs_for_power, {"base_rate": 0.9, "min_effect": 0.2}, "power"),
    (_sprt, SPRT, "min_effect"),
    (_sprt, SPRT, "alpha"),
    (_sprt, SPRT, "beta"),
    (partial(stats.sprt_characteristics, rate=0.5), SPRT, "alpha"),
]


@pytest.mark.parametrize(("function", "good", "name"), LEVELS)
@pytest.mark.parametrize("bad", [0, 1, -0.1, 1.5, math.nan, True, "0.5", None], ids=repr)
def test_level__outside_zero_to_one(
    function: Callable[..., object], good: dict[str, Any], name: str, bad: object
) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must .*, got {bad!r}$"):
        function(**{**good, name: bad})


RATES: list[tuple[Callable[..., object], dict[str, Any], str]] = [
    (stats.threshold_verdict, {"passes": 3, "runs": 5}, "threshold"),
    (stats.runs_needed, {}, "threshold"),
    (stats.exact_power, {**ARMS, "head_rate": 0.8}, "base_rate"),
    (stats.exact_power, {**ARMS, "base_rate": 0.8}, "head_rate"),
    (stats.runs_for_power, {"min_effect": 0.2}, "base_rate"),
    (_sprt, SPRT, "threshold"),
    (partial(stats.sprt_characteristics, **SPRT), {}, "rate"),
]


@pytest.mark.parametrize(("function", "good", "name"), RATES)
@pytest.mark.parametrize("bad", [-0.1, 1.5, math.nan, True, "0.5"], ids=repr)
def test_rate__outside_zero_to_one(
    function: Callable[..., object], good: dict[str, Any], name: str, bad: object
) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must .*, got {bad!r}$"):
        function(**{**good, name: bad})


@pytest.mark.parametrize("function", [stats.rejection_boundary, stats.test_size])
@pytest.mark.parametrize("name", ["base_runs", "head_runs"])
@pytest.mark.parametrize("bad", [0, -1, 2.5, True], ids=repr)
def test_arms__impossible(function: Callable[..., object], name: str, bad: object) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must .*, got {bad!r}$"):
        function(**{**ARMS, name: bad})


def test_suite__names_the_table_and_the_p_value() -> None:
    with pytest.raises(ValueError, match=r"^tables\[1\]: head_passes must not exceed head_runs \(4\), got 5$"):
        stats.step_down([(1, 1, 1, 1), (4, 4, 5, 4)])
    with pytest.raises(ValueError, match=r"^tables\[0\] must be"):
        stats.step_down([(1, 1, 1)])
    with pytest.raises(ValueError, match=r"^p_values\[1\] must lie in \[0, 1\], got 1\.5$"):
        stats.holm([0.5, 1.5])


def test_test__unknown_name() -> None:
    with pytest.raises(ValueError, match="test must be one of unconditional, boschloo, fisher, got 'barnard'"):
        stats.exact_test(1, 1, 1, 1, test="barnard")  # type: ignore[arg-type]


def test_sprt__drop_larger_than_the_threshold() -> None:
    with pytest.raises(ValueError, match=r"min_effect must not exceed threshold \(0\.3\), got 0\.5"):
        stats.Sprt(0.3, 0.5, alpha=0.05, beta=0.1, max_runs=9)
    with pytest.raises(ValueError, match="max_runs must be 1 or more, got 0"):
        stats.Sprt(0.9, 0.5, alpha=0.05, beta=0.1, max_runs=0)
    with pytest.raises(ValueError, match="beta must be below 1 - alpha"):
        stats.Sprt(0.9, 0.5, alpha=0.5, beta=0.6, max_runs=5)


def test_counts__numpy_integers_are_whole_numbers() -> None:
    four: Any = np.int64(4)
    assert stats.exact_test(four, four, 1, four) == stats.exact_test(4, 4, 1, 4)
    assert stats.step_down([(four, four, four, four)]) == [1.0]
