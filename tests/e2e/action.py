"""A user's repository, and the real action run on it by `act` against the GitHub double."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.double import GitHubDouble

ROOT = Path(__file__).parents[2]
TOKEN = "ghs_" + "s3cret" * 6
BIN = Path(sys.executable).parent
UPLOAD = """
name: upload
inputs: {name: {required: true}, path: {required: true}, if-no-files-found: {default: warn}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {NAME: "${{ inputs.name }}", FROM: "${{ inputs.path }}"}
      run: |
        mkdir -p "$ARTIFACTS/$NAME"
        if [ -d "$FROM" ]; then cp -r "$FROM/." "$ARTIFACTS/$NAME"; else cp "$FROM" "$ARTIFACTS/$NAME"; fi
"""
DOWNLOAD = """
name: download
inputs: {pattern: {required: true}, path: {required: true}}
runs:
  using: composite
  steps:
    - shell: bash
      env: {PATTERN: "${{ inputs.pattern }}", TO: "${{ inputs.path }}"}
      run: |
        mkdir -p "$TO"
        for one in "$ARTIFACTS"/$PATTERN; do if [ -d "$one" ]; then cp -r "$one" "$TO"; fi; done
"""
"""What stands in for the actions that keep artifacts: a folder."""


def readme_workflow(name: str) -> str:
    """Return the very text of a workflow in the README, by the marker above it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- workflow: {name} -->\n```yaml\n(.*?)```", text, re.DOTALL)
    assert found, name
    return found[1]


@dataclass
class Outcome:
    """How a job ended, and what it printed."""

    code: int
    log: str

    @property
    def green(self) -> bool:
        """Return whether the job succeeded."""
        return self.code == 0


@dataclass
class UserRepository:
    """A git repository with an agent, experiments and the README's workflow, known to the double as well."""

    path: Path
    double: GitHubDouble
    environment: dict[str, str] = field(default_factory=dict)
    token: str = TOKEN

    @property
    def artifacts(self) -> Path:
        """Return where jobs leave artifacts, a folder each."""
        return self.path.parent / "artifacts"

    def stub(self, name: str, text: str) -> Path:
        """Return the folder of an action that stands in for one of GitHub's."""
        folder = self.path.parent / name
        folder.mkdir(exist_ok=True)
        (folder / "action.yml").write_text(text, encoding="utf-8")
        return folder

    @property
    def action(self) -> Path:
        """Return a copy of what the action's repository ships, made once: `act` copies all it finds, also a .venv."""
        target = self.path.parent / "action"
        if not target.exists():
            target.mkdir()
            for name in ("action.yml", "requirements.lock"):
                shutil.copy(ROOT / name, target)
            for name in ("gate", "templates"):
                shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        return target

    def git(self, *arguments: str) -> str:
        """Run git in the repository."""
        done = subprocess.run(["git", *arguments], cwd=self.path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def create(self, variant: str, experiments: tuple[str, ...], workflow: str) -> str:
        """Write the first commit and return its sha."""
        self.path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch", "main")
        for name in ("mailbot.py", *experiments):
            target = self.path / "experiments" / name
            target.parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / "experiments" / name, target)
        folder = self.path / ".github/workflows"
        folder.mkdir(parents=True)
        (folder / "gate.yml").write_text(workflow, encoding="utf-8")
        return self.commit({"my_agent.py": agent(variant)}, "first")

    def commit(self, files: Mapping[str, str | None], message: str) -> str:
        """Commit files (None: deleted) on the current branch, tell the double, and return the sha."""
        for name, text in files.items():
            path = self.path / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        self.git("add", "--all")
        identity = ("-c", "user.name=Mona", "-c", "user.email=mona@example.com")
        self.git(*identity, "commit", "--quiet", "--allow-empty", "--message", message)
        self.double.seed_from(self.path)
        return self.git("rev-parse", "HEAD")

    def switch(self, branch: str, start: str = "main") -> None:
        """Check out a new branch."""
        self.git("switch", "--quiet", "--create", branch, start)

    def run(self, event: str, payload: dict[str, Any], **environment: str) -> Outcome:
        """Run the repository's workflows for an event by `act`, on this machine, with the token as a secret."""
        event_file = self.path.parent / "event.json"
        event_file.write_text(json.dumps(payload), encoding="utf-8")
        settings = {"GITHUB_API_URL": self.double.url, "GITHUB_REPOSITORY": self.double.repository, **environment}
        command = [str(BIN / "act"), event, "--platform", "ubuntu-latest=-self-hosted"]
        command += ["--eventpath", str(event_file), "--workflows", ".github/workflows"]
        command += [
            "--local-repository",
            f"org/agent-chaos-gate@v1={self.action}",
            "--secret",
            f"GITHUB_TOKEN={self.token}",
        ]
        for name, text in (("upload-artifact", UPLOAD), ("download-artifact", DOWNLOAD)):
            command += ["--local-repository", f"actions/{name}@v4={self.stub(name, text)}"]
        settings["ARTIFACTS"] = str(self.artifacts)
        for name, value in settings.items():
            command += ["--env", f"{name}={value}"]
        home = self.path.parent / "home"
        home.mkdir(exist_ok=True)
        base = {
            k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "UV_CACHE_DIR", "SSL_CERT_FILE") or "PIP" in k
        }
        base |= {"HOME": str(home), "PATH": f"{BIN}:{base['PATH']}", "UV_CACHE_DIR": uv_cache()}
        base |= self.environment
        done = subprocess.run(
            command, cwd=self.path, env=base, capture_output=True, text=True, errors="replace", check=False, timeout=300
        )
        return Outcome(done.returncode, done.stdout + done.stderr)


def uv_cache() -> str:
    """Return one package cache for every job of the tests, as a runner image has."""
    done = subprocess.run([str(BIN / "uv"), "cache", "dir"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def agent(variant: str) -> str:
    """Return an agent module in one of mailbot's variants."""
    return f"from experiments.mailbot import {variant} as run\n"
