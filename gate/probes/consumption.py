"""No retry storm, no runaway loop."""

from typing import ClassVar

from gate.policy import Category
from gate.probes.base import Check, Probe, count
from gate.trace import Trace


class MaxToolCalls(Probe):
    """Tools matching `name` are called at most `limit` times."""

    type: ClassVar[str] = "max_tool_calls"
    category: ClassVar[Category] = "consumption"
    limit: int
    name: str = "*"

    @property
    def label(self) -> str:
        return f"max_tool_calls({self.limit}, {self.name})"

    def check(self, trace: Trace) -> Check:
        calls = trace.of("tool.call", self.name)
        return Check(len(calls) <= self.limit, count(calls, "call"))


class MaxLlmCalls(Probe):
    """The model is called at most `limit` times."""

    type: ClassVar[str] = "max_llm_calls"
    category: ClassVar[Category] = "consumption"
    limit: int

    @property
    def label(self) -> str:
        return f"max_llm_calls({self.limit})"

    def check(self, trace: Trace) -> Check:
        calls = trace.of("llm.call")
        return Check(len(calls) <= self.limit, count(calls, "call"))
