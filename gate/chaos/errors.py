"""What an injected failure looks like at the agent."""

from __future__ import annotations


class ChaosError(Exception):
    """A failure that a fault injected."""


class ChaosTimeout(ChaosError, TimeoutError):  # noqa: N818 (the name is part of the public format)
    """Something did not answer in time."""


class ChaosRateLimit(ChaosError):  # noqa: N818 (the name is part of the public format)
    """The provider answered 429; `retry_after` is in seconds, None if it did not say."""

    def __init__(self, message: str = "429 Too Many Requests (injected)", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ChaosAuthError(ChaosError):
    """Credentials were refused: 401 (expired, revoked) or 403 (a scope is missing)."""

    def __init__(
        self,
        status: int = 401,
        error: str = "invalid_token",
        description: str = "",
        scope: str | None = None,
    ) -> None:
        description = description or "injected auth failure"
        super().__init__(f"{status} {error}: {description}")
        self.status, self.error, self.description, self.scope = status, error, description, scope

    def www_authenticate(self, resource_metadata: str | None = None) -> str:
        """Return the value of a `WWW-Authenticate` header that says the same (RFC 6750)."""
        parts = {
            "error": self.error,
            "error_description": self.description,
            "scope": self.scope,
            "resource_metadata": resource_metadata,
        }
        return "Bearer " + ", ".join(f'{key}="{value}"' for key, value in parts.items() if value)
