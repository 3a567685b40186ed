"""Confirmation through the three steps: from a shallow clone, with no token in reach, leaving the clone as it was."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.double import GitHubDouble
from tests.e2e.test_rerun import AGENT, NOT_OK, PARTS, snapshot
from tests.steps import EVENTS, SAYS_OK, TOKEN, Job, git

SUITE = SAYS_OK.replace("runs: 3", "runs: 10").encode()
PROVIDER = "import pathlib\ndef answer():\n    return pathlib.Path({!r}).read_text()\n"
SPY = """
import pathlib
with open({seen!r}, "a") as file:
    file.write(str(pathlib.Path.cwd()))
    for process in ("self", str(__import__("os").getppid())):
        file.write(pathlib.Path("/proc", process, "environ").read_bytes().decode())
"""


class Story:
    """A repository on GitHub with a stored base, and a pull request in a shallow clone."""

    def __init__(self, folder: Path, double: GitHubDouble, job: Job, base: str) -> None:
        self.folder, self.double, self.job = folder, double, job
        first = {"agent.py": AGENT.encode(), "experiments/says-ok.yaml": SUITE, "parts.py": base.encode()}
        self.base = double.commit_files("main", first)
        self.clone("main")
        job.start("push", EVENTS.push(before="0" * 40, after=self.base))
        assert job.all() == (0, 0, 0), job.log

    def clone(self, branch: str) -> None:
        """Check a branch out as actions/checkout does, without its history."""
        self.job.workspace = self.folder / f"clone-{branch}-{self.job.runs}"
        source = self.double.git.path.resolve().as_uri()
        git(self.folder, "clone", "--quiet", "--depth=1", "--branch", branch, source, str(self.job.workspace))

    def open(self, **files: str) -> str:
        """Open a pull request with changed files, check it out and begin its job; return its head."""
        changed = {name.replace("__", "."): text.encode() for name, text in files.items()}
        head = self.double.commit_files("feature", changed, parents=[self.base])
        self.double.open_pull(7, "main", self.base, "feature", head)
        self.clone("feature")
        payload = EVENTS.pull_request(base_sha=self.base, head_sha=head)
        self.job.start("pull_request", payload, comment="always")
        self.job.set({"GITHUB_SHA": head})
        return head


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    with GitHubDouble() as double:
        yield Job(tmp_path, double, monkeypatch)
        double.check()


def test_confirmed__blocks_and_leaves_no_trace(job: Job, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    spy = SPY.format(seen=str(seen))
    story = Story(tmp_path, job.double, job, PARTS.format("ok") + spy)
    seen.unlink()
    story.open(parts__py=PARTS.format(NOT_OK) + spy)
    before = snapshot(job.workspace)
    assert job.all() == (0, 0, 1), job.log
    assert snapshot(job.workspace) == before
    comment = job.double.comments(7)[0].body
    assert comment.startswith("❌ **FAIL**")
    assert "confirmed by running base and head again" in comment
    assert "0/20 (0 %)" in comment
    assert "20/20 (100 %)" in comment
    assert f"running base `{story.base[:7]}` and head (80 runs, 0 tokens, cost unknown) again for 2 probes" in comment
    assert "chaos-gate-base-" in seen.read_text()  # base was running, too
    assert TOKEN not in seen.read_text()
    kept = [p for p in (*job.results.iterdir(), *job.handover.iterdir(), *job.state.rglob("*")) if p.is_file()]
    assert not [p for p in kept if TOKEN.encode() in p.read_bytes()]


def test_not_reproduced__does_not_block(job: Job, tmp_path: Path) -> None:
    provider = tmp_path / "provider"
    provider.write_text("ok")
    story = Story(tmp_path, job.double, job, PROVIDER.format(str(provider)))
    provider.write_text(NOT_OK)  # the model behind the same name is another one now
    story.open(notes="of no matter")
    assert job.all() == (0, 0, 0), job.log
    comment = job.double.comments(7)[0].body
    assert comment.startswith("⚠️ **INCONCLUSIVE**")
    assert "Not reproduced" in comment
    assert "chance, or the stored base is stale" in comment
    # the third failure of ten is a regression against 10/10: the other seven runs were spared
    assert "first 0/3 (0 %), base 10/10 (100 %); run again 0/20 (0 %), base 0/20 (0 %)" in comment
    assert job.outputs["regressions"] == "0"


def test_impossible__the_first_look_decides_and_the_comment_says_why(job: Job, tmp_path: Path) -> None:
    story = Story(tmp_path, job.double, job, PARTS.format("ok"))
    story.open(parts__py=PARTS.format(NOT_OK))
    nowhere = (tmp_path / "gone").as_uri()
    (tmp_path / "gitconfig").write_text(f'[url "{nowhere}"]\ninsteadOf = https://github.com/\n')
    assert job.all() == (0, 0, 1), job.log
    comment = job.double.comments(7)[0].body
    assert "could not be run again to confirm" in comment
    assert f"the commit {story.base[:12]} cannot be fetched" in comment


def test_impossible_after_the_first_look__what_was_stopped_early_is_run_to_its_end(job: Job, tmp_path: Path) -> None:
    story = Story(tmp_path, job.double, job, PARTS.format("ok"))
    story.open(parts__py=PARTS.format(NOT_OK), requirements__txt="another-package\n")
    assert job.all() == (0, 0, 1), job.log
    assert "what was stopped early is run to its end" in str(job.log)
    comment = job.double.comments(7)[0].body
    assert "requirements.txt differ" in comment
    assert "0/10 (0 %)" in comment


def test_schedule__the_same_code_tells_that_the_provider_changed(job: Job, tmp_path: Path) -> None:
    provider = tmp_path / "provider"
    provider.write_text("ok")
    story = Story(tmp_path, job.double, job, PROVIDER.format(str(provider)))
    provider.write_text(NOT_OK)
    job.start("schedule", EVENTS.schedule())
    job.set({"GITHUB_SHA": story.base})
    assert job.all() == (0, 0, 1), job.log
    assert "The code is the base's own" in job.summary
    assert "the provider" in job.summary


def test_fork__what_was_run_again_is_handed_over_and_decides_there(job: Job, tmp_path: Path) -> None:
    provider = tmp_path / "provider"
    provider.write_text("ok")
    story = Story(tmp_path, job.double, job, PROVIDER.format(str(provider)))
    provider.write_text(NOT_OK)
    head = story.open(notes="of no matter")
    job.double.read_only = True
    assert job.all() == (0, 0, 0), job.log
    job.double.read_only = False
    files = {p.name: p.read_bytes() for p in job.handover.iterdir()}
    assert json.loads(files["confirmation.json"])["head"]["commit"] == head
    for handed, verdict, code in ((files, "INCONCLUSIVE", 0), (files | {"confirmation.json": b"{"}, "FAIL", 2)):
        run = job.double.add_run(head, "feature", job.double.repository, event="pull_request")
        job.double.add_artifact(run.id, "agent-chaos-gate-default", handed)
        payload = EVENTS.workflow_run(run_id=run.id, head_sha=head, head_branch="feature", base_sha="")
        job.start("workflow_run", payload, comment="always")
        assert job.all() == (0, 0, code), job.log
        if code == 0:
            assert verdict in job.double.comments(7)[0].body
