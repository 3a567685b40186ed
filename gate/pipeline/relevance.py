"""Whether a change touches what the gate is about: the input `paths`."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

NOT_RELEVANT = "Not relevant: no changed file matches `paths`"


def is_relevant(changed: Iterable[str], patterns: Sequence[str]) -> bool:
    """Return whether any file matches the patterns, of which the last that matches a file decides.

    `*` and `?` stay within a folder, `**` does not; a folder stands for all below it; `!` in front takes files out.
    """
    return any(_matches(name, patterns) for name in changed)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    matched = False
    for pattern in patterns:
        if _expression(pattern.removeprefix("!")).fullmatch(name):
            matched = not pattern.startswith("!")
    return matched


@lru_cache(maxsize=1_000)
def _expression(pattern: str) -> re.Pattern[str]:
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern.removeprefix("./").rstrip("/"))
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(wild.get(piece) or re.escape(piece) for piece in pieces)
    return re.compile(f"{body}(?:/.*)?", re.DOTALL)
