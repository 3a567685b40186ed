"""The other workflows of the README, run as they stand there: two jobs, a matrix, forks, a merge queue."""

import json
import shutil
from pathlib import Path

import pytest

from tests.double import GitHubDouble
from tests.double.events import Events
from tests.e2e.action import ROOT, UserRepository, agent, readme_workflow
from tests.steps import suite_report

ONE = ("control-guardrail-outage.yaml",)
STORE = "agent-chaos-baseline"


@pytest.mark.parametrize("name", ["plain", "two-jobs", "matrix", "fork-run", "fork-publish"])
def test_ready_file__is_the_text_of_the_readme(name: str) -> None:
    assert (ROOT / f"docs/workflows/{name}.yml").read_text(encoding="utf-8") == readme_workflow(name)


def test_two_jobs__one_runs_without_a_token_and_the_other_publishes(tmp_path: Path) -> None:
    with GitHubDouble() as double:
        user = UserRepository(tmp_path / "repo", double)
        first = user.create("hardened", ONE, readme_workflow("two-jobs"))
        outcome = user.run("push", Events(double.repository).push(created=True, after=first))
        assert outcome.green, outcome.log
        assert f"v1/default/{first[:2]}/{first}.json" in double.branch_files(STORE)
        assert double.check_runs(first)[0].conclusion == "neutral"
        report = json.loads((user.artifacts / "agent-chaos-gate-report/report.json").read_text())
        assert report["commit"] == first
        double.check()


def test_matrix__legs_run_side_by_side_and_one_job_judges(tmp_path: Path) -> None:
    with GitHubDouble() as double:
        user = UserRepository(tmp_path / "repo", double)
        user.create("hardened", ("control-guardrail-dos.yaml", *ONE), readme_workflow("matrix"))
        for folder, file in (("security", ONE[0]), ("availability", "control-guardrail-dos.yaml")):
            (user.path / "experiments" / folder).mkdir()
            shutil.move(user.path / "experiments" / file, user.path / "experiments" / folder / file)
        head = user.commit({}, "two suites")
        double.open_pull(7, "main", head, "main", head)
        payload = Events(double.repository).pull_request(base_sha=head, head_sha=head)
        outcome = user.run("pull_request", payload)
        assert outcome.green, outcome.log
        assert {p.name for p in user.artifacts.iterdir()} == {
            "agent-chaos-gate-security",
            "agent-chaos-gate-availability",
        }
        [comment] = double.comments(7)
        assert comment.body.startswith("ℹ️ **NO BASE**")
        [check] = double.check_runs(head)
        assert check.conclusion == "neutral"
        legs = [json.loads((p / "report.json").read_text()) for p in user.artifacts.iterdir()]
        assert sorted(len(leg["experiments"]) for leg in legs) == [1, 1]
        assert " runs of 2 experiment(s)" in outcome.log
        double.check()


def test_fork__two_workflows(tmp_path: Path) -> None:
    with GitHubDouble() as double:
        events = Events(double.repository)
        user = UserRepository(tmp_path / "repo", double)
        first = user.create("hardened", ONE, readme_workflow("fork-run"))
        user.switch("feature")
        head = user.commit({"notes.md": "one"}, "from a fork")
        double.open_pull(7, "main", first, "feature", head, head_repo="someone/travel-agent")
        double.read_only = True
        payload = events.pull_request(base_sha=first, head_sha=head, head_repo="someone/travel-agent")
        outcome = user.run("pull_request", payload)
        assert outcome.green, outcome.log
        assert double.comments(7) == []
        assert "::notice" not in outcome.log

        double.read_only = False
        run = double.add_run(head, "feature", "someone/travel-agent", event="pull_request")
        left = user.artifacts / "agent-chaos-gate-default"
        double.add_artifact(run.id, left.name, {p.name: p.read_bytes() for p in left.iterdir()})
        user.git("switch", "--quiet", "main")
        user.commit(
            {".github/workflows/gate.yml": readme_workflow("fork-publish"), "my_agent.py": agent("naive")}, "two"
        )
        payload = events.workflow_run(
            run_id=run.id, head_sha=head, head_branch="feature", head_repo="someone/travel-agent"
        )
        outcome = user.run("workflow_run", payload)
        assert outcome.green, outcome.log
        assert double.comments(7)[0].body.startswith("ℹ️ **NO BASE**")
        assert double.check_runs(head)[0].conclusion == "neutral"
        double.check()


def test_merge_queue__is_judged_by_the_plain_workflow(tmp_path: Path) -> None:
    with GitHubDouble() as double:
        user = UserRepository(tmp_path / "repo", double)
        first = user.create("hardened", ONE, readme_workflow("plain"))
        outcome = user.run("merge_group", Events(double.repository).merge_group(base_sha=first, head_sha=first))
        assert outcome.green, outcome.log
        assert double.check_runs(first)[0].conclusion == "neutral"
        assert double.calls("*", "/(comments|pulls)") == []
        double.check()


def test_base_file__of_the_base_commit_judges_a_pull_request_that_brings_its_own(tmp_path: Path) -> None:
    strong, weak = (suite_report("", passes) for passes in (40, 0))
    with GitHubDouble() as double:
        user = UserRepository(tmp_path / "repo", double)
        workflow = readme_workflow("plain").replace("target:", "baseline: file:base.json\n          target:")
        user.create("hardened", ONE, workflow)
        base = user.commit({"base.json": strong.to_json()}, "a base")
        user.switch("feature")
        head = user.commit({"base.json": weak.to_json()}, "a base of my own")
        double.open_pull(7, "main", base, "feature", head)
        outcome = user.run("pull_request", Events(double.repository).pull_request(base_sha=base, head_sha=head))
        assert not outcome.green
        [comment] = double.comments(7)
        assert "2 missing experiments or probes" in comment.body, comment.body
        double.check()
