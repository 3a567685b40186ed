"""The file format: what is accepted, and that every problem is said at once, with its place and the way out."""

from dataclasses import replace

import pytest

from gate.errors import InvalidFileError
from gate.experiment import load_suite, parse_experiment
from gate.policy import ExperimentPolicy

VALID = """apiVersion: agentic-chaos/v1
kind: Experiment
metadata:
  name: guardrail
  tags: [ASI01]
spec:
  target:
    entrypoint: agent.main:run
    args: {task: hello}
  seed: 7
  faults:
    - type: control_outage
      target: "guardrail*"
      probability: 0.3
      params: {mode: error}
  probes:
    - type: fails_closed
      params: {control: "guardrail*"}
    - type: output_matches
      params: {pattern: "^ok"}
      min_pass_rate: 0.95
    - type: output_matches
      params: {pattern: "done"}
  detection:
    - type: alert_raised
"""


def problems(text: str) -> list[str]:
    with pytest.raises(InvalidFileError) as caught:
        parse_experiment(text, "x.yaml")
    return caught.value.problems


def test_valid__every_part_arrives() -> None:
    experiment = parse_experiment(VALID, "x.yaml")
    assert (experiment.name, experiment.seed, experiment.runs, experiment.baseline) == ("guardrail", 7, None, True)
    assert experiment.entrypoint == "agent.main:run"
    assert experiment.arguments == {"task": "hello"}
    fault = experiment.faults[0]
    assert (fault.fault.type, fault.target, fault.probability) == ("control_outage", "guardrail*", 0.3)
    assert fault.matches("control", "guardrail.input")
    assert not fault.matches("tool.call", "guardrail.input")
    assert [p.id for p in experiment.probes] == ["fails_closed", "output_matches", "output_matches#2", "alert_raised"]
    assert [p.threshold for p in experiment.probes] == [1.0, 0.95, 1.0, 1.0]
    assert [p.severity for p in experiment.probes] == ["critical", "high", "high", "high"]
    assert [p.detection for p in experiment.probes] == [False, False, False, True]


def test_valid__probes_know_their_lines() -> None:
    lines = VALID.splitlines()
    begins = [n for n, text in enumerate(lines, 1) if text.startswith("    - type: ") and "control_outage" not in text]
    assert [p.line for p in parse_experiment(VALID, "x.yaml").probes] == begins


def test_labels__as_in_the_public_format() -> None:
    experiment = parse_experiment(VALID, "x.yaml")
    assert [p.probe.label for p in experiment.probes] == [
        "fails_closed(guardrail*, *)",
        "output_matches('^ok')",
        "output_matches('done')",
        "alert_raised('', WARNING)",
    ]


def test_problems__all_at_once_with_file_line_path_and_suggestion() -> None:
    text = (
        VALID.replace("control_outage", "control_outag")
        .replace("seed:", "sed:")
        .replace("min_pass_rate: 0.95", "min_pass_rate: 95")
    )
    text = text.replace('pattern: "done"', 'pattern: "("').replace("mode: error", "mod: error")
    assert problems(text) == [
        "x.yaml:10: spec.sed: unknown key (did you mean 'seed'?)",
        "x.yaml:12: spec.faults[0].type: unknown fault 'control_outag' (did you mean 'control_outage'?)",
        "x.yaml:21: spec.probes[1].min_pass_rate: input should be less than or equal to 1, got int 95",
        (
            "x.yaml:23: spec.probes[2].params.pattern: not a regular expression: missing ), unterminated subpattern "
            "at position 0, got str '('"
        ),
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "agentic-chaos/v1",
            "agentic-chaos/v2",
            "unknown version 'agentic-chaos/v2' (did you mean 'agentic-chaos/v1'?)",
        ),
        ("kind: Experiment", "kind: Experimnt", "kind: input should be 'Experiment'"),
        ("  name: guardrail\n", "", "metadata: missing required key 'name'"),
        ("agent.main:run", "agent.main", "spec.target.entrypoint: string should match pattern"),
        ("  seed: 7", "  seed: 7\n  runs: 0", "spec.runs: input should be greater than or equal to 1, got int 0"),
        ("  seed: 7", "  seed: '7'", "spec.seed: input should be a valid integer, got str '7'"),
        ("  seed: 7", "  seed: true", "spec.seed: input should be a valid integer, got bool True"),
        ("probability: 0.3", "probability: .nan", "spec.faults[0].probability"),
        (
            "probability: 0.3",
            "point: tool.cal",
            "spec.faults[0].point: unknown point 'tool.cal' (did you mean 'tool.call'?)",
        ),
        (
            "mode: error",
            "mode: slow",
            "spec.faults[0].params.mode: input should be 'timeout' or 'error', got str 'slow'",
        ),
        ("type: fails_closed", "type: fails_close", "unknown probe 'fails_close' (did you mean 'fails_closed'?)"),
        ("type: alert_raised", "type: alert_raised\n      severity: low", "spec.detection[0].severity: unknown key"),
    ],
)
def test_problem__one_wrong_thing(old: str, new: str, expected: str) -> None:
    found = problems(VALID.replace(old, new, 1))
    assert any(expected in line for line in found), found


def test_probes__none_is_an_error() -> None:
    cut = VALID[: VALID.index("  probes:")] + "  probes: []\n"
    assert problems(cut) == [
        "x.yaml:16: spec.probes: at least one probe is required: without one nothing can fail",
    ]


def test_faults__none_is_an_error() -> None:
    start, end = VALID.index("  faults:"), VALID.index("  probes:")
    assert any("spec: missing required key 'faults'" in p for p in problems(VALID[:start] + VALID[end:]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "x.yaml:1: expected an experiment, found nothing"),
        ("- a", "x.yaml:1: expected an experiment, found a list"),
        ("a: [", "not valid YAML"),
        ("a: 1\na: 2", "x.yaml:2: a: key given twice (first in line 1)"),
        ("\tb: 1", "not valid YAML"),
        ("a: 1\n---\nb: 2", "not valid YAML"),
        ("a: !!python/object:os.system {}", "not valid YAML"),
        ("? [1, 2]\n: x", "a key must be text"),
        ("a: " + "[" * 60 + "]" * 60, "more than 40 levels"),
        ("x" * 300_000, "larger than 256 kB"),
        (
            "a: &a [x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"{c}: &{c} [{','.join(['*' + p] * 9)}]\n" for p, c in zip("abcdefg", "bcdefgh", strict=True)),
            "aliases expanded",
        ),
        ("a: &a [*a]", "levels, aliases expanded"),
        ("a: \x07", "not valid YAML"),
    ],
    ids=[
        "empty",
        "list",
        "broken",
        "duplicate",
        "tab",
        "two documents",
        "object",
        "odd key",
        "deep",
        "huge",
        "bomb",
        "cycle",
        "control",
    ],
)
def test_yaml__hostile_or_broken(text: str, expected: str) -> None:
    assert any(expected in line for line in problems(text)), problems(text)


def test_own_version__states_a_severity() -> None:
    own = VALID.replace("agentic-chaos/v1", "agent-chaos-gate/v1").replace("tags: [ASI01]", "severity: medium")
    own = own.replace("min_pass_rate: 0.95", "min_pass_rate: 0.95\n      severity: critical")
    assert [p.severity for p in parse_experiment(own, "x.yaml").probes] == ["medium", "critical", "medium", "medium"]


def test_fingerprint__changes_with_what_is_measured_only() -> None:
    def of(text: str) -> str:
        return parse_experiment(text, "x.yaml").fingerprint

    for old, new in [("seed: 7", "seed: 8"), ("0.95", "0.5"), ("agent.main:run", "other:run"), ("[ASI01]", "[]")]:
        assert of(VALID.replace(old, new)) == of(VALID), old
    for old, new in [("0.3", "0.4"), ("task: hello", "task: x"), ("^ok", "^no"), ("mode: error", "mode: timeout")]:
        assert of(VALID.replace(old, new)) != of(VALID), old


def test_suite__two_of_one_name_and_every_problem_of_every_file() -> None:
    with pytest.raises(InvalidFileError) as caught:
        load_suite([("a.yaml", VALID), ("b.yaml", VALID), ("c.yaml", "[")], print)
    assert caught.value.problems[0].startswith("c.yaml:1:2: not valid YAML")
    assert caught.value.problems[1] == "b.yaml: metadata.name: 'guardrail' is taken by a.yaml"


def test_suite__empty_is_an_error() -> None:
    with pytest.raises(InvalidFileError, match="no experiment found"):
        load_suite([], print)


def test_suite__deprecated_version_is_said() -> None:
    said: list[str] = []
    load_suite([("a.yaml", VALID.replace("agentic-chaos/v1", "agentic-chaos/v1alpha1"))], said.append)
    assert said == ["a.yaml: apiVersion agentic-chaos/v1alpha1 is deprecated, use agentic-chaos/v1"]


OWN = VALID.replace("agentic-chaos/v1", "agent-chaos-gate/v1")


def test_own_format__says_more() -> None:
    text = OWN.replace(
        "  seed: 7",
        """  seed: 7
  policy: {alpha: 0.01, power: 0.9}
  infra_errors: ["RateLimitError", "openai.*"]""",
    )
    text = text.replace("  name: guardrail\n", "  name: guardrail\n  severity: low\n").replace(
        "      min_pass_rate: 0.95", "      min_pass_rate: 0.95\n      min_effect: 0.2"
    )
    text = text.replace(
        "agent.main:run",
        """agent.main:run
    instrument: {tool: ["a.tools:*"], control: ["a.guard:check"]}
    env: {MODEL: small}
    timeout_s: 7.5
    isolation: process""",
    )
    experiment = parse_experiment(text, "x.yaml")
    assert experiment.severity == "low" and {p.severity for p in experiment.probes} == {"low"}
    assert experiment.policy == ExperimentPolicy(alpha=0.01, power=0.9)
    assert [p.min_effect for p in experiment.probes].count(0.2) == 1
    assert experiment.instrument == {"tool": ["a.tools:*"], "control": ["a.guard:check"]}
    assert (experiment.environment, experiment.timeout_s, experiment.isolation) == ({"MODEL": "small"}, 7.5, "process")
    assert experiment.infra_errors == ("RateLimitError", "openai.*")
    counted = replace(experiment, infra_errors=())  # what is left out of the counts is part of what is measured
    assert counted.fingerprint == parse_experiment(VALID, "x.yaml").fingerprint != experiment.fingerprint


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("instrument: {tools: ['a:b']}", "spec.target.instrument.tools: unknown key (did you mean 'tool'?)"),
        ("instrument: {tool: ['a.b']}", "spec.target.instrument.tool[0]: string should match pattern"),
        ("env: {A-B: x}", "spec.target.env.A-B"),
        ("env: {A: 1}", "spec.target.env.A: input should be a valid string, got int 1"),
        ("timeout_s: 0", "spec.target.timeout_s: input should be greater than 0"),
        ("isolation: thread", "spec.target.isolation: input should be 'fork', 'process' or 'none'"),
    ],
)
def test_own_format__problems(target: str, expected: str) -> None:
    found = problems(OWN.replace("agent.main:run", f"agent.main:run\n    {target}"))
    assert any(expected in line for line in found), found


@pytest.mark.parametrize("key", ["policy: {alpha: 0.1}", "infra_errors: [x]"])
def test_public_format__has_none_of_it(key: str) -> None:
    found = problems(VALID.replace("  seed: 7", f"  seed: 7\n  {key}"))
    assert found and all("unknown key" in line for line in found)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{task: hello}", "{task: {1: a, b: c}}"),
        ("{task: hello}", "{task: 2026-01-01}"),
        ("{task: hello}", "{task: !!set {a, b}}"),
        ("{task: hello}", '{task: "\\ud800"}'),
        ("tags: [ASI01]", "tags: [" + "a," * 101 + "]"),
        ("seed: 7", "hypothesis: " + "x" * 5_000),
    ],
    ids=["odd key", "date", "set", "half a surrogate pair", "many tags", "long text"],
)
def test_values__that_no_report_can_hold_are_refused_before_anything_runs(old: str, new: str) -> None:
    assert problems(VALID.replace(old, new, 1))


def test_fingerprint__has_no_defaults_in_it() -> None:
    spelled = VALID.replace(
        "params: {mode: error}", "params: {mode: error}\n      after_calls: 0\n      point: control"
    )
    assert parse_experiment(spelled, "x.yaml").fingerprint == parse_experiment(VALID, "x.yaml").fingerprint
