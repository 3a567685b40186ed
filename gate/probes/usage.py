"""Tokens that model providers report, read from recorded model responses."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from gate.trace import Opaque, Trace

MOST_TOKENS = 1_000_000_000
"""Far more than one response can take: a larger count is read as this one."""

_RESPONSES = ("llm.response", "llm.call.result")


class Usage(NamedTuple):
    """What one response cost, in tokens. `model` is "" where no response or envelope names one."""

    model: str
    input_tokens: int
    output_tokens: int


def usage_records(trace: Trace) -> list[Usage]:
    """Return the usage of every recorded model response, in order.

    A mapping `usage` is read wherever it stands in a response, in OpenAI's words (prompt_tokens, completion_tokens,
    total_tokens) or Anthropic's (input_tokens, output_tokens); tokens written to or read from a cache are not
    counted, as in the public format. A usage without one readable count is left out: no data is not zero.
    """
    return [usage for e in trace.events if e.kind in _RESPONSES for usage in _in_response(e.data)]


def unmetered(trace: Trace) -> int:
    """Return how many recorded model responses do not say what they took."""
    return sum(e.kind in _RESPONSES and not any(_in_response(e.data)) for e in trace.events)


def _in_response(data: Any) -> Iterator[Usage]:
    pending: list[tuple[str, Any]] = [("", data)]
    while pending:
        model, value = pending.pop()
        value = _plain(value)
        inner: list[Any] = []
        if isinstance(value, dict):
            named, usage = value.get("model"), _plain(value.get("usage"))
            model = named if isinstance(named, str) else model
            if isinstance(usage, dict):
                counts = _counts(usage)
                if counts:
                    yield Usage(model, *counts)
            else:
                inner = list(value.values())
        elif isinstance(value, list | tuple):
            inner = list(value)
        pending += [(model, item) for item in reversed(inner)]


def _plain(value: Any) -> Any:
    return value.fields if isinstance(value, Opaque) else value


def _counts(usage: dict[Any, Any]) -> tuple[int, int] | None:
    """Return (input, output) tokens; a total without its parts counts as output; None if nothing can be read."""
    entered = _first(usage, "input_tokens", "prompt_tokens")
    left = _first(usage, "output_tokens", "completion_tokens")
    if not entered and not left:
        total = _first(usage, "total_tokens")
        left = left if total is None else total
    return None if entered is None and left is None else (int(entered or 0), int(left or 0))


def _first(usage: dict[Any, Any], *keys: str) -> float | None:
    return next((count for key in keys if (count := _count(usage.get(key))) is not None), None)


def _count(value: Any) -> float | None:
    """Return a number of tokens within [0, MOST_TOKENS]; None for what is not a number."""
    if isinstance(value, str):
        digits = value.strip()
        return min(int(digits[:20]), MOST_TOKENS) if digits.isascii() and digits.isdigit() else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    return min(max(value, 0), MOST_TOKENS)
