"""The stored schema and docs/reference.md are what the classes say, and the schema agrees with the parser.

`--update-golden` rewrites both files.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from gate.cli import cli
from gate.errors import InvalidFileError
from gate.experiment import parse_experiment
from gate.faults import FAULTS
from gate.probes import PROBES
from gate.render.reference import render_reference
from gate.schema import SCHEMAS, experiment_schema, schema_text
from gate.trace import POINTS
from tests.catalogue import CATALOGUE

ROOT = Path(__file__).parents[2]
EXPERIMENTS = jsonschema.Draft202012Validator(experiment_schema())
STORED: dict[str, Callable[[], str]] = {
    "schema/experiment.schema.json": partial(schema_text, "experiment"),
    "docs/reference.md": render_reference,
}


@pytest.mark.parametrize("path", STORED)
def test_stored__is_what_the_classes_say(path: str, request: pytest.FixtureRequest) -> None:
    text = STORED[path]()
    if request.config.getoption("--update-golden"):
        (ROOT / path).write_text(text, encoding="utf-8")
    assert (ROOT / path).read_text(encoding="utf-8") == text, "rewrite it with --update-golden"


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema__is_one(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name]())
    done = CliRunner().invoke(cli, ["schema", name])
    assert (done.exit_code, done.output) == (0, schema_text(name))


def test_list__names_everything() -> None:
    for what, names in (("faults", FAULTS), ("probes", PROBES), ("points", POINTS)):
        lines = CliRunner().invoke(cli, ["list", what]).output.splitlines()
        assert [line.split()[0] for line in lines] == list(names)
        assert all(len(line.split()) > 2 for line in lines)


def published() -> list[Path]:
    found = [*(ROOT / "experiments").rglob("*.yaml"), *(CATALOGUE / "experiments").rglob("*.yaml")]
    return [path for path in sorted(found) if "proxy" not in path.parts]


def test_schema__accepts_every_published_experiment() -> None:
    assert len(published()) > 30
    for path in published():
        EXPERIMENTS.validate(yaml.safe_load(path.read_text(encoding="utf-8")))


VALID: dict[str, Any] = {
    "apiVersion": "agent-chaos-gate/v1",
    "kind": "Experiment",
    "metadata": {"name": "x", "severity": "low"},
    "spec": {
        "target": {"entrypoint": "a:b", "instrument": {"tool": ["a.tools:*"]}, "env": {"A": "b"}, "timeout_s": 5},
        "policy": {"alpha": 0.01},
        "infra_errors": ["RateLimitError"],
        "faults": [{"type": "latency", "params": {"seconds": 1}}, {"type": "timeout", "point": ["tool.call"]}],
        "probes": [{"type": "max_tool_calls", "params": {"limit": 2}, "min_effect": 0.2}],
    },
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """Return the valid document with one thing set, or taken away if the value is `...`."""
    document: dict[str, Any] = yaml.safe_load(yaml.safe_dump(VALID))
    *parents, last = path.split(".")
    holder: Any = document
    for key in parents:
        holder = holder[int(key) if key.isdigit() else key]
    if value is ...:
        del holder[last]
    else:
        holder[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "valid"),
    [
        ("metadata.name", "x", True),
        ("spec.detection", [{"type": "alert_raised"}], True),
        ("spec.faults.0.params", None, True),
        ("spec.seed", None, True),
        ("apiVersion", "agentic-chaos/v1", False),
        ("apiVersion", "agent-chaos-gate/v2", False),
        ("apiVersion", ..., False),
        ("kind", "McpProxy", False),
        ("metadata.name", ..., False),
        ("metadata.nam", "x", False),
        ("spec.faults", [], False),
        ("spec.faults", ..., False),
        ("spec.probes", [], False),
        ("spec.probes", ..., False),
        ("spec.runs", 0, False),
        ("spec.faults.0.type", "latencie", False),
        ("spec.faults.0.params", {"second": 1}, False),
        ("spec.faults.0.params", {"seconds": "1"}, False),
        ("spec.faults.0.probability", 2, False),
        ("spec.faults.1.point", ["tool.calls"], False),
        ("spec.probes.0.params", ..., False),
        ("spec.probes.0.params", {"limit": -1}, False),
        ("spec.probes.0.severity", "huge", False),
        ("spec.target.instrument", {"tools": ["a:b"]}, False),
        ("spec.target.isolation", "thread", False),
        ("spec.policy.alpha", 0, False),
    ],
)
def test_schema__agrees_with_the_parser(path: str, value: Any, valid: bool) -> None:
    document = changed(path, value)
    assert EXPERIMENTS.is_valid(document) is valid
    try:
        parse_experiment(yaml.safe_dump(document), "x.yaml")
    except InvalidFileError:
        assert not valid
    else:
        assert valid


def test_page__its_example_is_an_experiment() -> None:
    page = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    example = page.partition("```yaml\n")[2].partition("```")[0]
    assert len(parse_experiment(example, "experiments.md").probes) == 2
    EXPERIMENTS.validate(yaml.safe_load(example))


def commands(group: click.Group, name: str = "") -> Iterator[tuple[str, click.Command]]:
    for own, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{name}{own} ")
        else:
            yield f"{name}{own}", command


def test_json__is_an_option_of_every_command_but_that_of_the_action() -> None:
    without = {name for name, c in commands(cli) if "--json" not in {o for p in c.params for o in p.opts}}
    assert without == {"gate"}
