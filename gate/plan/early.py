"""After how many runs a comparison is decided, exactly."""

from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gate.bars import Bar


@lru_cache(maxsize=4096)
def expected_runs(bar: Bar, planned_runs: int, rate: float, max_runs: int | None = None) -> float:
    """Return after how many runs one probe, alone, is decided on average when its pass rate is `rate`; exact.

    `max_runs`: how many a second look has in all, None if there is none. The law of the passes so far is carried
    forward run by run; as every statement only gets better with more passes, the runs that are left can change none
    exactly where none changes between no further pass and as many as there are runs left.
    """
    more = (max_runs or planned_runs) - planned_runs
    wanted = np.array([bar.wants_more(k, planned_runs, more) for k in range(planned_runs + 1)])
    open_, expected = np.ones(1), 0.0
    steps = _changes(bar, planned_runs)
    for taken in range(1, planned_runs):
        open_ = _one_more(open_, rate)
        best = np.arange(taken + 1) + planned_runs - taken
        ended = (steps[best] == steps[: taken + 1]) & ~wanted[best]
        expected += taken * open_[ended].sum()
        open_[ended] = 0.0
    open_ = _one_more(open_, rate)
    expected += planned_runs * open_[~wanted].sum()
    open_[~wanted] = 0.0
    if max_runs is None or not open_.any():
        return float(expected)
    steps = _changes(bar.second_look, max_runs)
    for taken in range(planned_runs + 1, max_runs + 1):
        open_ = _one_more(open_, rate)
        ended = steps[np.arange(taken + 1) + max_runs - taken] == steps[: taken + 1]
        expected += taken * open_[ended].sum()
        open_[ended] = 0.0
    return float(expected)


def _changes(bar: Bar, runs: int) -> NDArray[np.int_]:
    """Return how often what is said of so many runs has changed up to each number of passes."""
    said = [bar.statements(passes, runs) for passes in range(runs + 1)]
    return np.cumsum([0, *(one != other for one, other in pairwise(said))])


def _one_more(law: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """Return the law of the passes after one more run."""
    return np.append(law * (1 - rate), 0.0) + np.insert(law * rate, 0, 0.0)
