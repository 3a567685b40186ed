"""Bars: what is said of one probe by counts, and after which of them nothing else can be said. Pure."""

from dataclasses import dataclass, replace

from gate import stats
from gate.counting import applicable
from gate.experiment import Experiment, ProbeSpec
from gate.judge import is_below, is_violated
from gate.policy import Policy, Severity
from gate.report import ExperimentReport, Phase, ProbeReport, at_each_look
from gate.rows import Claims, acted


@dataclass(frozen=True)
class Bar:
    """What is said of one probe; every statement only ever gets better with more passes of as many runs."""

    threshold: float
    critical_threshold: float | None
    confidence: float
    require_confidence: bool
    base: tuple[int, int] | None
    claims: Claims

    def wants_more(self, passes: int, runs: int, more: int) -> bool:
        """Return whether it takes more runs than these to decide, and so many more may."""
        if self.claims.looks == 1 or self.looks_worse(passes, runs) or self._is_proven(passes, runs):
            return False
        return self._is_proven(passes + more, runs + more)

    @property
    def second_look(self) -> "Bar":
        """Return what a second look can still say of it."""
        return self if self.claims.looks > 1 else replace(self, base=None)

    def decided(self, passes: int, rest: int, runs: int) -> bool:
        """Return whether the `rest` of so many runs can change nothing that is said."""
        return self.statements(passes, runs) == self.statements(passes + rest, runs)

    def statements(self, passes: int, runs: int) -> tuple[object, ...]:
        """Return all that a report and a comparison would say of these counts."""
        said: list[object] = [is_below(passes, runs, self.threshold)]
        if self.require_confidence and self.threshold < 1:
            said.append(stats.threshold_verdict(passes, runs, self.threshold, self.confidence))
        if self.critical_threshold is not None:
            said.append(is_violated(passes, runs, self.critical_threshold, self.confidence))
        if self.base is not None:
            x1, n1 = self.base
            said += [
                self.looks_worse(passes, runs),
                self._is_proven(passes, runs),
                x1 <= stats.rejection_boundary(runs, n1, alpha=self.claims.alpha)[passes],
            ]
        return tuple(said)

    def looks_worse(self, passes: int, runs: int) -> bool:
        """Return whether these counts are to be confirmed."""
        if self.base is None:
            return False
        x1, n1 = self.base
        return passes <= stats.rejection_boundary(n1, runs, alpha=self.claims.alpha)[x1]

    def _is_proven(self, passes: int, runs: int) -> bool:
        assert self.base is not None  # noqa: S101 (asked only where there is one)
        x1, n1 = self.base
        effect, beta = self.claims.min_effect, self.claims.beta
        return passes >= stats.noninferiority_boundary(n1, runs, min_effect=effect, beta=beta)[x1]


def bars_of(
    experiment: Experiment,
    phase: Phase,
    base: ExperimentReport | None,
    policy: Policy,
    planned_runs: int,
    max_runs: int | None = None,
) -> list[Bar]:
    """Return the bar of every probe in a phase, in the order of `RunRecord.probes`.

    `max_runs`: how many runs a second look has in all, None if there is to be none. Where one is of use to any probe,
    two looks share the errors.
    """
    stored = {p.id: p for p in base.probes if p.phase == phase} if base else {}
    bars = [_bar(experiment, s, phase, base, stored.get(s.id), policy) for s in applicable(experiment, phase)]
    claims = [bar.claims.with_looks(bar.base, planned_runs, max_runs) for bar in bars]
    confidence = at_each_look(experiment.confidence, max((claim.looks for claim in claims), default=1))
    return [replace(b, claims=c, confidence=confidence) for b, c in zip(bars, claims, strict=True)]


def _bar(
    experiment: Experiment,
    spec: ProbeSpec,
    phase: Phase,
    base: ExperimentReport | None,
    stored: ProbeReport | None,
    policy: Policy,
) -> Bar:
    severities: list[Severity] = [spec.severity, *([stored.severity] if stored else [])]
    thresholds = [spec.threshold, *([stored.threshold] if stored else [])]
    tested = stored is not None and stored.runs and base is not None and (phase == "baseline" or acted(base))
    own = base.policy if base else experiment.policy
    return Bar(
        threshold=spec.threshold,
        critical_threshold=max(thresholds) if "critical" in severities else None,
        confidence=experiment.confidence,
        require_confidence=experiment.require_confidence,
        base=(stored.passes, stored.runs) if tested and stored else None,
        claims=Claims.of(policy, own, stored or spec),
    )
