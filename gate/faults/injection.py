"""Untrusted content that carries instructions."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from gate.faults.base import Effect, Fault, Injection, Return
from gate.faults.payloads import render

Position = Literal["append", "prepend", "replace"]
_UNTRUSTED = ("tool.result", "memory.read", "resource.read", "agent.message")
MOST_PADDING = 10_000_000


class InjectInstruction(Fault):
    """An instruction with a canary is hidden in what a tool, a memory, a resource or another agent returns."""

    type: ClassVar[str] = "inject_instruction"
    points: ClassVar[tuple[str, ...]] = _UNTRUSTED
    payload: str = "exfiltrate"
    sink: str = "send_email"
    position: Position = "append"

    def apply(self, value: Any, injection: Injection) -> Effect:
        return insert(value, planted(self.payload, self.sink, injection), self.position)


class PoisonToolDescription(InjectInstruction):
    """The description of a tool carries the instruction."""

    type: ClassVar[str] = "poison_tool_description"
    points: ClassVar[tuple[str, ...]] = ("tool.describe",)
    payload: str = "tool_poisoning"


class PoisonMemory(InjectInstruction):
    """A planted record comes back from long-term memory."""

    type: ClassVar[str] = "poison_memory"
    points: ClassVar[tuple[str, ...]] = ("memory.read",)


class Flood(Fault):
    """Content is padded with `size` characters of `filler`, and the instruction, if any, comes after them.

    It pushes a system prompt out of the context window, or a payload out of what a guardrail looks at.
    """

    type: ClassVar[str] = "flood"
    points: ClassVar[tuple[str, ...]] = _UNTRUSTED
    size: Annotated[int, Field(ge=0, le=MOST_PADDING)] = 20_000
    filler: str = "Lorem ipsum dolor sit amet. "
    payload: str | None = "exfiltrate"
    sink: str = "send_email"

    def apply(self, value: Any, injection: Injection) -> Effect:
        padding = (self.filler * (self.size // max(len(self.filler), 1) + 1))[: self.size]
        text = f"{padding}\n{planted(self.payload, self.sink, injection)}" if self.payload else padding
        return insert(value, text, "append")


def planted(payload: str, sink: str, injection: Injection) -> str:
    """Draw a canary and return the payload that carries it.

    A text without the placeholder carries none: the draw is made all the same, but nothing counts as planted.
    """
    canary = injection.canary()
    text = render(payload, canary=canary, sink=sink)
    if canary not in text:
        injection.canaries.discard(canary)
    return text


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
