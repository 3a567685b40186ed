"""The one client of GitHub's REST API."""

from gate.github.answer import CheckRun, Comment, PullRequest
from gate.github.archive import read_member
from gate.github.client import Client, same_text
from gate.github.error import ApiError, ConflictError, NotFoundError, RateLimitedError, RefusedError, UnreachableError

__all__ = [
    "ApiError",
    "CheckRun",
    "Client",
    "Comment",
    "ConflictError",
    "NotFoundError",
    "PullRequest",
    "RateLimitedError",
    "RefusedError",
    "UnreachableError",
    "read_member",
    "same_text",
]
