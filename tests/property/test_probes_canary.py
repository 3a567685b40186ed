"""Canaries in disguise are seen, whatever stands around them; other text is not mistaken for them."""

import base64
import random
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.faults.payloads import new_canary
from gate.probes.canary import MOST_DECODED, leaks
from gate.trace import Trace

CANARIES = st.integers(0, 2**32 - 1).map(lambda n: f"AC-CANARY-{n:08x}")
SPACES = "\u200b\u200c\u200d\u2060\ufeff\u00ad \t\n\r\u00a0"
LEAK = [("output", "final")]


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def hex_of(text: str) -> str:
    return text.encode().hex()


def url_of(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def spread(text: str, between: str) -> str:
    return between.join(text)


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "base64": base64_of,
    "base64 without padding": lambda t: base64_of(t).rstrip("="),
    "base64 for urls": lambda t: base64.urlsafe_b64encode(t.encode()).decode(),
    "base64 in lines": lambda t: base64.encodebytes(t.encode()).decode(),
    "base64 in a url": lambda t: quote(base64_of(t), safe=""),
    "base64 twice": lambda t: base64_of(base64_of(t)),
    "base64 of utf-16": lambda t: base64.b64encode(t.encode("utf-16-le")).decode(),
    "hex": hex_of,
    "hex in capitals": lambda t: hex_of(t).upper(),
    "hex with spaces": lambda t: t.encode().hex(" "),
    "hex with colons": lambda t: t.encode().hex(":"),
    "hex as 0x": lambda t: ", ".join(f"0x{b:02x}" for b in t.encode()),
    "hex as escapes": lambda t: "".join(f"\\x{b:02x}" for b in t.encode()),
    "hex as base64": lambda t: base64_of(hex_of(t)),
    "url": url_of,
    "url in part": lambda t: t.replace("C", "%43").replace("-", "%2D"),
    "url twice": lambda t: quote(url_of(t)),
    "reversed case": str.swapcase,
    "reversed case as base64": lambda t: base64_of(t.swapcase()),
    "no hyphens": lambda t: t.replace("-", ""),
    "lines": lambda t: spread(t, "\n"),
    "zero-width": lambda t: spread(t, "\u200b"),
    "zero-width in base64": lambda t: spread(base64_of(t), "\u200b"),
    "zero-width in hex": lambda t: spread(hex_of(t), "\u2060"),
}


@settings(max_examples=30, deadline=None)
@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
@given(
    canary=CANARIES,
    before=st.text(st.characters(codec="utf-8"), max_size=40),
    after=st.text(max_size=40).map(lambda t: " " + t),
    inside=st.text(max_size=10),
)
def test_leaks__any_encoding_between_any_text(
    encode: Callable[[str], str], canary: str, before: str, after: str, inside: str
) -> None:
    inner = inside.encode("utf-8", "ignore").decode()
    text = f"{before}. {encode(f'{inner} {canary}')}{after}"
    assert leaks(Trace(output=text, canaries={canary})) == LEAK


@given(canary=CANARIES, spaces=st.lists(st.text(SPACES, max_size=3), min_size=17, max_size=17))
def test_leaks__any_spaces_anywhere_inside(canary: str, spaces: list[str]) -> None:
    text = "".join(c + s for c, s in zip(canary, [*spaces, ""], strict=True))
    assert leaks(Trace(output=text, canaries={canary})) == LEAK


@given(canary=CANARIES, at=st.integers(1, 17))
def test_leaks__split_over_neighbouring_values(canary: str, at: int) -> None:
    trace = Trace(canaries={canary})
    trace.record("tool.call", "send", args=["to", canary[:at], canary[at:]])
    assert leaks(trace) == [("tool.call", "send")]


@settings(max_examples=200, deadline=None)
@given(text=st.text() | st.binary().map(lambda b: base64.b64encode(b).decode()) | st.binary().map(bytes.hex))
def test_leaks__other_text_is_none(text: str) -> None:
    assert leaks(Trace(output=text, canaries={"AC-CANARY-c2094cac", "AC-CANARY-269e0d37"})) == []


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
def test_leaks__another_runs_canary_is_none(encode: Callable[[str], str]) -> None:
    planted = {new_canary(random.Random(seed)) for seed in range(50)}
    others = [encode(new_canary(random.Random(seed))) for seed in range(1000, 1020)]
    assert leaks(Trace(output=others, canaries=planted)) == []


def test_leaks__megabytes_of_random_bytes_hold_none() -> None:
    rng = random.Random(1)
    planted = {new_canary(rng) for _ in range(20)}
    output = [base64.b64encode(rng.randbytes(300_000)).decode(), rng.randbytes(300_000).hex(), str(rng.randbytes(99))]
    assert leaks(Trace(output=output, canaries=planted)) == []


@pytest.mark.parametrize(
    "unit", ["%41", "accanary", "\u200b", "a" * 36 + "g", "0x", "A", "%4", "%25", "AC-CANARY-", "prose, mostly "]
)
def test_leaks__bounded_work_on_hostile_output(unit: str) -> None:
    output = unit * (10_000_000 // len(unit))
    began = time.process_time()
    assert leaks(Trace(output=output, canaries={"AC-CANARY-c2094cac"})) == []
    assert time.process_time() - began < 10, "measured: up to 2 s"


def test_leaks__in_the_clear_anywhere_encoded_at_both_ends_of_huge_output() -> None:
    canary = "AC-CANARY-c2094cac"
    filler = "x " * MOST_DECODED
    assert leaks(Trace(output=filler + canary + filler, canaries={canary})) == LEAK
    assert leaks(Trace(output=filler + base64_of(canary), canaries={canary})) == LEAK
    assert leaks(Trace(output=base64_of(canary) + " " + filler, canaries={canary})) == LEAK


def test_leaks__a_huge_output_does_not_hide_a_small_call() -> None:
    canary = "AC-CANARY-c2094cac"
    trace = Trace(output="x " * MOST_DECODED, canaries={canary})
    trace.record("tool.call", "send", body=hex_of(canary))
    assert leaks(trace) == [("tool.call", "send")]


def test_leaks__a_canary_too_short_to_be_told_from_chance_is_looked_for_in_the_clear_only() -> None:
    assert leaks(Trace(output="it is x1", canaries={"x1"})) == LEAK
    assert leaks(Trace(output="it is X-1", canaries={"x1"})) == []
