"""The project's own workflows: what is pinned, which rights they take, and what their linters say."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
OWN = sorted((ROOT / ".github/workflows").glob("*.yml"))
READY = sorted((ROOT / "docs/workflows").glob("*.yml"))


def load(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return data


@pytest.mark.parametrize("path", OWN, ids=lambda p: p.name)
def test_own__actions_of_others_are_pinned_by_sha(path: Path) -> None:
    for used in re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8")):
        assert used == "./" or re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", used), used


@pytest.mark.parametrize("path", [*OWN, *READY], ids=lambda p: f"{p.parent.name}/{p.name}")
def test_all__take_rights_per_job_and_leave_no_credentials(path: Path) -> None:
    workflow = load(path)
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert job["permissions"]
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_own__pull_requests_meet_no_token_that_writes() -> None:
    jobs = load(ROOT / ".github/workflows/gate.yml")["jobs"]
    assert jobs["gate"]["permissions"] == {"contents": "read"}
    assert jobs["store"]["if"] == "github.event_name == 'push'"


@pytest.mark.parametrize(
    "command",
    [
        ["zizmor", "--offline", "--persona=auditor", ".github", "action.yml"],
        ["check-jsonschema", "--builtin-schema", "vendor.github-actions", "action.yml"],
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", *map(str, [*OWN, *READY])],
    ],
    ids=["zizmor", "action", "workflows"],
)
def test_linters__are_clean(command: list[str]) -> None:
    program = shutil.which(command[0], path=str(Path(sys.executable).parent))
    assert program, "run `make setup`"
    done = subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
