"""What the gate asks of a repository on GitHub, one method per request."""

import base64
import binascii
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import ValidationError

from gate.errors import UsageError
from gate.github.answer import (
    Answer,
    Artifact,
    ChangedFile,
    CheckRun,
    Comment,
    Commit,
    PullRequest,
    Tree,
    TreeEntry,
    User,
)
from gate.github.error import ApiError, ConflictError, NotFoundError, Response, UnreachableError
from gate.github.transport import Transport, backoff

PAGE = 100
MAX_PAGES = 100
ANCESTRY_PAGES = 3
MAX_PULL_FILES = 3_000
MAX_COMPARED_FILES = 300
"""How many files GitHub lists; where it lists so many, there may be more."""
MAX_ARCHIVE_BYTES = 10_000_000
ACTIONS_LOGIN = "github-actions[bot]"
"""Who GITHUB_TOKEN writes as."""

A = TypeVar("A", bound=Answer)


class Client:
    """One repository as a token sees it.

    Every method raises `ApiError`, mostly one of its kinds.

    Args:
        repository: `owner/name`.
        token: may be empty; then only public data can be read.
        base_url: GITHUB_API_URL, other than the default on GitHub Enterprise Server.
    """

    def __init__(
        self,
        repository: str,
        token: str,
        *,
        base_url: str = "https://api.github.com",
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository, re.ASCII):
            raise UsageError(f"{repository!r:.80} is not a repository", fix="write owner/name")
        self.repository = repository
        self._transport = Transport(token, base_url, clock=clock, now=now, sleep=sleep)
        self._is_app_token = token.startswith("ghs_")
        self._app_slug = ""
        self._login = ""

    @property
    def calls(self) -> int:
        """Return how many requests were sent."""
        return self._transport.calls

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Who and what

    def login(self) -> str:
        """Return whom the token writes as.

        A token of an app, as GITHUB_TOKEN is, may not ask that; but only apps make check runs, and those name theirs.
        """
        if not self._login and not self._is_app_token:
            try:
                self._login = _parse(User, self._transport.send("GET", "/user").json()).login
            except ApiError:
                self._is_app_token = True
        return self._login or (f"{self._app_slug}[bot]" if self._app_slug else ACTIONS_LOGIN)

    def pull_request(self, number: int) -> PullRequest:
        """Return a pull request as it is now."""
        return self._get(PullRequest, f"/pulls/{number}")

    def pull_requests_of(self, owner: str, branch: str, head_sha: str) -> list[PullRequest]:
        """Return the open pull requests from `owner:branch` whose head is `head_sha`, oldest first."""
        found = self._pages(PullRequest, "/pulls", {"head": f"{owner}:{branch}", "state": "open"})
        return sorted((p for p in found if p.head.sha == head_sha), key=lambda p: p.number)

    def artifact(self, run_id: int, name: str) -> bytes | None:
        """Return the newest zip archive of this name of a workflow run; None if there is none, or no longer."""
        found = self._pages(Artifact, f"/actions/runs/{run_id}/artifacts", {"name": name}, within="artifacts")
        newest = max((a for a in found if a.name == name and not a.expired), key=lambda a: a.id, default=None)
        if newest is None:
            return None
        answer = self._transport.send(
            "GET", f"/repos/{self.repository}/actions/artifacts/{newest.id}/zip", redirect=True
        )
        return self._transport.download(answer.headers.get("location", ""), MAX_ARCHIVE_BYTES)

    # Comments

    def comments(self, number: int) -> Iterator[Comment]:
        """Yield the comments of a pull request, oldest first, fetching pages as they are needed."""
        return self._pages(Comment, f"/issues/{number}/comments", {})

    def create_comment(self, number: int, body: str) -> Comment:
        """Comment on a pull request, once: after a lost answer the comments are listed before it is tried again."""

        def find() -> Comment | None:
            return next((c for c in self.comments(number) if same_text(c.body or "", body)), None)

        return self._create(Comment, f"/issues/{number}/comments", {"body": body}, find)

    def edit_comment(self, comment: int, body: str) -> Comment:
        """Replace the text of a comment."""
        return self._patch(Comment, f"/issues/comments/{comment}", {"body": body})

    # Check runs

    def find_check_run(self, sha: str, name: str, external_id: str) -> CheckRun | None:
        """Return the newest check run of a commit with this name and external id."""
        query = {"check_name": name, "filter": "all"}
        runs = self._pages(CheckRun, f"/commits/{sha}/check-runs", query, within="check_runs")
        found = max(
            (r for r in runs if r.name == name and r.external_id == external_id), key=lambda r: r.id, default=None
        )
        return self._seen(found) if found else None

    def create_check_run(self, fields: Mapping[str, Any]) -> CheckRun:
        """Create a check run, once; `fields` has at least name, head_sha and external_id."""

        def find() -> CheckRun | None:
            return self.find_check_run(fields["head_sha"], fields["name"], fields["external_id"])

        return self._seen(self._create(CheckRun, "/check-runs", fields, find))

    def edit_check_run(self, check: int, fields: Mapping[str, Any]) -> CheckRun:
        """Change a check run."""
        return self._seen(self._patch(CheckRun, f"/check-runs/{check}", fields))

    def _seen(self, run: CheckRun) -> CheckRun:
        self._app_slug = run.app.slug or "" if run.app else ""
        return run

    # Commits

    def files_of_pull(self, number: int) -> list[str] | None:
        """Return the names, old and new, of the files that a pull request changes; None if there may be more."""
        files = list(self._pages(ChangedFile, f"/pulls/{number}/files", {}))
        return None if len(files) >= MAX_PULL_FILES else _names(files)

    def files_between(self, base: str, head: str) -> list[str] | None:
        """Return the names, old and new, of the files that differ since the fork point; None if there may be more."""
        data = self._send("GET", f"/compare/{quote(base)}...{quote(head)}", query={"per_page": 1, "page": 1}).json()
        files = [_parse(ChangedFile, item) for item in _items(data, "files")]
        return None if len(files) >= MAX_COMPARED_FILES else _names(files)

    def parents(self, sha: str) -> list[str]:
        """Return the parents of a commit, the first one first."""
        return [p.sha for p in self._get(Commit, f"/git/commits/{sha}").parents]

    def commit_of_tag(self, tag: str) -> str | None:
        """Return the commit that a tag, an annotated one too, stands for; None where there is none."""
        try:
            return self._get(Commit, f"/commits/{quote(f'tags/{tag}', safe='')}", {"per_page": 1, "page": 1}).sha
        except (NotFoundError, ConflictError):
            return None

    def first_parents(self, sha: str, limit: int = 101) -> Iterator[str]:
        """Yield a commit and its first-parent ancestors, nearest first.

        GitHub lists the commits of merged branches too, but with their parents: the chain is walked inside a page of
        100, and the next page, from where the chain leaves it, is only fetched when the caller goes on. Ends after
        `limit` commits or `ANCESTRY_PAGES` pages, and at a commit that GitHub does not know.
        """
        parents: dict[str, str] = {}
        pages = 0
        for _ in range(limit):
            yield sha
            if sha not in parents:
                if pages == ANCESTRY_PAGES:
                    return
                pages += 1
                try:
                    listed = self._send("GET", "/commits", query={"sha": sha, "per_page": PAGE}).json()
                except (NotFoundError, ConflictError):
                    return
                for commit in (_parse(Commit, item) for item in _items(listed, "")):
                    parents[commit.sha] = commit.parents[0].sha if commit.parents else ""
            sha = parents.get(sha, "")
            if not sha:
                return

    # Git data

    def branch_tip(self, branch: str) -> str | None:
        """Return the commit a branch points at; None without the branch, or without any commit in the repository."""
        try:
            return _sha(self._send("GET", f"/git/ref/heads/{quote(branch)}").json(), "object", "sha")
        except (NotFoundError, ConflictError):
            return None

    def commit_tree(self, commit: str) -> str:
        """Return the sha of a commit's tree."""
        return _sha(self._send("GET", f"/git/commits/{commit}").json(), "tree", "sha")

    def tree(self, sha: str, *, recursive: bool) -> Tree:
        """Return the entries of a tree, or of the tree of a commit."""
        return self._get(Tree, f"/git/trees/{sha}", {"recursive": "1"} if recursive else {})

    def entry(self, commit: str, path: str) -> TreeEntry | None:
        """Return the file or folder at a path of a commit, one request a level; None if there is none."""
        found: TreeEntry | None = None
        for name in path.split("/"):
            if found and found.type != "tree":
                return None
            level = self.tree(found.sha if found else commit, recursive=False).tree
            found = next((e for e in level if e.path == name), None)
            if found is None:
                return None
        return found

    def blob(self, sha: str) -> bytes:
        """Return the bytes of a file."""
        data = self._send("GET", f"/git/blobs/{sha}").json()
        try:
            return base64.b64decode(data["content"])
        except (KeyError, TypeError, binascii.Error):
            raise ApiError(f"the answer for blob {sha} holds no content") from None

    def create_blob(self, content: bytes) -> str:
        """Store bytes and return their sha. Git names objects by content, so that repeating changes nothing."""
        body = {"content": base64.b64encode(content).decode(), "encoding": "base64"}
        return _sha(self._send("POST", "/git/blobs", body=body, harmless=True).json(), "sha")

    def create_tree(self, base: str | None, files: Mapping[str, str | None]) -> str:
        """Store `base` (nothing if None) with files put in (path to blob) or taken out (path to None)."""
        entries = [{"path": path, "mode": "100644", "type": "blob", "sha": blob} for path, blob in files.items()]
        body = {"tree": entries} | ({"base_tree": base} if base else {})
        return _sha(self._send("POST", "/git/trees", body=body, harmless=True).json(), "sha")

    def create_commit(self, message: str, tree: str, parents: Sequence[str]) -> str:
        """Store a commit that nothing points at yet."""
        body = {"message": message, "tree": tree, "parents": list(parents)}
        return _sha(self._send("POST", "/git/commits", body=body, harmless=True).json(), "sha")

    def create_branch(self, branch: str, commit: str) -> None:
        """Create a branch; `ConflictError` if it exists by now."""
        self._send("POST", "/git/refs", body={"ref": f"refs/heads/{branch}", "sha": commit})

    def advance_branch(self, branch: str, commit: str) -> None:
        """Move a branch forward; `ConflictError` if it moved elsewhere meanwhile."""
        self._send("PATCH", f"/git/refs/heads/{quote(branch)}", body={"sha": commit, "force": False})

    # Requests

    def _send(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        harmless: bool = False,
    ) -> Response:
        return self._transport.send(verb, f"/repos/{self.repository}{path}", query=query, body=body, harmless=harmless)

    def _get(self, model: type[A], path: str, query: Mapping[str, Any] | None = None) -> A:
        return _parse(model, self._send("GET", path, query=query).json())

    def _patch(self, model: type[A], path: str, fields: Mapping[str, Any]) -> A:
        return _parse(model, self._send("PATCH", path, body=fields).json())

    def _pages(self, model: type[A], path: str, query: Mapping[str, Any], within: str = "") -> Iterator[A]:
        for page in range(1, MAX_PAGES + 1):
            response = self._send("GET", path, query={**query, "per_page": PAGE, "page": page})
            for item in _items(response.json(), within):
                yield _parse(model, item)
            if 'rel="next"' not in response.headers.get("link", ""):
                return

    def _create(self, model: type[A], path: str, fields: Mapping[str, Any], find: Callable[[], A | None]) -> A:
        """POST once; where the answer is lost, pause and look for what it made before making it again."""
        attempt = 0
        while True:
            try:
                return _parse(model, self._send("POST", path, body=fields).json())
            except UnreachableError:
                if not self._transport.pause(backoff(attempt), attempt):
                    raise
            if (found := find()) is not None:
                return found
            attempt += 1


def same_text(one: str, other: str) -> bool:
    """Return whether GitHub would show both as the same comment: it may change line ends and trim."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()


def _names(files: Sequence[ChangedFile]) -> list[str]:
    return [name for file in files for name in (file.previous_filename, file.filename) if name]


def _parse(model: type[A], data: Any) -> A:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ApiError(f"not the answer of a GitHub API: {place}: {first['msg']}", fix="check GITHUB_API_URL") from None


def _items(data: Any, within: str) -> list[Any]:
    items = data.get(within) if within and isinstance(data, dict) else data
    if not isinstance(items, list):
        raise ApiError("not the answer of a GitHub API: a list is expected", fix="check GITHUB_API_URL")
    return items


def _sha(data: Any, *path: str) -> str:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    if not isinstance(data, str) or not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", data):
        raise ApiError("not the answer of a GitHub API: a sha is expected", fix="check GITHUB_API_URL")
    return data
