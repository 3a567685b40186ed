"""The events of a run as the report shows them: redacted, cut, and never more than 64 kB."""

import json
from collections.abc import Iterable
from typing import Any

from gate.engine.redact import Redactor
from gate.report import TraceEvent
from gate.trace import Event, Opaque, Trace

LIMIT = 64_000
"""Bytes of the JSON of one run's events."""
_EVENT_LIMIT = 2_000
_TEXT_LIMIT = 500
_ITEMS = 40
_DEPTH = 6


def transcript(trace: Trace, redactor: Redactor) -> list[TraceEvent]:
    """Return the first and the last events of a run, with a line that says how many are left out between them."""
    first, used = _take(trace.events, LIMIT // 2, redactor)
    rest = trace.events[len(first) :]
    last, _ = _take(reversed(rest), LIMIT - used - 200, redactor)
    left_out = len(rest) - len(last)
    cut = [TraceEvent(kind="cut", name="", data=f"{left_out} events are left out here")] if left_out else []
    return [*first, *cut, *reversed(last)]


def _take(events: Iterable[Event], limit: int, redactor: Redactor) -> tuple[list[TraceEvent], int]:
    taken: list[TraceEvent] = []
    used = 0
    for event in events:
        shown = _show(event, redactor)
        size = len(shown.model_dump_json().encode()) + 1
        if used + size > limit:
            break
        taken.append(shown)
        used += size
    return taken, used


def _show(event: Event, redactor: Redactor) -> TraceEvent:
    text = json.dumps(_plain(event.data, 0), ensure_ascii=False)
    return TraceEvent(
        kind=redactor.fit(event.kind, 200), name=redactor.fit(event.name, 200), data=redactor.fit(text, _EVENT_LIMIT)
    )


def _plain(value: Any, depth: int) -> Any:
    """Return a value as short JSON."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if abs(value) < 1e15 else _short(str(value) if isinstance(value, float) else f"{value:.6e}")
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, Opaque):
        return _short(value.text)
    if depth >= _DEPTH:
        return "…"
    if isinstance(value, dict):
        shown = {_short(str(k)): _plain(v, depth + 1) for k, v in list(value.items())[:_ITEMS]}
        return shown | ({"…": f"{len(value) - _ITEMS} more"} if len(value) > _ITEMS else {})
    if isinstance(value, list | tuple | set | frozenset):
        items = [_plain(v, depth + 1) for v in list(value)[:_ITEMS]]
        return [*items, f"… {len(value) - _ITEMS} more"] if len(value) > _ITEMS else items
    return _short(repr(value))


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_LIMIT else f"{text[:_TEXT_LIMIT]}… ({len(text)} characters)"
