"""What a finished run comes to: its outcome, and what every probe says of its trace."""

from dataclasses import dataclass

from gate.engine.redact import fit, show
from gate.engine.schedule import PlannedRun
from gate.engine.session import Session
from gate.experiment import ProbeSpec
from gate.probes.usage import usage_records
from gate.report import ProbeOutcome, RunRecord
from gate.trace import Outcome, Trace

OUTPUT_LIMIT = 2_000
TEXT_LIMIT = 4_000
TOKENS_LIMIT = 10_000_000
_JUDGED: tuple[Outcome, ...] = ("ok", "error")
"""Outcomes whose trace is complete, so that probes can speak of it."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, and in words why, if it did not end well."""

    outcome: Outcome
    reason: str = ""


def judge_run(planned: PlannedRun, session: Session, ending: Ending) -> RunRecord:
    """Check the probes of the run's phase on its trace."""
    trace = session.close()
    specs = [p for p in planned.experiment.probes if planned.phase == "chaos" or not p.detection]
    if ending.outcome in _JUDGED:
        probes = [_check(spec, trace) for spec in specs]
    else:
        failed = ProbeOutcome(
            passed=False, errored=ending.outcome == "gate_error", detail=fit(ending.reason, TEXT_LIMIT)
        )
        probes = [failed] * len(specs)
    good = ending.outcome == "ok" and all(p.passed for p in probes)
    return RunRecord(
        experiment=planned.experiment.name,
        phase=planned.phase,
        index=planned.index,
        seed=planned.seed,
        outcome=ending.outcome,
        duration_s=trace.duration_s,
        error=fit(trace.error.text if trace.error else ending.reason, TEXT_LIMIT),
        probes=probes,
        faults=session.counts,
        tokens=min(sum(u.input_tokens + u.output_tokens for u in usage_records(trace)), TOKENS_LIMIT),
        output="" if good or trace.output is None else fit(show(trace.output), OUTPUT_LIMIT),
    )


def _check(spec: ProbeSpec, trace: Trace) -> ProbeOutcome:
    try:
        check = spec.probe.check(trace)
    except Exception as error:  # noqa: BLE001 (a probe that breaks is an error of that probe, not the end of the suite)
        return ProbeOutcome(passed=False, errored=True, detail=fit(f"the probe failed: {error!r}", TEXT_LIMIT))
    return ProbeOutcome(passed=check.passed, vacuous=check.vacuous, detail=fit(check.detail, TEXT_LIMIT))
