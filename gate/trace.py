"""One run's events, as the probes see them."""

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

POINTS = (
    "llm.call",
    "llm.response",
    "tool.describe",
    "tool.call",
    "tool.result",
    "memory.read",
    "resource.read",
    "control",
    "agent.discover",
    "agent.call",
    "agent.message",
    "payment.call",
    "payment.result",
    "mcp.tools",
    "mcp.server_request",
)
"""Where a fault can act, in the words of the public format."""

Outcome = Literal["ok", "error", "timeout", "crash", "infra", "gate_error"]
"""How a run ended: returned, raised, was stopped, died, met a broken provider, or met a fault of the gate."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value of the agent that cannot travel: its text, and the handle by which the agent finds it again.

    `fields` holds what its `model_dump()` gave, for objects that have one.
    """

    handle: int
    text: str
    fields: Any = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at the agent: a call, a result, a log record, an injected fault."""

    kind: str
    name: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentError:
    """The exception that left the agent's entry point: `text` is its `repr`."""

    type: str
    text: str


@dataclass(slots=True)
class Trace:
    """Everything observed during one run. `duration_s` is in seconds of wall-clock time."""

    events: list[Event] = field(default_factory=list)
    output: Any = None
    error: AgentError | None = None
    duration_s: float = 0.0
    canaries: set[str] = field(default_factory=set)

    def record(self, kind: str, name: str, **data: Any) -> None:
        """Append an event."""
        self.events.append(Event(kind, name, data))

    def of(self, kind: str, name: str = "*") -> list[Event]:
        """Return the events of one kind whose name matches a glob, in order."""
        return [e for e in self.events if e.kind == kind and fnmatch.fnmatchcase(e.name, name)]


def iter_strings(value: Any) -> Iterator[str]:
    """Yield every string nested in a value, keys included; numbers, booleans and None hold none."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from iter_strings(key)
            yield from iter_strings(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from iter_strings(item)
    elif isinstance(value, Opaque):
        yield value.text
        yield from iter_strings(value.fields)
    elif value is not None and not isinstance(value, int | float):
        yield str(value)
