"""JSON of other tools under strict models: unknown keys are ignored, what is asked for is of its type or refused."""

import itertools
from collections.abc import Callable
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from gate.errors import InvalidFileError
from gate.jsontext import JsonText, Path

T = TypeVar("T")
E = TypeVar("E")
MAX_ITEMS = 1_000_000
Items = Annotated[list[T], Field(max_length=MAX_ITEMS, fail_fast=True)]
"""An array that is given up at its first wrong element, since a machine wrote all of them alike."""


class Foreign(BaseModel):
    """A part of another tool's file: only the keys that are read, strictly typed."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


def parse(adapter: TypeAdapter[T], data: bytes, source: str, format_: str) -> T:
    """Return the parsed document.

    Raises:
        InvalidFileError: not JSON, nested deeper than 200, a key twice in one object, or not of the format's shape; at
            most ten problems.
    """
    JsonText(data, source).walk()
    return _valid(adapter, data, source, (), format_)


def parse_each(
    adapter: TypeAdapter[T],
    element: TypeAdapter[E],
    take: Callable[[str, E], None],
    data: bytes,
    source: str,
    format_: str,
    *,
    path: Path = (),
) -> T:
    """Return the document with the arrays at `path` emptied: `take` gets every element and its key path instead.

    So a file of many runs takes hardly more memory than its text. `path`: the names to follow at each level.

    Raises:
        InvalidFileError: as `parse`, at the first wrong element; or more than a million elements.
    """
    count = itertools.count(1)

    def check(where: str, start: int, end: int) -> None:
        if next(count) > MAX_ITEMS:
            raise refuse(source, f"{where}: more than {MAX_ITEMS:,} elements")
        take(where, _valid(element, data[start:end], source, (where,), format_))

    rest, at = b"", 0
    for inside in JsonText(data, source).walk(path, check):
        rest += data[at : inside.start]
        at = inside.stop
    return _valid(adapter, rest + data[at:], source, (), format_)


def _valid(adapter: TypeAdapter[T], data: bytes, source: str, within: tuple[str, ...], format_: str) -> T:
    try:
        return adapter.validate_json(data)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False, include_context=False)[:10]
        said = [": ".join((source, *_place((*within, *p["loc"])), p["msg"]))[:1000] for p in problems]
        raise InvalidFileError(said, fix=_fix(format_)) from None


def refuse(source: str, why: str, *, fix: str = "") -> InvalidFileError:
    """Return the error for a file that would be misread."""
    return InvalidFileError([f"{source}: {why}"], fix=fix)


def _place(path: tuple[str | int, ...]) -> list[str]:
    return [".".join(map(str, path))] if path else []


def _fix(format_: str) -> str:
    return f"it was taken for {format_}; write the file anew, whole and in that format"
