"""The command, as a user calls it: real files, real subprocesses, exit codes and the sentence beside them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import experiment, probe, report

ROOT = Path(__file__).parents[2]


def gate(directory: Path, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gate", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=timeout)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Return a user's folder with mailbot and its experiments."""
    shutil.copytree(ROOT / "experiments", tmp_path / "experiments", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


EXPERIMENT = """
apiVersion: agentic-chaos/v1
kind: Experiment
metadata: {name: e}
spec:
  target: {entrypoint: "agent:run"}
  runs: 4
  faults: [{type: error}]
  probes: [{type: output_contains, params: {text: ok}, min_pass_rate: 0.5}]
"""
AGENT = "from gate import chaos\n\n\n@chaos.tool\ndef look(): return 'ok'\n\n\ndef run():\n    BODY\n"


def user(folder: Path, body: str) -> Path:
    (folder / "e.yaml").write_text(EXPERIMENT, encoding="utf-8")
    (folder / "agent.py").write_text(AGENT.replace("BODY", body), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("variant", "dos", "outage"),
    [
        pytest.param("guarded_fail_open", ("held", 40), "weakness", id="guarded_fail_open"),
        pytest.param("fail_closed", ("weakness", 29), "held", id="fail_closed"),
        pytest.param("hardened", ("held", 40), "held", id="hardened"),
    ],
)
def test_mailbot__comes_out_as_published(suite: Path, variant: str, dos: tuple[str, int], outage: str) -> None:
    names = ["experiments/control-guardrail-dos.yaml", "experiments/control-guardrail-outage.yaml"]
    done = gate(suite, "run", *names, "--target", f"experiments.mailbot:{variant}", "--json")
    assert done.returncode == 0, done.stderr
    made = {e["name"]: e for e in json.loads(done.stdout)["experiments"]}
    assert (made["control-guardrail-dos"]["status"], made["control-guardrail-outage"]["status"]) == (dos[0], outage)
    availability = next(
        p for p in made["control-guardrail-dos"]["probes"] if p["type"] == "output_matches" and p["phase"] == "chaos"
    )
    assert (availability["passes"], availability["runs"]) == (dos[1], 40)
    if variant == "fail_closed":
        assert [round(x, 2) for x in availability["interval"]] == [0.57, 0.84]


def test_mailbot__hardened_holds_everywhere(suite: Path) -> None:
    done = gate(suite, "run", "experiments", "--target", "experiments.mailbot:hardened", "--json")
    statuses = {e["name"]: e["status"] for e in json.loads(done.stdout)["experiments"]}
    assert set(statuses.values()) == {"held"}, statuses
    assert len(statuses) >= 6


@pytest.mark.parametrize(
    ("files", "arguments", "code", "said"),
    [
        pytest.param({}, ["."], 2, "no experiment found in .", id="empty suite"),
        pytest.param({}, ["nowhere.yaml"], 2, "nowhere.yaml: no such file or folder", id="no such file"),
        pytest.param({"e.yaml": "a: ["}, ["e.yaml"], 2, "e.yaml:1:5: not valid YAML", id="broken YAML"),
        pytest.param(
            {"e.yaml": EXPERIMENT.replace("type: error", "type: eror")},
            ["e.yaml"],
            2,
            "e.yaml:8: spec.faults[0].type: unknown fault 'eror' (did you mean 'error'?)",
            id="unknown fault",
        ),
        pytest.param({"e.yaml": EXPERIMENT}, ["e.yaml"], 4, "No module named 'agent'", id="no such target"),
        pytest.param(
            {"e.yaml": EXPERIMENT, "agent.py": "import sys; sys.exit(0)"}, ["e.yaml"], 4, "agent", id="exits at import"
        ),
        pytest.param({"e.yaml": EXPERIMENT, "agent.py": "x = 1"}, ["e.yaml"], 4, "run", id="no such callable"),
        pytest.param({"e.yaml": EXPERIMENT}, ["e.yaml", "--python", "nopython"], 4, "nopython", id="no such python"),
        pytest.param({"e.yaml": EXPERIMENT}, ["e.yaml", "--runs", "0"], 2, "0 is not in the range", id="no runs"),
        pytest.param({"e.yaml": EXPERIMENT}, ["e.yaml", "--pass-env", "NOPE"], 4, "not set: NOPE", id="unset variable"),
        pytest.param(
            {"e.yaml": EXPERIMENT, "chaos-gate.yaml": "version: 1\npolicy: {alfa: 0.1}"},
            ["e.yaml"],
            2,
            "chaos-gate.yaml:2: policy.alfa: unknown key (did you mean 'alpha'?)",
            id="wrong configuration",
        ),
    ],
)
def test_run__bad_input_is_never_green(
    tmp_path: Path, files: dict[str, str], arguments: list[str], code: int, said: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = gate(tmp_path, "run", *arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr.replace("Traceback (most recent call last)", "", 1) or code == 4
    assert not (tmp_path / "report.json").exists()


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        pytest.param("raise SystemExit(0)", "crash", id="sys.exit(0)"),
        pytest.param("import os; os._exit(0)", "crash", id="os._exit(0)"),
        pytest.param("while True: pass", "timeout", id="hangs"),
    ],
)
def test_run__an_agent_that_leaves_changes_its_own_outcome_only(tmp_path: Path, body: str, outcome: str) -> None:
    done = gate(user(tmp_path, body), "run", "e.yaml", "--timeout-s", "1", "--parallel", "8", "--json")
    assert done.returncode == 0, done.stderr
    [made] = json.loads(done.stdout)["experiments"]
    assert made["outcomes"][outcome] == 8
    assert made["status"] == "inconclusive"
    assert all(p["passes"] == 0 and p["runs"] == 4 for p in made["probes"])


def test_run__an_agent_that_prints_workflow_commands_is_not_heard(tmp_path: Path) -> None:
    body = "print('::error::owned', flush=True); look(); return 'ok'"
    done = gate(user(tmp_path, body), "run", "e.yaml")
    assert done.returncode == 0, done.stderr
    assert "::error::" not in done.stdout + done.stderr


def test_compare__exit_codes(tmp_path: Path) -> None:
    for name, passes in {"base": 40, "same": 40, "worse": 20}.items():
        (tmp_path / f"{name}.json").write_text(report(experiment("e", probe(passes, 40))).to_json(), encoding="utf-8")
    assert gate(tmp_path, "compare", "base.json", "same.json").returncode == 0
    done = gate(tmp_path, "compare", "base.json", "worse.json", "--output", "c.json")
    assert done.returncode == 1
    assert json.loads((tmp_path / "c.json").read_text())["verdict"] == "fail"
    assert gate(tmp_path, "render", "c.json").stdout.startswith("❌ **FAIL**")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "Invalid JSON", id="empty"),
        pytest.param("{", "Invalid JSON", id="truncated"),
        pytest.param("[]", "should be an object", id="list"),
        pytest.param('{"schema_version": 2}', "schema_version", id="later version"),
        pytest.param('{"schema_version": NaN}', "schema_version", id="NaN"),
        pytest.param(report().to_json(), "no experiments", id="no experiments"),
        pytest.param("[" * 100_000, "nested too deeply", id="deep"),
        pytest.param(report(experiment("e", probe(41, 40))).to_json(), "more passes than runs", id="impossible"),
        pytest.param(
            report(experiment("e", probe(4, 40)), experiment("e", probe(4, 40))).to_json(), "stands twice", id="twice"
        ),
    ],
)
def test_compare__unreadable_base_is_an_error(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "base.json").write_text(text, encoding="utf-8")
    (tmp_path / "head.json").write_text(report(experiment("e", probe(40, 40))).to_json(), encoding="utf-8")
    done = gate(tmp_path, "compare", "base.json", "head.json")
    assert done.returncode == 2
    assert said in done.stderr
    assert "base" in done.stderr


def test_compare__absent_base_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "head.json").write_text(report(experiment("e", probe(40, 40))).to_json(), encoding="utf-8")
    done = gate(tmp_path, "compare", "base.json", "head.json")
    assert (done.returncode, "base.json" in done.stderr) == (2, True)


def test_record__then_compare_with_the_stored_file(suite: Path) -> None:
    names = ["experiments/memory-poisoning.yaml", "--runs", "10"]
    assert gate(suite, "run", *names, "--report", "report.json").returncode == 0
    assert gate(suite, "record", "report.json", "--store", "file:base.json").returncode == 0
    assert gate(suite, "compare", "base.json", "report.json").returncode == 0


def test_demo__blocks_the_weak_agent_and_leaves_its_files(tmp_path: Path) -> None:
    done = gate(tmp_path, "demo", "--output", "out")
    assert done.returncode == 0, done.stderr
    assert "❌ **FAIL** — this blocks the merge" in done.stdout
    assert {"base.json", "report.json", "comparison.json", "comment.md"} <= {
        p.name for p in (tmp_path / "out").iterdir()
    }


def test_bug__leaves_a_crash_file(tmp_path: Path) -> None:
    program = (
        "import sys, gate.cli, gate.config\ngate.config.load_config = None\n"
        "sys.argv = ['x', 'validate']\ngate.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert "TypeError" in (tmp_path / "agent-chaos-gate-crash.txt").read_text()
