"""One experiment's runs to its report: counts, intervals, held / weakness / inconclusive."""

from collections.abc import Sequence
from typing import get_args

from gate.experiment import Experiment, ProbeSpec
from gate.report import (
    PHASES,
    ExperimentReport,
    Failure,
    FaultReport,
    Outcomes,
    Phase,
    PhaseReport,
    ProbeReport,
    RunRecord,
    RunSummary,
    Status,
)
from gate.stats import runs_needed, threshold_verdict, wilson_interval
from gate.trace import Outcome

UNCOUNTED: tuple[Outcome, ...] = ("infra", "gate_error")
"""Outcomes that say nothing about the agent; such runs are left out of every count."""

MAX_INFRA = 0.10
"""The share of a phase's runs that may be lost to the provider before the experiment is undecided."""

MAX_FAILURES = 20


def judge_experiment(
    experiment: Experiment, records: Sequence[RunRecord], *, planned_runs: int, seed: int | None
) -> ExperimentReport:
    """Return the report of one experiment from its runs, in whatever order they finished."""
    runs = sorted(records, key=lambda r: (PHASES.index(r.phase), r.index))
    probes = [
        _probe_report(spec, at, phase, _counted(runs, phase), experiment.confidence)
        for phase in PHASES
        for at, spec in enumerate(applicable(experiment, phase))
        if any(r.phase == phase for r in runs)
    ]
    status, reason = _verdict(experiment, runs, probes)
    return ExperimentReport(
        name=experiment.name,
        path=experiment.path,
        tags=list(experiment.tags),
        hypothesis=experiment.hypothesis,
        status=status,
        reason=reason[:1000],
        fingerprint=experiment.fingerprint,
        seed=seed,
        confidence=experiment.confidence,
        probes=probes,
        faults=_fault_reports(experiment, _counted(runs, "chaos")),
        outcomes=Outcomes(**{o: sum(r.outcome == o for r in runs) for o in get_args(Outcome)}),
        phases=[
            PhaseReport(
                phase=phase,
                planned_runs=planned_runs,
                runs=[
                    RunSummary(index=r.index, seed=r.seed, outcome=r.outcome, passed=[p.passed for p in r.probes])
                    for r in runs
                    if r.phase == phase
                ],
            )
            for phase in PHASES
            if phase == "chaos" or experiment.baseline
        ],
        failures=_failures(experiment, runs),
    )


def applicable(experiment: Experiment, phase: Phase) -> list[ProbeSpec]:
    """Return the probes that are checked in a phase, in the order of `RunRecord.probes`."""
    return [p for p in experiment.probes if phase == "chaos" or not p.detection]


def _counted(runs: Sequence[RunRecord], phase: Phase) -> list[RunRecord]:
    return [r for r in runs if r.phase == phase and r.outcome not in UNCOUNTED]


def _probe_report(spec: ProbeSpec, at: int, phase: Phase, runs: list[RunRecord], confidence: float) -> ProbeReport:
    outcomes = [r.probes[at] for r in runs]
    passes = sum(o.passed for o in outcomes)
    interval = wilson_interval(passes, len(runs), confidence) if runs else None
    return ProbeReport(
        id=spec.id,
        type=spec.probe.type,
        label=spec.probe.label,
        category=spec.probe.category,
        severity=spec.severity,
        phase=phase,
        threshold=spec.threshold,
        passes=passes,
        runs=len(runs),
        vacuous=sum(o.vacuous for o in outcomes),
        errors=sum(o.errored for o in outcomes),
        interval=None if interval is None else (interval.low, interval.high),
        detail=next((o.detail for o in outcomes if not o.passed), ""),
    )


def _fault_reports(experiment: Experiment, chaos: list[RunRecord]) -> list[FaultReport]:
    reports = []
    for at, spec in enumerate(experiment.faults):
        counts = [r.faults[at] for r in chaos if at < len(r.faults)]
        reports.append(
            FaultReport(
                type=spec.fault.type,
                target=spec.target,
                fired=sum(c.fired for c in counts),
                no_op=sum(c.no_op for c in counts),
                runs_fired=sum(c.fired > 0 for c in counts),
            )
        )
    return reports


def _failures(experiment: Experiment, runs: Sequence[RunRecord]) -> list[Failure]:
    failures: list[Failure] = []
    for run in runs:
        specs = applicable(experiment, run.phase)
        failed = [(s, o) for s, o in zip(specs, run.probes, strict=True) if not o.passed]
        if (failed or run.outcome not in ("ok", "error")) and len(failures) < MAX_FAILURES:
            failures.append(
                Failure(
                    phase=run.phase,
                    index=run.index,
                    seed=run.seed,
                    outcome=run.outcome,
                    probes=[s.id for s, _ in failed],
                    detail="; ".join(o.detail for _, o in failed if o.detail)[:4000],
                    error=run.error,
                    output=run.output,
                )
            )
    return failures


def _verdict(experiment: Experiment, runs: list[RunRecord], probes: list[ProbeReport]) -> tuple[Status, str]:
    """Decide in the order of the published verdict, widened by what must never look held."""
    for phase in PHASES:
        if phase == "baseline" and not experiment.baseline:
            continue
        of_phase = [r for r in runs if r.phase == phase]
        counted = _counted(runs, phase)
        if not counted:
            return "inconclusive", f"no valid {phase} run: nothing was measured"
        lost = sum(r.outcome == "infra" for r in of_phase)
        if lost > MAX_INFRA * len(of_phase):
            return "inconclusive", f"{lost} of {len(of_phase)} {phase} runs were lost to the provider"
    broken = [p for p in probes if p.phase == "baseline" and below_threshold(p)]
    if broken:
        return "inconclusive", f"fix the baseline first: without faults {_list(broken)}"
    if not any(c.fired for r in _counted(runs, "chaos") for c in r.faults):
        return "inconclusive", "no fault fired: check the faults' targets and the instrumentation"
    chaos = [p for p in probes if p.phase == "chaos"]
    failing = [p for p in chaos if below_threshold(p)]
    undecided = [p for p in chaos if _undecided(p, experiment.confidence)] if experiment.require_confidence else []
    if [p for p in failing if p not in undecided]:
        return "weakness", _list(failing)
    if undecided:
        needed = max(runs_needed(p.threshold, experiment.confidence) for p in undecided)
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
    return probe.passes < probe.threshold * probe.runs - 1e-9 * probe.runs


def violated(probe: ProbeReport, threshold: float, confidence: float) -> bool:
    """Return whether a probe is violated as a matter of fact: a broken must, or an interval wholly below.

    `threshold` is given apart because the stricter of base and head counts.
    """
    if not probe.runs:
        return False
    if threshold >= 1:
        return probe.passes < probe.runs
    return threshold_verdict(probe.passes, probe.runs, threshold, confidence) == "fail"


def _undecided(probe: ProbeReport, confidence: float) -> bool:
    if probe.threshold >= 1 or not probe.runs:
        return False
    return threshold_verdict(probe.passes, probe.runs, probe.threshold, confidence) == "inconclusive"


def _list(probes: list[ProbeReport]) -> str:
    return ", ".join(f"{p.label} {p.passes}/{p.runs} (needs {p.threshold:.0%})" for p in probes)
