"""Inspect's log as JSON: a row for every sample and scorer, a run for every epoch."""

import math
import sys
from typing import Literal, NamedTuple

from pydantic import Field, TypeAdapter

from gate.readers.base import Reader
from gate.readers.outline import outline
from gate.readers.parsing import Foreign, parse_each, refuse
from gate.readers.rows import ROWS_ONLY, Origin, Row, cut, digest, report_of_rows
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
    samples: list[object] | None = None


_LOG = TypeAdapter(_Log)
_SAMPLE = TypeAdapter(_Sample)


class InspectReader(Reader):
    """Inspect's log as JSON."""

    type = "inspect"
    format = "Inspect's JSON log"

    def handles(self, head: bytes, name: str) -> bool:  # noqa: ARG002  # the bytes say enough
        """Return whether the file has a status and a task as Inspect's logs do."""
        return {"status", "eval.task"} <= outline(head).keys()

    def read(self, data: bytes, source: str) -> Report:
        """Return the report of a log that was written to its end."""
        seen = _Seen(source)
        log = parse_each(_LOG, _SAMPLE, seen.add, data, source, self.format, path=(("samples",),))
        _check(log, len(seen.epochs), source)
        origin = Origin(
            tool="Inspect",
            version=log.eval.packages.get("inspect_ai", ""),
            limits=[*LIMITS, *([f"{seen.retried} samples were tried again after an error"] if seen.retried else [])],
            started_at=log.stats.started_at,
            ended_at=log.stats.completed_at,
            tokens=sum(u.total_tokens for u in log.stats.model_usage.values()),
        )
        return report_of_rows(_rows(log, seen, source), origin, source)


_Said = tuple[bool | None, str]
"""Whether one epoch was right, None where that is not known, and what was said."""


class _Epoch(NamedTuple):
    """What is kept of a sample: its error, if it has one, and what each scorer said."""

    epoch: int
    id: str
    error: str
    scores: dict[str, _Said]


class _Seen:
    """What is kept of the samples."""

    def __init__(self, source: str) -> None:
        self.epochs: list[_Epoch] = []
        self.asked: dict[str, list[object]] = {}
        self.retried = 0
        self._known: set[tuple[str, int]] = set()
        self._source = source

    def add(self, _where: str, sample: _Sample) -> None:
        """Take one sample: a run of each of its scorers."""
        id_ = sys.intern(str(sample.id))
        if (id_, sample.epoch) in self._known:
            raise refuse(self._source, f"sample {id_!r:.80} stands twice in epoch {sample.epoch}")
        self._known.add((id_, sample.epoch))
        asked = [sample.input if isinstance(sample.input, str) else _said(sample.input), sample.target]
        if self.asked.setdefault(id_, asked) != asked:
            raise refuse(self._source, f"sample {id_!r:.80} asks different things in different epochs")
        self.retried += bool(sample.error_retries)
        error = cut(sample.error.message or "error") if sample.error else ""
        where = f"sample {id_!r:.80}, epoch {sample.epoch}"
        scores: dict[str, _Said] = {
            sys.intern(name): (None, error) if error else _verdict(score, f"{where}: {name!r:.80}", self._source)
            for name, score in (sample.scores or {}).items()
        }
        self.epochs.append(_Epoch(sample.epoch, id_, error, scores))


def _check(log: _Log, samples: int, source: str) -> None:
    """Refuse a log that is not whole and valid."""
    if log.status != "success":
        raise refuse(source, f"status {log.status!r:.40}: the evaluation did not finish, so its counts are not whole")
    if log.invalidated:
        raise refuse(source, "the log was invalidated")
    if not samples:
        raise refuse(source, "no samples are in the log", fix="evaluate with samples logged (without --no-log-samples)")
    if log.results is not None and log.results.total_samples != samples:
        stated = log.results.total_samples
        raise refuse(source, f"results.total_samples is {stated}, the log holds {samples} samples")


def _rows(log: _Log, seen: _Seen, source: str) -> list[Row]:
    """Return a row for every scorer of a sample, its runs in the order of the epochs."""
    scorers = sorted({name for e in seen.epochs for name in e.scores})
    if not scorers:
        raise refuse(source, "no sample was scored: there is nothing to count")
    scored = {(e.id, name) for e in seen.epochs for name in (scorers if e.error else e.scores)}
    rows: dict[tuple[str, str], Row] = {}
    for epoch in sorted(seen.epochs, key=lambda e: e.epoch):
        for key in ((epoch.id, name) for name in scorers if (epoch.id, name) in scored):
            if key not in rows:
                name = f"{log.eval.task}/{'/'.join(key)}"
                rows[key] = Row(name, [name, digest(seen.asked[epoch.id])], planned=log.eval.config.epochs)
            rows[key].add(*epoch.scores.get(key[1], (None, epoch.error)))
    return list(rows.values())


def _verdict(score: _Score, where: str, source: str) -> _Said:
    """Return what a score says, and why if it says wrong."""
    if score.value is None or (isinstance(score.value, float) and math.isnan(score.value)):
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
            f"{where} scores {shown!r:.40}, which is a degree, not right or wrong",
            fix="score with C and I, or 1 and 0",
        )
    return verdict, "" if verdict else cut(score.explanation or "")


def _said(value: object) -> object:
    """Return the messages of an input without their ids, which differ from run to run."""
    if isinstance(value, list):
        return [_said(item) for item in value]
    if isinstance(value, dict):
        return {key: _said(item) for key, item in value.items() if key != "id"}
    return value
