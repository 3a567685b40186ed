"""Text of the agent in a report: no credentials, and nothing that an encoder refuses."""

import base64
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.engine.redact import Redactor

PLAIN = Redactor()
redact, fit, quote = PLAIN.redact, PLAIN.fit, PLAIN.quote


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijklmnop1234",
        "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
        "AKIAABCDEFGHIJKLMNOP",
        "xoxb-1234567890-abc",
        "glpat-abcdefghij0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIE and cut off",
    ],
)
def test_redact__known_credentials(secret: str) -> None:
    assert redact(f"before {secret}") == "before [redacted]"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("{'api_key': 'hunter2hunter2'}", "{'api_key': '[redacted]'}"),
        ('{"Authorization": "Bearer abcdefgh12345"}', '{"Authorization": "[redacted]"}'),
        ("password=swordfish", "password=[redacted]"),
        ("postgres://user:swordfish@db.example/x", "postgres://[redacted]@db.example/x"),
        ("Summary: tokens are cheap. max_tokens: 100", "Summary: tokens are cheap. max_tokens: 100"),
        ("AC-CANARY-c2094cac", "AC-CANARY-c2094cac"),
    ],
)
def test_redact__by_name(text: str, clean: str) -> None:
    assert redact(text) == clean


@given(st.text(st.characters(), max_size=300), st.integers(10, 200))
def test_fit__any_text_is_encodable_and_short_enough(text: str, limit: int) -> None:
    fitted = fit(text, limit)
    fitted.encode("utf-8")
    assert len(fitted) <= limit


def test_fit__a_secret_is_redacted_before_the_cut() -> None:
    assert "sk-" not in fit("x" * 15 + " sk-abcdefghijklmnop1234567", 25)


def test_quote__is_inert_in_a_workflow_log() -> None:
    text = "first\nlast but one ##[error]x\n  ::error::planted\r::error::again \x1b[31m"
    assert quote(text, 3) == "    | last but one ## [error]x\n    |   ::error::planted\n    | ::error::again �[31m"


def test_quote__of_nothing() -> None:
    assert quote("", 5) == ""


SECRET = 'p@ss "w\\ord" ü'


@pytest.mark.parametrize(
    "shown",
    [
        SECRET,
        json.dumps({"k": SECRET}),
        repr([SECRET]),
        urllib.parse.quote(SECRET),
        base64.b64encode(SECRET.encode()).decode(),
        SECRET.encode().hex(),
        "x" * 19_995 + SECRET,
    ],
    ids=["plain", "json", "repr", "url", "base64", "hex", "across the cut"],
)
def test_redact__a_value_that_the_agent_was_given(shown: str) -> None:
    clean = Redactor([SECRET, "short"]).fit(f"short {shown} end", 30_000)
    assert clean.startswith("short ")
    assert not any(part in clean for part in ("p@ss", "p%40ss", "ord", SECRET.encode().hex()[:12]))
