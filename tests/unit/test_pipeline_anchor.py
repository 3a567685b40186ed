"""The input `anchor`: a pinned report beside the base, from the tag to the comment, against the double."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.report import Report, Tool
from tests.double import GitHubDouble
from tests.steps import EVENTS, Job, experiment_report, git, pull, suite_report

STORE = "agent-chaos-baseline"


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    with GitHubDouble() as double:
        yield Job(tmp_path, double, monkeypatch)
        double.check()


def tagged(job: Job, report: Report | None, tag: str = "v1.0", *, annotated: bool = True) -> str:
    """Return a commit with a tag and, where one is given, a stored report; it is no ancestor of any other."""
    commit = job.double.commit_files("release", {"agent.py": tag.encode()})
    git(job.double.git.path, "tag", *(("--annotate", "--message", "one") if annotated else ()), tag, commit)
    if report is not None:
        job.store(report.model_copy(update={"commit": commit}), ref="release", run_id=7)
    return commit


def start_pull(job: Job, base: str, head: str, **inputs: str) -> None:
    job.start("pull_request", EVENTS.pull_request(base_sha=base, head_sha=head), **inputs)


def judged(job: Job, passes: int, *, base_passes: int = 33, **inputs: str) -> str:
    """Judge a pull request and return its comment."""
    base, head = pull(job.double)
    job.store(suite_report(base, base_passes))
    start_pull(job, base, head, **inputs)
    assert job.judge(suite_report(head, passes)) == 0, job.log
    [comment] = job.double.comments(7)
    return comment.body


# 33 -> 32 of 40 is nothing; 40 -> 32 is Fisher's level C(40,8)/C(80,8) = .003, the other probe costs nothing
WORSE = "- `alpha` · `output_matches()` — 40/40 (100 %) → 32/40 (80 %), p = .003"


@pytest.mark.parametrize("annotated", [True, False])
def test_pull_request__shows_what_is_worse_than_the_tag_and_blocks_nothing(job: Job, annotated: bool) -> None:
    commit = tagged(job, suite_report(""), annotated=annotated)
    body = judged(job, 32, anchor="v1.0")
    assert f"**Against the anchor** — `v1.0` at `{commit[:7]}`; only shown, blocks nothing" in body
    assert "- 1 worse: 2 of its 2 probes compared" in body
    assert WORSE in body
    assert WORSE in job.summary
    assert "40/40 (100 %) → 32/40 (80 %)" in (job.results / "report.html").read_text()
    told = json.loads((job.results / "comparison.json").read_text())
    assert (told["anchor"]["commit"], len(told["anchor"]["worse"])) == (commit, 1)
    assert (told["verdict"], told["blocks"], job.outputs["verdict"]) == ("inconclusive", False, "inconclusive")
    assert "::warning" not in job.log
    assert len(job.double.requests) <= 20


def test_pull_request__with_nothing_worse_says_so(job: Job) -> None:
    tagged(job, suite_report(""))
    assert "- nothing is worse: 2 of its 2 probes compared" in judged(
        job, 40, base_passes=40, anchor="v1.0", comment="always"
    )


@pytest.mark.parametrize(("passes", "comments"), [(380, 0), (400, 1)], ids=["as the anchor", "worse"])
def test_comment__of_a_pass_appears_for_what_is_worse(job: Job, passes: int, comments: int) -> None:
    tagged(job, suite_report("", passes, 400))
    base, head = pull(job.double)
    job.store(suite_report(base, 380, 400))
    start_pull(job, base, head, anchor="v1.0")
    assert job.judge(suite_report(head, 380, 400)) == 0
    assert job.outputs["verdict"] == "pass"
    assert len(job.double.comments(7)) == comments


def test_push__is_stored_as_without_an_anchor(job: Job) -> None:
    tagged(job, suite_report(""))
    before, after = pull(job.double)
    job.store(suite_report(before, 33))
    job.start("push", EVENTS.push(before=before, after=after), anchor="v1.0")
    assert job.judge(suite_report(after, 32)) == 0
    assert WORSE in job.summary
    assert f"stored as base of main in branch:{STORE}" in job.log


def test_schedule__compares_with_the_latest_and_with_the_tag(job: Job) -> None:
    tagged(job, suite_report(""))
    sha = job.double.commit_files("main", {"agent.py": b"1"})
    job.store(suite_report(sha, 33))
    job.start("schedule", EVENTS.schedule(), anchor="refs/tags/v1.0")
    job.set({"GITHUB_SHA": sha})
    assert job.judge(suite_report(sha, 32)) == 0
    assert job.outputs["base-sha"] == sha
    assert WORSE in job.summary


def test_no_base__is_shown_against_the_tag(job: Job) -> None:
    tagged(job, suite_report(""))
    base, head = pull(job.double)
    files = {p: t for p, t in job.double.branch_files(STORE).items() if "/history/" not in p}
    job.double.commit_files(STORE, dict.fromkeys(job.double.branch_files(STORE)) | files)
    start_pull(job, base, head, anchor="v1.0")
    assert job.judge(suite_report(head, 32)) == 0
    assert job.outputs["verdict"] == "no_base"
    assert WORSE in job.summary


def test_fork__is_shown_against_the_tag_by_the_second_workflow(job: Job) -> None:
    tagged(job, suite_report(""))
    base, head = pull(job.double, head_repo="someone/travel-agent")
    job.store(suite_report(base, 33))
    start_pull(job, base, head)
    job.judge(suite_report(head, 32))
    run = job.double.add_run(head, "feature", "someone/travel-agent", event="pull_request")
    files = {path.name: path.read_bytes() for path in job.handover.iterdir()}
    job.double.add_artifact(run.id, "agent-chaos-gate-default", files)
    payload = EVENTS.workflow_run(
        run_id=run.id, head_sha=head, head_branch="feature", head_repo="someone/travel-agent", base_sha=""
    )
    job.start("workflow_run", payload, anchor="v1.0")
    assert job.all() == (0, 0, 0)
    assert WORSE in job.double.comments(7)[0].body


FILE = "gate/base.json"


@pytest.mark.parametrize("event", ["pull_request", "push"])
def test_file_store__is_read_as_the_tag_has_it(job: Job, event: str) -> None:
    old = suite_report("a" * 40)
    commit = job.double.commit_files("main", {FILE: old.to_json().encode()})
    job.double.git.force_ref("refs/tags/v1.0", commit)
    newer = suite_report("b" * 40, 33)
    base = job.double.commit_files("main", {FILE: newer.to_json().encode()})
    head = job.double.commit_files("feature", {"agent.py": b"2"}, parents=[base])
    job.double.open_pull(7, "main", base, "feature", head)
    (job.workspace / FILE).parent.mkdir()
    (job.workspace / FILE).write_text(newer.to_json())
    shas = {"before": base, "after": head} if event == "push" else {"base_sha": base, "head_sha": head}
    job.start(event, getattr(EVENTS, event)(**shas), baseline=f"file:{FILE}", anchor="v1.0")
    assert job.judge(suite_report(head, 32)) == 0
    assert WORSE in job.summary
    assert "`v1.0` at `aaaaaaa`" in job.summary


# --- nothing to compare with: told, and nothing else changes -------------------------------------------------------


def assert_told(job: Job, body: str, text: str) -> None:
    """Assert that comment, job summary and log say why nothing was compared, and that the rest is as without."""
    assert text in body.replace("`", "")
    assert text in job.summary.replace("`", "")
    assert f"::warning title=agent-chaos-gate::anchor v1.0: {text}" in job.log
    assert (job.outputs["verdict"], job.outputs["blocks"]) == ("pass", "false")


def test_tag__that_is_not_there(job: Job) -> None:
    body = judged(job, 40, base_passes=40, anchor="v1.0")
    assert_told(job, body, "nothing is compared with it: there is no such tag")


def test_tag__of_something_that_is_no_commit(job: Job) -> None:
    git(job.double.git.path, "tag", "v1.0", job.double.git.write_blob(b"1"))
    body = judged(job, 40, base_passes=40, anchor="v1.0")
    assert_told(job, body, "nothing is compared with it: there is no such tag")


def test_tag__that_is_only_the_name_of_a_branch(job: Job) -> None:
    sha = job.double.commit_files("v1.0", {"agent.py": b"1"})
    job.store(suite_report(sha), ref="v1.0", run_id=9)
    body = judged(job, 40, base_passes=40, anchor="v1.0")
    assert_told(job, body, "nothing is compared with it: there is no such tag")


def test_tag__without_a_stored_report(job: Job) -> None:
    commit = tagged(job, None)
    body = judged(job, 40, base_passes=40, anchor="v1.0")
    text = "nothing is compared with it: no report is stored for its commit in branch:agent-chaos-baseline"
    assert_told(job, body, text)
    assert f"`v1.0` at `{commit[:7]}`" in body


def test_tag__with_a_report_that_cannot_be_read(job: Job) -> None:
    commit = tagged(job, suite_report(""))
    files = job.double.branch_files(STORE)
    job.double.commit_files(STORE, {**files, f"v1/default/{commit[:2]}/{commit}.json": b'{"samples": []}'})
    body = judged(job, 40, base_passes=40, anchor="v1.0")
    assert_told(job, body, "nothing is compared with it: branch agent-chaos-baseline, v1/default/")


def test_tag__that_the_token_may_not_look_up(job: Job) -> None:
    tagged(job, suite_report(""))
    job.double.forbid("GET", "/commits/tags")
    body = judged(job, 40, base_passes=40, anchor="v1.0")
    assert_told(job, body, "nothing is compared with it: GET /repos/")


def test_tag__with_a_report_of_another_tool(job: Job) -> None:
    tagged(job, suite_report("").model_copy(update={"tool": Tool(name="JUnit XML", version="1")}))
    body = judged(job, 40, base_passes=40, anchor="v1.0")
    assert_told(job, body, "nothing is compared with it: it was written by JUnit XML, this report by agent-chaos-gate")


def test_tag__with_another_definition_of_an_experiment(job: Job) -> None:
    report = suite_report("")
    alpha, beta = report.experiments
    tagged(job, report.model_copy(update={"experiments": [alpha.model_copy(update={"fingerprint": "old"}), beta]}))
    body = judged(job, 40, base_passes=40, anchor="v1.0", comment="always")
    assert_told(job, body, "alpha is not compared: its definition is another one now")
    assert "- nothing is worse: 1 of its 2 probes compared" in body


def test_tag__of_which_no_experiment_is_left(job: Job) -> None:
    report = suite_report("")
    tagged(job, report.model_copy(update={"experiments": [experiment_report("gone", 40)]}))
    body = judged(job, 40, base_passes=40, anchor="v1.0", comment="always")
    assert_told(job, body, "none of its probes can be compared")


def test_name__stays_one_piece_of_the_address(job: Job) -> None:
    tag = "release/1.0#%2e&page=2"
    tagged(job, suite_report(""), tag)
    assert f"`{tag}` at" in judged(job, 32, anchor=tag)


@pytest.mark.parametrize(
    "tag",
    ["--upload-pack=x", "a b", "a:b", "v1..v2", "../branches/main", "v1^{tree}", "v1/", "a\nb", "v\udc80", "v" * 201],
)
def test_name__that_no_tag_can_have_is_refused_before_anything_runs(job: Job, tag: str) -> None:
    base, head = pull(job.double)
    start_pull(job, base, head, anchor=tag)
    assert job.step("prepare") == 2
    assert "input anchor" in job.log
    assert not job.double.calls("GET", "/commits/tags")
