"""What GitHub answers when it does not do what was asked, as types."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gate.errors import BrokenEnvironmentError


class ApiError(BrokenEnvironmentError):
    """GitHub did not do what was asked.

    `status` is the HTTP status, 0 without an answer; `message` is GitHub's own sentence, foreign text; `permission` the
    one that is missing, as a workflow writes it (`pull-requests: write`), empty where GitHub does not say.
    """

    def __init__(self, what: str, *, status: int = 0, message: str = "", permission: str = "", fix: str = "") -> None:
        self.status, self.message, self.permission = status, message, permission
        super().__init__(what, where="GitHub", fix=fix)


class RefusedError(ApiError):
    """The token may not do this, or nobody may (a locked conversation, an archived repository)."""


class NotFoundError(ApiError):
    """It does not exist, or the token may not see it."""


class ConflictError(ApiError):
    """Something else was written meanwhile, a rule of the repository forbids it, or a value is not allowed."""


class RateLimitedError(ApiError):
    """A primary or secondary rate limit that lasts longer than the gate waits."""


class UnreachableError(ApiError):
    """No answer, or a 5xx, after every retry. Whether a POST took effect is unknown."""


@dataclass(frozen=True)
class Response:
    """One HTTP answer with lower-case header names; status 0, and the reason as text, where there was none."""

    status: int
    headers: Mapping[str, str]
    text: str

    def json(self) -> Any:
        """Return the parsed body; None for an empty one.

        Raises:
            ApiError: not JSON, as from a proxy in between.
        """
        try:
            return json.loads(self.text) if self.text else None
        except ValueError:
            raise ApiError("the answer is not JSON", status=self.status, fix="check GITHUB_API_URL") from None

    @property
    def message(self) -> str:
        """Return GitHub's explanation in one line."""
        try:
            data = json.loads(self.text)
        except ValueError:
            data = {} if self.text.lstrip().startswith("<") else {"message": self.text}
        if not isinstance(data, dict):
            return ""
        errors = data.get("errors")
        details = [e.get("message") for e in errors if isinstance(e, dict)] if isinstance(errors, list) else []
        text = "; ".join(part for part in (data.get("message"), *details) if isinstance(part, str) and part)
        return " ".join(text.split())[:300]


def error_of(verb: str, path: str, response: Response) -> ApiError:
    """Return the error that an answer other than 2xx stands for."""
    status, message = response.status, response.message
    what = f"{verb} {path}: {status or 'no answer'}{f' ({message})' if message else ''}"
    if status == 0 or status >= 500:
        return UnreachableError(what, status=status, message=message, fix="run the job again; see githubstatus.com")
    if _is_rate_limit(response):
        return RateLimitedError(what, status=status, message=message, fix="run the job again later")
    permission = _permission(response.headers.get("x-accepted-github-permissions", ""))
    if status in (401, 403) or (status == 404 and permission and verb not in ("GET", "HEAD")):
        if re.search(r"\b(locked|archived)\b", message):
            permission = ""
        fix = f"give the token `{permission}` under `permissions:`" if permission else "check the token"
        return RefusedError(what, status=status, message=message, permission=permission, fix=fix)
    if status in (404, 410):
        return NotFoundError(what, status=status, message=message, permission=permission)
    if status in (409, 422):
        return ConflictError(what, status=status, message=message)
    fix = "check GITHUB_REPOSITORY, the repository may have moved" if 300 <= status < 400 else ""
    return ApiError(what, status=status, message=message, fix=fix)


def _is_rate_limit(response: Response) -> bool:
    if response.status == 429:
        return True
    if response.status != 403:
        return False
    exhausted = response.headers.get("x-ratelimit-remaining") == "0"
    words = re.search(r"rate limit|abuse detection", response.message, re.IGNORECASE)
    return exhausted or words is not None or "retry-after" in response.headers


def _permission(header: str) -> str:
    """Spell `issues=write; pull_requests=write` (either) or `contents=read,checks=write` (both) as a workflow does."""
    if not re.fullmatch(r"[a-z_=,; ]{1,300}", header):
        return ""
    choices = [
        ", ".join(part.strip().replace("_", "-").replace("=", ": ") for part in choice.split(",") if "=" in part)
        for choice in header.split(";")
    ]
    return " or ".join(choice for choice in choices if choice)
