"""`branch:NAME`: an orphan branch, read and written through the Git Data API, so that no checkout is touched.

v1/<key>/<first two of the sha>/<sha>.json      every report of one commit (StoredReport)
v1/<key>/history/<branch>.json                  a line per report stored for a branch (History)
"""

import hashlib
import random
import re
import time
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote

from gate.errors import BrokenEnvironmentError, InvalidFileError, UsageError
from gate.github import Client, ConflictError, NotFoundError, RefusedError, UnreachableError
from gate.history import History, Summary
from gate.report import MAX_BYTES, Report, read_model
from gate.store.base import Store, is_ref_name
from gate.store.stored import (
    KEPT,
    Sample,
    StoredReport,
    add_sample,
    add_summary,
    history_text,
    outdated,
    read_stored,
    stored_text,
    summarize,
    without_commits,
    without_transcripts,
)

ATTEMPTS = 8
"""How often a write is rebuilt after another writer came first."""

_REPORT = re.compile(r"([0-9a-f]{2})/\1(?:[0-9a-f]{38}|[0-9a-f]{62})\.json")

Files = dict[str, bytes | None]


@dataclass(frozen=True)
class _Snapshot:
    """The branch at one commit: the files of the key as path → (blob, bytes). No commit: the branch does not exist."""

    commit: str | None
    files: dict[str, tuple[str, int]]


class BranchStore(Store):
    """The reports of one key on a branch. What was read is kept until the store writes."""

    type = "branch"

    def __init__(
        self,
        client: Client,
        branch: str,
        key: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._client, self._branch, self._key = client, branch, key
        self._sleep, self._jitter = sleep, jitter
        self._root = f"v1/{key}"
        self._snapshot: _Snapshot | None = None

    @classmethod
    def at(cls, place: str, *, key: str, client: Client | None) -> Self:
        """Return the store on a branch."""
        branch = place.removeprefix("refs/heads/")
        if not is_ref_name(branch):
            raise UsageError(f"{place!r:.120} is not the name of a branch", where=f"{cls.type}:")
        if client is None:
            fix = "set GITHUB_REPOSITORY and a token, or use file:PATH"
            raise UsageError(f"GitHub is needed for {cls.type}:{place}", fix=fix)
        return cls(client, branch, key)

    def commits(self) -> Set[str]:
        """Return the commits that have a stored report."""
        return self._commits(self._read())

    def load(self, commit: str) -> Report | None:
        """Return the newest report of exactly this commit."""
        path = self._report_path(commit)
        text = self._file(self._read(), path)
        return None if text is None else read_stored(text, self._place(path), commit)

    def latest(self, ref: str) -> Report | None:
        """Return the report stored last for a branch."""
        reports = (self.load(entry.commit) for entry in reversed(self.history(ref)))
        return next((report for report in reports if report is not None), None)

    def history(self, ref: str) -> list[Summary]:
        """Return a line for every report stored for a branch, oldest first."""
        return self._history(self._read(), ref).entries

    def save(self, report: Report, *, ref: str, run_id: int, attempt: int = 1) -> bool:
        """Store a report as the latest of a branch; False if this run's is stored already.

        Raises:
            InvalidFileError: what is stored for this commit or branch cannot be read.
            BrokenEnvironmentError: the branch cannot be written.
        """
        if not report.commit:
            raise BrokenEnvironmentError("the report names no commit", fix="run the gate inside a git repository")
        sample = Sample(run_id=run_id, attempt=attempt, report=without_transcripts(report))
        return self._write(
            f"Store the report of {report.commit[:12]} for {self._key}\n\nrun {run_id}, attempt {attempt}",
            lambda snapshot: self._adding(snapshot, sample, ref),
        )

    def prune(self, keep: int) -> int:
        """Take away all but the newest `keep` commits; return how many went."""
        gone: set[str] = set()

        def change(snapshot: _Snapshot) -> Files:
            gone.clear()
            files = self._pruning(snapshot, keep, {})
            gone.update(path for path, content in files.items() if content is None)
            return files

        self._write(f"Keep the newest {keep} reports for {self._key}", change)
        return len(gone)

    # Content

    def _adding(self, snapshot: _Snapshot, sample: Sample, ref: str) -> Files:
        """Return the files that change when a sample is added; none if it is there already."""
        path, history_path = self._report_path(sample.report.commit), self._history_path(ref)
        text = self._file(snapshot, path)
        before = None if text is None else read_model(StoredReport, text, self._place(path))
        stored = add_sample(before, sample)
        if stored is None:
            return {}
        history = add_summary(self._history(snapshot, ref), summarize(sample))
        files = self._pruning(snapshot, KEPT, {history_path: history})
        return {history_path: history_text(history), **files, path: stored_text(stored)}

    def _pruning(self, snapshot: _Snapshot, keep: int, changed: dict[str, History]) -> Files:
        """Return the files that change when only the newest `keep` commits stay; `changed` are histories to come."""
        if len(self._commits(snapshot)) < keep:
            return {}
        prefix = f"{self._root}/history/"
        histories = {
            path: self._read_history(snapshot, path) for path in snapshot.files if path.startswith(prefix)
        } | changed
        gone = outdated(self._commits(snapshot), histories.values(), keep)
        files: Files = {p: None for c in gone if (p := self._report_path(c)) in snapshot.files}
        shortened = {path: without_commits(history, gone) for path, history in histories.items()}
        return files | {path: history_text(h) for path, h in shortened.items() if h != histories[path]}

    def _commits(self, snapshot: _Snapshot) -> set[str]:
        paths = (path.removeprefix(f"{self._root}/") for path in snapshot.files)
        return {path[3:].removesuffix(".json") for path in paths if _REPORT.fullmatch(path)}

    def _history(self, snapshot: _Snapshot, ref: str) -> History:
        path = self._history_path(ref)
        if path not in snapshot.files:
            return History(ref=_short(ref), entries=[])
        return self._read_history(snapshot, path)

    # Paths

    def _report_path(self, commit: str) -> str:
        return f"{self._root}/{commit[:2]}/{commit}.json"

    def _history_path(self, ref: str) -> str:
        name = quote(_short(ref), safe="")
        if len(name) > 200:  # a file name ends at 255 bytes
            name = f"{name[:150]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
        return f"{self._root}/history/{name}.json"

    def _place(self, path: str) -> str:
        return f"branch {self._branch}, {path}"

    # Reading

    def _read(self) -> _Snapshot:
        if self._snapshot is None:
            commit = self._client.branch_tip(self._branch)
            self._snapshot = _Snapshot(commit, self._list(commit) if commit else {})
        return self._snapshot

    def _list(self, commit: str) -> dict[str, tuple[str, int]]:
        """Return the files of the key; one request, unless the branch is too large for one."""
        listed, folder = self._client.tree(commit, recursive=True), ""
        if listed.truncated:
            found, folder = self._client.entry(commit, self._root), f"{self._root}/"
            if found is None or found.type != "tree":
                return {}
            listed = self._client.tree(found.sha, recursive=True)
            if listed.truncated:
                raise BrokenEnvironmentError("too many files to list", where=self._place(self._root), fix="delete some")
        files = {f"{folder}{e.path}": (e.sha, e.size or 0) for e in listed.tree if e.type == "blob"}
        return {path: file for path, file in files.items() if path.startswith(f"{self._root}/")}

    def _file(self, snapshot: _Snapshot, path: str) -> bytes | None:
        blob, size = snapshot.files.get(path, ("", 0))
        if size > MAX_BYTES:
            raise InvalidFileError([f"{self._place(path)}: larger than {MAX_BYTES // 1_000_000} MB"])
        return self._client.blob(blob) if blob else None

    def _read_history(self, snapshot: _Snapshot, path: str) -> History:
        return read_model(History, self._file(snapshot, path) or b"", self._place(path))

    # Writing

    def _write(self, message: str, change: Callable[[_Snapshot], Files]) -> bool:
        """Commit the files that `change` makes of the branch as it is, again and again while others come first."""
        reason = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                self._sleep(min(0.1 * 2**attempt, 5.0) * (0.5 + self._jitter()))
            self._snapshot = None
            snapshot = self._read()
            files = change(snapshot)
            if not files:
                return False
            try:
                self._commit(snapshot, files, message)
            except ConflictError as error:
                reason = error.message
                if re.search(r"\brules?\b|protected branch", reason, re.IGNORECASE):
                    break
            except UnreachableError as error:  # perhaps it was written: the next look at the branch tells
                reason = str(error.what)
            except (RefusedError, NotFoundError) as error:
                fix = f"give the job `permissions: {error.permission or 'contents: write'}`"
                raise BrokenEnvironmentError(
                    f"GitHub does not let this token write the branch ({error.message})", where=self._branch, fix=fix
                ) from None
            else:
                return True
            finally:
                self._snapshot = None
        raise BrokenEnvironmentError(
            f"the branch cannot be updated ({reason})",
            where=self._branch,
            fix="leave this branch out of rulesets and branch protection, let the token bypass them, or use file:PATH",
        )

    def _commit(self, snapshot: _Snapshot, files: Files, message: str) -> None:
        client = self._client
        blobs = {path: None if text is None else client.create_blob(text) for path, text in files.items()}
        if snapshot.commit is None:
            orphan = client.create_commit(message, client.create_tree(None, blobs), [])
            return client.create_branch(self._branch, orphan)
        tree = client.create_tree(client.commit_tree(snapshot.commit), blobs)
        return client.advance_branch(self._branch, client.create_commit(message, tree, [snapshot.commit]))


def _short(ref: str) -> str:
    return ref.removeprefix("refs/heads/")
