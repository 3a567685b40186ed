"""What a readable report has room for: too many runs are refused before they are paid for, texts are left out after."""

from collections.abc import Sequence

from gate.errors import UsageError
from gate.experiment import Experiment
from gate.report import MAX_BYTES, ExperimentReport, Failure, Report
from gate.store import without_transcripts

RUN_BYTES, PASSED_BYTES = 70, 6
"""What one run takes, and each of its probes: `{"index":1,"seed":8,"outcome":"timeout","passed":[false]},`."""
RUNS_ROOM = 12_000_000
TEXT_ROOM = 6_000_000
"""Bytes that the runs and the failures of a report may take; the rest of `MAX_BYTES` is for the probes."""


def refuse_too_many(experiments: Sequence[Experiment], runs: Sequence[int]) -> None:
    """Stop before anything is run where the report could not be read again; `runs` are the most that each phase has.

    Raises:
        UsageError: too many runs.
    """
    phases = [n * (1 + e.baseline) for e, n in zip(experiments, runs, strict=True)]
    size = sum(n * (RUN_BYTES + PASSED_BYTES * len(e.probes)) for e, n in zip(experiments, phases, strict=True))
    if size > RUNS_ROOM:
        most = sum(phases) * RUNS_ROOM // size
        fix = "run fewer of each, or split the suite over several keys"
        raise UsageError(f"{sum(phases):,} runs are more than one report can hold, about {most:,} here", fix=fix)


def with_room(report: Report) -> Report:
    """Return the report with as much of what failing runs said as it has room for, every experiment its share."""
    left, kept = TEXT_ROOM, []
    for at, experiment in enumerate(report.experiments):
        shown = _within(experiment, left // (len(report.experiments) - at))
        left -= sum(_size(failure) for failure in shown.failures)
        kept.append(shown)
    report = report.model_copy(update={"experiments": kept})
    return report if len(report.to_json().encode()) <= MAX_BYTES else without_transcripts(report)


def _within(experiment: ExperimentReport, room: int) -> ExperimentReport:
    """Leave out the events of failures, and failures themselves, for which there is no room."""
    kept: list[Failure] = []
    for failure in experiment.failures:
        bare = failure.model_copy(update={"trace": []})
        if (size := _size(bare)) > room:
            break
        room -= size
        kept.append(bare)
    for at, failure in enumerate(experiment.failures[: len(kept)]):
        if (size := _size(failure) - _size(kept[at])) <= room:
            room -= size
            kept[at] = failure
    return experiment.model_copy(update={"failures": kept})


def _size(failure: Failure) -> int:
    return len(failure.model_dump_json().encode())
