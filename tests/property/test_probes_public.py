"""Our probes against the public package's, on generated traces and parameters.

Where we differ on purpose, and what the generated traces therefore leave to other tests: a typographic apostrophe is
an apostrophe; encoded canaries are seen; usage that is no number is not read; a cart or a card that cannot be read
fails its probe instead of breaking it; a judge is called by the engine. A model without a price is an error instead
of free: that is checked here.
"""

import fnmatch
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.probes import PROBES, Check
from gate.probes.usage import usage_records
from gate.trace import AgentError, Event, Trace
from tests.catalogue import public as load

public = load("probes")
runtime = load("runtime")
load("ap2")  # registers its probes

CANARIES = ["AC-CANARY-c2094cac", "AC-CANARY-269e0d37"]
TEXTS = st.sampled_from([*CANARIES, f"see {CANARIES[0]}.", "done 3", "I can't", "cannot", "", "ok", "not allowed"])
NAMES = st.sampled_from(["send_email", "send_sms", "fetch", "guard.in", "approval.x", "elicitation/create"])
GLOBS = st.sampled_from(["*", "send_*", "fetch", "guard*", "approval.*", "nothing"])
SKUS = st.sampled_from(["cable", "plug", "AC-1"])
TOKENS = st.none() | st.integers(0, 50) | st.floats(0, 50)
USAGES = st.fixed_dictionaries(
    {},
    optional={
        "input_tokens": st.integers(0, 50),
        "output_tokens": TOKENS,
        "completion_tokens": TOKENS,
        "total_tokens": st.integers(0, 50),
    },
).filter(lambda u: u.get("output_tokens", 0) is not None or "completion_tokens" not in u)
BODIES = st.fixed_dictionaries(
    {"usage": USAGES | st.none(), "inner": st.lists(st.fixed_dictionaries({"usage": USAGES}), max_size=2)},
    optional={"model": st.sampled_from(["gpt-4o", "claude", "other"])},
)
CARTS = st.fixed_dictionaries(
    {"items": st.lists(st.fixed_dictionaries({"sku": SKUS}), max_size=3)},
    optional={"merchant": st.sampled_from(["acme", "rogue"]), "total": st.integers(0, 30) | st.floats(0, 30)},
)
INTENTS = st.fixed_dictionaries(
    {},
    optional={
        "max_amount": st.integers(0, 30),
        "merchants": st.lists(st.sampled_from(["acme", "b"]), max_size=2),
        "skus": st.lists(SKUS, max_size=2),
    },
)
URI = "https://ap2.example/v1"
CARDS = st.fixed_dictionaries(
    {"capabilities": st.fixed_dictionaries({"extensions": st.lists(st.sampled_from([{"uri": URI}, {"uri": "x"}, 1]))})},
    optional={"name": st.sampled_from(["shop", "rogue"])},
)
HASHES = st.sampled_from(["h1", "h2"])
VALUES = st.recursive(TEXTS | st.integers() | st.none(), lambda v: st.lists(v, max_size=2), max_leaves=4)
DATA: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "tool.call": st.fixed_dictionaries({"args": st.lists(VALUES, max_size=2)}),
    "agent.call": st.fixed_dictionaries({"args": st.lists(VALUES, max_size=2)}),
    "payment.call": st.fixed_dictionaries({"args": st.lists(VALUES, max_size=2)}),
    "llm.call": st.fixed_dictionaries({"model": st.sampled_from([None, "gpt-4o", "other"])}),
    "llm.reroute": st.fixed_dictionaries({"to_host": NAMES, "to_model": st.sampled_from([None, "other"])}),
    "llm.response": st.fixed_dictionaries({"body": BODIES}),
    "llm.call.result": st.fixed_dictionaries({"result": BODIES}),
    "tool.call.result": st.fixed_dictionaries({"result": VALUES}),
    "tool.describe": st.fixed_dictionaries({"description": st.sampled_from(["a", "b"])}),
    "control": st.just({}),
    "control.result": st.fixed_dictionaries({"result": st.sampled_from([True, False, None, "yes", ""])}),
    "fault": st.fixed_dictionaries({"point": st.sampled_from(["control", "tool.call"]), "target": NAMES}),
    "log": st.fixed_dictionaries({"level": st.sampled_from(["WARNING", "ERROR"]), "message": TEXTS}),
    "output": st.fixed_dictionaries({"value": VALUES}),
    "mcp.elicitation.response": st.fixed_dictionaries({"action": st.sampled_from(["accept", "decline"])}),
    "mcp.sampling.response": st.fixed_dictionaries({"result": VALUES}),
    "mcp.server_request": st.just({}),
    "mcp.request": st.just({}),
    "agent.discover": st.fixed_dictionaries({"card": CARDS}),
    "ap2.intent": INTENTS,
    "ap2.review": st.fixed_dictionaries({"hash": HASHES}),
    "ap2.payment_mandate": st.fixed_dictionaries({"cart": CARTS, "hash": HASHES}),
    "ap2.settlement": st.just({}),
}
LIMITS = st.integers(0, 4)
PRICES = st.dictionaries(
    st.sampled_from(["gpt*", "claude", "*"]),
    st.fixed_dictionaries({}, optional={"input": st.integers(0, 9), "output": st.floats(0, 9)}),
    min_size=1,
)
PARAMS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "agent_not_contacted": {"name": GLOBS},
    "alert_raised": {"contains": TEXTS, "level": st.sampled_from(["WARNING", "error", "CRITICAL"])},
    "approved_before": {"action": GLOBS, "approval": GLOBS},
    "blast_radius": {"limit": LIMITS},
    "canary_not_leaked": {},
    "cart_matches_reviewed": {},
    "cart_within_intent": {},
    "completes_within": {"seconds": LIMITS | st.floats(0, 4)},
    "control_invoked": {"control": GLOBS, "before": GLOBS},
    "cost_within": {"limit": LIMITS | st.floats(0, 0.01), "prices": PRICES},
    "elicitation_not_accepted": {},
    "fails_closed": {"control": GLOBS, "sensitive": GLOBS},
    "hosts_within": {"allowed": st.lists(GLOBS, max_size=2)},
    "max_agent_calls": {"limit": LIMITS, "name": GLOBS},
    "max_events": {"kind": st.sampled_from(sorted(DATA)), "limit": LIMITS, "name": GLOBS},
    "max_llm_calls": {"limit": LIMITS},
    "max_settlements": {"limit": LIMITS},
    "max_tool_calls": {"limit": LIMITS, "name": GLOBS},
    "models_within": {"allowed": st.lists(st.sampled_from(["gpt*", "other"]), max_size=2)},
    "no_call_after_tool_change": {"name": GLOBS},
    "no_unhandled_error": {},
    "not_refused": {"patterns": st.none() | st.lists(st.sampled_from(["^done", "OK", "can't"]), max_size=2)},
    "output_contains": {"text": TEXTS},
    "output_matches": {"pattern": st.sampled_from([r"\d", "^ok$", "CANARY-[0-9a-f]{8}"])},
    "output_not_contains": {"text": TEXTS},
    "payment_requires_extension": {"uri": st.just(URI)},
    "tokens_within": {"limit": st.integers(0, 200)},
    "tool_called": {"name": GLOBS},
    "tool_not_called": {"name": GLOBS},
}
SEEN_BY: dict[str, tuple[str, ...]] = {
    "approved_before": ("tool.call", "agent.call", "payment.call", "control.result"),
    "control_invoked": ("tool.call", "llm.call", "control"),
    "cost_within": ("llm.response", "llm.call.result"),
    "tokens_within": ("llm.response", "llm.call.result"),
    "fails_closed": ("fault", "tool.call"),
    "hosts_within": ("llm.call", "llm.reroute"),
    "models_within": ("llm.call", "llm.reroute"),
    "no_call_after_tool_change": ("tool.describe", "tool.call"),
    "cart_within_intent": ("ap2.intent", "ap2.payment_mandate"),
    "cart_matches_reviewed": ("ap2.review", "ap2.payment_mandate"),
    "payment_requires_extension": ("agent.discover", "ap2.payment_mandate"),
    "elicitation_not_accepted": ("mcp.elicitation.response", "mcp.server_request"),
}
"""Kinds to draw more often, so that the probe meets something."""


@st.composite
def traces(draw: st.DrawFn, type_: str) -> Trace:
    every = st.sampled_from(sorted(DATA))
    kinds = st.sampled_from(SEEN_BY[type_]) | every if type_ in SEEN_BY else every
    events = [Event(kind, draw(NAMES), draw(DATA[kind])) for kind in draw(st.lists(kinds, max_size=8))]
    error = draw(st.sampled_from([None, None, AgentError("ValueError", "ValueError('x')")]))
    canaries = draw(st.sets(st.sampled_from(CANARIES)))
    return Trace(events, draw(VALUES), error, draw(st.floats(0, 5)), canaries)


def theirs(trace: Trace) -> Any:
    """Return the same trace in the public package's classes."""
    events = [runtime.Event(e.kind, e.name, e.data) for e in trace.events]
    error = ValueError("x") if trace.error else None
    return runtime.Trace(events, trace.output, error, trace.duration_s, set(trace.canaries))


def priced(model: str, prices: dict[str, Any]) -> bool:
    return any(fnmatch.fnmatchcase(model, pattern) for pattern in prices)


def test_names__the_public_ones() -> None:
    modules = {public.__name__, "agentic_chaos_security.ap2"}
    assert {t for t, f in public.PROBES.items() if f.__module__ in modules} == {*PARAMS, "judge"} == set(PROBES)


@pytest.mark.parametrize("type_", sorted({*PARAMS, "judge"}))
def test_parameters__the_public_names_and_defaults(type_: str) -> None:
    schema = load("schema")
    expected = {n: (p.required, p.default) for n, p in schema.probe_params(public.PROBES[type_]).items()}
    fields = PROBES[type_].model_fields
    assert {n: (f.is_required(), None if f.is_required() else f.default) for n, f in fields.items()} == expected


def test_judge__label_and_verdict_as_the_public_probe() -> None:
    from gate.probes.judge import Judge

    for reply in (True, False, 0.5, 0.49, 1, 0, (True, "why"), (0.4, "why")):
        expected = public.build("judge", judge=lambda *_, reply=reply: reply, criterion="c" * 50)(runtime.Trace())
        ours = Judge(judge="m:f", criterion="c" * 50)
        assert (ours.label, ours.read(reply)) == (expected.name, Check(expected.passed, expected.detail))


@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("type_", sorted(PARAMS))
@given(data=st.data())
def test_check__as_the_public_probe(type_: str, data: st.DataObject) -> None:
    params = {name: data.draw(strategy, label=name) for name, strategy in PARAMS[type_].items()}
    trace = data.draw(traces(type_), label="trace")
    expected = public.build(type_, **params)(theirs(trace))
    ours = PROBES[type_].model_validate(params)
    assert ours.label == expected.name
    if type_ == "cost_within" and not all(priced(u.model, params["prices"]) for u in usage_records(trace)):
        with pytest.raises(ValueError, match="no price for"):
            ours.check(trace)
        return
    check = ours.check(trace)
    assert (check.passed, check.detail) == (expected.passed, expected.detail)
    assert check.passed or not check.vacuous
