"""Untrusted content that carries instructions."""

from typing import Any, ClassVar, Literal

from gate.faults.base import Effect, Fault, Injection, Return
from gate.faults.payloads import render

Position = Literal["append", "prepend", "replace"]


class InjectInstruction(Fault):
    """An instruction with a canary is hidden in what a tool, a memory, a resource or another agent returns."""

    type: ClassVar[str] = "inject_instruction"
    points: ClassVar[tuple[str, ...]] = ("tool.result", "memory.read", "resource.read", "agent.message")
    payload: str = "exfiltrate"
    sink: str = "send_email"
    position: Position = "append"

    def apply(self, value: Any, injection: Injection) -> Effect:
        return insert(value, render(self.payload, canary=injection.canary(), sink=self.sink), self.position)


class PoisonToolDescription(InjectInstruction):
    """The description of a tool carries the instruction."""

    type: ClassVar[str] = "poison_tool_description"
    points: ClassVar[tuple[str, ...]] = ("tool.describe",)
    payload: str = "tool_poisoning"


class PoisonMemory(InjectInstruction):
    """A planted record comes back from long-term memory."""

    type: ClassVar[str] = "poison_memory"
    points: ClassVar[tuple[str, ...]] = ("memory.read",)


def insert(value: Any, text: str, position: Position) -> Return:
    """Add text to a string, a list or a mapping; anything else is left as it is, and said to be."""
    if isinstance(value, str) or value is None:
        value = value or ""
        joined = {"append": f"{value}\n{text}", "prepend": f"{text}\n{value}", "replace": text}
        return Return(joined[position])
    if isinstance(value, list):
        return Return({"append": [*value, text], "prepend": [text, *value], "replace": [text]}[position])
    if isinstance(value, dict):
        return Return({"content": text} if position == "replace" else {**value, "note": text})
    return Return(value, changed=False)
