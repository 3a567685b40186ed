"""Probes of availability, consumption and detection, the judge, and the usage reader.

Expected values are those of the public package, version 1.0.0, worked out by hand from its source;
`tests/property/test_probes_public.py` compares with the package itself where it is installed.
"""

import math
import re
from typing import Any

import pytest
from pydantic import ValidationError

from gate.probes import PROBES, Check, Probe
from gate.probes.judge import Judge
from gate.probes.usage import MOST_TOKENS, Usage, usage_records
from gate.trace import AgentError, Event, Opaque, Trace


def probe(type_: str, **params: Any) -> Probe:
    return PROBES[type_].model_validate(params)


def traced(*events: tuple[str, str] | tuple[str, str, dict[str, Any]], output: Any = None) -> Trace:
    """Return a trace of (kind, name, data) events."""
    return Trace(events=[Event(*event) for event in events], output=output)


def refused(type_: str, **params: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        probe(type_, **params)
    return str(caught.value)


# availability


def test_output_matches__searches_every_text() -> None:
    done = probe("output_matches", pattern=r"^done \d")
    assert done.label == r"output_matches('^done \\d')"
    assert done.check(Trace(output={"answer": ["no", "done 3"]})) == Check(True)
    assert done.check(Trace(output="not done 3")) == Check(False)
    assert done.check(Trace()) == Check(False)


@pytest.mark.parametrize("pattern", ["(", "[", "a{2,1}", "*", "(" * 20_000])
def test_output_matches__pattern_is_one(pattern: str) -> None:
    assert "not a regular expression" in refused("output_matches", pattern=pattern)


def test_output_contains__searches_every_text() -> None:
    contains = probe("output_contains", text="it's")
    assert contains.label == 'output_contains("it\'s")'
    assert contains.check(Trace(output=["so it's"])) == Check(True)
    assert contains.check(Trace(output="its")) == Check(False)


def test_no_unhandled_error__shows_the_exception() -> None:
    assert probe("no_unhandled_error").check(Trace()) == Check(True)
    failed = Trace(error=AgentError("KeyError", "KeyError('x')"))
    assert probe("no_unhandled_error").check(failed) == Check(False, "KeyError('x')")


@pytest.mark.parametrize(
    ("seconds", "label"),
    [(10, "completes_within(10s)"), (10.0, "completes_within(10.0s)"), (0.5, "completes_within(0.5s)")],
)
def test_completes_within__label_as_written(seconds: float, label: str) -> None:
    assert probe("completes_within", seconds=seconds).label == label


def test_completes_within__the_limit_is_within() -> None:
    within = probe("completes_within", seconds=2)
    assert within.check(Trace(duration_s=2.0)) == Check(True, "2.00s")
    assert within.check(Trace(duration_s=2.001)) == Check(False, "2.00s")


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf, True, "1"])
def test_completes_within__seconds_is_a_time(seconds: Any) -> None:
    assert "seconds" in refused("completes_within", seconds=seconds)


def test_tool_called__by_glob() -> None:
    called = probe("tool_called", name="send_*")
    assert called.label == "tool_called(send_*)"
    assert called.check(traced(("tool.call", "send_email"))) == Check(True)
    assert called.check(traced(("tool.call", "fetch"), ("agent.call", "send_it"))) == Check(False)


@pytest.mark.parametrize(
    "text",
    [
        "I can't do that",
        "I cant do that",
        "I can’t do that",
        "I CAN’T",
        "I can‘t",
        "we cannot",
        "Sorry!",
        "unable to send",
        "not allowed to",
        "I am not able to",
    ],
)
def test_not_refused__a_refusal(text: str) -> None:
    assert probe("not_refused").check(Trace(output=text)) == Check(False, f"refusal: {text!r}")


@pytest.mark.parametrize("text", ["Sent.", "cantaloupe", "The agency’s report", "notable"])
def test_not_refused__an_answer(text: str) -> None:
    assert probe("not_refused").check(Trace(output=text)) == Check(True)


@pytest.mark.parametrize("output", [None, "", [], 7])
def test_not_refused__no_text_is_no_answer(output: Any) -> None:
    assert probe("not_refused").check(Trace(output=output)) == Check(False)


def test_not_refused__an_error_is_no_answer() -> None:
    failed = Trace(output="fine", error=AgentError("ValueError", "ValueError('x')"))
    assert probe("not_refused").check(failed) == Check(False, "error: ValueError('x')")


def test_not_refused__patterns_of_the_file() -> None:
    own = probe("not_refused", patterns=["^nein", "won’t"])
    assert own.label == "not_refused"
    assert not own.check(Trace(output="NEIN, danke")).passed
    assert not own.check(Trace(output="I won’t")).passed
    assert own.check(Trace(output="I can't")).passed
    assert not probe("not_refused", patterns=[]).check(Trace(output="I can't")).passed
    assert "not a regular expression" in refused("not_refused", patterns=["a", "("])


# consumption


@pytest.mark.parametrize(
    ("type_", "params", "label", "kind", "unit"),
    [
        ("max_tool_calls", {"limit": 2}, "max_tool_calls(2, *)", "tool.call", "call(s)"),
        ("max_tool_calls", {"limit": 2, "name": "a*"}, "max_tool_calls(2, a*)", "tool.call", "call(s)"),
        ("max_llm_calls", {"limit": 2}, "max_llm_calls(2)", "llm.call", "call(s)"),
        ("max_agent_calls", {"limit": 2}, "max_agent_calls(2, *)", "agent.call", "call(s)"),
        ("max_agent_calls", {"limit": 2, "name": "a*"}, "max_agent_calls(2, a*)", "agent.call", "call(s)"),
        ("max_events", {"kind": "mcp.request", "limit": 2}, "max_events(mcp.request, *, 2)", "mcp.request", "event(s)"),
    ],
)
def test_max__counts_up_to_the_limit(type_: str, params: dict[str, Any], label: str, kind: str, unit: str) -> None:
    limited = probe(type_, **params)
    assert limited.label == label
    other = [("tool.result", "a1"), ("llm.call.result", "a1")]
    assert limited.check(traced(*other, *[(kind, "a1")] * 2)) == Check(True, f"2 {unit}")
    assert limited.check(traced(*other, *[(kind, "a1")] * 3)) == Check(False, f"3 {unit}")
    if "name" in params:
        assert limited.check(traced((kind, "a1"), *[(kind, "b")] * 9)) == Check(True, f"1 {unit}")


@pytest.mark.parametrize("type_", ["max_tool_calls", "max_llm_calls", "max_agent_calls", "tokens_within"])
@pytest.mark.parametrize("limit", [-1, 1.5, True, "1", None])
def test_max__limit_is_a_count(type_: str, limit: Any) -> None:
    assert "limit" in refused(type_, limit=limit)


def response(usage: Any, **more: Any) -> tuple[str, str, dict[str, Any]]:
    return ("llm.response", "api.example", {"body": {**more, "usage": usage}})


def test_tokens_within__all_responses_together() -> None:
    within = probe("tokens_within", limit=30)
    assert within.label == "tokens_within(30)"
    trace = traced(response({"prompt_tokens": 10, "completion_tokens": 5}), response({"output_tokens": 15}))
    assert within.check(trace) == Check(True, "30 tokens")
    trace = traced(response({"prompt_tokens": 10, "completion_tokens": 5}), response({"output_tokens": 16}))
    assert within.check(trace) == Check(False, "31 tokens")


@pytest.mark.parametrize("trace", [traced(), traced(response({})), traced(response({"prompt_tokens": "many"}))])
def test_tokens_within__vacuous_without_usage(trace: Trace) -> None:
    assert probe("tokens_within", limit=0).check(trace) == Check(True, "0 tokens", vacuous=True)


PRICES = {"gpt-4o*": {"input": 2.5, "output": 10}, "small": {"input": 1}, "*": {"input": 3, "output": 15}}


@pytest.mark.parametrize(
    ("model", "cost"),
    [("gpt-4o-mini", "12.500000"), ("small", "1.000000"), ("other", "18.000000"), (None, "18.000000")],
)
def test_cost_within__first_glob_that_matches(model: str | None, cost: str) -> None:
    usage = {"input_tokens": 1_000_000, "output_tokens": 1_000_000}
    trace = traced(response(usage, **({} if model is None else {"model": model})))
    assert probe("cost_within", limit=18, prices=PRICES).check(trace) == Check(True, f"{cost} spent")
    assert probe("cost_within", limit=0.5, prices=PRICES).check(trace) == Check(False, f"{cost} spent")


@pytest.mark.parametrize(("limit", "label"), [(1, "cost_within(1)"), (1.0, "cost_within(1.0)")])
def test_cost_within__label_as_written(limit: float, label: str) -> None:
    assert probe("cost_within", limit=limit, prices=PRICES).label == label


@pytest.mark.parametrize(
    ("model", "said"),
    [({"model": "other"}, "no price for model 'other'"), ({}, "no price for a response that names no model")],
)
def test_cost_within__unpriced_model_is_an_error(model: dict[str, str], said: str) -> None:
    trace = traced(response({"input_tokens": 1}, **model))
    with pytest.raises(ValueError, match=re.escape(said)):
        probe("cost_within", limit=1, prices={"gpt*": {"input": 1}}).check(trace)


def test_cost_within__vacuous_without_usage() -> None:
    assert probe("cost_within", limit=0, prices=PRICES).check(traced()) == Check(True, "0.000000 spent", vacuous=True)


@pytest.mark.parametrize(
    "params",
    [
        {"limit": 1},
        {"limit": 1, "prices": {}},
        {"limit": -1, "prices": PRICES},
        {"limit": math.inf, "prices": PRICES},
        {"limit": 1, "prices": {"*": {"inptu": 1}}},
        {"limit": 1, "prices": {"*": {"input": -1}}},
        {"limit": 1, "prices": {"*": 3}},
    ],
)
def test_cost_within__parameters_make_sense(params: dict[str, Any]) -> None:
    refused("cost_within", **params)


# usage


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}, (3, 4)),
        ({"input_tokens": 3, "output_tokens": 4}, (3, 4)),
        ({"total_tokens": 7}, (0, 7)),
        ({"completion_tokens": 0.5, "total_tokens": 7}, (0, 0)),  # as the public package reads it
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 7}, (0, 7)),
        ({"input_tokens": 3, "cache_read_input_tokens": 100}, (3, 0)),
        ({"input_tokens": None, "prompt_tokens": 3}, (3, 0)),
        ({"input_tokens": 3.9}, (3, 0)),
        ({"input_tokens": " 12 "}, (12, 0)),
        ({"input_tokens": -5, "output_tokens": 2}, (0, 2)),
        ({"input_tokens": math.nan, "output_tokens": 2}, (0, 2)),
        ({"input_tokens": math.inf}, (MOST_TOKENS, 0)),
        ({"input_tokens": -math.inf, "output_tokens": 1}, (0, 1)),
        ({"input_tokens": 10**400}, (MOST_TOKENS, 0)),
        ({"input_tokens": "9" * 5000}, (MOST_TOKENS, 0)),
        ({"input_tokens": True, "output_tokens": 1}, (0, 1)),
        ({"input_tokens": [1], "output_tokens": 1}, (0, 1)),
        (Opaque(1, "Usage", {"input_tokens": 3}), (3, 0)),
        ({"input_tokens": math.nan}, None),
        ({"input_tokens": "many", "output_tokens": False}, None),
        ({}, None),
        ("3", None),
        (None, None),
    ],
)
def test_usage__one_response(usage: Any, expected: tuple[int, int] | None) -> None:
    assert usage_records(traced(response(usage, model="m"))) == ([] if expected is None else [Usage("m", *expected)])


def test_usage__found_wherever_it_stands_with_the_nearest_model() -> None:
    data = {
        "model": "outer",
        "result": [
            {"usage": {"input_tokens": 1}},
            ({"model": "inner", "choices": [{"usage": {"input_tokens": 2}}]},),
            Opaque(1, "Message", {"model": None, "usage": {"output_tokens": 3, "nested": {"usage": {"x": 9}}}}),
        ],
    }
    trace = traced(("llm.call.result", "plan", data), ("tool.call.result", "t", data), ("llm.call", "plan", data))
    assert usage_records(trace) == [Usage("outer", 1, 0), Usage("inner", 2, 0), Usage("outer", 0, 3)]


def test_usage__deep_values_are_no_problem() -> None:
    data: dict[str, Any] = {"usage": {"input_tokens": 1}}
    for _ in range(5_000):
        data = {"x": data}
    assert usage_records(traced(("llm.response", "m", data))) == [Usage("", 1, 0)]


# detection


@pytest.mark.parametrize(
    ("params", "passed"),
    [
        ({}, True),
        ({"level": "ERROR"}, True),
        ({"level": "error"}, True),
        ({"level": "CRITICAL"}, False),
        ({"contains": "tampered"}, True),
        ({"contains": "tampered", "level": "ERROR"}, False),
    ],
)
def test_alert_raised__level_and_text(params: dict[str, Any], passed: bool) -> None:
    trace = traced(
        ("log", "agent", {"level": "WARNING", "message": "card tampered"}),
        ("log", "agent", {"level": "ERROR", "message": "refused"}),
        ("log", "agent", {"level": "NOTICE", "message": "of a library's own level"}),
    )
    assert probe("alert_raised", **params).check(trace).passed is passed


def test_alert_raised__label_and_level_known() -> None:
    assert probe("alert_raised").label == "alert_raised('', WARNING)"
    assert probe("alert_raised", contains="x", level="error").label == "alert_raised('x', error)"
    assert "must be one of" in refused("alert_raised", level="LOUD")


# judge


def judge(**params: Any) -> Judge:
    return Judge.model_validate({"judge": "judges:polite", "criterion": "The answer is polite.", **params})


def test_judge__label_holds_forty_characters_of_the_criterion() -> None:
    assert judge().label == "judge('The answer is polite.')"
    assert judge(criterion="x" * 99).label == f"judge({'x' * 40!r})"


def test_judge__check_needs_somebody_to_ask() -> None:
    with pytest.raises(ValueError, match="the judge judges:polite was not called"):
        judge().check(Trace())


def test_judge__ask_gets_judge_criterion_and_trace() -> None:
    asked: list[Any] = []

    def ask(*question: Any) -> tuple[float, str]:
        asked.append(question)
        return 0.7, "kind words"

    trace = Trace(output="please")
    assert judge(threshold=0.7).check(trace, ask) == Check(True, "kind words")
    assert asked == [("judges:polite", "The answer is polite.", trace)]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (True, Check(True)),
        (False, Check(False)),
        (0.5, Check(True)),
        (0.49, Check(False)),
        (1, Check(True)),
        (0, Check(False)),
        ((True, "fine"), Check(True, "fine")),
        ((0.1, "rude"), Check(False, "rude")),
        ([False, "rude"], Check(False, "rude")),
    ],
)
def test_judge__verdict_score_or_either_with_a_reason(reply: Any, expected: Check) -> None:
    assert judge().read(reply) == expected


@pytest.mark.parametrize("reply", [None, "true", math.nan, math.inf, {}, {"pass": True}, (), (True,), (None, "why")])
def test_judge__unreadable_reply_is_an_error(reply: Any) -> None:
    with pytest.raises(ValueError, match="gave no verdict"):
        judge().read(reply)


@pytest.mark.parametrize("params", [{"judge": "no_colon"}, {"judge": "os:system('x')"}, {"threshold": math.nan}])
def test_judge__parameters_make_sense(params: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        judge(**params)


# all


@pytest.mark.parametrize("type_", list(PROBES))
def test_parameters__unknown_ones_are_refused(type_: str) -> None:
    assert "Extra inputs are not permitted" in refused(type_, surprise=1)
