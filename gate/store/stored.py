"""The files of a store and the rules for adding to them. Read strictly: whoever can push can write them."""

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Literal, TypeVar

from pydantic import Field

from gate.errors import BrokenEnvironmentError, InvalidFileError
from gate.history import ExperimentSummary, History, RunId, Summary
from gate.policy import Model
from gate.report import MAX_BYTES, Count, Report, read_model, read_report

KEPT = 500
"""How many commits stay stored for one key."""
KEPT_SAMPLES = 10
"""How many reports of one commit stay stored; a schedule on a quiet branch adds one every day."""

T = TypeVar("T")


class Sample(Model):
    """One report of a commit, by the workflow run and attempt that made it."""

    run_id: RunId
    attempt: Count
    report: Report


class StoredReport(Model):
    """Every report of one commit, the newest last.

    Samples are kept side by side, never added up. They run the same seeds, so that a deterministic agent gives the same
    answers again: their sum would claim twice the runs and none of the information. And those of different days meet
    different models behind the same name, which is what a schedule is there to show. The newest is the base.
    """

    schema_version: Literal[1] = 1
    samples: list[Sample] = Field(min_length=1, max_length=100)


def read_stored(text: bytes, source: str, commit: str) -> Report:
    """Return the newest report of a stored file.

    Raises:
        InvalidFileError: not a stored report, or one of another commit.
    """
    newest = read_model(StoredReport, text, source).samples[-1].report
    if newest.commit != commit:
        raise InvalidFileError([f"{source}: holds a report of commit {newest.commit or '(none)'}"])
    return read_report(newest.model_dump_json(), source)


def without_transcripts(report: Report) -> Report:
    """Return a report that keeps counts, outcomes by seed, fingerprints and policy, and nothing an agent wrote."""
    experiments = [
        e.model_copy(update={"failures": [], "probes": [p.model_copy(update={"detail": ""}) for p in e.probes]})
        for e in report.experiments
    ]
    return report.model_copy(update={"experiments": experiments})


def add_sample(stored: StoredReport | None, sample: Sample) -> StoredReport | None:
    """Return the samples with one more at the end, or None if it is there already.

    One workflow run has one sample: a later attempt takes the place of an earlier one.
    """
    samples = stored.samples if stored else []
    if any(s.run_id == sample.run_id and s.attempt >= sample.attempt for s in samples):
        return None
    kept = [s for s in samples if s.run_id != sample.run_id]
    return StoredReport(samples=[*kept, sample])


def add_summary(history: History, summary: Summary) -> History:
    """Return the history with one more entry at the end; like samples, one workflow run has one entry per commit."""
    same = (summary.commit, summary.run_id)
    entries = [e for e in history.entries if (e.commit, e.run_id) != same]
    return history.model_copy(update={"entries": [*entries, summary]})


def summarize(sample: Sample) -> Summary:
    """Return the line that a branch's history keeps of a report."""
    report = sample.report
    experiments = [
        ExperimentSummary(
            name=e.name,
            status=e.status,
            fingerprint=e.fingerprint,
            counts={f"{p.phase}/{p.id}": (p.passes, p.runs) for p in e.probes},
        )
        for e in report.experiments
    ]
    return Summary(
        commit=report.commit,
        run_id=sample.run_id,
        attempt=sample.attempt,
        ended_at=report.ended_at,
        tool_version=report.tool.version,
        experiments=experiments,
    )


def outdated(stored: Set[str], histories: Iterable[History], keep: int) -> set[str]:
    """Return the commits beyond the newest `keep` of all branches together.

    A commit is as old as its newest entry, and older than all if it has none; the last entry of a branch is its latest
    base and always stays.
    """
    newest = dict.fromkeys(stored, "")
    latest: set[str] = set()
    for history in histories:
        for entry in history.entries:
            newest[entry.commit] = max(newest.get(entry.commit, ""), entry.ended_at)
        latest |= {e.commit for e in history.entries[-1:]}
    ordered = sorted(newest, key=lambda commit: (commit in latest, newest[commit], commit))
    return set(ordered[: max(0, len(ordered) - keep)]) - latest


def without_commits(history: History, commits: set[str]) -> History:
    """Return the history without the entries of some commits."""
    return history.model_copy(update={"entries": [e for e in history.entries if e.commit not in commits]})


def stored_text(stored: StoredReport) -> bytes:
    """Return the file of a commit, the oldest samples left out beyond `KEPT_SAMPLES` or beyond its size."""
    return _newest_that_fit(stored.samples, KEPT_SAMPLES, lambda samples: StoredReport(samples=samples))


def history_text(history: History) -> bytes:
    """Return the file of a branch, the oldest entries left out beyond `KEPT` or beyond its size."""
    return _newest_that_fit(history.entries, KEPT, lambda entries: History(ref=history.ref, entries=entries))


def _newest_that_fit(items: Sequence[T], most: int, build: Callable[[list[T]], Model]) -> bytes:
    """Dump the last items; a file that grew beyond what is read back would lock everybody out."""
    kept = list(items[-most:])
    while True:
        text = build(kept).model_dump_json().encode() + b"\n"
        if len(text) <= MAX_BYTES:
            return text
        if len(kept) <= 1:
            fix = "split the suite over several keys"
            raise BrokenEnvironmentError(
                f"the report is larger than {MAX_BYTES // 1_000_000} MB", where="store", fix=fix
            )
        kept = kept[1 + len(kept) // 4 :]
