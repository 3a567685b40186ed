"""`agent-chaos-gate plan` as it is called: from files, and from the report of a real run."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gate.cli import cli
from gate.errors import InvalidFileError, UsageError

EXPERIMENT = """
apiVersion: agentic-chaos/v1
kind: Experiment
metadata: {name: e}
spec:
  target: {entrypoint: "planned_agent:run"}
  runs: 4
  faults: [{type: latency, params: {seconds: 0}}]
  probes: [{type: output_contains, params: {text: ok}}]
"""
AGENT = """
from gate import chaos


@chaos.llm
def ask():
    return {"model": "gpt-4o", "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}


def run():
    ask(), ask()
    return "ok"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "e.yaml").write_text(EXPERIMENT, encoding="utf-8")
    (tmp_path / "planned_agent.py").write_text(AGENT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_plan__without_a_base(folder: Path) -> None:
    done = CliRunner().invoke(cli, ["plan", "e.yaml", "--json"], catch_exceptions=False)
    made = json.loads(done.stdout)
    assert (made["total"]["runs"], made["total"]["tokens"], made["base"]) == (8, None, None)


def test_plan__from_the_report_of_a_run(folder: Path) -> None:
    ran = CliRunner().invoke(cli, ["run", "e.yaml", "--report", "report.json", "--quiet"], catch_exceptions=False)
    assert ran.exit_code == 0
    arguments = ["plan", "e.yaml", "--base", "report.json", "--price", "gpt-4o=2.5/10", "--runs", "10", "--json"]
    total = json.loads(CliRunner().invoke(cli, arguments, catch_exceptions=False).stdout)["total"]
    assert (total["runs"], total["model_calls"], total["tokens"]) == (20, 40, 44_000)
    assert total["usd"] == pytest.approx(40 * (1000 * 2.5 + 100 * 10) / 1e6)
    assert total["minutes"] > 0
    assert total["unknown"] == {}


def test_plan__invalid_file_is_the_error_of_validate(folder: Path) -> None:
    (folder / "e.yaml").write_text(EXPERIMENT.replace("latency", "latencyy"), encoding="utf-8")
    with pytest.raises(InvalidFileError) as planned:
        CliRunner().invoke(cli, ["plan", "e.yaml"], catch_exceptions=False)
    with pytest.raises(InvalidFileError) as validated:
        CliRunner().invoke(cli, ["validate", "e.yaml"], catch_exceptions=False)
    assert planned.value.problems == validated.value.problems
    assert planned.value.exit_code == 2


def test_plan__a_price_it_cannot_read(folder: Path) -> None:
    with pytest.raises(UsageError, match="not a price"):
        CliRunner().invoke(cli, ["plan", "e.yaml", "--price", "gpt"], catch_exceptions=False)
