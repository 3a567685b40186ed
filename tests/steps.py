"""The steps of the action without a runner: the three calls of the command, in this process, against the double."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gate.errors import GateError
from gate.pipeline import perform
from gate.policy import Policy
from gate.report import ExperimentReport, Report
from gate.store import parse_store
from tests import builders
from tests.double import GitHubDouble
from tests.double.events import Events, runner_environment

EVENTS = Events()
TOKEN = "ghs_" + "t0ken" * 8
RUNNER_FILES = ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")
SAYS_OK = """
apiVersion: agentic-chaos/v1
kind: Experiment
metadata: {name: says-ok}
spec:
  target: {entrypoint: "agent:run"}
  runs: 3
  faults: [{type: error, target: search}]
  probes: [{type: output_matches, params: {pattern: ok}}]
"""
AGENT = """
from gate.chaos import tool

@tool
def search(text):
    return text

def run(prompt="hi"):
    try:
        search(prompt)
    except Exception:
        pass
    return "ok"
"""


@dataclass
class Job:
    """One job of a workflow: a workspace, the runner's files, the event, the action's inputs."""

    folder: Path
    double: GitHubDouble
    monkeypatch: pytest.MonkeyPatch
    said: list[str] = field(default_factory=list)
    runs: int = 100

    def __post_init__(self) -> None:
        self.workspace = self.folder / "work"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self.start()

    @property
    def state(self) -> Path:
        """Return where prepare writes."""
        return self.temp / "state"

    @property
    def results(self) -> Path:
        """Return where run and publish write."""
        return self.temp / "results"

    @property
    def handover(self) -> Path:
        """Return what a second workflow takes over."""
        return self.temp / "agent-chaos-gate-handover"

    def start(self, event: str = "pull_request", payload: dict[str, Any] | None = None, **inputs: str) -> None:
        """Begin a new job for an event."""
        self.runs += 1
        self.temp = self.folder / f"temp-{self.runs}"
        self.temp.mkdir()
        for name in list(os.environ):
            if name.startswith(("GITHUB_", "INPUT_", "RUNNER_", "ACTIONS_")):
                self.monkeypatch.delenv(name)
        payload = EVENTS.pull_request() if payload is None else payload
        (self.temp / "event.json").write_text(json.dumps(payload), encoding="utf-8")
        self.set(runner_environment(event, payload, api_url=self.double.url, run_id=self.runs))
        self.set({name: str(self.temp / name.lower()) for name in RUNNER_FILES})
        for name in RUNNER_FILES:
            (self.temp / name.lower()).write_text("", encoding="utf-8")
        self.set({"GITHUB_EVENT_PATH": str(self.temp / "event.json"), "GITHUB_WORKSPACE": str(self.workspace)})
        self.set({"RUNNER_TEMP": str(self.temp), "INPUT_GITHUB_TOKEN": TOKEN, "INPUT_PYTHON": sys.executable})
        self.set({"GIT_CONFIG_GLOBAL": str(git_config(self.folder / "gitconfig", self.double))})
        self.set({f"INPUT_{name.upper()}": value for name, value in inputs.items()})

    def set(self, variables: dict[str, str]) -> None:
        """Set environment variables for the rest of the test."""
        for name, value in variables.items():
            self.monkeypatch.setenv(name, value)

    def step(self, name: Any) -> int:
        """Do one step as the command does it, and return its exit code."""
        if name == "run":
            self.monkeypatch.delenv("INPUT_GITHUB_TOKEN", raising=False)
        try:
            return perform(name, self.state, self.results, self.said.append)
        except GateError as error:
            self.said.append(f"error: {error}")
            return error.exit_code
        finally:
            self.set({"INPUT_GITHUB_TOKEN": TOKEN})

    def all(self) -> tuple[int, int, int | None]:
        """Do the three steps as the action does and return their exit codes; None: publish was not reached."""
        prepared = self.step("prepare")
        if prepared:
            return prepared, 0, None
        return prepared, self.step("run"), self.step("publish")

    def judge(self, report: Report | None = None, failure: str | None = None) -> int:
        """Do prepare and publish, with what the run step is to have left in between; return the exit code."""
        if code := self.step("prepare"):
            return code
        self.results.mkdir()
        if report is not None:
            (self.results / "report.json").write_text(report.to_json(), encoding="utf-8")
        if failure is not None:
            (self.results / "failure.json").write_text(failure, encoding="utf-8")
        return self.step("publish")

    @property
    def log(self) -> str:
        """Return all that was said."""
        return "\n".join(self.said)

    @property
    def outputs(self) -> dict[str, str]:
        """Return the outputs of the action."""
        lines = Path(os.environ["GITHUB_OUTPUT"]).read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)

    @property
    def summary(self) -> str:
        """Return the job summary."""
        return Path(os.environ["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")

    def read_state(self) -> dict[str, Any]:
        """Return what prepare found out."""
        state: dict[str, Any] = json.loads((self.state / "state.json").read_text(encoding="utf-8"))
        return state

    def git(self, *arguments: str) -> str:
        """Run git in the workspace."""
        return git(self.workspace, *arguments)

    def check_out(self, agent: str = AGENT, experiment: str = SAYS_OK) -> None:
        """Put an agent and an experiment into the workspace."""
        (self.workspace / "experiments").mkdir(exist_ok=True)
        (self.workspace / "agent.py").write_text(agent, encoding="utf-8")
        (self.workspace / "experiments/says-ok.yaml").write_text(experiment, encoding="utf-8")

    def store(self, report: Report, ref: str = "main", run_id: int = 1) -> None:
        """Store a base report, as an earlier push did."""
        from gate.github import Client

        with Client(self.double.repository, TOKEN, base_url=self.double.url) as client:
            store = parse_store("branch:agent-chaos-baseline", client=client)
            store.save(report, ref=ref, run_id=run_id)
        self.double.requests.clear()


def git_config(path: Path, double: GitHubDouble) -> Path:
    """Write a configuration of git for which the double's repository is the one on GitHub."""
    url = f"https://github.com/{double.repository}"
    path.write_text(f'[url "{double.git.path.resolve().as_uri()}"]\ninsteadOf = {url}\n', encoding="utf-8")
    return path


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder."""
    identity = ("-c", "user.name=Mona", "-c", "user.email=mona@example.com")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def suite_report(commit: str, passes: int = 40, runs: int = 40, policy: Policy = builders.POLICY) -> Report:
    """Return a report of two experiments, in one of which a probe held `passes` times."""
    return builders.report(
        experiment_report("alpha", passes, runs), experiment_report("beta", 40, 40), policy=policy, commit=commit
    )


def experiment_report(name: str, passes: int, runs: int = 40) -> ExperimentReport:
    """Return an experiment with one probe."""
    return builders.experiment(name, builders.probe(passes, runs))


def pull(double: GitHubDouble, number: int = 7, head_repo: str = "") -> tuple[str, str]:
    """Open a pull request with a real history and return its base and head commits."""
    base = double.commit_files("main", {"agent.py": b"1"})
    head = double.commit_files("feature", {"agent.py": b"2"}, parents=[base])
    double.open_pull(number, "main", base, "feature", head, head_repo=head_repo)
    return base, head
