"""action.yml agrees with the code and with the README, and its steps keep their promises.

`--update-golden` rewrites the tables of the README.
"""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate import config
from gate.pipeline import publish

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
INSTALL, PREPARE, RUN, PUBLISH, COMPLETE, CLEAN_UP = STEPS


def inputs_table() -> str:
    """Return the table of inputs as the README shows it."""
    rows = [
        f"| `{name}` | {spec['description'].rstrip('.')} | {_default(spec['default'])} |"
        for name, spec in ACTION["inputs"].items()
    ]
    return "\n".join(["| input | what it is | default |", "| --- | --- | --- |", *rows])


def _default(value: str) -> str:
    return f"`{value.replace('${{ ', '').replace(' }}', '')}`" if value else ""


def outputs_table() -> str:
    """Return the table of outputs as the README shows it."""
    rows = [f"| `{name}` | {spec['description'].rstrip('.')} |" for name, spec in ACTION["outputs"].items()]
    return "\n".join(["| output | what it is |", "| --- | --- |", *rows])


@pytest.mark.parametrize(
    ("name", "table"), [("inputs", inputs_table()), ("outputs", outputs_table())], ids=["in", "out"]
)
def test_readme__shows_the_table(name: str, table: str, request: pytest.FixtureRequest) -> None:
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    expected = re.sub(
        rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", lambda m: f"{m[1]}\n{table}\n\n{m[2]}", text, flags=re.DOTALL
    )
    if request.config.getoption("--update-golden"):
        path.write_text(expected, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == expected, "rewrite it with --update-golden"


def variables(step: dict[str, Any]) -> dict[str, str]:
    """Return the inputs that a step gets, by variable."""
    return {name: value for name, value in step["env"].items() if name.startswith("INPUT_")}


def test_inputs__each_reaches_a_step_under_its_name() -> None:
    seen: dict[str, str] = {}
    for step in (PREPARE, RUN, PUBLISH):
        seen |= variables(step)
    seen.pop("INPUT_JOB_STATUS")
    expected = {f"INPUT_{name.upper().replace('-', '_')}": f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]}
    assert seen == expected


def test_inputs__the_code_reads_each_of_them_and_no_other() -> None:
    source = inspect.getsource(config.read_inputs) + inspect.getsource(config.read_job)
    read = set(re.findall(r'\b(?:get|flag|choice)\("([a-z_]+)"', source)) | set(config.POLICY_INPUTS)
    read |= {name.lower() for name in re.findall(r'"INPUT_([A-Z_]+)"', source)}
    assert read - {"job_status"} == {name.replace("-", "_") for name in ACTION["inputs"]}


def test_inputs__defaults_are_those_of_the_code() -> None:
    defaults = {f"INPUT_{n.upper().replace('-', '_')}": s["default"] for n, s in ACTION["inputs"].items()}
    assert config.read_inputs(defaults | {"GITHUB_WORKSPACE": "/w"}) == config.read_inputs({"GITHUB_WORKSPACE": "/w"})


def test_outputs__are_those_that_publish_writes() -> None:
    source = inspect.getsource(publish)
    written = set(re.findall(r'write_output\(\w+\.job\.output, "([\w-]+)"', source)) | set(
        re.findall(r'^        "([\w-]+)": ', inspect.getsource(publish._write_outputs), re.MULTILINE)
    )
    written |= set(re.findall(r'write_output\(job\.output, "([\w-]+)"', source))
    assert written == set(ACTION["outputs"])
    for name, spec in ACTION["outputs"].items():
        assert spec["value"] == f"${{{{ steps.publish.outputs.{name} }}}}"


def test_steps__use_no_other_action_and_no_expression_in_a_script() -> None:
    for step in STEPS:
        assert "uses" not in step
        assert "${{" not in step["run"]
        assert step["shell"]


def test_token__is_only_where_it_is_needed() -> None:
    holders = [step for step in STEPS if "${{ inputs.github-token }}" in step.get("env", {}).values()]
    assert holders == [PREPARE, PUBLISH, COMPLETE]
    assert all("PATH=/usr/bin:/bin\n" in step["run"] and step["shell"] == PREPARE["shell"] for step in holders)
    assert "env -i" in RUN["run"]


@pytest.mark.parametrize("step", [PREPARE, PUBLISH, COMPLETE], ids=lambda s: str(s["name"]))
def test_token__no_step_that_has_it_loads_what_the_agent_could_have_named(step: dict[str, Any]) -> None:
    assert [step["env"][name] for name in ("LD_PRELOAD", "LD_AUDIT", "GCONV_PATH")] == [""] * 3
    assert step["env"]["LD_LIBRARY_PATH"] == "${{ steps.install.outputs.libraries }}"


def test_digest__is_the_same_before_and_after() -> None:
    texts = [re.search(r"digest\(\) \{\n.*?\n\}\n", step["run"], re.DOTALL) for step in (PREPARE, PUBLISH)]
    assert texts[0] and texts[1] and texts[0][0] == texts[1][0]
