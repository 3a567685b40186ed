"""What came in and what went out."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Exchange:
    """One request with its answer. `path` has no query and no GHES prefix; `status` 0 is a dropped connection."""

    number: int
    method: str
    path: str
    prefix: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    host: str
    operation: str | None = None
    status: int = 0
    response_headers: dict[str, str] = field(default_factory=dict)
    response: Any = None
    fault: str | None = None

    @property
    def token(self) -> str | None:
        """The token the request carried."""
        words = self.headers.get("authorization", "").split()
        return words[-1] if words else None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "token": self.token}

    def to_line(self) -> str:
        return json.dumps(self.to_json(), default=repr) + "\n"


@dataclass(frozen=True)
class Violation:
    """A request or an answer that GitHub's description does not allow."""

    number: int
    side: str
    operation: str
    problem: str

    def __str__(self) -> str:
        return f"#{self.number} {self.side} {self.operation}: {self.problem}"
