"""Refuse impossible counts and rates before any number is computed from them."""

import math
from numbers import Integral, Real


def check_count(name: str, value: int, *, at_least: int = 0) -> None:
    """Raise ValueError unless `value` is a whole number (no bool, no float) of `at_least` or more."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    if value < at_least:
        raise ValueError(f"{name} must be {at_least} or more, got {value!r}")


def check_passes(passes_name: str, passes: int, runs_name: str, runs: int) -> None:
    """Raise ValueError unless 1 <= `runs` and 0 <= `passes` <= `runs`."""
    check_count(runs_name, runs, at_least=1)
    check_count(passes_name, passes)
    if passes > runs:
        raise ValueError(f"{passes_name} must not exceed {runs_name} ({runs}), got {passes!r}")


def check_table(base_passes: int, base_runs: int, head_passes: int, head_runs: int) -> None:
    """Raise ValueError unless both arms are possible counts."""
    check_passes("base_passes", base_passes, "base_runs", base_runs)
    check_passes("head_passes", head_passes, "head_runs", head_runs)


def check_runs(base_runs: int, head_runs: int) -> None:
    """Raise ValueError unless both arms have at least one run."""
    check_count("base_runs", base_runs, at_least=1)
    check_count("head_runs", head_runs, at_least=1)


def check_rate(name: str, value: float) -> None:
    """Raise ValueError unless `value` is a number in [0, 1]."""
    _check_number(name, value)
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}")


def check_level(name: str, value: float) -> None:
    """Raise ValueError unless `value` is a number strictly between 0 and 1."""
    _check_number(name, value)
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}")


def _check_number(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
        raise ValueError(f"{name} must be a number, got {value!r}")
