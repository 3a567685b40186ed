"""What was stored for a branch, a line per report, and the counts of each probe over these lines. Pure."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from gate.comparison import Counts, Row
from gate.policy import Model, Name
from gate.report import Count, Report, Status, Text

SHOWN = 20
"""How many stored reports a row looks back on."""

RunId = Annotated[int, Field(ge=0, lt=2**63)]
Sha = Annotated[str, Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]


class ExperimentSummary(Model):
    """One experiment of a stored report; `counts` has (passes, runs) by `phase/probe id`.

    `fingerprint` says what was measured; it is empty in older histories.
    """

    name: Name
    status: Status
    counts: dict[Annotated[str, Field(max_length=300)], tuple[Count, Count]]
    fingerprint: Text = ""


class Summary(Model):
    """One stored report in a line of its branch's history."""

    commit: Sha
    run_id: RunId
    attempt: Count
    ended_at: Name
    tool_version: Name
    experiments: list[ExperimentSummary] = Field(max_length=2_000)


class History(Model):
    """What was stored for a branch, in order: the last entry is its latest base."""

    schema_version: Literal[1] = 1
    ref: Text
    entries: list[Summary] = Field(max_length=10_000)


def with_history(rows: Sequence[Row], history: Sequence[Summary], head: Report) -> list[Row]:
    """Return the rows with their counts in the reports that were stored before head, the oldest first.

    Left out are reports of head's own commit, and those in which the experiment was another than in head.
    """
    defined = {e.name: e.fingerprint for e in head.experiments}
    past: dict[str, list[dict[str, tuple[int, int]]]] = {}
    for experiment in (e for entry in history if entry.commit != head.commit for e in entry.experiments):
        if experiment.fingerprint in ("", defined.get(experiment.name, experiment.fingerprint)):
            past.setdefault(experiment.name, []).append(experiment.counts)
    return [row.model_copy(update={"history": _counts(past.get(row.experiment, []), row)}) for row in rows]


def _counts(past: list[dict[str, tuple[int, int]]], row: Row) -> list[Counts]:
    key = f"{row.phase}/{row.probe}"
    found = [counts[key] for counts in past if counts.get(key, (0, 0))[1]]
    return [Counts(passes=passes, runs=runs) for passes, runs in found[-SHOWN:]]
