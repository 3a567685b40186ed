"""Inspect's log as JSON: a row for every sample and scorer, a run for every epoch."""

import math
from typing import Literal

from pydantic import Field, TypeAdapter

from gate.readers.base import Reader
from gate.readers.outline import outline
from gate.readers.parsing import Foreign, Items, parse, refuse
from gate.readers.rows import ROWS_ONLY, Origin, Row, digest, report_of_rows
from gate.report import Count, Report

LIMITS = (
    ROWS_ONLY,
    "a sample with an error, or without a score, is a lost run; no answer (N) is a wrong answer",
)

_VERDICTS = {"C": True, "I": False, "N": False, "1": True, "0": False, "1.0": True, "0.0": False}


class _Error(Foreign):
    message: str = ""


class _Score(Foreign):
    value: object = None
    explanation: str | None = None


class _Sample(Foreign):
    id: int | str
    epoch: int
    input: object
    target: object
    scores: dict[str, _Score] | None = None
    error: _Error | None = None
    error_retries: list[object] | None = None


class _Config(Foreign):
    epochs: Count | None = None


class _Eval(Foreign):
    task: str = Field(min_length=1)
    config: _Config = _Config()
    packages: dict[str, str] = {}


class _Results(Foreign):
    total_samples: int
    completed_samples: int


class _Usage(Foreign):
    total_tokens: int = Field(default=0, ge=0)


class _Stats(Foreign):
    started_at: str = ""
    completed_at: str = ""
    model_usage: dict[str, _Usage] = {}


class _Log(Foreign):
    version: Literal[2]
    status: str
    eval: _Eval
    results: _Results | None = None
    stats: _Stats = _Stats()
    invalidated: bool = False
    samples: Items[_Sample] | None = None


_LOG = TypeAdapter(_Log)


class InspectReader(Reader):
    """Inspect's log as JSON."""

    type = "inspect"
    format = "Inspect's JSON log"

    def handles(self, head: bytes, name: str) -> bool:  # noqa: ARG002  # the bytes say enough
        """Return whether the file has a status and a task as Inspect's logs do."""
        return {"status", "eval.task"} <= outline(head).keys()

    def read(self, data: bytes, source: str) -> Report:
        """Return the report of a log that was written to its end."""
        log = parse(_LOG, data, source, self.format)
        samples = _samples(log, source)
        retried = sum(bool(s.error_retries) for s in samples)
        origin = Origin(
            tool="Inspect",
            version=log.eval.packages.get("inspect_ai", ""),
            limits=[*LIMITS, *([f"{retried} samples were tried again after an error"] if retried else [])],
            started_at=log.stats.started_at,
            ended_at=log.stats.completed_at,
            tokens=sum(u.total_tokens for u in log.stats.model_usage.values()),
        )
        return report_of_rows(_rows(log, samples, source), origin, source)


def _samples(log: _Log, source: str) -> list[_Sample]:
    """Return the samples of a whole, valid log, each epoch once."""
    if log.status != "success":
        raise refuse(source, f"status {log.status!r:.40}: the evaluation did not finish, so its counts are not whole")
    if log.invalidated:
        raise refuse(source, "the log was invalidated")
    if not log.samples:
        raise refuse(source, "no samples are in the log", fix="evaluate with samples logged (without --no-log-samples)")
    if log.results is not None and log.results.total_samples != len(log.samples):
        stated = log.results.total_samples
        raise refuse(source, f"results.total_samples is {stated}, the log holds {len(log.samples)} samples")
    seen: dict[tuple[str, int], int | str] = {}
    for sample in log.samples:
        if (key := (str(sample.id), sample.epoch)) in seen:
            raise refuse(source, f"sample {sample.id!r:.80} stands twice in epoch {sample.epoch}")
        seen[key] = sample.id
    return log.samples


def _rows(log: _Log, samples: list[_Sample], source: str) -> list[Row]:
    scorers = sorted({name for s in samples for name in s.scores or {}})
    if not scorers:
        raise refuse(source, "no sample was scored: there is nothing to count")
    rows: dict[tuple[str, str], Row] = {}
    for sample in sorted(samples, key=lambda s: s.epoch):
        definition = digest([sample.input if isinstance(sample.input, str) else _said(sample.input), sample.target])
        for scorer in scorers:
            key = str(sample.id), scorer
            if key not in rows:
                name = f"{log.eval.task}/{sample.id}/{scorer}"
                rows[key] = Row(name, [name, definition], planned=log.eval.config.epochs)
            row = rows[key]
            if row.definition[1] != definition:
                raise refuse(source, f"sample {sample.id!r:.80} asks different things in different epochs")
            row.add(*_run(sample, scorer, source))
    kept = {(str(s.id), scorer) for s in samples for scorer in (scorers if s.error else s.scores or {})}
    return [row for key, row in rows.items() if key in kept]


def _run(sample: _Sample, scorer: str, source: str) -> tuple[bool | None, str]:
    """Return whether one epoch was right, None where that is not known, and what was said."""
    if sample.error is not None:
        return None, sample.error.message or "error"
    score = (sample.scores or {}).get(scorer)
    if score is None or score.value is None or (isinstance(score.value, float) and math.isnan(score.value)):
        return None, ""
    value = score.value
    if isinstance(value, bool):
        verdict: bool | None = value
    elif isinstance(value, int | float):
        verdict = value == 1 if value in (0, 1) else None
    else:
        verdict = _VERDICTS.get(value) if isinstance(value, str) else None
    if verdict is None:
        shown = value if isinstance(value, str | int | float) else type(value).__name__
        raise refuse(
            source,
            f"sample {sample.id!r:.80}, epoch {sample.epoch}: {scorer!r:.80} scores {shown!r:.40}, which is a degree, "
            "not right or wrong",
            fix="score with C and I, or 1 and 0",
        )
    return verdict, (score.explanation or "") if not verdict else ""


def _said(value: object) -> object:
    """Return the messages of an input without their ids, which differ from run to run."""
    if isinstance(value, list):
        return [_said(item) for item in value]
    if isinstance(value, dict):
        return {key: _said(item) for key, item in value.items() if key != "id"}
    return value
