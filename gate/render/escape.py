"""Text that others wrote, made inert: one line, visible characters only, in a code span where Markdown is written."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

LIMIT = 200
"""Most characters of one foreign text that are shown."""

MAX_BACKTICKS = 16
"""Longest run of backticks kept; the parser behind GitHub knows no code span with a fence of more than 80."""

MAX_MARKS = 3
"""Most combining marks kept in succession, so that none pile up over the neighbouring lines."""

_TERMINAL = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]"
)
_BACKTICKS = re.compile("`+")
# Drawn as nothing although their general category does not say so: fillers, blanks, joiners, variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159\U000e0000-\U000e0fff]"
)


class Own(str):
    """Words or figures of ours: plain, and inert in every output."""

    __slots__ = ()


class Markdown(str):
    """Markdown of ours, let through as it is."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of ours with parts that may be foreign: every output fills them in by its own rule."""

    pattern: str
    parts: tuple["Part", ...] = ()

    def text(self, foreign: Callable[[str], str]) -> str:
        """Return the sentence with every foreign part passed through `foreign`."""
        return self.pattern.format(*(fill(part, foreign) for part in self.parts))


Part: TypeAlias = Sentence | Own | str | int
"""What can stand in a sentence or a cell; a `str` that is not `Own` is foreign."""


def say(pattern: str, *parts: Part) -> Sentence:
    """Return a sentence; `pattern` is ours, with a `{}` for every part."""
    return Sentence(pattern, parts)


def join(parts: Iterable[Part], separator: str) -> Sentence:
    """Return the parts in a row."""
    listed = tuple(parts)
    return Sentence(separator.join("{}" for _ in listed), listed)


def fill(part: Part, foreign: Callable[[str], str]) -> str:
    """Return a part as text, passed through `foreign` if others wrote it; numbers get a thousands separator."""
    if isinstance(part, Sentence):
        return part.text(foreign)
    if isinstance(part, Own):
        return str(part)
    if isinstance(part, str):
        return foreign(part)
    if isinstance(part, int) and not isinstance(part, bool):
        return f"{part:,}"
    raise TypeError(f"{type(part).__name__} has no rule by which it is shown")


def plain(part: Part) -> str:
    """Return a part as one line of plain text."""
    return fill(part, clean)


@lru_cache(maxsize=20_000)
def clean(text: str, limit: int = LIMIT) -> str:
    """Return one line of at most `limit` characters without anything that is invisible or steers a terminal."""
    text = " ".join(_TERMINAL.sub("", text).split())
    if text.isascii() and text.isprintable():
        return _cut(text, limit)
    text = _INVISIBLE.sub("", text)
    kept: list[str] = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if category in ("Cc", "Cf", "Zl", "Zp") or marks > MAX_MARKS:
            continue
        kept.append("\ufffd" if category in ("Cs", "Co", "Cn") else character)
    return _cut(" ".join("".join(kept).split()), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


@lru_cache(maxsize=20_000)
def escape(text: str) -> Markdown:
    """Return foreign text as a code span in which nothing of it can act, not even as a hidden marker."""
    shown = clean(text).replace("<!--", "<!- -").replace("-->", "- ->")
    if not shown:
        return Markdown("(empty)")
    shown = _BACKTICKS.sub(lambda run: run[0][:MAX_BACKTICKS], shown)
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(shown)), default=0))
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return Markdown(f"{fence}{pad}{shown}{pad}{fence}")


def finalize(value: Part | Markdown) -> str:
    """Return what a Markdown template writes for a value: our own as it is, everything else escaped."""
    return value if isinstance(value, Markdown) else Markdown(fill(value, escape))


def table_row(cells: Iterable[Part]) -> Markdown:
    """Return one row of a table; a pipe within a cell is kept from ending it."""
    return Markdown("| " + " | ".join(finalize(cell).replace("|", r"\|") for cell in cells) + " |")
