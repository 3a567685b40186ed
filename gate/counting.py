"""The runs of one phase, counted. Pure."""

from collections import Counter
from collections.abc import Mapping
from typing import Protocol

from gate.experiment import Experiment, ProbeSpec
from gate.report import (
    BUDGET_STOP,
    Decision,
    FaultCount,
    ModelUsage,
    Phase,
    PhaseReport,
    ProbeReport,
    RunRecord,
    RunSummary,
)
from gate.stats import wilson_interval
from gate.trace import Outcome

UNCOUNTED: tuple[Outcome, ...] = ("infra", "gate_error")
"""Outcomes that say nothing about the agent; such runs are left out of every count."""
MAX_MODELS = 999
"""How many models a phase tells apart."""


class Stop(Protocol):
    """Why a phase ended before its time, empty if it did not, and what was decided on the way, by probe.

    `limit`: how many runs it was to have in the end; `max_runs`: how many with a second look, None if none was planned.
    """

    @property
    def stop_reason(self) -> str: ...
    @property
    def decisions(self) -> Mapping[str, Decision]: ...
    @property
    def limit(self) -> int: ...
    @property
    def max_runs(self) -> int | None: ...


def applicable(experiment: Experiment, phase: Phase) -> list[ProbeSpec]:
    """Return the probes that are checked in a phase, in the order of `RunRecord.probes`."""
    return [p for p in experiment.probes if phase == "chaos" or not p.detection]


class PhaseTally:
    """One phase: its runs, and what each probe, in the order of `RunRecord.probes`, had in them."""

    def __init__(self, probes: int) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.summaries: list[RunSummary] = []
        self._seen: dict[tuple[bool, ...], tuple[bool, ...]] = {}  # most runs are alike: one tuple does for all
        self.passes, self.vacuous, self.errors = ([0] * probes for _ in range(3))
        self.details: list[tuple[int, str] | None] = [None] * probes
        self.seconds, self.model_calls = 0.0, 0
        self.usage: dict[str, ModelUsage] = {}

    @property
    def counted(self) -> int:
        """Return how many runs say something about the agent."""
        return sum(n for outcome, n in self.outcomes.items() if outcome not in UNCOUNTED)

    def add(self, record: RunRecord) -> None:
        """Take one run."""
        self.outcomes[record.outcome] += 1
        passed = tuple(p.passed for p in record.probes)
        passed = self._seen.setdefault(passed, passed)
        self.summaries.append(RunSummary(index=record.index, seed=record.seed, outcome=record.outcome, passed=passed))
        self._add_spend(record)
        if record.outcome in UNCOUNTED:
            return
        for at, outcome in enumerate(record.probes):
            self.passes[at] += outcome.passed
            self.vacuous[at] += outcome.vacuous
            self.errors[at] += outcome.errored
            first = self.details[at]
            if not outcome.passed and (first is None or record.index < first[0]):
                self.details[at] = record.index, outcome.detail

    def _add_spend(self, record: RunRecord) -> None:
        self.seconds += record.duration_s
        self.model_calls += record.model_calls
        for one in record.usage:
            name = one.model if one.model in self.usage or len(self.usage) < MAX_MODELS else ""
            so_far = self.usage.get(name) or ModelUsage(model=name, responses=0, input_tokens=0, output_tokens=0)
            self.usage[name] = ModelUsage(
                model=name,
                responses=so_far.responses + one.responses,
                input_tokens=so_far.input_tokens + one.input_tokens,
                output_tokens=so_far.output_tokens + one.output_tokens,
            )

    def report(self, phase: Phase, planned_runs: int, stop: Stop | None, group: str) -> PhaseReport:
        """Return the report of the runs taken so far."""
        stop_reason, limit = (stop.stop_reason, stop.limit) if stop else ("", planned_runs)
        return PhaseReport(
            phase=phase,
            planned_runs=planned_runs,
            max_runs=stop.max_runs if stop else None,
            stop_reason=stop_reason or (BUDGET_STOP if len(self.summaries) < limit else ""),
            runs=sorted(self.summaries, key=lambda r: r.index),
            seconds=self.seconds,
            model_calls=self.model_calls,
            usage=list(self.usage.values()),
            group=group,
        )

    def probe_reports(
        self, experiment: Experiment, phase: Phase, planned_runs: int, stop: Stop | None
    ) -> list[ProbeReport]:
        """Return the counts of every probe."""
        runs = self.counted
        early = None  # the runs of the first look, where there was a second
        if len(self.summaries) > planned_runs:
            early = [s for s in self.summaries if s.index < planned_runs and s.outcome not in UNCOUNTED]
        reports = []
        for at, spec in enumerate(applicable(experiment, phase)):
            first = self.details[at]
            interval = wilson_interval(self.passes[at], runs, experiment.confidence) if runs else None
            reports.append(
                ProbeReport(
                    id=spec.id,
                    type=spec.probe.type,
                    label=spec.probe.label[:1_000],
                    category=spec.probe.category,
                    severity=spec.severity,
                    phase=phase,
                    threshold=spec.threshold,
                    passes=self.passes[at],
                    runs=runs,
                    vacuous=self.vacuous[at],
                    errors=self.errors[at],
                    interval=None if interval is None else (interval.low, interval.high),
                    detail=first[1] if first else "",
                    min_effect=spec.min_effect,
                    decision=stop.decisions.get(spec.id) if stop else None,
                    first_look=None if early is None else (sum(s.passed[at] for s in early), len(early)),
                    line=spec.line,
                )
            )
        return reports


class FaultTally:
    """How often one fault acted, over the chaos runs."""

    def __init__(self) -> None:
        self.fired = self.no_op = self.runs_fired = 0

    def add(self, count: FaultCount) -> None:
        """Take what it did in one run."""
        self.fired += count.fired
        self.no_op += count.no_op
        self.runs_fired += count.fired > 0
