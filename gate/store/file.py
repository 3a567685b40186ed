"""`file:PATH`: one report that is committed with the code, the base of everything."""

import tempfile
from collections.abc import Set
from pathlib import Path
from typing import Self

from gate.errors import BrokenEnvironmentError, InvalidFileError
from gate.github import Client
from gate.history import Summary
from gate.report import MAX_BYTES, Report, read_report
from gate.store.base import Store
from gate.store.stored import without_transcripts


class FileStore(Store):
    """A report.json of the user, replaced as a whole when it is saved."""

    type = "file"
    pinned = True

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def at(cls, place: str, *, key: str, client: Client | None) -> Self:  # noqa: ARG003  # one file, one key
        """Return the store of a path."""
        return cls(Path(place))

    def commits(self) -> Set[str]:
        """Return the commit of the report, if the file is there and names one."""
        report = self._read()
        return {report.commit} if report and report.commit else frozenset()

    def load(self, commit: str) -> Report | None:
        """Return the report if it was made at this commit."""
        report = self._read()
        return report if report and report.commit == commit else None

    def latest(self, ref: str) -> Report | None:  # noqa: ARG002  # one report for every branch
        """Return the report."""
        return self._read()

    def history(self, ref: str) -> list[Summary]:  # noqa: ARG002  # the file's history is git's
        """Return nothing."""
        return []

    def save(self, report: Report, *, ref: str, run_id: int, attempt: int = 1) -> bool:  # noqa: ARG002  # one report
        """Replace the file; False if it says the same already."""
        text = without_transcripts(report).to_json()
        try:
            if self._path.is_file() and self._path.read_text(encoding="utf-8") == text:
                return False
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self._path.parent, encoding="utf-8", delete=False) as file:
                file.write(text)
            Path(file.name).chmod(0o644)
            Path(file.name).replace(self._path)
        except (OSError, UnicodeDecodeError) as error:
            raise BrokenEnvironmentError(f"cannot be written: {error}", where=str(self._path)) from None
        return True

    def prune(self, keep: int) -> int:  # noqa: ARG002  # there is nothing besides the one report
        """Do nothing."""
        return 0

    def _read(self) -> Report | None:
        try:
            with self._path.open("rb") as file:
                text = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidFileError([f"{self._path}: cannot be read: {error.strerror}"]) from None
        return read_report(text, str(self._path))
