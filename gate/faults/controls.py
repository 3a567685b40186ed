"""Security controls that fail: guardrails, authorisation, approval."""

from typing import Any, ClassVar, Literal

from gate.faults.base import Effect, Fault, Injection, Override, Raise


class ControlOutage(Fault):
    """The control is down: it times out or answers with an error."""

    type: ClassVar[str] = "control_outage"
    points: ClassVar[tuple[str, ...]] = ("control",)
    mode: Literal["timeout", "error"] = "timeout"

    def apply(self, value: Any, injection: Injection) -> Effect:
        if self.mode == "timeout":
            return Raise("ChaosTimeout", f"control {injection.name} timed out (injected)")
        return Raise("ChaosError", f"control {injection.name} unavailable (injected)")


class ForceVerdict(Fault):
    """The control always answers `verdict`, without looking."""

    type: ClassVar[str] = "force_verdict"
    points: ClassVar[tuple[str, ...]] = ("control",)
    verdict: Any = True

    def apply(self, value: Any, injection: Injection) -> Effect:
        return Override(self.verdict)
