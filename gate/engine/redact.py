"""Untrusted text made fit for a report: no secrets, no lone surrogates, no more than asked for."""

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable
from typing import Any

from gate.trace import Opaque

_SECRETS = re.compile(
    r"""
    -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----.*?(?:-----END\ [A-Z ]*PRIVATE\ KEY-----|\Z)
    | \b(?i:bearer)\s+[A-Za-z0-9._~+/=-]{8,}
    | \beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*            # JSON Web Token
    | \b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}         # OpenAI, Anthropic, Stripe
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b                # AWS
    | \b(?:gh[pousr]_\w{30,}|github_pat_\w{30,})
    | \bglpat-[\w-]{16,}
    | \bxox[abeprs]-[\w-]{10,}                     # Slack
    | \bAIza[\w-]{35}
    | \bhf_[A-Za-z0-9]{30,}
    | (?<=://)[^\s/@:]+:[^\s/@]+(?=@)              # user:password in an address
    """,
    re.VERBOSE | re.DOTALL,
)
_NAMED = re.compile(
    r"""(?ix)
    ((?:authorization|api[-_]?key|access[-_]?token|refresh[-_]?token|id[-_]?token|client[-_]?secret|secret[-_]?key
        |private[-_]?key|password|passwd|set-cookie|cookie)["']?\s*[:=]\s*["']?)
    ([^\s"',;}{)]{4,})
    """
)
_REDACTED = "[redacted]"
SHORTEST_SECRET = 6
"""Shorter values are no secrets, and would take ordinary words out of every text."""
_SHOWN = 20_000  # a text is cut to this before patterns run over it


class Redactor:
    """Replaces what looks like a credential, and values that are known to be one, plain and in usual encodings."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if len(secret) >= SHORTEST_SECRET for form in _forms(secret)}
        self._known = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True)))) if forms else None

    def redact(self, text: str) -> str:
        """Return the text without credentials."""
        if self._known is not None:
            text = self._known.sub(_REDACTED, text)
        return _NAMED.sub(rf"\1{_REDACTED}", _SECRETS.sub(_REDACTED, text))

    def fit(self, text: str, limit: int) -> str:
        """Return a redacted text of at most `limit` characters that any encoder takes."""
        if len(text) > _SHOWN:
            if self._known is not None:  # one that lies across the cut would show its beginning
                text = self._known.sub(_REDACTED, text[: 2 * _SHOWN])
            text = text[:_SHOWN]
        clean = self.redact(text).encode("utf-8", "backslashreplace").decode("utf-8")
        return clean if len(clean) <= limit else clean[: limit - 1] + "…"

    def quote(self, text: str, lines: int) -> str:
        """Return the last lines of a text for a terminal or a workflow log: inert, since each begins with a bar."""
        shown = [
            "".join(c if c.isprintable() or c == "\t" else "�" for c in line).replace("##[", "## [")
            for line in self.fit(text[-_SHOWN:], _SHOWN).strip().splitlines()[-lines:]
        ]
        return "\n".join(f"    | {line}" for line in shown)


def _forms(secret: str) -> set[str]:
    """Return a secret as it may stand in a text."""
    raw = secret.encode("utf-8", "surrogateescape")
    return {
        secret,
        json.dumps(secret)[1:-1],
        repr(secret)[1:-1],
        urllib.parse.quote(raw, safe=""),
        urllib.parse.quote_plus(raw),
        base64.b64encode(raw).decode().rstrip("="),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
        raw.hex(),
    }


def show(value: Any) -> str:
    """Return a value of the agent as text."""
    if isinstance(value, str):
        return value
    return value.text if isinstance(value, Opaque) else repr(value)
