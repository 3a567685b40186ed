"""Counts by row to a report, for formats that know tests and repeats but neither faults nor thresholds."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gate.errors import InvalidFileError
from gate.report import (
    ExperimentReport,
    Failure,
    Outcomes,
    PhaseReport,
    ProbeReport,
    Report,
    RunSummary,
    Spend,
    Suite,
    Tool,
)
from gate.stats import wilson_interval

MAX_ROWS = 2_000
"""As many experiments as a report may have."""

MAX_SUMMARIES = 50_000
"""From more runs than this, single runs are kept only where some were lost."""

MAX_FAILURES = 3
CONFIDENCE = 0.95
PROBE = "passed"
UNKNOWN = "unknown"

NO_THRESHOLD = "no threshold is stated: judged against the base only, never by itself"
ROWS_ONLY = "no thresholds, severities, seeds or commit in the file: rows are judged against the base only, all as high"
"""What formats of plain tests cannot say; short enough, like every limit, to be shown in one piece."""


@dataclass
class Row:
    """One test and its repeats. `definition`: what must be equal for two rows of one name to be comparable."""

    name: str
    definition: Any
    runs: list[bool | None] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)
    planned: int | None = None

    def add(self, passed: bool | None, detail: str = "") -> None:
        """Take one run: passed, failed, or None for one that the machinery lost; such runs are left out of counts."""
        if not passed and len(self.failures) < MAX_FAILURES:
            self.failures.append((len(self.runs), detail))
        self.runs.append(passed)

    @property
    def lost(self) -> int:
        """Return how many runs say nothing about the agent."""
        return self.runs.count(None)


@dataclass(frozen=True)
class Origin:
    """Where a report comes from: what the file says of itself, and what it cannot say, in sentences."""

    tool: str
    limits: Sequence[str]
    version: str = ""
    started_at: str = ""
    ended_at: str = ""
    tokens: int = 0
    usd: float | None = None


def report_of_rows(rows: Iterable[Row], origin: Origin, source: str) -> Report:
    """Return a report with an experiment of one probe, in the phase without faults, for every row.

    Raises:
        InvalidFileError: no row, too many, or two of one name.
    """
    kept = list(rows)
    if len(kept) > MAX_ROWS:
        raise InvalidFileError(
            [f"{source}: {len(kept):,} rows; at most {MAX_ROWS:,} can be compared at once"],
            fix="split the suite into several files and compare them one by one",
        )
    names = [short(row.name) for row in kept]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise InvalidFileError([f"{source}: {name!r} stands for two different things" for name in twice[:10]])
    runs = sum(len(row.runs) for row in kept)
    if not runs:
        raise InvalidFileError([f"{source}: no run is in it"], fix="run the suite again")
    every_run = runs <= MAX_SUMMARIES
    experiments = [_experiment(row, name, every_run=every_run) for row, name in zip(kept, names, strict=True)]
    return make_report(experiments, origin, runs)


def make_report(experiments: list[ExperimentReport], origin: Origin, runs: int) -> Report:
    """Return the report of converted experiments."""
    return Report(
        tool=Tool(name=origin.tool, version=short(origin.version) or UNKNOWN),
        started_at=short(origin.started_at) or UNKNOWN,
        ended_at=short(origin.ended_at) or UNKNOWN,
        suite=Suite(digest=digest([[e.name, e.fingerprint] for e in experiments])),
        spend=Spend(runs=runs, tokens=min(max(origin.tokens, 0), 10_000_000), usd=_finite(origin.usd)),
        experiments=experiments,
        limits=list(origin.limits),
    )


def _finite(usd: float | None) -> float | None:
    return usd if usd is not None and math.isfinite(usd) else None


def _experiment(row: Row, name: str, *, every_run: bool) -> ExperimentReport:
    lost = row.lost
    runs, passes = len(row.runs) - lost, row.runs.count(True)
    return ExperimentReport(
        name=name,
        status="inconclusive",
        reason=NO_THRESHOLD,
        fingerprint=digest(row.definition),
        seed=None,
        confidence=CONFIDENCE,
        probes=[
            ProbeReport(
                id=PROBE,
                type=PROBE,
                label=PROBE,
                category="availability",
                severity="high",
                phase="baseline",
                threshold=0.0,
                passes=passes,
                runs=runs,
                interval=interval(passes, runs),
                detail=next((cut(d) for at, d in row.failures if row.runs[at] is False), ""),
            )
        ],
        faults=[],
        outcomes=Outcomes(ok=runs, infra=lost),
        phases=[
            PhaseReport(
                phase="baseline",
                planned_runs=max(row.planned or 0, len(row.runs)),
                runs=_summaries(row) if every_run or lost else [],
            )
        ],
        failures=[
            Failure(
                phase="baseline",
                index=at,
                seed=None,
                outcome="infra" if row.runs[at] is None else "ok",
                probes=[PROBE] if row.runs[at] is False else [],
                detail=cut(detail),
            )
            for at, detail in row.failures
        ],
    )


def _summaries(row: Row) -> list[RunSummary]:
    return [
        RunSummary(index=at, seed=None, outcome="infra" if run is None else "ok", passed=() if run is None else (run,))
        for at, run in enumerate(row.runs)
    ]


def interval(passes: int, runs: int) -> tuple[float, float] | None:
    """Return the Wilson interval, if there are runs."""
    if not runs:
        return None
    found = wilson_interval(passes, runs, CONFIDENCE)
    return found.low, found.high


def short(text: str, limit: int = 200) -> str:
    """Return a name that fits; one that is cut ends in a digest of the whole, so that it stays its own."""
    return text if len(text) <= limit else f"{text[: limit - 11]}… {digest(text)[:9]}"


def cut(text: str) -> str:
    """Return the beginning of a text that is only shown."""
    return text if len(text) <= 500 else f"{text[:499]}…"


def digest(value: Any) -> str:
    """Return 16 hexadecimal digits for a JSON value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
