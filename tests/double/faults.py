"""Scripted faults: which request goes wrong, how, and how often."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from tests.double.routes import Answer, Json

Kind = Literal[
    "error", "forbidden", "too_many_requests", "primary_limit", "secondary_limit", "ruleset", "drop", "slow", "race"
]

_SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
_MESSAGES = {
    401: "Bad credentials",
    403: "Forbidden",
    404: "Not Found",
    409: "Conflict",
    422: "Validation Failed",
    429: _SECONDARY,
    500: "Server Error",
    502: "Server Error",
    503: "Service unavailable",
    504: "We couldn't respond to your request in time. Sorry about that. Please try resubmitting your request.",
}
_RULESET = "Repository rule violations found\n\nCannot update this protected ref.\n\n"
_DOCS = "https://docs.github.com/"
_RULES_URL = _DOCS + "repositories/configuring-branches-and-merges-in-your-repository/managing-rulesets/about-rulesets"
_LIMITS_URL = _DOCS + "rest/using-the-rest-api/rate-limits-for-the-rest-api"


@dataclass
class Fault:
    """One rule. `path` is searched in the path without query or GHES prefix; `times` None never wears out.

    `when="after"` lets the effect happen and spoils only the answer. `skip` lets that many matching requests pass.
    `body` replaces GitHub's JSON error with any text, sent as HTML. `branch` is what a `race` moves and
    a `ruleset` protects.
    """

    path: str = ""
    method: str = "*"
    kind: Kind = "error"
    status: int = 502
    times: int | None = 1
    skip: int = 0
    when: Literal["before", "after"] = "before"
    message: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    retry_after_s: int | None = None
    delay_s: float = 0.0
    branch: str = ""
    hits: int = 0
    action: Callable[[], object] | None = None

    def matches(self, method: str, path: str, body: Any) -> bool:
        if self.times is not None and self.hits >= self.times:
            return False
        if self.kind == "ruleset" and self.branch:
            named = path.endswith("/git/refs") and isinstance(body, dict) and body.get("ref")
            if named != f"refs/heads/{self.branch}" and not path.endswith(f"/git/refs/heads/{self.branch}"):
                return False
        return self.method in {"*", method} and re.search(self.path, path) is not None

    def to_json(self) -> Json:
        """The rule without what only this process can hold."""
        return {name: value for name, value in asdict(self).items() if name != "action"}

    def answer(self, accepted_permissions: str, documentation_url: str) -> Answer:
        """The spoiled answer. Kinds `drop`, `slow` and `race` have none."""
        status, message, url, headers = self.status, self.message, documentation_url, dict(self.headers)
        extra: dict[str, Any] = {}
        match self.kind:
            case "forbidden":
                status, message = 403, message or "Resource not accessible by integration"
                headers.setdefault("X-Accepted-GitHub-Permissions", accepted_permissions)
            case "too_many_requests":
                status, message, url = 429, message or _SECONDARY, _LIMITS_URL
                headers.setdefault("Retry-After", str(self.retry_after_s if self.retry_after_s is not None else 60))
            case "primary_limit":
                status, url = 403, _LIMITS_URL
                message = message or "API rate limit exceeded for installation ID 12345678."
                reset = int(time.time()) + (self.retry_after_s if self.retry_after_s is not None else 1800)
                headers.update({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(reset)})
            case "secondary_limit":
                status, message, url = 403, message or _SECONDARY, _LIMITS_URL
                if self.retry_after_s is not None:
                    headers.setdefault("Retry-After", str(self.retry_after_s))
            case "ruleset":
                status, message, url = 422, message or _RULESET, _RULES_URL
                extra["errors"] = []
            case _:
                message = message or _MESSAGES.get(status, "Server Error")
                if self.retry_after_s is not None:
                    headers.setdefault("Retry-After", str(self.retry_after_s))
        if self.body is not None:
            return Answer(status, raw=self.body.encode(), content_type="text/html; charset=utf-8", headers=headers)
        document: Json = {"message": message, "documentation_url": url, "status": str(status), **extra}
        if status >= 500:
            document = {"message": message}
        return Answer(status, document, headers=headers)


class FaultList:
    """The rules in force, in order; the first that matches is used."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> Fault:
        re.compile(fault.path)
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()

    def take(self, method: str, path: str, body: Any) -> Fault | None:
        """The rule this request meets, counted as used."""
        with self._lock:
            for fault in self._faults:
                if fault.matches(method, path, body):
                    if fault.skip > 0:
                        fault.skip -= 1
                        return None
                    fault.hits += 1
                    return fault
        return None

    def to_json(self) -> list[Json]:
        with self._lock:
            return [fault.to_json() for fault in self._faults]
