"""What breaks in production: slow, failing and throttled dependencies."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from gate.faults.base import Delay, Effect, Fault, Injection, Raise

_CALLS = ("llm.call", "tool.call", "memory.read", "control", "agent.call", "payment.call")
Number = Annotated[float, Field(allow_inf_nan=False)]


class Latency(Fault):
    """The dependency answers late by `seconds`, give or take `jitter`."""

    type: ClassVar[str] = "latency"
    points: ClassVar[tuple[str, ...]] = _CALLS
    seconds: Number = 2.0
    jitter: Number = 0.0

    def apply(self, value: Any, injection: Injection) -> Effect:
        return Delay(max(0.0, self.seconds + injection.rng.uniform(-self.jitter, self.jitter)))


class Timeout(Fault):
    """The dependency does not answer in time."""

    type: ClassVar[str] = "timeout"
    points: ClassVar[tuple[str, ...]] = _CALLS

    def apply(self, value: Any, injection: Injection) -> Effect:
        return Raise("ChaosTimeout", f"{injection.point} {injection.name} timed out (injected)")


class Error(Fault):
    """The dependency fails with `message`."""

    type: ClassVar[str] = "error"
    points: ClassVar[tuple[str, ...]] = _CALLS
    message: str = "injected failure"

    def apply(self, value: Any, injection: Injection) -> Effect:
        return Raise("ChaosError", f"{injection.point} {injection.name}: {self.message}")


class RateLimit(Fault):
    """The provider answers 429, with `retry_after` seconds if given."""

    type: ClassVar[str] = "rate_limit"
    points: ClassVar[tuple[str, ...]] = ("llm.call", "tool.call", "agent.call", "payment.call")
    retry_after: Number | None = None

    def apply(self, value: Any, injection: Injection) -> Effect:
        return Raise("ChaosRateLimit", "429 Too Many Requests (injected)", {"retry_after": self.retry_after})
