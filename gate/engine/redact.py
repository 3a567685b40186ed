"""Untrusted text made fit for a report: no secrets, no lone surrogates, no more than asked for."""

import re
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
_SHOWN = 20_000  # a text is cut to this before patterns run over it


def redact(text: str) -> str:
    """Replace what looks like a credential."""
    return _NAMED.sub(r"\1[redacted]", _SECRETS.sub("[redacted]", text))


def fit(text: str, limit: int) -> str:
    """Return a redacted text of at most `limit` characters that any encoder takes."""
    clean = redact(text[:_SHOWN]).encode("utf-8", "backslashreplace").decode("utf-8")
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def quote(text: str, lines: int) -> str:
    """Return the last lines of a text for a terminal or a workflow log: inert, since each begins with a bar."""
    shown = [
        "".join(c if c.isprintable() or c == "\t" else "�" for c in line).replace("##[", "## [")
        for line in fit(text[-_SHOWN:], _SHOWN).strip().splitlines()[-lines:]
    ]
    return "\n".join(f"    | {line}" for line in shown)


def show(value: Any) -> str:
    """Return a value of the agent as text."""
    if isinstance(value, str):
        return value
    return value.text if isinstance(value, Opaque) else repr(value)
