"""The step of the action that completes a check run which nothing else completed, by itself."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate.github import CheckRun, Client
from gate.publish import Check, open_check
from tests.double import GitHubDouble
from tests.e2e.action import ROOT, TOKEN
from tests.steps import pull

STEPS = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
STEP: dict[str, Any] = next(step for step in STEPS if step["name"] == "Complete the check")


def complete(double: GitHubDouble, folder: Path, check: int, status: str = "failure", url: str = "") -> str:
    """Run the step as a runner does, in a home that would lead its tools astray; return what it prints."""
    (folder / ".curlrc").write_text('user-agent = "astray"\nfail-with-body\n')
    (folder / ".bashrc").write_text("exit 1\n")
    (folder / "step.sh").write_text(STEP["run"])
    env = {"HOME": str(folder), "BASH_ENV": str(folder / ".bashrc"), "TOKEN": TOKEN, "JOB_STATUS": status}
    env |= {"CHECK": str(check), "GITHUB_REPOSITORY": double.repository, "GITHUB_API_URL": url or double.url}
    command = STEP["shell"].replace("{0}", str(folder / "step.sh")).split()
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def opened(double: GitHubDouble) -> int:
    """Open a pull request and its check; return the id."""
    _, head = pull(double)
    with Client(double.repository, TOKEN, base_url=double.url) as client:
        made = open_check(client, Check("default", head))
    assert isinstance(made, CheckRun)
    double.requests.clear()
    return made.id


@pytest.mark.parametrize(
    ("status", "conclusion", "title"),
    [
        ("failure", "failure", "No verdict: this blocks the merge"),
        ("cancelled", "cancelled", "Cancelled: no verdict"),
    ],
)
def test_open_check__is_completed(tmp_path: Path, status: str, conclusion: str, title: str) -> None:
    with GitHubDouble() as double:
        assert complete(double, tmp_path, opened(double), status) == ""
        [check] = double.check_runs()
        assert (check.status, check.conclusion, check.title) == ("completed", conclusion, title)
        assert "the log of its job" in (check.summary or "")
        assert [r.headers["user-agent"].partition("/")[0] for r in double.requests] == ["curl", "curl"]
        double.check()


def test_completed_check__stays_as_it_is(tmp_path: Path) -> None:
    with GitHubDouble() as double:
        number = opened(double)
        with Client(double.repository, TOKEN, base_url=double.url) as client:
            text = 'looks like "status": "in_progress"'
            output = {"title": text, "summary": text}
            client.edit_check_run(number, {"status": "completed", "conclusion": "success", "output": output})
        assert complete(double, tmp_path, number) == ""
        assert double.check_runs()[0].conclusion == "success"


def test_check__that_cannot_be_completed_is_told(tmp_path: Path) -> None:
    with GitHubDouble() as double:
        number = opened(double)
        double.forbid("PATCH", "/check-runs/")
        assert complete(double, tmp_path, number).startswith(
            "::warning title=agent-chaos-gate::the check run could not"
        )
        assert complete(double, tmp_path, number, url="http://127.0.0.1:9").startswith("::warning")
