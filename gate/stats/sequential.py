"""Stop as soon as the runs have said enough: Wald's sequential test of one pass rate, truncated to INCONCLUSIVE."""

import math
from typing import Literal

import numpy as np

from gate.stats.checks import check_count, check_level, check_rate

Decision = Literal["pass", "fail", "continue", "inconclusive"]


class Sprt:
    """Wald's test of "rate = threshold" (pass) against "rate = threshold - min_effect" (fail), at most `max_runs` runs.

    `alpha` bounds the chance of FAIL at the threshold, `beta` that of PASS at threshold - min_effect, to Wald's
    approximation; `sprt_characteristics` has the exact figures. At a threshold of 1 the first failure decides.
    Wald (1945), Ann. Math. Statist. 16:117.
    """

    def __init__(self, threshold: float, min_effect: float, *, alpha: float, beta: float, max_runs: int) -> None:
        check_rate("threshold", threshold)
        check_level("min_effect", min_effect)
        if min_effect > threshold:
            raise ValueError(f"min_effect must not exceed threshold ({threshold}), got {min_effect!r}")
        check_level("alpha", alpha)
        check_level("beta", beta)
        if alpha + beta >= 1:
            raise ValueError(f"beta must be below 1 - alpha ({1 - alpha}), got {beta!r}")
        check_count("max_runs", max_runs, at_least=1)
        low_rate = max(0.0, threshold - min_effect)
        self.max_runs = max_runs
        self._per_pass = math.log(low_rate / threshold) if low_rate > 0 else -math.inf
        self._per_failure = math.log((1 - low_rate) / (1 - threshold)) if threshold < 1 else math.inf
        self._fail_at = math.log((1 - beta) / alpha)
        self._pass_at = math.log(beta / (1 - alpha))
        self.passes = 0
        self.runs = 0
        self._decision: Decision = "continue"

    def update(self, passed: bool) -> Decision:
        """Count one run and say where the test stands; after a decision further runs change nothing."""
        if not isinstance(passed, bool | np.bool_):
            raise ValueError(f"passed must be a bool, got {passed!r}")
        if self._decision == "continue":
            self.runs += 1
            self.passes += bool(passed)
            self._decision = self.decide(self.passes, self.runs)
        return self._decision

    def decide(self, passes: int, runs: int) -> Decision:
        """What the test says after `passes` of `runs`, if it had not stopped before."""
        failures = runs - passes
        evidence = failures * self._per_failure if failures else 0.0  # no run, no evidence: 0 times infinity is none
        if passes and evidence < math.inf:
            evidence += passes * self._per_pass
        if evidence >= self._fail_at:
            return "fail"
        if evidence <= self._pass_at:
            return "pass"
        return "inconclusive" if runs >= self.max_runs else "continue"


def sprt_characteristics(
    threshold: float, min_effect: float, *, alpha: float, beta: float, max_runs: int, rate: float
) -> tuple[float, float, float, float]:
    """Exact (P(pass), P(fail), P(inconclusive), expected runs) of the truncated test when the pass rate is `rate`."""
    sprt = Sprt(threshold, min_effect, alpha=alpha, beta=beta, max_runs=max_runs)
    check_rate("rate", rate)
    ends = {"pass": 0.0, "fail": 0.0, "inconclusive": 0.0}
    expected = 0.0
    going = {0: 1.0}  # passes so far -> probability of being still undecided with them
    for runs in range(1, max_runs + 1):
        following: dict[int, float] = {}
        for passes, chance in going.items():
            following[passes] = following.get(passes, 0.0) + chance * (1 - rate)
            following[passes + 1] = following.get(passes + 1, 0.0) + chance * rate
        going = {}
        for passes, chance in following.items():
            decision = sprt.decide(passes, runs)
            if decision == "continue":
                going[passes] = chance
            else:
                ends[decision] += chance
                expected += runs * chance
    return ends["pass"], ends["fail"], ends["inconclusive"], expected
