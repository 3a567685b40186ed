"""journal.jsonl: a header, then one line per finished run. A killed suite goes on from it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal, Self

from pydantic import ValidationError

from gate.engine.schedule import RunSettings
from gate.errors import InvalidFileError, UsageError
from gate.format import Isolation
from gate.policy import Model, Name
from gate.report import Phase, RunRecord, Text


class Header(Model):
    """What a journal belongs to: the suite by its digest, and the settings that change what a run is.

    `started_at` is when it was begun, which whoever goes on with it keeps.
    """

    schema_version: Literal[1] = 1
    suite: Name
    runs: int | None
    default_runs: int
    max_runs: int | None = None
    seed: int | None
    target: str | None
    timeout_s: float
    isolation: Isolation
    commit: Text = ""
    started_at: Name

    @classmethod
    def of(cls, suite: str, settings: RunSettings, *, started_at: str, commit: str = "") -> Self:
        """Return the header for a suite's digest, its settings and the commit that is checked out."""
        return cls(
            suite=suite,
            runs=settings.runs,
            default_runs=settings.default_runs,
            max_runs=settings.max_runs,
            seed=settings.seed,
            target=settings.target,
            timeout_s=settings.limit_s or settings.timeout_s,
            isolation=settings.isolation,
            commit=commit,
            started_at=started_at,
        )


class Journal:
    """An open journal; `append` leaves a line behind that survives the death of this process."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def append(self, *records: RunRecord) -> None:
        """Write finished runs, all at once."""
        self._write(*records)

    def _write(self, *models: Model) -> None:
        self._file.write(b"".join(model.model_dump_json().encode() + b"\n" for model in models))
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._file.close()

    @classmethod
    def create(cls, path: Path, header: Header) -> Self:
        """Start a journal, in place of one that is there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        journal = cls(path.open("wb"))
        journal._write(header)
        return journal

    @classmethod
    def resume(cls, path: Path, header: Header) -> tuple[Self, set[tuple[str, Phase, int]]]:
        """Open a journal to go on with; also return the runs that are in it. One without a whole header is begun anew.

        Raises:
            UsageError: the journal is another suite's, or was written under other settings.
            InvalidFileError: a line that is no record, other than the torn last one.
        """
        if not path.exists() or b"\n" not in _start(path):
            return cls.create(path, header), set()
        written = read_header(path)
        header = header.model_copy(update={"started_at": written.started_at})
        if written != header:
            named = [name for name in type(header).model_fields if getattr(written, name) != getattr(header, name)]
            raise UsageError(
                f"the journal was written with another {', '.join(named)}",
                where=str(path),
                fix="run without --resume, or with what the journal was begun with",
            )
        done = {(r.experiment, r.phase, r.index) for r in read_records(path)}
        file = path.open("r+b")
        file.truncate(_whole_bytes(file))
        file.seek(0, os.SEEK_END)
        return cls(file), done


def read_header(path: Path) -> Header:
    """Return the first line of a journal.

    Raises:
        InvalidFileError: it is no header.
    """
    try:
        return Header.model_validate_json(_start(path))
    except ValidationError as error:
        raise InvalidFileError([f"{path}:1: not the header of a journal: {error.errors()[0]['msg']}"]) from None


def read_records(path: Path) -> Iterator[RunRecord]:
    """Yield the records of a journal, each run once; a torn last line is left out.

    Raises:
        InvalidFileError: a line that is no record.
    """
    seen: set[tuple[str, Phase, int]] = set()
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if number == 1 or not line.endswith(b"\n"):
                continue
            try:
                record = RunRecord.model_validate_json(line)
            except ValidationError as error:
                message = f"{path}:{number}: not a record of a run: {error.errors()[0]['msg']}"
                raise InvalidFileError([message]) from None
            key = record.experiment, record.phase, record.index
            if key not in seen:
                seen.add(key)
                yield record


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline()


def _whole_bytes(file: IO[bytes]) -> int:
    """Return how long the file is up to its last line feed."""
    size = 0
    for line in file:
        if line.endswith(b"\n"):
            size += len(line)
    return size
