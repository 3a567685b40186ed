"""One run's events, as the probes see them."""

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

POINT_TEXTS = {
    "llm.call": "before a question goes to a model",
    "llm.response": "what the model answered",
    "tool.describe": "the description of a tool that the model sees",
    "tool.call": "before a tool is called",
    "tool.result": "what the tool returned",
    "memory.read": "what memory, a vector store or another source of text gave",
    "resource.read": "the contents of a resource, such as those of an MCP server",
    "control": "before a security control decides: guardrail, authorisation, approval",
    "agent.discover": "how another agent describes itself",
    "agent.call": "before a message or task goes to another agent",
    "agent.message": "what the other agent answered",
    "payment.call": "before a step of a payment",
    "payment.result": "what came of that step",
    "mcp.tools": "the whole list of tools of an MCP server",
    "mcp.server_request": "what an MCP server asks of its client by itself",
}
POINTS = tuple(POINT_TEXTS)
"""Where a fault can act, in the words of the public format."""

MAX_RUNS = 10_000
"""The most runs a phase may have: what an exact test still answers in reasonable time and memory."""

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
