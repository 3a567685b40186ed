"""The repository as the handlers see it: git, records, and who is asking."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from tests.double.repository import BareRepository, Signature, TreeChange
from tests.double.routes import ApiError, Operation
from tests.double.state import GITHUB_ACTIONS, Identity, Pull, State, now

LEVELS = {"none": 0, "read": 1, "write": 2, "admin": 3}


@dataclass
class Hub:
    """One repository on GitHub. `permissions` says what the token may do; others have `default_permission`."""

    full_name: str
    git: BareRepository
    state: State
    identity: Identity = GITHUB_ACTIONS
    default_branch: str = "main"
    private: bool = False
    token: str | None = None
    read_only: bool = False
    permissions: dict[str, str] = field(default_factory=dict)
    default_permission: str = "write"
    list_fork_pulls_by_commit: bool = False
    state_file: Path | None = None
    rate_limit: int = 5000
    used: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def owner(self) -> str:
        return self.full_name.split("/")[0]

    def save(self) -> None:
        """Persist the records when the double has a place for them."""
        if self.state_file:
            with self.lock:
                self.state.save(self.state_file)

    def authorize(self, operation: Operation, token: str | None) -> None:
        """Raise what GitHub answers to a token that may not do this."""
        if self.token is not None and token is not None and token != self.token:
            raise ApiError(401, "Bad credentials")
        if token is None and (operation.writes or self.private):
            raise ApiError(401, "Requires authentication")
        if operation.permissions and not any(self._holds(each) for each in operation.permissions):
            raise self.forbidden(operation)

    def forbidden(self, operation: Operation) -> ApiError:
        """The 403 of a token that lacks the permission."""
        headers = {"X-Accepted-GitHub-Permissions": operation.accepted_permissions}
        return ApiError(403, "Resource not accessible by integration", headers=headers)

    def _holds(self, wanted: dict[str, str]) -> bool:
        return all(LEVELS[self._level(name)] >= LEVELS[level] for name, level in wanted.items())

    def _level(self, name: str) -> str:
        level = self.permissions.get(name, self.default_permission)
        if self.read_only and LEVELS[level] > LEVELS["read"]:
            return "read"
        # Everybody may read a public repository, whatever the token says.
        return "read" if level == "none" and not self.private else level

    def pull(self, number: int) -> Pull:
        """The pull request, or GitHub's 404."""
        if number not in self.state.pulls:
            raise ApiError(404, "Not Found")
        return self.state.pulls[number]

    def signature(self, name: str | None = None, email: str | None = None, date: str | None = None) -> Signature:
        """A signature that falls back to the token's own account."""
        user = self.identity.user
        address = f"{user.id}+{user.login}@users.noreply.github.com"
        return Signature(name or user.login, email or address, date or now())

    def commit_files(
        self,
        branch: str,
        files: dict[str, bytes | None],
        message: str = "Change files",
        parents: list[str] | None = None,
        date: str | None = None,
    ) -> str:
        """Commit files (None removes one) on top of the branch, made when it is new, and move the branch there."""
        ref = f"refs/heads/{branch}"
        tip = self.git.ref(ref)
        chosen = parents if parents is not None else [tip] if tip else []
        base = self.git.resolve_tree(chosen[0]) if chosen else None
        changes = [
            TreeChange(path, "100644", None if content is None else self.git.write_blob(content))
            for path, content in files.items()
        ]
        tree = self.git.write_tree(changes, base)
        person = Signature("Octo Cat", "octocat@users.noreply.github.com", date or now())
        sha = self.git.write_commit(tree, chosen, message, person, person)
        self.git.force_ref(ref, sha)
        return sha
