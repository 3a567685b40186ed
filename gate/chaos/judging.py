"""What a judge gets to see of a run, in its own interpreter."""

from __future__ import annotations

import fnmatch
from typing import Any


class Event:
    """Something that happened at the agent."""

    def __init__(self, kind: str, name: str, data: dict[str, Any]) -> None:
        self.kind, self.name, self.data = kind, name, data

    def __repr__(self) -> str:
        return f"Event({self.kind!r}, {self.name!r}, {self.data!r})"


class Trace:
    """One run: its events, its output, the text of the error that ended it, its seconds, the canaries planted in it."""

    def __init__(
        self, events: list[Event], output: Any, error: str | None, duration_s: float, canaries: set[str]
    ) -> None:
        self.events, self.output, self.error, self.canaries = events, output, error, canaries
        self.duration_s = self.duration = duration_s

    def of(self, kind: str, name: str = "*") -> list[Event]:
        """Return the events of one kind whose name matches a glob, in order."""
        return [e for e in self.events if e.kind == kind and fnmatch.fnmatchcase(e.name, name)]

    def tool_calls(self, name: str = "*") -> list[Event]:
        """Return the tool calls whose name matches a glob."""
        return self.of("tool.call", name)

    @property
    def faults(self) -> list[Event]:
        """Return the faults that acted."""
        return self.of("fault")


def read_trace(form: dict[str, Any]) -> Trace:
    """Return the trace that the gate has sent."""
    events = [Event(kind, name, data) for kind, name, data in form["events"]]
    return Trace(events, form["output"], form["error"], form["duration_s"], set(form["canaries"]))
