"""Our faults against the public package's, on generated values, parameters and seeds.

Where we differ on purpose: a value that the public fault breaks on (an exception that no agent would expect) is left
as it is; a path of `patch` that does not fit is left out; requests of an MCP server are added to lists only, while
the public faults take a text or a mapping apart; a payload without placeholder plants no canary; what did not change
is told to be a no-op.
"""

import copy
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.faults import FAULTS, Delay, Effect, Injection, Override, Raise, Redirect, Repeat, Return
from gate.faults.payloads import PAYLOADS
from gate.trace import POINTS
from tests.catalogue import public as load

public = load("faults")
runtime = load("runtime")

KEYS = st.sampled_from(["name", "content", "note", "a", "b", "0", "description"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.binary()
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.lists(st.dictionaries(KEYS, inner, min_size=1, max_size=3), min_size=1, max_size=3)
    ),
    max_leaves=6,
)
PATHS = st.lists(st.sampled_from(["a", "b", "0", "1", "-1", "name"]), min_size=1, max_size=3).map(".".join)
PAYLOAD = st.sampled_from([*PAYLOADS, "custom {canary} {sink}", "no placeholder"])
NAMES = st.sampled_from(["*", "a", "send_*", ""])
PARAMS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "latency": {"seconds": st.floats(-1, 9), "jitter": st.floats(0, 3)},
    "timeout": {},
    "error": {"message": st.text()},
    "rate_limit": {"retry_after": st.none() | st.floats(0, 99)},
    "empty": {},
    "truncate": {"keep": st.floats(0, 1)},
    "corrupt_json": {},
    "timeout_after_commit": {},
    "inject_instruction": {
        "payload": PAYLOAD,
        "sink": NAMES,
        "position": st.sampled_from(["append", "prepend", "replace"]),
    },
    "poison_tool_description": {"payload": PAYLOAD},
    "poison_memory": {"payload": PAYLOAD, "sink": NAMES},
    "flood": {
        "size": st.integers(0, 99),
        "filler": st.text(max_size=5),
        "payload": st.none() | PAYLOAD,
        "sink": NAMES,
    },
    "control_outage": {"mode": st.sampled_from(["timeout", "error"])},
    "force_verdict": {"verdict": VALUES},
    "auth_error": {"status": st.sampled_from([401, 403]), "error": st.none() | st.text(), "scope": st.none() | NAMES},
    "duplicate": {"times": st.integers(1, 9)},
    "replay": {"which": st.sampled_from(["previous", "first"])},
    "patch": {"set": st.none() | st.dictionaries(PATHS, VALUES, max_size=3)},
    "spoof_agent_card": {"set": st.dictionaries(PATHS, LEAVES, max_size=3)},
    "reroute": {"host": st.sampled_from(["h", "g"]), "model": st.none() | NAMES},
    "shadow_tool": {"name": NAMES, "payload": PAYLOAD, "sink": NAMES},
    "mcp_sampling": {"payload": PAYLOAD, "max_tokens": st.integers(1, 999)},
    "mcp_elicitation": {"message": st.text(), "field": NAMES},
    "mcp_list_changed_flood": {"count": st.integers(1, 9)},
}


def theirs(
    type_: str, params: dict[str, Any], value: Any, point: str, rng: random.Random, previous: list[Any]
) -> tuple[Effect | BaseException, set[str]]:
    """Apply the public fault; its exceptions in our words, or an exception that it did not mean to raise."""
    session = runtime.Session([])
    session.rng = rng
    delays: list[float] = []
    context = runtime.InjectionContext(point, "send_x", session, {}, previous, delays)
    try:
        effect: Effect | BaseException = Return(public.build(type_, **params).apply(value, context))
        if delays:
            effect = Delay(delays[0])
    except public.Override as override:
        effect = Override(override.value)
    except public.Repeat as repeat:
        effect = Repeat(repeat.times)
    except public.Redirect as redirect:
        effect = Redirect(redirect.host, redirect.model)
    except public.ChaosError as error:
        fields = {k: v for k, v in vars(error).items() if not k.startswith("_")}
        effect = Raise(type(error).__name__, str(error), fields)  # type: ignore[arg-type]  # its name says it
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        effect = error
    return effect, session.trace.canaries


def test_names__the_public_ones() -> None:
    assert {t for t, c in public.FAULTS.items() if c.__module__ == public.__name__} == set(PARAMS) == set(FAULTS)


@pytest.mark.parametrize("type_", sorted(PARAMS))
def test_points__the_public_ones(type_: str) -> None:
    assert FAULTS[type_].points == public.FAULTS[type_].points


@pytest.mark.parametrize("type_", sorted(PARAMS))
def test_parameters__the_public_names_and_defaults(type_: str) -> None:
    schema = load("schema")
    expected = {name: p.default for name, p in schema.fault_params(public.FAULTS[type_]).items()}
    assert {name: f.default for name, f in FAULTS[type_].model_fields.items()} == expected


@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("type_", sorted(PARAMS))
@given(data=st.data())
def test_apply__as_the_public_fault(type_: str, data: st.DataObject) -> None:
    params = {name: data.draw(strategy, label=name) for name, strategy in PARAMS[type_].items()}
    value = data.draw(VALUES, label="value")
    previous = data.draw(st.lists(VALUES, max_size=3), label="previous")
    point = data.draw(st.sampled_from(POINTS), label="point")
    seed = data.draw(st.integers(0, 2**32), label="seed")
    before = copy.deepcopy((value, previous, params))

    their_rng, our_rng = random.Random(seed), random.Random(seed)
    expected, their_canaries = theirs(type_, copy.deepcopy(params), copy.deepcopy(value), point, their_rng, previous)
    injection = Injection(point, "send_x", our_rng, tuple(previous), set())
    effect = FAULTS[type_].model_validate(params).apply(value, injection)

    assert repr((value, previous, params)) == repr(before), "a fault is pure"
    taken_apart = FAULTS[type_].points == ("mcp.server_request",) and value and not isinstance(value, list | tuple)
    if isinstance(expected, BaseException) or taken_apart:
        assert isinstance(effect, Return)  # a path left out, or a value left alone
        assert effect.changed == bool(effect.value != value)
        return
    if isinstance(expected, Return):
        assert isinstance(effect, Return)
        assert repr(effect.value) == repr(expected.value)
        assert effect.changed == bool(effect.value != value)
    else:
        assert effect == expected
    assert our_rng.getstate() == their_rng.getstate()
    payload = params.get("payload", "exfiltrate")
    assert injection.canaries == (their_canaries if payload != "no placeholder" else set())
