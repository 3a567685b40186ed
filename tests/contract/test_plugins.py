"""What every registered fault and probe owes: it fails for a new one until it is documented and tested."""

import ast
import random
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from pydantic import ValidationError

from gate.faults import FAULTS, Delay, Injection, Override, Raise, Redirect, Repeat, Return
from gate.policy import Category, Model
from gate.probes import PROBES, Check
from gate.probes.judge import Judge
from gate.trace import POINTS, Trace

REQUIRED: dict[str, dict[str, Any]] = {
    "reroute": {"host": "eu.example"},
    "agent_not_contacted": {"name": "*"},
    "approved_before": {"action": "*"},
    "completes_within": {"seconds": 5},
    "control_invoked": {"control": "*"},
    "cost_within": {"limit": 1, "prices": {"*": {"input": 1}}},
    "hosts_within": {"allowed": ["*"]},
    "judge": {"judge": "judges:polite", "criterion": "The answer is polite."},
    "max_agent_calls": {"limit": 1},
    "max_events": {"kind": "tool.call", "limit": 1},
    "max_llm_calls": {"limit": 1},
    "max_tool_calls": {"limit": 1},
    "models_within": {"allowed": ["*"]},
    "output_contains": {"text": "ok"},
    "output_matches": {"pattern": "ok"},
    "output_not_contains": {"text": "no"},
    "payment_requires_extension": {"uri": "https://ap2.example"},
    "tokens_within": {"limit": 1},
    "tool_called": {"name": "*"},
    "tool_not_called": {"name": "*"},
}
"""Parameters for the plug-ins that cannot do without."""

PLUGINS: dict[str, type[Model]] = {
    **{f"fault {t}": FAULTS[t] for t in FAULTS},
    **{f"probe {t}": PROBES[t] for t in PROBES},
}
each = pytest.mark.parametrize("plugin", PLUGINS.values(), ids=PLUGINS)
each_fault = pytest.mark.parametrize("type_", list(FAULTS))
each_probe = pytest.mark.parametrize("type_", list(PROBES))


def type_of(plugin: type[Model]) -> str:
    return str(getattr(plugin, "type", ""))


def example(plugin: type[Model]) -> Any:
    return plugin.model_validate(REQUIRED.get(type_of(plugin), {}))


def words_in_unit_tests() -> set[str]:
    """Return every text constant of the unit tests of faults and probes, comparisons with the public package apart."""
    unit = Path(__file__).parents[1] / "unit"
    files = [file for pattern in ("test_faults*.py", "test_probes*.py") for file in unit.glob(pattern)]
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files if not file.stem.endswith("_public")]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return {node.value for node in nodes if isinstance(node.value, str)}


@each
def test_plugin__has_a_unit_test(plugin: type[Model]) -> None:
    assert type_of(plugin) in words_in_unit_tests(), f"write test_{type_of(plugin)}__<case> in tests/unit"


@each
def test_plugin__says_in_one_line_what_it_is(plugin: type[Model]) -> None:
    first, *rest = (plugin.__doc__ or "").splitlines()
    assert first.endswith(".") and 10 < len(first) <= 120
    assert not rest or not rest[0].strip(), "one line, an empty one, then what else there is to say"


@each
def test_plugin__type_is_its_own_in_lower_case(plugin: type[Model]) -> None:
    assert "type" in vars(plugin)
    assert type_of(plugin).replace("_", "").isalnum() and type_of(plugin).islower()


@each
def test_plugin__defaults_or_required_parameters_make_one(plugin: type[Model]) -> None:
    required = {name for name, field in plugin.model_fields.items() if field.is_required()}
    assert required <= set(REQUIRED.get(type_of(plugin), {})), "add the new plug-in's parameters to REQUIRED"
    assert example(plugin) == example(plugin)


@each
def test_plugin__schema_accepts_what_the_model_accepts(plugin: type[Model]) -> None:
    schema = plugin.model_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object" and schema["additionalProperties"] is False
    jsonschema.validate(REQUIRED.get(type_of(plugin), {}), schema)
    jsonschema.validate(example(plugin).model_dump(mode="json"), schema)


@each
def test_plugin__is_frozen_strict_and_closed(plugin: type[Model]) -> None:
    config = plugin.model_config
    assert config.get("frozen") and config.get("strict") and config.get("extra") == "forbid"
    with pytest.raises(ValidationError):
        plugin.model_validate({**REQUIRED.get(type_of(plugin), {}), "surprise": 1})


@each
def test_plugin__survives_a_round_trip(plugin: type[Model]) -> None:
    made = example(plugin)
    assert plugin.model_validate(made.model_dump()) == made


@each_fault
def test_fault__points_are_known(type_: str) -> None:
    points = FAULTS[type_].points
    assert points and len(set(points)) == len(points) and set(points) <= set(POINTS)


@each_fault
@pytest.mark.parametrize("value", [None, "text", 7, [1, "a"], {"a": 1}, (1,), b"x"], ids=repr)
def test_fault__returns_an_effect_reproducibly(type_: str, value: Any) -> None:
    first, second = (
        example(FAULTS[type_]).apply(value, Injection(FAULTS[type_].points[0], "x", random.Random(1), ["old"], set()))
        for _ in range(2)
    )
    assert isinstance(first, Return | Raise | Delay | Repeat | Override | Redirect)
    assert first == second
    if isinstance(first, Return) and not first.changed:
        assert first.value == value or type_ == "empty"


@each_probe
def test_probe__category_is_known(type_: str) -> None:
    assert PROBES[type_].category in get_args(Category)


@each_probe
def test_probe__label_is_stable_and_begins_with_the_type(type_: str) -> None:
    made = example(PROBES[type_])
    again = PROBES[type_].model_validate(made.model_dump())
    assert made.label.startswith(type_) and made.label == example(PROBES[type_]).label
    assert again.label.partition("(")[0] == type_


@each_probe
def test_probe__an_empty_trace_is_no_crash(type_: str) -> None:
    made = example(PROBES[type_])
    check = made.check(Trace(), lambda *_: True) if isinstance(made, Judge) else made.check(Trace())
    assert isinstance(check, Check)
    assert check.passed or not check.vacuous
