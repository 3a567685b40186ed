"""What a finished run comes to: its outcome, and what every probe says of its trace."""

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import FrameType

from gate.counting import applicable
from gate.engine.redact import Redactor, show
from gate.engine.schedule import PlannedRun
from gate.engine.session import Session
from gate.engine.transcript import transcript
from gate.experiment import ProbeSpec
from gate.judge import is_failure
from gate.probes.judge import Ask, Judge
from gate.probes.usage import Usage, unmetered, usage_records
from gate.report import ModelUsage, ProbeOutcome, RunRecord
from gate.trace import Outcome, Trace

OUTPUT_LIMIT = 2_000
TEXT_LIMIT = 4_000
TOKENS_LIMIT = 10_000_000
MODEL_NAME_LIMIT = 200
MODELS_LIMIT = 99
PROBE_LIMIT_S = 2.0
"""How long one probe may look at one run: a regular expression can backtrack for ever."""
JUDGED: tuple[Outcome, ...] = ("ok", "error")
"""Outcomes whose trace is complete, so that probes can speak of it."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, and in words why, if it did not end well.

    `classes` names the classes of the exception that left the agent, and of its causes; `injected`: one of them is
    a fault's.
    """

    outcome: Outcome
    reason: str = ""
    classes: tuple[str, ...] = ()
    injected: bool = False


def is_infra(globs: Sequence[str], ending: Ending, session: Session) -> bool:
    """Return whether a run was lost to the provider: its error is named so, and no fault can have caused it."""
    if ending.outcome != "error" or ending.injected or session.may_have_broken_the_run:
        return False
    return any(fnmatchcase(name, glob) for name in ending.classes for glob in globs)


def judge_run(
    planned: PlannedRun,
    session: Session,
    ending: Ending,
    *,
    redactor: Redactor,
    ask: Ask | None = None,
    retries: int = 0,
    with_trace: bool = True,
    shared_with: str = "",
) -> RunRecord:
    """Check the probes of the run's phase on its trace; `ask` gives what judges have said of it."""
    trace = session.close()
    specs = applicable(planned.experiment, planned.phase)
    if ending.outcome in JUDGED:
        with _alarm() as arm:
            probes = [_check(spec, trace, ask, redactor, arm) for spec in specs]
    else:
        errored = ending.outcome == "gate_error"
        probes = [ProbeOutcome(passed=False, errored=errored, detail=redactor.fit(ending.reason, TEXT_LIMIT))]
        probes *= len(specs)
    usage = usage_records(trace)
    good = ending.outcome == "ok" and all(p.passed for p in probes)
    record = RunRecord(
        experiment=planned.experiment.name,
        phase=planned.phase,
        index=planned.index,
        seed=planned.seed,
        outcome=ending.outcome,
        duration_s=trace.duration_s,
        error=redactor.fit(trace.error.text if trace.error else ending.reason, TEXT_LIMIT),
        probes=probes,
        faults=session.counts,
        tokens=min(sum(u.input_tokens + u.output_tokens for u in usage), TOKENS_LIMIT),
        output="" if good or trace.output is None else redactor.fit(show(trace.output), OUTPUT_LIMIT),
        retries=retries,
        shared_with=shared_with,
        model_calls=min(max(len(trace.of("llm.call")), len(usage)), TOKENS_LIMIT),
        unmetered=0 if session.may_have_broken_the_run else min(unmetered(trace), TOKENS_LIMIT),
        usage=_by_model(usage, redactor),
    )
    if with_trace and is_failure(record):
        record = record.model_copy(update={"trace": transcript(trace, redactor)})
    return record


def _by_model(usage: Sequence[Usage], redactor: Redactor) -> list[ModelUsage]:
    """Return the sums of each model; a run that names too many has the rest under no name."""
    responses, entered, left = (Counter[str]() for _ in range(3))
    for one in usage:
        name = redactor.fit(one.model, MODEL_NAME_LIMIT)
        name = name if name in responses or len(responses) < MODELS_LIMIT else ""
        responses[name] += 1
        entered[name] += one.input_tokens
        left[name] += one.output_tokens
    return [
        ModelUsage(model=n, responses=responses[n], input_tokens=entered[n], output_tokens=left[n]) for n in responses
    ]


def _check(
    spec: ProbeSpec, trace: Trace, ask: Ask | None, redactor: Redactor, arm: Callable[[float], None]
) -> ProbeOutcome:
    try:
        try:
            arm(PROBE_LIMIT_S)
            check = spec.probe.check(trace, ask) if isinstance(spec.probe, Judge) else spec.probe.check(trace)
        finally:
            arm(0)
    except _TooLong:
        return ProbeOutcome(passed=False, errored=True, detail=f"the probe took longer than {PROBE_LIMIT_S:g} s")
    except Exception as error:  # noqa: BLE001 (a probe that breaks is an error of that probe, not the end of the suite)
        return ProbeOutcome(passed=False, errored=True, detail=redactor.fit(f"the probe failed: {error!r}", TEXT_LIMIT))
    return ProbeOutcome(passed=check.passed, vacuous=check.vacuous, detail=redactor.fit(check.detail, TEXT_LIMIT))


class _TooLong(BaseException):
    """Not an Exception, so that no probe catches it."""


@contextmanager
def _alarm() -> Iterator[Callable[[float], None]]:
    """Yield what sets the seconds until _TooLong is raised in the body, in a regular expression too; 0: never.

    It does nothing outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda _seconds: None
        return
    armed = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        if armed:
            raise _TooLong

    def arm(seconds: float) -> None:
        nonlocal armed
        armed = seconds > 0
        signal.setitimer(signal.ITIMER_REAL, seconds)

    before = signal.signal(signal.SIGALRM, stop)
    try:
        yield arm
    finally:
        arm(0)
        signal.signal(signal.SIGALRM, before)
