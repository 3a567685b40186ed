"""No retry storm, no runaway loop."""

from typing import Annotated, ClassVar

from pydantic import Field

from gate.policy import Category
from gate.prices import Price, cost
from gate.probes.base import Amount, Check, Limit, Probe, count
from gate.probes.usage import usage_records
from gate.trace import Trace


class MaxToolCalls(Probe):
    """Tools matching `name` are called at most `limit` times."""

    type: ClassVar[str] = "max_tool_calls"
    category: ClassVar[Category] = "consumption"
    limit: Limit
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
    limit: Limit

    @property
    def label(self) -> str:
        return f"max_llm_calls({self.limit})"

    def check(self, trace: Trace) -> Check:
        calls = trace.of("llm.call")
        return Check(len(calls) <= self.limit, count(calls, "call"))


class MaxAgentCalls(Probe):
    """At most `limit` messages go to agents matching `name`: no delegation loop."""

    type: ClassVar[str] = "max_agent_calls"
    category: ClassVar[Category] = "consumption"
    limit: Limit
    name: str = "*"

    @property
    def label(self) -> str:
        return f"max_agent_calls({self.limit}, {self.name})"

    def check(self, trace: Trace) -> Check:
        calls = trace.of("agent.call", self.name)
        return Check(len(calls) <= self.limit, count(calls, "call"))


class MaxEvents(Probe):
    """At most `limit` events of `kind` happen at targets matching `name`, such as `mcp.request` at `tools/list`."""

    type: ClassVar[str] = "max_events"
    category: ClassVar[Category] = "consumption"
    kind: str
    limit: Limit
    name: str = "*"

    @property
    def label(self) -> str:
        return f"max_events({self.kind}, {self.name}, {self.limit})"

    def check(self, trace: Trace) -> Check:
        events = trace.of(self.kind, self.name)
        return Check(len(events) <= self.limit, count(events, "event"))


class TokensWithin(Probe):
    """All model responses together take at most `limit` tokens; vacuous if none reports its usage."""

    type: ClassVar[str] = "tokens_within"
    category: ClassVar[Category] = "consumption"
    limit: Limit

    @property
    def label(self) -> str:
        return f"tokens_within({self.limit})"

    def check(self, trace: Trace) -> Check:
        records = usage_records(trace)
        total = sum(usage.input_tokens + usage.output_tokens for usage in records)
        return Check(total <= self.limit, f"{total} tokens", vacuous=not records)


class CostWithin(Probe):
    """All model responses together cost at most `limit`, by `prices` per million tokens; vacuous without usage.

    `prices` maps globs of model names to `input` and `output`; the first that matches counts. A model that none
    matches is an error: its cost is unknown, not nothing.
    """

    type: ClassVar[str] = "cost_within"
    category: ClassVar[Category] = "consumption"
    limit: Amount
    prices: Annotated[dict[str, Price], Field(min_length=1)]

    @property
    def label(self) -> str:
        return f"cost_within({self.limit})"

    def check(self, trace: Trace) -> Check:
        records = usage_records(trace)
        spent = cost(records, self.prices)
        return Check(spent <= self.limit, f"{spent:.6f} spent", vacuous=not records)
