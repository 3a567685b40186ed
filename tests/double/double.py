"""The double as tests hold it: start, seed, script, inspect."""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.double.hub import Hub
from tests.double.log import Exchange, Violation
from tests.double.pipeline import PREFIX, Pipeline
from tests.double.repository import BareRepository
from tests.double.script import Script
from tests.double.server import Server
from tests.double.state import (
    GITHUB_ACTIONS,
    Artifact,
    CheckRun,
    Comment,
    Identity,
    Pull,
    State,
    User,
    WorkflowRun,
    now,
)

_AUTHOR = User("octocat")


class GitHubDouble(Script):
    """A local GitHub with one repository, kept in a real bare git repository.

    A context manager; `directory` keeps the repository and the records; without one nothing is kept.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        repository: str = "octo-org/travel-agent",
        identity: Identity = GITHUB_ACTIONS,
        default_branch: str = "main",
        web: str = "https://github.com",
        strict: bool = True,
        port: int = 0,
        log: Path | None = None,
    ) -> None:
        self._temporary = None if directory else tempfile.TemporaryDirectory(prefix="github-double-")
        self.directory = directory or Path(self._temporary.name if self._temporary else "")
        self.directory.mkdir(parents=True, exist_ok=True)
        state_file = self.directory / "state.json" if directory else None
        self.git = BareRepository(self.directory / "repository.git", default_branch)
        state = State.load(state_file) if state_file and state_file.exists() else State()
        self.hub = Hub(repository, self.git, state, identity, default_branch, state_file=state_file)
        self._pipeline = Pipeline(self.hub, web, strict=strict, log=log)
        self._server = Server(self, self._pipeline, port)

    # Life

    def start(self) -> Self:
        self._server.start()
        return self

    def stop(self) -> None:
        self._server.stop()
        self._pipeline.close()
        if self._temporary:
            self._temporary.cleanup()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def url(self) -> str:
        """The API address, for `GITHUB_API_URL` and PyGithub's `base_url`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ghes_url(self) -> str:
        """The same API under the prefix of GitHub Enterprise Server."""
        return f"{self.url}{PREFIX}"

    @property
    def repository(self) -> str:
        return self.hub.full_name

    # Settings

    @property
    def read_only(self) -> bool:
        """Whether every write answers 403, as for the token of a fork's pull request."""
        return self.hub.read_only

    @read_only.setter
    def read_only(self, value: bool) -> None:
        self.hub.read_only = value

    @property
    def permissions(self) -> dict[str, str]:
        """What the token may do, such as `{"checks": "none"}`; names not listed may be written."""
        return self.hub.permissions

    # Seeds

    def seed_from(self, source: Path) -> str:
        """Take over branches, tags and HEAD of a local repository; the sha of its HEAD."""
        self.git.fetch_from(source)
        head = self.git.ref("refs/seed/head")
        assert head is not None
        return head

    def commit_files(
        self,
        branch: str,
        files: Mapping[str, bytes | None],
        message: str = "Change files",
        parents: list[str] | None = None,
        date: str | None = None,
    ) -> str:
        """Commit files (None removes one) on the branch and move it; the new sha."""
        return self.hub.commit_files(branch, dict(files), message, parents, date)

    def create_branch(self, branch: str, sha: str) -> None:
        self.git.force_ref(f"refs/heads/{branch}", sha)

    def open_pull(
        self,
        number: int,
        base_ref: str,
        base_sha: str,
        head_ref: str,
        head_sha: str,
        head_repo: str | None = "",
        title: str = "Change the prompt",
        body: str | None = None,
        draft: bool = False,
        author: str = "octocat",
    ) -> Pull:
        """A pull request. `head_repo` is a fork's full name, empty for the same repository, None for a deleted fork."""
        source = self.repository if head_repo == "" else head_repo
        pull = Pull(number, base_ref, base_sha, head_ref, head_sha, source, title, User(author), body, draft=draft)
        self.hub.state.pulls[number] = pull
        self._update_pull_refs(pull)
        return pull

    def move_pull(self, number: int, head_sha: str) -> Pull:
        """Push to the pull request."""
        pull = self.hub.pull(number)
        pull.head_sha, pull.updated_at = head_sha, now()
        self._update_pull_refs(pull)
        return pull

    def close_pull(self, number: int, merged: bool = False) -> Pull:
        pull = self.hub.pull(number)
        pull.state, pull.merged, pull.updated_at = "closed", merged, now()
        self.hub.save()
        return pull

    def lock_pull(self, number: int) -> Pull:
        """Lock the conversation: comments answer 403."""
        pull = self.hub.pull(number)
        pull.locked = True
        self.hub.save()
        return pull

    def _update_pull_refs(self, pull: Pull) -> None:
        """`refs/pull/N/head` and, when the two sides merge, the test merge at `refs/pull/N/merge`."""
        pull.merge_commit_sha = None
        if self.git.type_of(pull.head_sha) == "commit":
            self.git.force_ref(f"refs/pull/{pull.number}/head", pull.head_sha)
            tip = self.git.ref(f"refs/heads/{pull.base_ref}") or pull.base_sha
            tree = self.git.merge_tree(tip, pull.head_sha) if self.git.type_of(tip) == "commit" else None
            if tree:
                person = self.hub.signature("GitHub", "noreply@github.com")
                message = f"Merge {pull.head_sha} into {tip}"
                merge = self.git.write_commit(tree, [tip, pull.head_sha], message, person, person)
                self.git.force_ref(f"refs/pull/{pull.number}/merge", merge)
                pull.merge_commit_sha = merge
        self.hub.save()

    def add_comment(self, number: int, body: str, login: str = "octocat", type: str = "User") -> Comment:  # noqa: A002 -- GitHub's word
        """A comment by anybody; `github-actions[bot]` is the token's own account."""
        own = login == self.hub.identity.user.login
        author = self.hub.identity.user if own else User(login, 1 + len(login), type)
        slug = self.hub.identity.app_slug if own else None
        comment = Comment(self.hub.state.next_id(), number, author, body, slug)
        self.hub.state.comments[comment.id] = comment
        self.hub.save()
        return comment

    def add_check_run(self, name: str, head_sha: str, **fields: Any) -> CheckRun:
        """A check run, by default of the token's own app; another one with `app_slug` and `app_id`."""
        identity = self.hub.identity
        fields = {"app_slug": identity.app_slug or "another-app", "app_id": identity.app_id, **fields}
        run = CheckRun(self.hub.state.next_id(), name, head_sha, **fields)
        self.hub.state.check_runs[run.id] = run
        self.hub.save()
        return run

    def add_run(
        self,
        head_sha: str,
        head_branch: str,
        head_repo: str | None = None,
        id: int | None = None,  # noqa: A002 -- GitHub's word
        **fields: Any,
    ) -> WorkflowRun:
        """A workflow run, completed and successful unless the fields say otherwise."""
        number = id if id is not None else self.hub.state.next_id()
        run = WorkflowRun(number, head_sha, head_branch, head_repo or self.repository, **fields)
        self.hub.state.runs[run.id] = run
        self.hub.save()
        return run

    def add_artifact(
        self, run_id: int, name: str, files: Mapping[str, bytes] | bytes, expired: bool = False
    ) -> Artifact:
        """An artifact of a run, from files or from a ready archive."""
        archive = files if isinstance(files, bytes) else _zip(files)
        artifact = Artifact(self.hub.state.next_id(), run_id, name, archive, expired)
        self.hub.state.artifacts[artifact.id] = artifact
        self.hub.save()
        return artifact

    # Looks

    def comments(self, number: int) -> list[Comment]:
        """The comments of a pull request, oldest first."""
        return [comment for comment in self.hub.state.comments.values() if comment.number == number]

    def check_runs(self, sha: str | None = None) -> list[CheckRun]:
        """The check runs of a commit, or all, oldest first."""
        return [run for run in self.hub.state.check_runs.values() if sha in (None, run.head_sha)]

    def artifacts(self, run_id: int) -> list[Artifact]:
        return [artifact for artifact in self.hub.state.artifacts.values() if artifact.run_id == run_id]

    def branch_head(self, branch: str) -> str | None:
        return self.git.ref(f"refs/heads/{branch}")

    def branch_files(self, branch: str) -> dict[str, bytes]:
        """Every file at the tip of a branch; empty for a branch that does not exist."""
        tip = self.branch_head(branch)
        if tip is None:
            return {}
        entries = self.git.list_tree(tip, recursive=True)
        return {entry.path: self.git.read_blob(entry.sha) for entry in entries if entry.type == "blob"}

    def branch_log(self, branch: str) -> list[str]:
        """The commits of a branch, newest first."""
        tip = self.branch_head(branch)
        return self.git.rev_list(tip) if tip else []

    @property
    def requests(self) -> list[Exchange]:
        """Every request in the order of arrival."""
        return self._pipeline.requests

    def calls(self, method: str = "*", path: str = "") -> list[Exchange]:
        """The requests whose path the pattern is found in."""
        return [
            each for each in self.requests if method in {"*", each.method} and re.search(path, each.path) is not None
        ]

    @property
    def violations(self) -> list[Violation]:
        """Where a request or an answer left GitHub's description."""
        return self._pipeline.violations

    def check(self) -> None:
        """Raise AssertionError with every violation."""
        if self.violations:
            raise AssertionError("GitHub's description is violated:\n" + "\n".join(map(str, self.violations)))


def _zip(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()
