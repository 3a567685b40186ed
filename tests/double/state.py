"""What the double remembers besides git: plain records that survive as JSON."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def now() -> str:
    """This second as GitHub writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class User:
    """An account; `type` is `User`, `Bot` or `Organization`."""

    login: str
    id: int = 583231
    type: str = "User"


@dataclass(frozen=True)
class Identity:
    """Who the token speaks for. With `app_slug` it is an installation token: no `/user`, check runs allowed."""

    user: User
    app_slug: str | None = None
    app_id: int = 0


GITHUB_ACTIONS = Identity(User("github-actions[bot]", 41898282, "Bot"), "github-actions", 15368)


@dataclass
class Pull:
    """A pull request. `head_repo` None is a fork that was deleted."""

    number: int
    base_ref: str
    base_sha: str
    head_ref: str
    head_sha: str
    head_repo: str | None
    title: str
    author: User
    body: str | None = None
    state: str = "open"
    draft: bool = False
    locked: bool = False
    merged: bool = False
    merge_commit_sha: str | None = None
    created_at: str = field(default_factory=now)
    updated_at: str = field(default_factory=now)


@dataclass
class Comment:
    """A comment on a pull request or issue."""

    id: int
    number: int
    author: User
    body: str
    app_slug: str | None = None
    created_at: str = field(default_factory=now)
    updated_at: str = field(default_factory=now)


@dataclass
class CheckRun:
    """A check run with all its annotations."""

    id: int
    name: str
    head_sha: str
    app_slug: str
    app_id: int
    external_id: str = ""
    details_url: str | None = None
    status: str = "queued"
    conclusion: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class WorkflowRun:
    """A workflow run."""

    id: int
    head_sha: str
    head_branch: str
    head_repo: str
    event: str = "pull_request"
    name: str = "agent-chaos-gate"
    path: str = ".github/workflows/agent-chaos-gate.yml"
    status: str = "completed"
    conclusion: str | None = "success"
    run_number: int = 1
    run_attempt: int = 1
    created_at: str = field(default_factory=now)


@dataclass
class Artifact:
    """An artifact of a run; `archive` is the zip."""

    id: int
    run_id: int
    name: str
    archive: bytes
    expired: bool = False
    created_at: str = field(default_factory=now)


@dataclass
class State:
    """Every record, by id or number."""

    pulls: dict[int, Pull] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    check_runs: dict[int, CheckRun] = field(default_factory=dict)
    runs: dict[int, WorkflowRun] = field(default_factory=dict)
    artifacts: dict[int, Artifact] = field(default_factory=dict)
    last_id: int = 1_000_000_000

    def next_id(self) -> int:
        self.last_id += 1
        return self.last_id

    def to_json(self) -> dict[str, Any]:
        """Every record as JSON values; archives in base64."""
        data = {
            name: [asdict(record) for record in getattr(self, name).values()]
            for name in ("pulls", "comments", "check_runs", "runs", "artifacts")
        }
        for artifact in data["artifacts"]:
            artifact["archive"] = base64.b64encode(artifact["archive"]).decode()
        return {**data, "last_id": self.last_id}

    def save(self, path: Path) -> None:
        """Write the records whole or not at all."""
        part = path.with_suffix(".part")
        part.write_text(json.dumps(self.to_json(), indent=1), encoding="utf-8")
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> State:
        data = json.loads(path.read_text(encoding="utf-8"))
        for record in data["pulls"] + data["comments"]:
            record["author"] = User(**record["author"])
        for record in data["artifacts"]:
            record["archive"] = base64.b64decode(record["archive"])
        return cls(
            pulls={record["number"]: Pull(**record) for record in data["pulls"]},
            comments={record["id"]: Comment(**record) for record in data["comments"]},
            check_runs={record["id"]: CheckRun(**record) for record in data["check_runs"]},
            runs={record["id"]: WorkflowRun(**record) for record in data["runs"]},
            artifacts={record["id"]: Artifact(**record) for record in data["artifacts"]},
            last_id=data["last_id"],
        )
