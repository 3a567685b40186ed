"""The table of served operations and what a handler gets and gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlencode

if TYPE_CHECKING:
    from tests.double.hub import Hub
    from tests.double.shapes import Shapes

Json = dict[str, Any]

MAX_PER_PAGE = 100
DEFAULT_PER_PAGE = 30
# Where archives lie; the pipeline makes a signed address on another host of it.
STORAGE = "/_storage/artifacts/"
# Path parameters that may hold slashes; every other one ends at the next slash.
_WIDE_PARAMETERS = frozenset({"ref", "path", "branch", "basehead", "tree_sha"})


@dataclass(frozen=True)
class Answer:
    """A response before it is written: JSON unless `raw` is given."""

    status: int
    body: Any = None
    raw: bytes | None = None
    content_type: str = "application/json; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)


class ApiError(Exception):
    """An error answer in GitHub's shape."""

    def __init__(
        self, status: int, message: str, *, errors: list[Any] | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors
        self.headers = headers or {}


def not_found() -> ApiError:
    """What GitHub says about everything that does not exist or may not be seen."""
    return ApiError(404, "Not Found")


@dataclass(frozen=True)
class Call:
    """One request on its way to a handler."""

    hub: Hub
    shapes: Shapes
    operation: Operation
    parameters: dict[str, str]
    query: dict[str, str]
    body: Json
    headers: dict[str, str]
    path: str

    def number(self, name: str) -> int:
        """The path parameter as an integer; a word there is GitHub's 404."""
        text = self.parameters[name]
        if not text.isdecimal():
            raise not_found()
        return int(text)

    def required(self, name: str, kind: type = str) -> Any:
        """The body field, or GitHub's 422 about a field that is missing or of another type."""
        value = self.body.get(name)
        if name not in self.body or value is None:
            raise ApiError(422, f'Invalid request.\n\n"{name}" wasn\'t supplied.')
        if not isinstance(value, kind):
            raise ApiError(422, f"Invalid request.\n\nFor '{name}', {value!r} is not of the right type.")
        return value

    def window(self) -> tuple[int, int]:
        """`(page, per_page)` as GitHub reads them: unreadable or out of range values become the nearest fit."""
        page = int(self.query["page"]) if self.query.get("page", "").isdecimal() else 1
        per_page = int(self.query["per_page"]) if self.query.get("per_page", "").isdecimal() else DEFAULT_PER_PAGE
        return max(page, 1), min(per_page, MAX_PER_PAGE) if per_page > 0 else DEFAULT_PER_PAGE

    def slice(self) -> slice:
        """The window as a slice over the whole list."""
        page, per_page = self.window()
        return slice((page - 1) * per_page, page * per_page)

    def link_header(self, total: int) -> dict[str, str]:
        """The `Link` header for a list of `total` items, absent when one page holds all."""
        page, per_page = self.window()
        last = max(1, -(-total // per_page))
        targets = {}
        if page > 1:
            targets["prev"] = min(page - 1, last)
        if page < last:
            targets["next"] = page + 1
            targets["last"] = last
        if page > 1:
            targets["first"] = 1
        if not targets:
            return {}

        def url(number: int) -> str:
            query = urlencode({**self.query, "page": str(number)}, quote_via=quote)
            return f"{self.shapes.api}{self.path}?{query}"

        return {"Link": ", ".join(f'<{url(number)}>; rel="{rel}"' for rel, number in targets.items())}

    def paged(self, items: list[Any], wrap: Callable[[list[Any]], Any] | None = None) -> Answer:
        """One page of `items` with its `Link` header."""
        page = items[self.slice()]
        return Answer(200, wrap(page) if wrap else page, headers=self.link_header(len(items)))


Handler = Callable[[Call], Answer]


@dataclass(frozen=True)
class Operation:
    """One method and path of GitHub's description with the handler that serves it.

    `permissions` are alternatives, each a set of `name → level`, as in GitHub's permission header.
    """

    method: str
    template: str
    handler: Handler
    permissions: tuple[dict[str, str], ...]

    @property
    def key(self) -> str:
        return f"{self.method} {self.template}"

    @property
    def accepted_permissions(self) -> str:
        """The value of `X-Accepted-GitHub-Permissions`."""
        sets = (",".join(f"{name}={level}" for name, level in sorted(each.items())) for each in self.permissions)
        return "; ".join(sets)

    @property
    def writes(self) -> bool:
        return self.method not in {"GET", "HEAD"}


_OPERATIONS: list[tuple[re.Pattern[str], Operation]] = []


def _pattern(template: str) -> re.Pattern[str]:
    def group(match: re.Match[str]) -> str:
        name = match.group(1)
        return f"(?P<{name}>{'.+' if name in _WIDE_PARAMETERS else '[^/]+'})"

    return re.compile(re.sub(r"\\\{(\w+)\\\}", group, re.escape(template)))


def serves(method: str, template: str, *permissions: str) -> Callable[[Handler], Handler]:
    """Register a handler. Each permission is one alternative, such as `"contents=read"`."""

    def register(handler: Handler) -> Handler:
        sets = tuple(dict(part.split("=", 1) for part in each.split(",")) for each in permissions)
        _OPERATIONS.append((_pattern(template), Operation(method, template, handler, sets)))
        return handler

    return register


def operations() -> list[Operation]:
    """Every served operation."""
    return [operation for _, operation in _OPERATIONS]


def find(method: str, path: str) -> tuple[Operation, dict[str, str]] | None:
    """The operation and its unquoted path parameters; the most specific template wins."""
    matches = [
        (operation, match)
        for pattern, operation in _OPERATIONS
        if operation.method == method and (match := pattern.fullmatch(path))
    ]
    if not matches:
        return None
    operation, match = max(matches, key=lambda each: len(re.sub(r"\{\w+\}", "", each[0].template)))
    return operation, {name: unquote(value) for name, value in match.groupdict().items()}
