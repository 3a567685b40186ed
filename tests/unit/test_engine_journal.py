"""The journal survives the death of its writer, and is taken up by the same suite only."""

from pathlib import Path
from typing import Any

import pytest

from gate.engine.journal import Header, Journal, read_header, read_records
from gate.errors import InvalidFileError, UsageError
from gate.report import FaultCount, Phase, ProbeOutcome, RunRecord


def header(**changes: Any) -> Header:
    values: dict[str, Any] = {
        "suite": "abc",
        "runs": None,
        "default_runs": 40,
        "seed": None,
        "target": None,
        "timeout_s": 60.0,
        "isolation": "fork",
        "started_at": "2026-01-01T00:00:00Z",
    }
    return Header(**values | changes)


def record(index: int, phase: Phase = "chaos", **changes: Any) -> RunRecord:
    values: dict[str, Any] = {
        "experiment": "one",
        "phase": phase,
        "index": index,
        "seed": index,
        "outcome": "ok",
        "duration_s": 0.5,
        "probes": [ProbeOutcome(passed=True)],
        "faults": [FaultCount(fired=1)],
    }
    return RunRecord(**values | changes)


RECORDS = [record(0, "baseline"), record(0), record(1, error="line one\nline two \u2028 end")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "deep" / "journal.jsonl"
    with Journal.create(path, header()) as journal:
        for item in RECORDS:
            journal.append(item)
    return path


def test_records__come_back_as_written(path: Path) -> None:
    assert read_header(path) == header()
    assert list(read_records(path)) == RECORDS


def test_append__is_on_disk_at_once(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal.create(path, header())
    journal.append(RECORDS[0])
    assert list(read_records(path)) == RECORDS[:1]
    journal.__exit__()


@pytest.mark.parametrize("torn", [1, 20, 10_000], ids=["a byte", "some bytes", "all but a byte"])
def test_resume__drops_a_torn_last_line(path: Path, torn: int) -> None:
    whole = path.read_bytes()
    line = record(2).model_dump_json().encode()
    path.write_bytes(whole + line[: min(torn, len(line) - 1)])
    assert list(read_records(path)) == RECORDS
    journal, done = Journal.resume(path, header())
    assert done == {("one", "baseline", 0), ("one", "chaos", 0), ("one", "chaos", 1)}
    with journal:
        journal.append(record(2))
    assert list(read_records(path)) == [*RECORDS, record(2)]


def test_resume__keeps_the_time_of_the_first_start(path: Path) -> None:
    journal, _ = Journal.resume(path, header(started_at="2026-01-02T00:00:00Z"))
    journal.__exit__()
    assert read_header(path).started_at == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize("left", ["", '{"schema_ver'], ids=["empty", "torn header"])
def test_resume__without_a_whole_header_begins_anew(path: Path, left: str) -> None:
    path.write_text(left)
    journal, done = Journal.resume(path, header())
    with journal:
        journal.append(record(0))
    assert done == set()
    assert list(read_records(path)) == [record(0)]


def test_resume__without_a_file_begins_one(tmp_path: Path) -> None:
    journal, done = Journal.resume(tmp_path / "new.jsonl", header())
    journal.__exit__()
    assert done == set()
    assert read_header(tmp_path / "new.jsonl") == header()


@pytest.mark.parametrize(
    ("change", "named"),
    [({"suite": "other"}, "suite"), ({"seed": 1, "runs": 3}, "runs, seed"), ({"isolation": "process"}, "isolation")],
)
def test_resume__refuses_another_journal(path: Path, change: dict[str, Any], named: str) -> None:
    before = path.read_bytes()
    with pytest.raises(UsageError, match=f"another {named}\n"):
        Journal.resume(path, header(**change))
    assert path.read_bytes() == before


def test_read__a_run_that_stands_twice_counts_once(path: Path) -> None:
    with path.open("a") as file:
        file.write(record(1, error="later").model_dump_json() + "\n")
    assert list(read_records(path)) == RECORDS


def test_read__a_broken_line_in_the_middle_is_an_error(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{}\n", *lines[1:]]))
    with pytest.raises(InvalidFileError, match=r"journal.jsonl:2: not a record of a run"):
        list(read_records(path))


def test_read__another_file_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text('{"schema_version": 1}\n')
    with pytest.raises(InvalidFileError, match=r"report.json:1: not the header of a journal"):
        read_header(path)
