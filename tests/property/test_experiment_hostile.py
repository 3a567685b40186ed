"""Whatever stands in an experiment file: it is an experiment, or an error that names every problem; never a crash."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.config import read_text
from gate.errors import InvalidFileError
from gate.experiment import parse_experiment

DOCUMENT: dict[str, Any] = {
    "apiVersion": "agent-chaos-gate/v1",
    "kind": "Experiment",
    "metadata": {"name": "x", "description": "d", "tags": ["a"], "severity": "low"},
    "spec": {
        "hypothesis": "h",
        "target": {
            "entrypoint": "a:b",
            "args": {"k": [1]},
            "instrument": {"tool": ["a:b"]},
            "env": {"A": "b"},
            "timeout_s": 1.5,
            "isolation": "fork",
        },
        "runs": 3,
        "seed": 7,
        "baseline": True,
        "pass_rate": 0.9,
        "confidence": 0.95,
        "require_confidence": False,
        "policy": {"alpha": 0.05, "min_effect": 0.1, "power": 0.8},
        "infra_errors": ["X"],
        "faults": [
            {"type": "latency", "target": "*", "point": ["tool.call"], "probability": 0.5, "after_calls": 1}
            | {"max_injections": 2, "params": {"seconds": 1.0, "jitter": 0.5}}
        ],
        "probes": [
            {"type": "max_tool_calls", "params": {"limit": 1, "name": "*"}, "min_pass_rate": 0.5}
            | {"severity": "high", "min_effect": 0.2},
            {"type": "cost_within", "params": {"limit": 1, "prices": {"*": {"input": 1, "output": 2}}}},
        ],
        "detection": [{"type": "alert_raised", "params": {"contains": "c", "level": "WARNING"}}],
    },
}
WRONG: list[Any] = [
    None,
    True,
    0,
    -1,
    10**30,
    1.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\x00",
    [],
    [None],
    {},
    {"a": 1},
]


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every value in a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from paths(item, (*path, key))


def replaced(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    if not path:
        return new
    copy: Any = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def check(text: str) -> None:
    """Parse; every problem must name the file."""
    try:
        assert parse_experiment(text, "x.yaml").probes
        return
    except InvalidFileError as error:
        problems = error.problems
    assert problems
    assert all(problem.startswith("x.yaml:") for problem in problems), problems


@pytest.mark.parametrize("version", ["agent-chaos-gate/v1", "agentic-chaos/v1"])
@pytest.mark.parametrize("path", list(paths(DOCUMENT)), ids=lambda p: ".".join(map(str, p)) or "all")
def test_values__of_the_wrong_type_anywhere(path: tuple[str | int, ...], version: str) -> None:
    for wrong in WRONG:
        document = replaced(DOCUMENT | {"apiVersion": version}, path, wrong)
        check(yaml.safe_dump(document))


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_text__of_any_kind(text: str) -> None:
    check(text)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_text__cut_or_with_something_in_it(data: st.DataObject) -> None:
    text = yaml.safe_dump(DOCUMENT)
    at = data.draw(st.integers(0, len(text)))
    check(
        text[:at]
        + data.draw(st.sampled_from(["", "\t", "\x00", "&a", "*a", "{", "\u2028", "!!binary", ": :", "\ud800"]))
    )
    check(text[:at] + data.draw(st.text(max_size=3)) + text[at:])


@pytest.mark.parametrize("encode", [lambda t: "\ufeff" + t, lambda t: t.replace("\n", "\r\n"), lambda t: t + "\n" * 9])
def test_file__with_byte_order_mark_or_other_line_ends(encode: Any, tmp_path: Path) -> None:
    text = yaml.safe_dump(DOCUMENT)
    path = tmp_path / "x.yaml"
    path.write_bytes(encode(text).encode())
    assert parse_experiment(read_text(path), "x").fingerprint == parse_experiment(text, "x").fingerprint


def test_file__that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: \xff")
    with pytest.raises(InvalidFileError, match="not UTF-8"):
        read_text(path)
