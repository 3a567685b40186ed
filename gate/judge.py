"""One experiment's runs to its report: counts, intervals, held / weakness / inconclusive."""

import bisect
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import get_args

from gate.counting import UNCOUNTED, FaultTally, PhaseTally, Stop, applicable
from gate.experiment import Experiment
from gate.report import (
    PHASES,
    ExperimentReport,
    Failure,
    FaultReport,
    Outcomes,
    Phase,
    ProbeReport,
    RunRecord,
    Status,
    at_each_look,
)
from gate.stats import runs_needed, threshold_verdict
from gate.trace import Outcome

MAX_INFRA = 0.10
"""The share of a phase's runs that may be lost to the provider or the gate before the experiment is undecided."""

MAX_FAILURES = 20
MAX_TRACES = 3
"""How many failures of each phase are shown with their events."""


def judge_experiment(
    experiment: Experiment, records: Iterable[RunRecord], *, planned_runs: int, seed: int | None
) -> ExperimentReport:
    """Return the report of one experiment from its runs, in whatever order they finished."""
    tally = Tally(experiment)
    for record in records:
        tally.add(record)
    return tally.report(planned_runs=planned_runs, seed=seed)


class Tally:
    """What the report needs of one experiment's runs, taken one at a time in any order.

    The text of a run is kept only while it is among those that the report shows.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.phases = {phase: PhaseTally(len(applicable(experiment, phase))) for phase in PHASES}
        self.faults = [FaultTally() for _ in experiment.faults]
        self._failures: list[tuple[_Order, RunRecord]] = []
        self._first_error: tuple[_Order, str] | None = None

    def add(self, record: RunRecord) -> None:
        """Take one run."""
        order = (PHASES.index(record.phase), record.index)
        self.phases[record.phase].add(record)
        if record.phase == "chaos" and record.outcome not in UNCOUNTED:
            for tally, count in zip(self.faults, record.faults, strict=False):
                tally.add(count)
        if record.error and (self._first_error is None or order < self._first_error[0]):
            self._first_error = order, record.error
        if is_failure(record):
            bisect.insort(self._failures, (order, record), key=lambda f: f[0])
            del self._failures[MAX_FAILURES:]

    @property
    def runs(self) -> int:
        """Return how many runs were taken."""
        return sum(len(phase.summaries) for phase in self.phases.values())

    @property
    def why_invalid(self) -> str | None:
        """Return why no run of the experiment is valid; None if one is."""
        if any(phase.counted for phase in self.phases.values()):
            return None
        return self._first_error[1] if self._first_error else "no run was started"

    def report(
        self,
        *,
        planned_runs: int,
        seed: int | None,
        target: str = "",
        group: str = "",
        stops: Mapping[Phase, Stop] = MappingProxyType({}),
    ) -> ExperimentReport:
        """Return the report of the runs taken so far.

        `group` names the baseline runs that others may share; `stops` says why a phase has fewer than planned where it
        was not the budget, and what was decided on the way.
        """
        experiment = self.experiment
        probes = [
            probe
            for phase in PHASES
            if self.phases[phase].summaries
            for probe in self.phases[phase].probe_reports(experiment, phase, planned_runs, stops.get(phase))
        ]
        looks = 2 if (chaos := stops.get("chaos")) and chaos.max_runs else 1
        status, reason = _verdict(experiment, self, probes, at_each_look(experiment.confidence, looks))
        phases = [
            self.phases[phase].report(phase, planned_runs, stops.get(phase), group if phase == "baseline" else "")
            for phase in PHASES
            if phase == "chaos" or experiment.baseline
        ]
        return ExperimentReport(
            name=experiment.name,
            path=experiment.path,
            tags=list(experiment.tags),
            hypothesis=experiment.hypothesis,
            severity=experiment.severity,
            policy=experiment.policy,
            status=status,
            reason=reason[:1000],
            fingerprint=experiment.fingerprint,
            seed=seed,
            confidence=experiment.confidence,
            probes=probes,
            faults=[
                FaultReport(type=s.fault.type, target=s.target, fired=t.fired, no_op=t.no_op, runs_fired=t.runs_fired)
                for s, t in zip(experiment.faults, self.faults, strict=True)
            ],
            outcomes=Outcomes(**{o: sum(p.outcomes[o] for p in self.phases.values()) for o in get_args(Outcome)}),
            phases=phases,
            failures=self._shown_failures(),
            target=target,
        )

    def _shown_failures(self) -> list[Failure]:
        shown: list[Failure] = []
        for _, record in self._failures:
            traced = sum(f.phase == record.phase for f in shown) < MAX_TRACES
            shown.append(_failure(self.experiment, record, traced=traced))
        return shown


_Order = tuple[int, int]


def is_failure(record: RunRecord) -> bool:
    """Return whether a run is one to look at: a probe failed, or it ended in no ordinary way."""
    return record.outcome not in ("ok", "error") or not all(p.passed for p in record.probes)


def _failure(experiment: Experiment, run: RunRecord, *, traced: bool) -> Failure:
    failed = [(s, o) for s, o in zip(applicable(experiment, run.phase), run.probes, strict=True) if not o.passed]
    return Failure(
        phase=run.phase,
        index=run.index,
        seed=run.seed,
        outcome=run.outcome,
        probes=[s.id for s, _ in failed],
        detail="; ".join(o.detail for _, o in failed if o.detail)[:4000],
        error=run.error,
        output=run.output,
        trace=run.trace if traced else [],
    )


def _verdict(experiment: Experiment, tally: Tally, probes: list[ProbeReport], confidence: float) -> tuple[Status, str]:
    """Decide in the order of the published verdict, widened by what must never look held.

    `confidence`: what thresholds are held to where the experiment asks for confidence.
    """
    for phase in PHASES:
        if phase == "baseline" and not experiment.baseline:
            continue
        of_phase = tally.phases[phase]
        if not of_phase.counted:
            return "inconclusive", f"no valid {phase} run: nothing was measured"
        lost, runs = sum(of_phase.outcomes[o] for o in UNCOUNTED), len(of_phase.summaries)
        if lost > MAX_INFRA * runs:
            return "inconclusive", f"{lost} of {runs} {phase} runs were lost to the provider or the gate"
    broken = [p for p in probes if p.phase == "baseline" and below_threshold(p)]
    if broken:
        return "inconclusive", f"fix the baseline first: without faults {_list(broken)}"
    if not any(fault.fired for fault in tally.faults):
        return "inconclusive", "no fault fired: check the faults' targets and the instrumentation"
    chaos = [p for p in probes if p.phase == "chaos"]
    failing = [p for p in chaos if below_threshold(p)]
    undecided = [p for p in chaos if _undecided(p, experiment, confidence)]
    if [p for p in failing if p not in undecided]:
        return "weakness", _list(failing)
    if undecided and experiment.sequential:
        return "inconclusive", f"not decided within the most runs allowed: {_list(undecided)}"
    if undecided:
        needed = max(runs_needed(p.threshold, confidence) for p in undecided)
        return (
            "inconclusive",
            f"not decided at {experiment.confidence:.0%} confidence: {_list(undecided)}; about {needed} runs would",
        )
    untested = [p for p in chaos if p.severity == "critical" and p.vacuous == p.runs]
    if untested:
        return "inconclusive", f"never put to the test: {', '.join(p.label for p in untested)}"
    return "held", "every probe held at its threshold"


def below_threshold(probe: ProbeReport) -> bool:
    """Return whether the pass rate is below the probe's threshold; compared in counts, so 38/40 meets 0.95."""
    if probe.decision is not None:
        return probe.decision == "fail"
    return is_below(probe.passes, probe.runs, probe.threshold)


def is_below(passes: int, runs: int, threshold: float) -> bool:
    """Return whether counts are below a threshold."""
    return passes < threshold * runs - 1e-9 * runs


def violated(probe: ProbeReport, threshold: float, confidence: float) -> bool:
    """Return whether a probe is violated as a matter of fact: a broken must, or an interval wholly below.

    `threshold` is given apart because the stricter of base and head counts.
    """
    if probe.decision is not None:
        return probe.decision == "fail"
    return bool(probe.runs) and is_violated(probe.passes, probe.runs, threshold, confidence)


def is_violated(passes: int, runs: int, threshold: float, confidence: float) -> bool:
    """Return whether the counts of a critical probe are a finding."""
    if threshold >= 1:
        return passes < runs
    return threshold_verdict(passes, runs, threshold, confidence) == "fail"


def _undecided(probe: ProbeReport, experiment: Experiment, confidence: float) -> bool:
    if probe.decision is not None:
        return probe.decision == "inconclusive"
    if not experiment.require_confidence or probe.threshold >= 1 or not probe.runs:
        return False
    return threshold_verdict(probe.passes, probe.runs, probe.threshold, confidence) == "inconclusive"


def _list(probes: list[ProbeReport]) -> str:
    return ", ".join(f"{p.label} {p.passes}/{p.runs} (needs {p.threshold:.0%})" for p in probes)
