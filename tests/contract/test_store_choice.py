"""Which stored report becomes the base, and how far behind it is."""

import itertools
from collections.abc import Iterator, Sequence, Set
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from gate.github import Client
from gate.history import Summary
from gate.report import Report
from gate.store import Base, Store, choose_base, parse_store
from gate.store.stored import Sample, summarize
from tests import builders
from tests.double import GitHubDouble

NOW = datetime(2026, 1, 11, 0, 0, 59, tzinfo=UTC)  # ten days, less two seconds, after the reports of `builders`


def commit(number: int) -> str:
    """Return the sha of a commit that nobody made."""
    return f"{number:040x}"


Chosen = tuple[str, str, int | None] | None


class Shelf:
    """A store in memory: these commits have a report, the last one is the latest."""

    pinned = False

    def __init__(self, *numbers: int) -> None:
        self._reports = {commit(n): builders.report(commit=commit(n)) for n in numbers}

    def commits(self) -> Set[str]:
        return set(self._reports)

    def load(self, sha: str) -> Report | None:
        return self._reports.get(sha)

    def history(self, ref: str) -> list[Summary]:
        reports = self._reports.values() if ref == "main" else []
        return [summarize(Sample(run_id=1, attempt=1, report=r)) for r in reports]


def choose(shelf: Shelf, ancestors: Sequence[int], ref: str = "main", skip: str = "") -> Chosen:
    """Return commit, way and age of the base."""
    base = choose_base(cast(Store, shelf), map(commit, ancestors), ref, now=NOW, skip=skip)
    return (base.report.commit, base.how, base.age_commits) if base else None


@pytest.mark.parametrize(
    ("stored", "ancestors", "expected"),
    [
        ([3, 5], [5, 4, 3], (commit(5), "exact", 0)),
        ([3, 2, 9], [5, 4, 3, 2], (commit(3), "ancestor", 2)),
        ([9, 8], [5, 4, 3], (commit(8), "latest", None)),
        ([9], [], (commit(9), "latest", None)),
        ([], [5, 4, 3], None),
        ([200], range(100, 300), (commit(200), "ancestor", 100)),
        ([201], range(100, 300), (commit(201), "latest", None)),
    ],
    ids=["exact", "nearest ancestor", "latest", "no ancestors", "nothing stored", "100 behind", "101 behind"],
)
def test_choose_base__in_order(stored: list[int], ancestors: Sequence[int], expected: Chosen) -> None:
    assert choose(Shelf(*stored), ancestors) == expected


def test_choose_base__latest_is_that_of_the_branch() -> None:
    assert choose(Shelf(9), [1], ref="release") is None


def test_choose_base__the_judged_commit_is_no_base() -> None:
    assert choose(Shelf(4, 5), [5, 4], skip=commit(5)) == (commit(4), "ancestor", 1)
    assert choose(Shelf(8, 5), [1], skip=commit(5)) == (commit(8), "latest", None)
    assert choose(Shelf(5), [5], skip=commit(5)) is None


def test_choose_base__draws_no_more_ancestors_than_it_needs() -> None:
    drawn: list[int] = []

    def walk() -> Iterator[str]:
        for number in itertools.count():
            drawn.append(number)
            yield commit(number)

    assert choose_base(cast(Store, Shelf(2)), walk(), "main", now=NOW) is not None
    assert drawn == [0, 1, 2]
    drawn.clear()
    assert choose_base(cast(Store, Shelf()), walk(), "main", now=NOW) is None
    assert drawn == []


@pytest.mark.parametrize(
    ("ended", "days"),
    [
        ("2026-01-01T00:01:00Z", 9),
        ("2026-01-01T00:00:58+00:00", 10),
        ("2026-01-01T00:00:00", 10),
        ("2026-01-10T23:00:00-08:00", 0),
        ("2030-01-01T00:00:00Z", 0),
        ("last week", None),
    ],
)
def test_choose_base__age_in_whole_days(tmp_path: Path, ended: str, days: int | None) -> None:
    report = builders.report(commit=commit(1)).model_copy(update={"ended_at": ended})
    store = parse_store(f"file:{tmp_path}/report.json")
    store.save(report, ref="main", run_id=1)
    assert choose_base(store, [], "main", now=NOW) == Base(report, "pinned", None, days)


def test_choose_base__file_that_is_not_there(tmp_path: Path) -> None:
    assert choose_base(parse_store(f"file:{tmp_path}/report.json"), [commit(1)], "main", now=NOW) is None


def test_choose_base__through_github_follows_first_parents() -> None:
    with GitHubDouble() as double, Client(double.repository, "ghs_x", base_url=double.url) as client:
        first = double.commit_files("main", {"a": b"1"})
        side = double.commit_files("side", {"b": b"1"}, parents=[first])
        merge = double.commit_files("main", {"a": b"2"}, parents=[first, side])
        tip = double.commit_files("main", {"a": b"3"})
        for run_id, sha in enumerate((first, side)):
            store = parse_store("branch:base", client=client)
            store.save(builders.report(commit=sha), ref="main", run_id=run_id)
        before = client.calls
        base = choose_base(store, client.first_parents(tip), "main", now=NOW)
        assert merge != side
        assert base is not None
        assert (base.report.commit, base.how, base.age_commits) == (first, "ancestor", 2)
        assert client.calls - before == 4  # branch, list of files, commits, report
        double.check()
