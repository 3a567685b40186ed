"""Ways to isolate a run, and agents that come with packages of their own."""

import os
from pathlib import Path
from typing import Any

import pytest

from gate.errors import BrokenEnvironmentError
from tests.e2e.engine_agents.harness import AGENTS, experiment, run, run_one

SHOW = [{"type": "output_matches", "params": {"pattern": "^$never"}}]  # fails, so that the output is in the record


def outputs(isolation: str, entrypoint: str, runs: int = 1, **spec: Any) -> list[str]:
    suite = experiment(entrypoint, runs=runs, baseline=False, probes=SHOW, **spec)
    records = run(suite, isolation=isolation)
    assert {r.outcome for r in records} == {"ok"}, records[0].error
    return [r.output for r in records]


@pytest.mark.parametrize(
    ("isolation", "seen"),
    [("fork", ["1", "1", "1"]), ("process", ["1", "1", "1"]), ("none", ["1", "2", "3"])],
)
def test_isolation__globals(isolation: str, seen: list[str]) -> None:
    assert outputs(isolation, "hostile:changes_globals", runs=3) == seen


def test_isolation__process_imports_anew_for_every_run() -> None:
    assert len(set(outputs("fork", "polite:tells_when_it_was_imported", runs=3))) == 1
    assert len(set(outputs("process", "polite:tells_when_it_was_imported", runs=3))) == 3


@pytest.mark.parametrize("isolation", ["fork", "process", "none"])
def test_isolation__faults_and_seeds_are_the_same(isolation: str) -> None:
    faults = [{"type": "control_outage", "probability": 0.3}]
    fork = outputs("fork", "polite:guarded", runs=8, seed=7, faults=faults)
    assert outputs(isolation, "polite:guarded", runs=8, seed=7, faults=faults) == fork
    assert "refused" in fork
    assert "answer 7" in fork


@pytest.mark.parametrize("isolation", ["process", "none"])
@pytest.mark.parametrize(
    ("function", "outcome"),
    [("exits_with_success", "crash"), ("exits_at_once", "crash"), ("hangs", "timeout"), ("spins", "timeout")],
)
def test_isolation__outcomes_are_the_same(isolation: str, function: str, outcome: str) -> None:
    limit = {"timeout_s": 0.5} if outcome == "timeout" else {}
    suite = [
        experiment(f"hostile:{function}", name="bad", baseline=False, target=limit),
        experiment("hostile:changes_globals", name="good"),
    ]
    records = run(*suite, isolation=isolation)
    assert [r.outcome for r in records] == [outcome, "ok", "ok"]


@pytest.mark.parametrize("isolation", ["process", "none"])
@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("broken_import:agent", "No module named 'package_that"),
        ("exits_on_import:agent", "the import ended|ended the inter"),
    ],
)
def test_isolation__broken_import_is_said_before_any_run(isolation: str, target: str, said: str) -> None:
    with pytest.raises(BrokenEnvironmentError, match=said):
        run_one(target, settings={"isolation": isolation})


def test_gate__of_the_agents_own_is_left_alone() -> None:
    record = run_one("airport:agent", probes=SHOW, settings={"cwd": AGENTS / "own_gate"})
    assert record.output == "[True, 'True']"


@pytest.mark.parametrize("installed", [False, True], ids=["stand-in", "installed"])
def test_public_package__its_decorators_reach_our_faults(installed: bool) -> None:
    environment = {"PATH": os.environ["PATH"]}
    if installed:
        environment["PYTHONPATH"] = str(AGENTS / "installed")
    faults: list[dict[str, Any]] = [
        {"type": "inject_instruction", "params": {"payload": "planted"}, "point": "tool.result"},
        {"type": "control_outage", "target": "guard"},
    ]
    suite = experiment(
        "decorated:agent", faults=faults, probes=[*SHOW, {"type": "max_tool_calls", "params": {"limit": 3}}]
    )
    baseline, chaos = run(suite, environment=environment)
    assert baseline.output == "['one', 'two', 'three', False, 'unseen']"
    assert chaos.output == (
        "['one\\nplanted', 'two\\nplanted', 'three\\nplanted', 'control guard timed out (injected)', 'unseen']"
    )
    assert [f.fired for f in chaos.faults] == [3, 1]
    assert [r.probes[1].passed for r in (baseline, chaos)] == [True, True]


def test_interpreter__without_our_packages(tmp_path: Path) -> None:
    """The agent's interpreter has nothing of ours but the hook."""
    agent = tmp_path / "lonely.py"
    agent.write_text(
        "import importlib.util as u\n"
        "from gate import chaos\n"
        "@chaos.tool\ndef look(): return 'seen'\n"
        "def agent(): return [look(), *(bool(u.find_spec(n)) for n in ('pydantic', 'click', 'gate.cli'))]\n"
    )
    python = Path(os.path.realpath(__import__("sys").executable))  # the one the environment was made from
    record = run_one("lonely:agent", probes=SHOW, settings={"cwd": tmp_path, "python": (str(python), "-S")})
    assert record.output == "['seen', False, False, False]"
