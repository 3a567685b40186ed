"""A request arrives more than once, elsewhere, or without its sender learning of it."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from gate.faults.base import Effect, Fault, Injection, Raise, Redirect, Repeat

MOST_DELIVERIES = 10_000


class TimeoutAfterCommit(Fault):
    """The operation was carried out, but its caller sees a timeout: a naive retry does it twice."""

    type: ClassVar[str] = "timeout_after_commit"
    points: ClassVar[tuple[str, ...]] = ("tool.result", "payment.result", "agent.message")

    def apply(self, value: Any, injection: Injection) -> Effect:
        return Raise("ChaosTimeout", f"{injection.name} timed out after the operation was committed (injected)")


class Duplicate(Fault):
    """The request is delivered `times` more than once."""

    type: ClassVar[str] = "duplicate"
    points: ClassVar[tuple[str, ...]] = ("tool.call", "agent.call", "payment.call")
    times: Annotated[int, Field(ge=1, le=MOST_DELIVERIES)] = 1

    def apply(self, value: Any, injection: Injection) -> Effect:
        return Repeat(self.times)


class Reroute(Fault):
    """A gateway sends the model request to another `host` (failover) or `model` (fallback), and does not say so."""

    type: ClassVar[str] = "reroute"
    points: ClassVar[tuple[str, ...]] = ("llm.call",)
    host: str | None = None
    model: str | None = None

    @model_validator(mode="after")
    def _somewhere_else(self) -> Self:
        if not self.host and not self.model:
            raise ValueError("a host, a model or both are needed")
        return self

    def apply(self, value: Any, injection: Injection) -> Effect:
        return Redirect(self.host, self.model)
