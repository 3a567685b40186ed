"""Exact statistics of pass rates: one rate, head against base, planning, many tests at once, early stopping.

Pure functions of counts and rates; impossible ones raise ValueError naming the argument. Definitions, proofs and
measured figures stand in docs/statistics.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gate.stats.exact import Test, exact_test, rejection_boundary, test_size
    from gate.stats.interval import Interval, runs_needed, threshold_verdict, wilson_interval, zero_failure_bound
    from gate.stats.multiple import holm, step_down
    from gate.stats.noninferiority import noninferiority_boundary, noninferiority_test
    from gate.stats.planning import (
        about_runs_for_power,
        exact_power,
        pass_probability,
        runs_for_power,
        runs_to_settle,
        smallest_visible_drop,
    )
    from gate.stats.sequential import Sprt, sprt_characteristics

__all__ = [
    "Interval",
    "Sprt",
    "Test",
    "about_runs_for_power",
    "exact_power",
    "exact_test",
    "holm",
    "noninferiority_boundary",
    "noninferiority_test",
    "pass_probability",
    "rejection_boundary",
    "runs_for_power",
    "runs_needed",
    "runs_to_settle",
    "smallest_visible_drop",
    "sprt_characteristics",
    "step_down",
    "test_size",
    "threshold_verdict",
    "wilson_interval",
    "zero_failure_bound",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load what is asked for: everything but one rate's interval needs numpy and scipy, which start slowly."""
        if name in __all__:
            for module in ("interval", "sequential", "exact", "multiple", "noninferiority", "planning"):
                found = vars(import_module(f"gate.stats.{module}"))
                if name in found:
                    return globals().setdefault(name, found[name])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
