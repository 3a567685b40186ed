"""JSON of other tools under strict models: unknown keys are ignored, what is asked for is of its type or refused."""

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from gate.errors import InvalidFileError

T = TypeVar("T")
Items = Annotated[list[T], Field(max_length=1_000_000, fail_fast=True)]
"""An array that is given up at its first wrong element, since a machine wrote all of them alike."""


class Foreign(BaseModel):
    """A part of another tool's file: only the keys that are read, strictly typed."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


def parse(adapter: TypeAdapter[T], data: bytes, source: str, format_: str) -> T:
    """Return the parsed document.

    Raises:
        InvalidFileError: not JSON, nested deeper than 200, or not of the format's shape; at most ten problems.
    """
    try:
        return adapter.validate_json(data)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False, include_context=False)[:10]
        raise InvalidFileError(
            [f"{source}: {_place(p)}{p['msg']}"[:1000] for p in problems], fix=_fix(format_)
        ) from None


def refuse(source: str, why: str, *, fix: str = "") -> InvalidFileError:
    """Return the error for a file that would be misread."""
    return InvalidFileError([f"{source}: {why}"], fix=fix)


def _place(problem: Any) -> str:
    path = ".".join(str(part) for part in problem["loc"])
    return f"{path}: " if path else ""


def _fix(format_: str) -> str:
    return f"it was taken for {format_}; write the file anew, whole and in that format"
