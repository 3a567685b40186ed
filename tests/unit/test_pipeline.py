"""The three steps of the action on every event, against the double: who is told what, and with which exit code."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gate.policy import Policy
from gate.render.marker import Marker
from tests import builders
from tests.double import GitHubDouble
from tests.double.events import DEPENDABOT, Events, runner_environment
from tests.steps import EVENTS, TOKEN, Job, experiment_report, pull, suite_report

STORE = "agent-chaos-baseline"
LISTS = """
removed: [{name: beta, reason: tool is gone}]
known_findings: [{probe: alpha/leak, reason: fix is on its way, expires: "DAY"}]
"""


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    with GitHubDouble() as double:
        yield Job(tmp_path, double, monkeypatch)
        double.check()
        assert {r.token for r in double.requests} <= {TOKEN, None}


def start_pull(job: Job, base: str, head: str, *, head_repo: str = "", **inputs: str) -> None:
    payload = EVENTS.pull_request(base_sha=base, head_sha=head, head_repo=head_repo)
    job.start("pull_request", payload, **inputs)


# --- pull requests ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passes", "code", "conclusion", "verdict"),
    [(40, 0, "success", "pass"), (20, 1, "failure", "fail"), (38, 0, "neutral", "inconclusive")],
    ids=["unchanged", "worse", "undecided"],
)
def test_pull_request__comment_check_and_exit_code_agree(
    job: Job, passes: int, code: int, conclusion: str, verdict: str
) -> None:
    base, head = pull(job.double)
    job.store(suite_report(base))
    start_pull(job, base, head, comment="always")
    assert job.judge(suite_report(head, passes)) == code
    [check] = job.double.check_runs(head)
    assert (check.status, check.conclusion) == ("completed", conclusion)
    assert len(job.double.comments(7)) == 1
    assert job.outputs["verdict"] == verdict
    assert job.outputs["blocks"] == str(bool(code)).lower()
    assert job.outputs["base-sha"] == base
    assert len(job.double.requests) <= 15
    assert not job.double.calls("*", "^(?!.*(git|check-runs|comments|pulls/7)).*$")


def test_pull_request__rows_look_back_on_what_was_stored(job: Job) -> None:
    base, head = pull(job.double)
    for number, passes in enumerate((38, 39, 40)):
        job.store(suite_report(base, passes), run_id=number + 1)
    start_pull(job, base, head)
    assert job.judge(suite_report(head)) == 0
    rows = json.loads((job.results / "comparison.json").read_text())["rows"]
    assert [c["passes"] for c in rows[0]["history"]] == [38, 39, 40]
    assert "38/40" not in job.summary and "95–100 % in 3 reports" in (job.results / "report.html").read_text()


def test_pull_request__a_history_that_cannot_be_read_is_left_out_and_told(job: Job) -> None:
    base, head = pull(job.double)
    job.store(suite_report(base))
    files = job.double.branch_files(STORE)
    job.double.commit_files(STORE, {**files, "v1/default/history/main.json": b"{}"})
    start_pull(job, base, head)
    assert job.judge(suite_report(head)) == 0
    assert job.outputs["verdict"] == "pass"
    assert "::notice title=agent-chaos-gate::no history is shown: " in job.log


def test_pull_request__never_stores_a_base(job: Job) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head)
    assert job.judge(suite_report(head)) == 0
    assert job.double.branch_head(STORE) is None


@pytest.mark.parametrize("passes", [40, 20])
@pytest.mark.parametrize("who", ["fork", "dependabot"])
def test_read_only_token__verdict_stays_and_a_notice_names_the_permission(job: Job, who: str, passes: int) -> None:
    base, head = pull(job.double, head_repo="someone/travel-agent" if who == "fork" else "")
    job.store(suite_report(base))
    payload = EVENTS.pull_request(
        base_sha=base,
        head_sha=head,
        head_repo="someone/travel-agent" if who == "fork" else "",
        author="someone" if who == "fork" else DEPENDABOT,
    )
    job.start("pull_request", payload, comment="always")
    job.double.read_only = True
    assert job.judge(suite_report(head, passes)) == int(passes == 20)
    assert job.double.comments(7) == []
    assert job.double.check_runs() == []
    notices = [line for line in job.said if line.startswith("::notice")]
    assert sum("checks: write" in n for n in notices) == 2  # when it was opened and when it was completed
    assert sum("the comment was not written" in n and "write`" in n for n in notices) == 1
    assert {p.name for p in job.handover.iterdir()} == {"report.json", "comparison.json", "confirmation.json"}
    assert ("**FAIL**" if passes == 20 else "**PASS**") in job.summary


def test_read_only_token__publish_required_turns_it_into_an_error(job: Job) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head, publish_required="true", comment="always")
    job.double.read_only = True
    assert job.judge(suite_report(head)) == 4
    assert "checks: write" in job.log
    assert "publish-required" in job.log


def test_locked_conversation__verdict_stays(job: Job) -> None:
    base, head = pull(job.double)
    job.double.lock_pull(7)
    start_pull(job, base, head, comment="always")
    assert job.judge(suite_report(head)) == 0
    assert "locked" in job.log
    assert job.double.check_runs(head)[0].conclusion == "neutral"


@pytest.mark.parametrize("limit", ["too_many_requests", "secondary_limit", "primary_limit"])
def test_rate_limits_while_publishing__verdict_stays(job: Job, limit: str) -> None:
    base, head = pull(job.double)
    job.store(suite_report(base))
    start_pull(job, base, head, comment="always", check_run="false")
    getattr(job.double, limit)(
        "POST", "/comments$", times=None, **({} if "primary" in limit else {"retry_after_s": 600})
    )
    assert job.judge(suite_report(head, 20)) == 1
    assert job.double.comments(7) == []
    assert "the comment was not written" in job.log


def test_deleted_fork__runs_and_compares(job: Job) -> None:
    base, head = pull(job.double)
    payload = EVENTS.pull_request(base_sha=base, head_sha=head, head_repo=None)
    job.start("pull_request", payload)
    assert job.judge(suite_report(head)) == 0


def test_closed__does_nothing_and_calls_nobody(job: Job) -> None:
    job.start("pull_request", EVENTS.pull_request("closed"))
    assert job.all() == (0, 0, 0)
    assert job.double.requests == []
    assert "pull request 7 is closed" in job.log


@pytest.mark.parametrize("event", ["pull_request_target", "issue_comment"])
def test_dangerous_event__is_refused_with_the_recipe(job: Job, event: str) -> None:
    job.start(event, getattr(EVENTS, event)())
    assert job.all() == (2, 0, None)
    assert "two workflows" in job.log
    assert job.double.requests == []


def test_newer_head__its_comment_is_not_overwritten(job: Job) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head, comment="always")
    assert job.step("prepare") == 0
    newer = job.double.commit_files("feature", {"agent.py": b"3"}, parents=[head])
    job.double.move_pull(7, newer)
    comment = job.double.add_comment(7, f"newer\n\n{Marker('default', newer, 900, 1)}", "github-actions[bot]")
    job.results.mkdir()
    (job.results / "report.json").write_text(suite_report(head).to_json())
    assert job.step("publish") == 0
    assert [c.body for c in job.double.comments(7)] == [comment.body]
    assert "newer head" in job.log
    assert job.double.check_runs(head)[0].conclusion == "neutral"


def test_second_attempt__edits_comment_and_check_of_the_first(job: Job) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head, comment="always")
    job.judge(suite_report(head))
    payload = EVENTS.pull_request(base_sha=base, head_sha=head)
    job.start("pull_request", payload, comment="always")
    job.set({"GITHUB_RUN_ATTEMPT": "2"})
    job.judge(suite_report(head, 39))
    assert len(job.double.comments(7)) == 1
    [check] = job.double.check_runs(head)
    assert job.outputs["check"] == str(check.id)


def test_base__only_on_an_ancestor_with_its_age_shown(job: Job) -> None:
    first = job.double.commit_files("main", {"agent.py": b"1"})
    middle = job.double.commit_files("main", {"notes.md": b"1"})
    base = job.double.commit_files("main", {"notes.md": b"2"})
    head = job.double.commit_files("feature", {"agent.py": b"2"}, parents=[base])
    job.double.open_pull(7, "main", base, "feature", head)
    job.store(suite_report(first))
    start_pull(job, base, head, comment="always")
    assert job.judge(suite_report(head)) == 0
    assert job.outputs["base-sha"] == first
    assert len(job.double.requests) <= 15
    state = job.read_state()
    assert (state["age_commits"], state["notices"][0]["kind"]) == (2, "base_is_ancestor")
    [comment] = job.double.comments(7)
    assert "2 commits" in comment.body
    assert middle not in comment.body


def test_base__unrelated_latest_comes_with_a_warning(job: Job) -> None:
    base, head = pull(job.double)
    job.store(suite_report("9" * 40))
    start_pull(job, base, head)
    assert job.judge(suite_report(head)) == 0
    assert job.read_state()["notices"][0]["kind"] == "base_is_latest"


def test_base__its_policy_counts_on_a_pull_request(job: Job) -> None:
    base, head = pull(job.double)
    job.store(suite_report(base))
    start_pull(job, base, head, on_regression="warn")
    relaxed = builders.POLICY.model_copy(update={"on_regression": "warn"})
    assert job.judge(suite_report(head, 20, policy=relaxed)) == 1


def test_base__unreadable_on_github_is_no_verdict(job: Job) -> None:
    base, head = pull(job.double)
    job.store(suite_report(base))
    start_pull(job, base, head)
    job.double.forbid("GET", "/git/ref/")
    assert job.all() == (4, 0, None)


FILE = "gate/base.json"


def pull_with_file(job: Job, passes: int | None, head_repo: str = "") -> tuple[str, str]:
    """Open a pull request that brings a base file of its own, on a commit that has another one (None: has none)."""
    report = None if passes is None else suite_report("", passes).to_json().encode()
    base = job.double.commit_files("main", {"agent.py": b"1"} | ({FILE: report} if report else {}))
    own = suite_report("", 0).to_json()
    head = job.double.commit_files("feature", {FILE: own.encode()}, parents=[base])
    job.double.open_pull(7, "main", base, "feature", head, head_repo=head_repo)
    (job.workspace / FILE).parent.mkdir()
    (job.workspace / FILE).write_text(own)
    return base, head


@pytest.mark.parametrize(
    ("passes", "code", "verdict"), [(40, 1, "fail"), (None, 0, "no_base")], ids=["file in base", "none in base"]
)
@pytest.mark.parametrize("event", ["pull_request", "merge_group"])
def test_base_file__is_that_of_the_base_commit(
    job: Job, event: str, passes: int | None, code: int, verdict: str
) -> None:
    base, head = pull_with_file(job, passes)
    payload = getattr(EVENTS, event)(base_sha=base, head_sha=head)
    job.start(event, payload, baseline=f"file:./gate/../{FILE}")
    assert job.judge(suite_report(head, 20)) == code
    assert job.outputs["verdict"] == verdict
    assert len(job.double.requests) <= 15


@pytest.mark.parametrize("where", ["checkout of a push", "outside of the checkout"])
def test_base_file__elsewhere_is_read_where_it_lies(job: Job, where: str) -> None:
    base, head = pull_with_file(job, None)
    path = job.folder / "base.json"
    path.write_text(suite_report("", 40).to_json())
    if where == "checkout of a push":
        path = path.rename(job.workspace / "base.json")
        payload = EVENTS.push(before=base, after=head)
    else:
        payload = EVENTS.pull_request(base_sha=base, head_sha=head)
    job.start("push" if "push" in where else "pull_request", payload, baseline=f"file:{path}")
    assert job.judge(suite_report(head, 20)) == 1
    assert job.outputs["regressions"] == "1"


def test_base_file__of_a_commit_that_the_token_cannot_read_is_no_verdict(job: Job) -> None:
    base, head = pull_with_file(job, 40)
    start_pull(job, base, head, baseline=f"file:{FILE}")
    job.double.forbid("GET", "/git/trees/")
    assert job.all() == (4, 0, None)


def test_lists__of_the_configuration_reach_the_comment(job: Job) -> None:
    day = (datetime.now(UTC).date() + timedelta(300)).isoformat()
    base, head = pull(job.double)
    job.store(suite_report(base))
    (job.workspace / "chaos-gate.yaml").write_text(LISTS.replace("DAY", day))
    start_pull(job, base, head)
    leak = builders.probe(0, 40, id_="leak", severity="critical")
    alpha = builders.experiment("alpha", builders.probe(40, 40), leak)
    code = job.judge(builders.report(alpha, commit=head))
    assert job.read_state()["removed"] == [{"name": "beta", "reason": "tool is gone"}]
    assert job.read_state()["known_findings"][0]["expires"] == day
    assert code == 0, job.log
    assert "tool is gone" in job.double.comments(7)[0].body
    assert "fix is on its way" in job.double.comments(7)[0].body
    assert job.outputs["missing"] == "0"


# --- other events ----------------------------------------------------------------------------------------------------


def test_push__to_the_default_branch_stores_also_when_it_fails(job: Job) -> None:
    before = job.double.commit_files("main", {"agent.py": b"1"})
    after = job.double.commit_files("main", {"agent.py": b"2"})
    job.store(suite_report(before))
    job.start("push", EVENTS.push(before=before, after=after))
    assert job.judge(suite_report(after, 20)) == 1
    assert f"v1/default/{after[:2]}/{after}.json" in job.double.branch_files(STORE)
    assert job.double.check_runs(after)[0].conclusion == "failure"
    assert job.double.calls("*", "/comments") == []


def test_push__to_another_branch_compares_and_stores_nothing(job: Job) -> None:
    base = job.double.commit_files("main", {"agent.py": b"1"})
    after = job.double.commit_files("feature", {"agent.py": b"2"}, parents=[base])
    job.store(suite_report(base))
    job.start("push", EVENTS.push("refs/heads/feature", before=base, after=after))
    assert job.judge(suite_report(after)) == 0
    assert job.outputs["base-sha"] == base
    assert f"v1/default/{after[:2]}/{after}.json" not in job.double.branch_files(STORE)


def test_push__to_a_tracked_branch_stores(job: Job) -> None:
    after = job.double.commit_files("release", {"agent.py": b"2"})
    (job.workspace / "chaos-gate.yaml").write_text("tracked: [release]\n")
    job.start("push", EVENTS.push("refs/heads/release", created=True, after=after))
    assert job.judge(suite_report(after)) == 0
    assert "v1/default/history/release.json" in job.double.branch_files(STORE)


def test_push__to_a_protected_store_is_an_error_that_names_the_way_out(job: Job) -> None:
    after = job.double.commit_files("main", {"agent.py": b"1"})
    job.double.protect_branch(STORE)
    job.start("push", EVENTS.push(created=True, after=after))
    assert job.judge(suite_report(after)) == 4
    assert "rulesets" in job.log
    assert job.outputs["verdict"] == "no_base"


def test_merge_group__compares_with_its_base_and_does_not_comment(job: Job) -> None:
    base, head = pull(job.double)
    job.store(suite_report(base))
    job.start("merge_group", EVENTS.merge_group(base_sha=base, head_sha=head))
    assert job.judge(suite_report(head, 20)) == 1
    assert job.double.check_runs(head)[0].conclusion == "failure"
    assert job.double.calls("*", "/(comments|pulls)") == []


def test_schedule__compares_with_the_latest_and_adds_a_sample(job: Job) -> None:
    sha = job.double.commit_files("main", {"agent.py": b"1"})
    job.store(suite_report(sha))
    job.start("schedule", EVENTS.schedule())
    job.set({"GITHUB_SHA": sha})
    assert job.judge(suite_report(sha, 20)) == 1
    stored = json.loads(job.double.branch_files(STORE)[f"v1/default/{sha[:2]}/{sha}.json"])
    assert len(stored["samples"]) == 2


@pytest.mark.parametrize("mode", ["auto", "record"])
def test_workflow_dispatch__stores_only_when_asked(job: Job, mode: str) -> None:
    sha = job.double.commit_files("main", {"agent.py": b"1"})
    job.start("workflow_dispatch", EVENTS.workflow_dispatch(), mode=mode)
    job.set({"GITHUB_SHA": sha})
    assert job.judge(suite_report(sha)) == 0
    assert (job.double.branch_head(STORE) is not None) == (mode == "record")


def test_workflow_dispatch__compares_with_the_input_base(job: Job) -> None:
    old = job.double.commit_files("main", {"agent.py": b"1"})
    new = job.double.commit_files("main", {"agent.py": b"2"})
    job.store(suite_report(old), run_id=1)
    job.store(suite_report(new), run_id=2)
    job.start("workflow_dispatch", EVENTS.workflow_dispatch(inputs={"base": old}))
    job.set({"GITHUB_SHA": new})
    assert job.judge(suite_report(new)) == 0
    assert job.outputs["base-sha"] == old


def test_unknown_event__needs_a_mode(job: Job) -> None:
    payload = EVENTS.workflow_dispatch()
    job.start("repository_dispatch", payload)
    assert job.step("prepare") == 2
    job.start("repository_dispatch", payload, mode="gate")
    assert job.step("prepare") == 0


# --- forks: the second workflow --------------------------------------------------------------------------------------


def hand_over(job: Job, files: dict[str, bytes], head: str, conclusion: str = "success", **inputs: str) -> None:
    """Begin the second workflow after a fork's run left these files."""
    run = job.double.add_run(head, "feature", "someone/travel-agent", event="pull_request")
    if files:
        job.double.add_artifact(run.id, "agent-chaos-gate-default", files)
    payload = EVENTS.workflow_run(
        run_id=run.id,
        head_sha=head,
        head_branch="feature",
        head_repo="someone/travel-agent",
        conclusion=conclusion,
        base_sha="",
    )
    job.start("workflow_run", payload, comment="always", **inputs)


def fork_run(job: Job, passes: int) -> tuple[str, str, dict[str, bytes]]:
    """Let a fork's pull request run with a read-only token; return base, head and what it handed over."""
    base, head = pull(job.double, head_repo="someone/travel-agent")
    job.store(suite_report(base))
    start_pull(job, base, head, head_repo="someone/travel-agent")
    job.double.read_only = True
    job.judge(suite_report(head, passes))
    job.double.read_only = False
    return base, head, {p.name: p.read_bytes() for p in job.handover.iterdir()}


@pytest.mark.parametrize(("passes", "code"), [(40, 0), (20, 1)])
def test_workflow_run__publishes_what_the_fork_found(job: Job, passes: int, code: int) -> None:
    base, head, files = fork_run(job, passes)
    hand_over(job, files, head, "failure" if code else "success")
    assert job.all() == (0, 0, code)
    [comment] = job.double.comments(7)
    assert comment.body.startswith("❌ **FAIL**" if code else "✅ **PASS**")
    assert job.double.check_runs(head)[0].conclusion == ("failure" if code else "success")
    assert job.outputs["base-sha"] == base
    assert job.double.branch_files(STORE).keys() == {
        f"v1/default/{base[:2]}/{base}.json",
        "v1/default/history/main.json",
    }


def test_workflow_run__takes_the_base_file_of_the_base_commit(job: Job) -> None:
    base, head = pull_with_file(job, 40, "someone/travel-agent")
    start_pull(job, base, head, head_repo="someone/travel-agent", mode="gate", baseline=f"file:{FILE}")
    job.judge(suite_report(head, 20))
    files = {p.name: p.read_bytes() for p in job.handover.iterdir()}
    hand_over(job, files, head, "failure", baseline=f"file:{FILE}")
    assert job.all() == (0, 0, 1)
    assert job.outputs["regressions"] == "1"


def test_workflow_run__believes_no_number_sha_verdict_or_policy(job: Job) -> None:
    _, head, files = fork_run(job, 20)
    other = job.double.commit_files("other", {"agent.py": b"5"})
    job.double.open_pull(8, "main", other, "other", other)
    report, comparison = json.loads(files["report.json"]), json.loads(files["comparison.json"])
    report |= {"commit": other, "pull_request": 8, "policy": Policy(on_regression="warn").model_dump()}  # type: ignore[call-arg]
    comparison |= {"verdict": "pass", "blocks": False, "exit_code": 0, "rows": []}
    lies = {"report.json": json.dumps(report).encode(), "comparison.json": json.dumps(comparison).encode()}
    hand_over(job, lies, head)
    assert job.all() == (0, 0, 1)
    assert job.double.comments(7)[0].body.startswith("❌ **FAIL**")
    assert job.double.comments(8) == []
    assert job.double.check_runs(other) == []


def test_workflow_run__impossible_counts_are_refused(job: Job) -> None:
    _, head, files = fork_run(job, 40)
    report = json.loads(files["report.json"])
    report["experiments"][0]["probes"][0]["passes"] = 41
    hand_over(job, files | {"report.json": json.dumps(report).encode()}, head)
    assert job.all() == (2, 0, None)
    assert "more passes than runs" in job.log
    assert job.double.comments(7) == []


@pytest.mark.parametrize(("conclusion", "code"), [("success", 0), ("failure", 4)])
def test_workflow_run__without_an_artifact(job: Job, conclusion: str, code: int) -> None:
    _, head, _ = fork_run(job, 40)
    hand_over(job, {}, head, conclusion)
    assert job.step("prepare") == code
    assert "no artifact agent-chaos-gate-default" in job.log


def test_workflow_run__of_a_head_that_moved_on(job: Job) -> None:
    _, head, files = fork_run(job, 40)
    job.double.move_pull(7, job.double.commit_files("feature", {"agent.py": b"9"}, parents=[head]))
    hand_over(job, files, head)
    assert job.all() == (0, 0, 0)
    assert job.double.comments(7) == []


# --- a run step without a report -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        ('{"exit_code": 2, "message": "experiments/x.yaml: line 3"}', 2),
        ('{"exit_code": 4, "message": "the agent does not start"}', 4),
        ('{"exit_code": 0, "message": "all fine"}', 4),
        ('{"exit_code": 1, "message": "```\\n# hi @octocat ![x](http://x)"}', 4),
        (None, 4),
    ],
    ids=["usage", "environment", "lies", "markdown", "nothing"],
)
def test_no_report__completes_the_check_and_is_red(job: Job, failure: str | None, code: int) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head)
    assert job.judge(failure=failure) == code
    [check] = job.double.check_runs(head)
    assert (check.status, check.conclusion) == ("completed", "failure")
    assert check.title == "No verdict: this blocks the merge"
    assert (check.summary or "").count("```") == 2
    assert "No verdict" in job.summary


@pytest.mark.parametrize(
    "report",
    [b"", b"{", b'{"schema_version": 1}', b"[" * 100_000, b"\xff\xfe"],
    ids=["empty", "cut", "shape", "deep", "bytes"],
)
def test_hostile_report__completes_the_check_and_is_red(job: Job, report: bytes) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head)
    job.step("prepare")
    job.results.mkdir()
    (job.results / "report.json").write_bytes(report)
    assert job.step("publish") == 2
    assert job.double.check_runs(head)[0].conclusion == "failure"
    assert job.double.comments(7) == []


def test_hostile_failure__is_red(job: Job) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head)
    assert job.judge(failure="{") == 4
    assert job.double.check_runs(head)[0].conclusion == "failure"


def test_report_of_another_commit__is_refused(job: Job) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head)
    assert job.judge(suite_report(base)) == 2
    assert job.double.check_runs(head)[0].conclusion == "failure"


def test_cancelled_job__completes_its_check(job: Job) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head, job_status="cancelled")
    assert job.judge() == 4
    [check] = job.double.check_runs(head)
    assert (check.status, check.conclusion) == ("completed", "cancelled")


# --- GHES ------------------------------------------------------------------------------------------------------------


def test_ghes__calls_its_api_and_links_its_pages(job: Job) -> None:
    base, head = pull(job.double)
    job.store(suite_report(base))
    events = Events(server="https://git.example.com")
    payload = events.pull_request(base_sha=base, head_sha=head)
    job.start("pull_request", payload, comment="always")
    job.set(runner_environment("pull_request", payload, api_url=job.double.ghes_url))
    assert job.judge(suite_report(head, 20)) == 1
    assert {r.prefix for r in job.double.requests} == {"/api/v3"}
    [comment] = job.double.comments(7)
    assert "https://git.example.com/octo-org/travel-agent/" in comment.body
    assert "github.com/" not in comment.body.replace("git.example.com", "")


# --- relevance -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "relevant"),
    [
        ("agent.py", True),
        ("src/** !src/docs/**", False),
        ("docs", False),
        ("**", True),
        ("*.py", True),
        ("** !agent.py", False),
    ],
)
def test_paths__decide_whether_anything_runs(job: Job, paths: str, relevant: bool) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head, paths=paths)
    assert job.step("prepare") == 0
    [check] = job.double.check_runs(head)
    assert check.status == ("in_progress" if relevant else "completed")
    if not relevant:
        assert (check.conclusion, check.title) == ("success", "Not relevant: no changed file matches `paths`")
        assert (job.step("run"), job.step("publish")) == (0, 0)
        assert job.outputs == {"verdict": "not_relevant", "blocks": "false"}


@pytest.mark.parametrize("name", ["chaos-gate.yaml", "experiments/a/new.yaml"])
def test_paths__what_the_gate_itself_reads_is_always_relevant(job: Job, name: str) -> None:
    base = job.double.commit_files("main", {"agent.py": b"1"})
    head = job.double.commit_files("feature", {name: b"{}"}, parents=[base])
    job.double.open_pull(7, "main", base, "feature", head)
    start_pull(job, base, head, paths="src")
    job.step("prepare")
    assert job.read_state()["job"] == "gate"


def test_paths__of_a_merge_group(job: Job) -> None:
    base, head = pull(job.double)
    job.start("merge_group", EVENTS.merge_group(base_sha=base, head_sha=head), paths="docs")
    job.step("prepare")
    assert job.read_state()["job"] == "nothing"


def test_paths__unknown_files_are_relevant(job: Job) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head, paths="docs")
    job.double.forbid("GET", "/pulls/7/files")
    assert job.step("prepare") == 0
    assert job.read_state()["job"] == "gate"
    assert "::notice" in job.log


# --- modes -----------------------------------------------------------------------------------------------------------


def test_mode_gate__judges_and_writes_nothing(job: Job) -> None:
    base, head = pull(job.double)
    job.store(suite_report(base))
    start_pull(job, base, head, mode="gate", comment="always")
    assert job.judge(suite_report(head, 20)) == 1
    assert {r.method for r in job.double.requests} == {"GET"}
    assert "**FAIL**" in job.summary


def test_mode_run__leaves_a_report_and_calls_nobody(job: Job) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head, mode="run")
    assert job.judge(suite_report(head)) == 0
    assert job.double.requests == []
    assert job.outputs.keys() == {"report-path"}
    assert [p.name for p in job.handover.iterdir()] == ["report.json"]


def leg(job: Job, name: str, head: str, passes: int = 40) -> None:
    report = builders.report(experiment_report(name, passes), commit=head)
    path = job.workspace / "reports" / name / "report.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report.to_json())


@pytest.mark.parametrize("mode", ["auto", "publish"])
def test_reports__of_other_jobs_are_merged_and_judged(job: Job, mode: str) -> None:
    base, head = pull(job.double)
    job.store(suite_report(base))
    leg(job, "alpha", head)
    leg(job, "beta", head, 20)
    start_pull(job, base, head, reports="reports/**/report.json", mode=mode)
    assert job.all() == (0, 0, 1)
    assert job.double.comments(7)[0].body.startswith("❌ **FAIL**")
    assert job.outputs["regressions"] == "1"


def test_reports__a_leg_that_is_missing_blocks(job: Job) -> None:
    base, head = pull(job.double)
    job.store(suite_report(base))
    leg(job, "alpha", head)
    start_pull(job, base, head, reports="reports/**/report.json")
    assert job.all() == (0, 0, 1)
    assert job.outputs["missing"] == "1"


def test_reports__none_is_no_verdict(job: Job) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head, reports="reports/**/report.json")
    assert job.all() == (0, 4, 4)
    assert job.double.check_runs(head)[0].conclusion == "failure"


def test_reports__that_conflict_are_refused(job: Job) -> None:
    base, head = pull(job.double)
    leg(job, "alpha", head)
    leg(job, "beta", base)
    start_pull(job, base, head, reports="reports/**/report.json")
    assert job.all() == (0, 2, 2)
    assert "has another commit" in job.log


def junit(job: Job, name: str, passes: int, test: str = "test_refund") -> None:
    """Write the JUnit file of one test that pytest-repeat ran 40 times."""
    cases = [f'<testcase name="{test}[{n}-40]">{"" if n <= passes else "<failure/>"}</testcase>' for n in range(1, 41)]
    path = job.workspace / "reports" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")


@pytest.mark.parametrize(("passes", "code", "verdict"), [(40, 0, "pass"), (20, 1, "fail")], ids=["unchanged", "worse"])
def test_reports__of_another_tool_are_stored_and_judged(job: Job, passes: int, code: int, verdict: str) -> None:
    base = job.double.commit_files("main", {"agent.py": b"1"})
    junit(job, "refund.xml", 40)
    job.start("push", EVENTS.push(after=base), reports="reports/*.xml")
    assert job.all() == (0, 0, 0)
    head = job.double.commit_files("feature", {"agent.py": b"2"}, parents=[base])
    job.double.open_pull(7, "main", base, "feature", head)
    junit(job, "refund.xml", passes)
    start_pull(job, base, head, reports="reports/*.xml", comment="always")
    assert job.all() == (0, 0, code)
    assert (job.outputs["verdict"], job.outputs["base-sha"]) == (verdict, base)
    assert "JUnit XML: no thresholds, severities, seeds or commit in the file" in job.double.comments(7)[0].body


def test_reports__of_another_tool_are_merged_with_their_own_kind_only(job: Job) -> None:
    base, head = pull(job.double)
    junit(job, "a.xml", 40)
    junit(job, "b.xml", 40, test="test_lookup")
    start_pull(job, base, head, reports="reports/*")
    assert job.all() == (0, 0, 0)
    leg(job, "alpha", head)
    start_pull(job, base, head, reports="reports/*.xml reports/**/*.json")
    assert job.all() == (0, 2, 2)
    assert "has another tool than" in job.log


def test_reports__that_cannot_be_read_are_no_verdict(job: Job) -> None:
    base, head = pull(job.double)
    junit(job, "a.xml", 40)
    (job.workspace / "reports/b.xml").write_text("<testsuites><testsuite>")
    start_pull(job, base, head, reports="reports/*.xml")
    assert job.all() == (0, 2, 2)
    assert "b.xml:1: not well-formed XML" in job.log
    assert job.double.check_runs(head)[0].conclusion == "failure"


def test_tool__that_changes_is_refused_in_a_pull_request_and_a_new_start_on_the_branch(job: Job) -> None:
    base, head = pull(job.double)
    job.store(suite_report(base))
    junit(job, "a.xml", 40)
    start_pull(job, base, head, reports="reports/*.xml")
    assert job.all() == (0, 0, 2)
    assert "base was written by agent-chaos-gate, head by JUnit XML" in job.log
    merged = job.double.commit_files("main", {"agent.py": b"2"}, parents=[base])
    job.start("push", EVENTS.push(after=merged), reports="reports/*.xml")
    assert job.all() == (0, 0, 0)
    assert "nothing is compared" in job.log
    assert "stored as base of main" in job.log


@pytest.mark.parametrize(
    ("event", "inputs", "text"),
    [
        ("pull_request", {"mode": "publish"}, "has no reports"),
        ("pull_request", {"mode": "record"}, "nothing can be stored on pull_request"),
        ("pull_request", {"mode": "run", "reports": "x"}, "makes a report and takes none"),
        ("workflow_run", {"mode": "run"}, "nothing to do on workflow_run"),
    ],
)
def test_mode__that_makes_no_sense_is_refused(job: Job, event: str, inputs: dict[str, Any], text: str) -> None:
    job.start(event, getattr(EVENTS, event)(), **inputs)
    assert job.step("prepare") == 2
    assert text in job.log
