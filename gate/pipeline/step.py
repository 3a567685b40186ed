"""What passes between the steps of the action: files, and who runs where."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gate.comparison import Anchor, Notice
from gate.config import GitHubJob, Inputs, read_text
from gate.errors import BrokenEnvironmentError
from gate.github import Client
from gate.policy import KnownFinding, Model, Policy, Removed
from gate.publish import Check
from gate.report import read_model

Say = Callable[[str], None]

BASE_REPOSITORY = "base.git"
"""In the state: what has the commit to run beside head, where the checkout lacks it."""
HANDOVER = "agent-chaos-gate-handover"
ARTIFACT = "agent-chaos-gate-{key}"


class State(Model):
    """What prepare found out, for the later steps.

    `confirm_commit` is run beside head where rows have to be confirmed; `unconfirmable` says why none is. `anchor`
    names the pinned report (anchor.json in the state), or says why there is none.
    """

    job: Literal["gate", "publish", "nothing"]
    reason: str = ""
    relevant: bool = True
    head_sha: str = ""
    pull_request: int | None = None
    record_ref: str = ""
    policy: Policy
    removed: list[Removed] = []
    known_findings: list[KnownFinding] = []
    age_commits: int | None = None
    age_days: int | None = None
    notices: list[Notice] = []
    confirm_commit: str = ""
    unconfirmable: str = ""
    anchor: Anchor | None = None


Quiet = ("run", "gate")
"""The modes in which nothing is written to GitHub."""


class Failure(Model):
    """Why the run step made no report."""

    exit_code: int
    message: str


@dataclass(frozen=True)
class Step:
    """Where a step runs, what it was asked for, and where it speaks."""

    state: Path
    results: Path
    say: Say
    inputs: Inputs
    job: GitHubJob

    def client(self) -> Client:
        """Return a client of the job's repository."""
        return Client(self.job.repository, self.job.token, base_url=self.job.api_url)

    def check(self, state: State) -> Check:
        """Return the check run of this gate."""
        return Check(key=self.inputs.key, head_sha=state.head_sha, details_url=self.job.run_url)

    @property
    def writes_check(self) -> bool:
        """Return whether the check run is set."""
        return self.inputs.check_run and self.inputs.mode not in Quiet

    @property
    def baseline(self) -> str:
        """Return the store, a relative path taken from the agent's folder."""
        kind, _, place = self.inputs.baseline.partition(":")
        return f"file:{self.inputs.directory / place}" if kind == "file" else self.inputs.baseline

    def read_state(self) -> State:
        """Return what prepare wrote."""
        path = self.state / "state.json"
        return read_model(State, read_text(path), str(path))


def is_plain_file(path: Path) -> bool:
    """Return whether it is a file itself: no link, and no pipe that would never end."""
    return path.is_file() and not path.is_symlink()


def clear_folder(path: Path) -> None:
    """Leave an empty folder, whatever is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.mkdir(parents=True)


def write_output(path: Path | None, name: str, value: str) -> None:
    """Write an output of the step; a value that spans lines could set others."""
    if "\n" in value or "\r" in value:
        raise BrokenEnvironmentError(f"the output {name} would span lines", where="publish")
    append(path, f"{name}={value}\n")


def append(path: Path | None, text: str) -> None:
    """Append to a file of the runner, where there is one."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)


def workflow_command(kind: Literal["notice", "warning", "error"], text: str) -> str:
    """Return a line that the runner shows as an annotation; the text cannot start another command."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return f"::{kind} title=agent-chaos-gate::{escaped}"
