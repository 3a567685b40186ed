"""`run` leaves a journal that `run --resume` goes on with, whenever and however the first was stopped."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

AGENT = """
import time
from gate import chaos

@chaos.control("guard")
def guard(text):
    return True

@chaos.tool
def fetch(url):
    return "page"

def agent():
    time.sleep(0.03)
    try:
        guard("text")
    except chaos.ChaosTimeout:
        return "refused"
    return f"answer {chaos.seed()}: {fetch('x')}"
"""

EXPERIMENT = """
apiVersion: agentic-chaos/v1
kind: Experiment
metadata: {name: NAME}
spec:
  target: {entrypoint: "the_agent:agent"}
  runs: 100
  seed: SEED
  faults:
    - {type: control_outage, target: guard, probability: 0.3}
    - {type: inject_instruction, probability: 0.2}
  probes:
    - {type: output_matches, params: {pattern: "^answer"}, min_pass_rate: 0.9}
    - {type: no_unhandled_error}
  detection: [{type: alert_raised}]
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A project with two experiments, under a path short enough for a socket."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "the_agent.py").write_text(AGENT)
        (folder / "experiments").mkdir()
        for seed, experiment in enumerate(("one", "two")):
            text = EXPERIMENT.replace("NAME", experiment).replace("SEED", str(seed))
            (folder / "experiments" / f"{experiment}.yaml").write_text(text)
        yield folder


def start(folder: Path, *arguments: str, **changes: Any) -> subprocess.Popen[bytes]:
    """Start `run` in a folder; what it leaves when killed stays under that folder."""
    command = [sys.executable, "-m", "gate", "run", "--python", sys.executable, "--parallel", "4", *arguments]
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(folder)}
    output: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, env=environment, **output | changes)


def finish(folder: Path, *arguments: str) -> str:
    """Run to the end; return what was said on standard error."""
    _, said = (process := start(folder, *arguments)).communicate(timeout=60)
    assert process.returncode == 0, said.decode()
    return said.decode()


def timeless(path: Path) -> Any:
    """Return a report without its times."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: without(v) for k, v in value.items() if k not in ("started_at", "ended_at", "seconds")}
        return [without(item) for item in value] if isinstance(value, list) else value

    return without(json.loads(path.read_text()))


def runs_in(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") - 1 if journal.exists() else 0


def holds(journal: Path, runs: int) -> bool:
    return runs_in(journal) >= runs


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_resume__after_twenty_kills_the_report_is_the_uninterrupted_one(folder: Path) -> None:
    finish(folder, "--report", "whole.json", "--journal", "whole.jsonl")
    journal, draw = folder / "journal.jsonl", random.Random(20)
    for number in range(20):
        process = start(folder, "--report", "report.json", "--resume", stderr=subprocess.DEVNULL)
        if number % 2:  # anywhere, while it starts too
            time.sleep(draw.uniform(0.0, 1.2))
        else:
            enough = runs_in(journal) + draw.randint(1, 20)
            wait_until(partial(holds, journal, enough))
            time.sleep(draw.uniform(0.0, 0.03))
        assert process.poll() is None, "there is nothing left to be killed in"
        process.kill()
        process.wait()
    finish(folder, "--report", "report.json", "--resume")
    assert runs_in(folder / "journal.jsonl") == 400
    assert timeless(folder / "report.json") == timeless(folder / "whole.json")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_resume__after_a_polite_stop(number: signal.Signals, folder: Path) -> None:
    process = start(folder, "--runs", "30", stderr=subprocess.DEVNULL)
    wait_until(partial(holds, folder / "journal.jsonl", 10))
    process.send_signal(number)
    assert process.wait(10) != 0
    assert not (folder / "report.json").exists()
    finish(folder, "--runs", "30", "--resume")
    finish(folder, "--runs", "30", "--report", "whole.json", "--journal", "whole.jsonl")
    assert timeless(folder / "report.json") == timeless(folder / "whole.json")


def test_resume__of_a_finished_run_runs_nothing(folder: Path) -> None:
    finish(folder, "--runs", "2")
    before = (folder / "journal.jsonl").read_bytes()
    first = json.loads((folder / "report.json").read_text())
    finish(folder, "--runs", "2", "--resume")
    assert (folder / "journal.jsonl").read_bytes() == before
    again = json.loads((folder / "report.json").read_text())
    assert again == first | {"ended_at": again["ended_at"]}


def test_resume__with_other_settings_is_refused(folder: Path) -> None:
    finish(folder, "--runs", "2")
    process = start(folder, "--runs", "3", "--resume")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "the journal was written with another runs" in said.decode()
