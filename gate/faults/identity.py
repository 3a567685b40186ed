"""Who may act, and who answers: credentials that stop working, agents that are not who they say."""

from typing import Any, ClassVar, Literal

from gate.faults.base import Effect, Fault, Injection, Raise
from gate.faults.data import Patch


class AuthError(Fault):
    """Credentials are refused: expired or revoked (401), or without the `scope` needed (403)."""

    type: ClassVar[str] = "auth_error"
    points: ClassVar[tuple[str, ...]] = ("tool.call", "agent.call", "llm.call", "payment.call")
    status: Literal[401, 403] = 401
    error: str | None = None
    scope: str | None = None

    def apply(self, value: Any, injection: Injection) -> Effect:
        expired = self.status == 401
        error = self.error or ("invalid_token" if expired else "insufficient_scope")
        description = "token expired (injected)" if expired else "additional scope required (injected)"
        fields = {"status": self.status, "error": error, "description": description, "scope": self.scope}
        return Raise("ChaosAuthError", f"{self.status} {error}: {description}", fields)


class SpoofAgentCard(Patch):
    """Another agent's card is forged on discovery: `set` overwrites its fields, as in `patch`."""

    type: ClassVar[str] = "spoof_agent_card"
    points: ClassVar[tuple[str, ...]] = ("agent.discover",)
