"""The comment and the check through the real PyGithub: one of each, whatever GitHub does in between."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from gate.comparison import (
    Anchor,
    Comparison,
    Counts,
    CriticalFinding,
    Drop,
    Missing,
    Notice,
    Reason,
    Row,
    Side,
    StatusChange,
)
from gate.errors import BrokenEnvironmentError
from gate.github import Client
from gate.publish import (
    Annotation,
    Check,
    CommentMode,
    Gap,
    Published,
    Texts,
    complete_check,
    conclusion_of,
    is_worth_a_comment,
    open_check,
    publish,
)
from gate.render.marker import Marker
from gate.store import choose_base, parse_store
from tests import builders
from tests.double import Comment, GitHubDouble, Identity, User

COMMENTS, EDITS, CHECKS = r"/issues/7/comments$", "/issues/comments/", "/check-runs"
BASE = "b" * 40


def row(verdict: str = "pass") -> Row:
    """Return a row of a comparison."""
    return Row.model_validate(
        {
            "experiment": "e",
            "probe": "p",
            "label": "p()",
            "phase": "chaos",
            "severity": "high",
            "verdict": verdict,
            "base": {"passes": 40, "runs": 40},
            "head": {"passes": 40, "runs": 40},
            "min_effect": 0.1,
        }
    )


DROP = Drop(
    experiment="e",
    probe="p",
    label="p()",
    phase="chaos",
    anchor=Counts(passes=40, runs=40),
    head=Counts(passes=30, runs=40),
    p_value=0.001,
)


def comparison(verdict: str = "pass", *, blocks: bool = False, **parts: Any) -> Comparison:
    """Return a comparison in which nothing changed, but for what is given."""
    fields = {"base": Side(commit=BASE), "rows": [row()], **parts}
    return Comparison.model_validate(
        {
            "verdict": verdict,
            "blocks": blocks,
            "exit_code": int(blocks),
            "policy": builders.POLICY,
            "head": Side(commit="a" * 40),
            **fields,
        }
    )


PASS, FAIL = comparison(), comparison("fail", blocks=True)
INCONCLUSIVE = comparison("inconclusive")


@dataclass
class Job:
    """A job of the workflow: what it says, and to whom."""

    double: GitHubDouble
    client: Client
    head_sha: str
    key: str = "default"
    run: int = 100
    attempt: int = 1
    slept: list[float] = field(default_factory=list)

    def say(self, text: str = "**PASS**", result: Comparison = INCONCLUSIVE, **more: Any) -> Published:
        """Publish a comment with this text, and the check."""
        marker = Marker(self.key, self.head_sha, self.run, self.attempt)
        texts = Texts(f"{text}\n\n{marker}\n", "Title", "Summary", more.pop("annotations", ()))
        check = more.pop("check", Check(self.key, self.head_sha, "https://github.com/run"))
        return publish(self.client, result, texts, check, head_sha=self.head_sha, **{"pull_request": 7, **more})

    @property
    def comments(self) -> list[Comment]:
        """Return the comments of the pull request."""
        return self.double.comments(7)

    @property
    def bodies(self) -> list[str]:
        """Return the first line of every comment."""
        return [comment.body.splitlines()[0] for comment in self.comments]


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the files of a double with one pull request, made once since git takes its time."""
    directory = tmp_path_factory.mktemp("seed")
    with GitHubDouble(directory) as double:
        base = double.commit_files("main", {"agent.py": b"1"})
        head = double.commit_files("feature", {"agent.py": b"2"}, parents=[base])
        double.open_pull(7, "main", base, "feature", head)
    return directory


@pytest.fixture
def job(seed: Path, tmp_path: Path) -> Iterator[Job]:
    with GitHubDouble(shutil.copytree(seed, tmp_path / "double")) as double:
        double.hub.state_file = None  # nothing needs to outlive the test
        slept: list[float] = []
        with Client(double.repository, "ghs_x", base_url=double.url, sleep=slept.append) as client:
            yield Job(double, client, double.hub.pull(7).head_sha, slept=slept)
        double.check()


# The comment


def test_comment__is_created_once_and_then_edited_in_place(job: Job) -> None:
    first = job.say("one")
    job.run = 101
    second = job.say("two")
    assert job.bodies == ["two"]
    assert job.comments[0].body.rstrip().endswith(f"key=default head={job.head_sha} run=101 attempt=1 -->")
    assert first.comment_url == second.comment_url != ""


def test_comment__unchanged_text_is_not_posted_again(job: Job) -> None:
    job.say("same")
    job.run, job.attempt = 101, 2
    assert job.say("same").comment_url
    assert job.double.calls("PATCH", EDITS) == []


def test_comment__of_a_second_attempt_edits_the_first(job: Job) -> None:
    job.say("flaky")
    job.attempt = 2
    job.say("settled")
    assert job.bodies == ["settled"]
    assert "attempt=2 -->" in job.comments[0].body


def test_comment__each_key_has_its_own(job: Job) -> None:
    for key in ("default", "voice", "default", "voice"):
        job.key, job.run = key, job.run + 1
        job.say(f"{key} in run {job.run}")
    assert job.bodies == ["default in run 103", "voice in run 104"]


@pytest.mark.parametrize("place", [0, 150, 299], ids=["first page", "second page", "last of all"])
def test_comment__is_found_among_300(job: Job, place: int) -> None:
    marker = Marker("default", job.head_sha, 1, 1)
    for number in range(300):
        login = "github-actions[bot]" if number == place else "octocat"
        job.double.add_comment(7, f"ours\n\n{marker}" if number == place else f"talk {number}", login)
    job.say("ours, again")
    assert (len(job.comments), job.bodies[place]) == (300, "ours, again")


def test_comment__after_300_of_others_is_new(job: Job) -> None:
    for number in range(300):
        job.double.add_comment(7, f"talk {number}")
    job.say("ours")
    assert job.bodies[300:] == ["ours"]


def test_comment__marker_planted_by_someone_else_is_left_alone(job: Job) -> None:
    planted = f"Verdict: all good\n\n{Marker('default', job.head_sha, 99, 1)}"
    for login in ("mallory", "other-app[bot]", "github-actions"):
        job.double.add_comment(7, planted, login)
    job.say("ours")
    job.say("ours, again")
    assert job.bodies == ["Verdict: all good"] * 3 + ["ours, again"]


@pytest.mark.parametrize(
    "body",
    [
        "{marker}\nquoted above",
        "    {marker} trailing",
        "> {marker}",
        "<!-- agent-chaos-gate v1 key=default -->",
        "<!-- agent-chaos-gate v2 key=default head={head} run=1 attempt=1 -->",
    ],
)
def test_comment__marker_counts_only_as_the_last_line(job: Job, body: str) -> None:
    marker = Marker("default", job.head_sha, 1, 1)
    job.double.add_comment(7, body.format(marker=marker, head=job.head_sha), "github-actions[bot]")
    job.say("ours")
    assert len(job.comments) == 2


def test_comment__of_a_person_whose_token_is_used(seed: Path, tmp_path: Path) -> None:
    person = Identity(User("octocat"))
    with GitHubDouble(shutil.copytree(seed, tmp_path / "double"), identity=person) as double:
        with Client(double.repository, "ghp_x", base_url=double.url) as client:
            job = Job(double, client, double.hub.pull(7).head_sha)
            job.say("one", check=None)
            job.say("two", check=None)
        assert [(c.author.login, c.body.splitlines()[0]) for c in double.comments(7)] == [("octocat", "two")]


def test_comment__of_another_app_whose_token_is_used(seed: Path, tmp_path: Path) -> None:
    app = Identity(User("our-gate[bot]", 5, "Bot"), "our-gate", 99)
    with GitHubDouble(shutil.copytree(seed, tmp_path / "double"), identity=app) as double:
        for text in ("one", "two"):  # two jobs: nothing is remembered but what GitHub tells
            with Client(double.repository, "ghs_x", base_url=double.url) as client:
                Job(double, client, double.hub.pull(7).head_sha).say(text)
        assert [c.body.splitlines()[0] for c in double.comments(7)] == ["two"]


def test_comment__newer_head_is_not_overwritten(job: Job) -> None:
    old_head = job.head_sha
    job.head_sha = job.double.commit_files("feature", {"agent.py": b"3"})
    job.double.move_pull(7, job.head_sha)
    job.say("of the new head")
    job.head_sha = old_head
    published = job.say("of the old head")
    assert (job.bodies, published.superseded, published.gaps) == (["of the new head"], True, ())
    assert [run.conclusion for run in job.double.check_runs(old_head)] == ["neutral"]


def test_comment__head_that_moves_while_comments_are_listed_is_noticed(job: Job) -> None:
    newer = job.double.commit_files("feature", {"agent.py": b"3"})
    job.double.on("GET", COMMENTS, lambda: job.double.move_pull(7, newer))
    assert job.say("late").superseded
    assert job.comments == []


def test_comment__deleted_while_it_is_edited_is_made_anew(job: Job) -> None:
    job.say("one")
    job.double.on("PATCH", EDITS, job.double.hub.state.comments.clear)
    assert job.say("two").gaps == ()
    assert job.bodies == ["two"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("how", ["fail", "drop"])
def test_comment__lost_answer_makes_no_second_comment(job: Job, how: str, when: str) -> None:
    getattr(job.double, how)("POST", COMMENTS, when=when)
    published = job.say("ours")
    assert (job.bodies, published.gaps) == (["ours"], ())
    assert published.comment_url


def test_comment__needs_its_marker(job: Job) -> None:
    with pytest.raises(ValueError, match="does not end in its marker"):
        publish(job.client, PASS, Texts("text", "", ""), None, head_sha=job.head_sha, pull_request=7)


@pytest.mark.parametrize(
    ("mode", "result", "first", "later"),
    [
        ("changes", PASS, False, True),
        ("changes", INCONCLUSIVE, True, True),
        ("changes", FAIL, True, True),
        ("always", PASS, True, True),
        ("failures", PASS, False, True),
        ("failures", INCONCLUSIVE, False, True),
        ("failures", FAIL, True, True),
        ("off", FAIL, False, False),
    ],
)
def test_comment__mode_decides_on_the_first_and_later_ones_keep_it_current(
    job: Job, mode: CommentMode, result: Comparison, first: bool, later: bool
) -> None:
    job.say("alone", result, mode=mode)
    assert job.bodies == (["alone"] if first else [])
    job.double.hub.state.comments.clear()
    job.say("earlier", FAIL, mode="always")
    job.say("later", result, mode=mode)
    assert job.bodies == (["later"] if later else ["earlier"])


def test_comment__event_without_a_pull_request_has_none(job: Job) -> None:
    published = job.say("nowhere", FAIL, pull_request=None)
    assert (published.comment_url, job.comments, published.gaps) == ("", [], ())
    assert published.check_url


@pytest.mark.parametrize(
    ("change", "worth"),
    [
        ({}, False),
        ({"warnings": [Notice(kind="base_is_ancestor")]}, False),
        ({"warnings": [Notice(kind="base_is_latest")]}, True),
        ({"warnings": [Notice(kind="policy_differs")]}, True),
        ({"rows": [row("small_drop")]}, True),
        ({"rows": [row(), row("improved")]}, True),
        ({"rows": [row("new")]}, True),
        ({"missing": [Missing(experiment="e")]}, True),
        ({"reasons": [Reason(kind="infra", blocks=False, count=1)]}, True),
        (
            {"status_changes": [StatusChange(experiment="e", base="held", head="held", reason="r", significant=True)]},
            True,
        ),
        (
            {
                "new_critical": [
                    CriticalFinding(
                        experiment="e",
                        probe="p",
                        label="p()",
                        phase="chaos",
                        threshold=1.0,
                        head=Counts(passes=39, runs=40),
                        base=None,
                        p_value=None,
                        detail="",
                    )
                ]
            },
            True,
        ),
        ({"anchor": Anchor(name="v1", compared=1, changed=["e"])}, False),
        ({"anchor": Anchor(name="v1", problem="there is no such tag")}, True),
        ({"anchor": Anchor(name="v1", compared=1, worse=[DROP])}, True),
    ],
    ids=lambda value: next(iter(value), "nothing") if isinstance(value, dict) else "",
)
def test_is_worth_a_comment__anything_but_as_before(change: dict[str, Any], worth: bool) -> None:
    assert is_worth_a_comment(comparison(**change)) is worth


# The check


@pytest.mark.parametrize(
    ("result", "conclusion"),
    [
        (PASS, "success"),
        (FAIL, "failure"),
        (INCONCLUSIVE, "neutral"),
        (comparison("inconclusive", blocks=True), "failure"),
        (comparison("no_base", base=None), "neutral"),
        (comparison("no_base", blocks=True, base=None), "failure"),
        (comparison("fail"), "neutral"),
        (comparison("pass", blocks=True), "failure"),
    ],
    ids=lambda value: f"{value.verdict}{' blocks' * value.blocks}" if isinstance(value, Comparison) else value,
)
def test_check__conclusion(job: Job, result: Comparison, conclusion: str) -> None:
    job.say("text", result)
    (run,) = job.double.check_runs(job.head_sha)
    assert (run.conclusion, run.status, run.title, run.summary) == (conclusion, "completed", "Title", "Summary")
    assert conclusion_of(result) == conclusion


def test_check__is_opened_in_progress_and_completed_after_the_comment(job: Job) -> None:
    check = Check("default", job.head_sha, "https://github.com/run")
    opened = open_check(job.client, check)
    (run,) = job.double.check_runs()
    assert (run.status, run.conclusion, run.name) == ("in_progress", None, "agent-chaos-gate")
    assert (run.external_id, run.details_url) == ("default", "https://github.com/run")
    assert not isinstance(opened, Gap)
    job.say("text", FAIL)
    assert [(r.id, r.conclusion) for r in job.double.check_runs()] == [(opened.id, "failure")]
    writes = [f"{c.method} {c.path.split('/')[4]}" for c in job.double.requests if c.method != "GET"]
    assert writes == ["POST check-runs", "POST issues", "PATCH check-runs"]


def test_check__second_attempt_reopens_the_same(job: Job) -> None:
    job.say("text", FAIL)
    open_check(job.client, Check("default", job.head_sha))
    (run,) = job.double.check_runs()
    assert (run.status, run.conclusion) == ("in_progress", None)


def test_check__each_key_has_its_own(job: Job) -> None:
    job.double.add_check_run("agent-chaos-gate", job.head_sha, external_id="something else")
    for key in ("default", "voice"):
        job.key = key
        job.say("text", PASS)
    found = {(run.name, run.external_id): run.conclusion for run in job.double.check_runs()}
    assert found[("agent-chaos-gate", "default")] == found[("agent-chaos-gate / voice", "voice")] == "success"
    assert found[("agent-chaos-gate", "something else")] is None


def test_check__of_another_app_under_our_name_is_left_alone(job: Job) -> None:
    job.double.add_check_run("agent-chaos-gate", job.head_sha, external_id="default", app_slug="other", app_id=99)
    job.say("text", PASS)
    assert [(run.app_slug, run.conclusion) for run in job.double.check_runs()] == [
        ("other", None),
        ("github-actions", "success"),
    ]


def test_check__is_completed_for_a_crash_that_never_opened_it(job: Job) -> None:
    completed = complete_check(job.client, Check("default", job.head_sha), "failure", "The gate failed", "Trace")
    assert not isinstance(completed, Gap)
    assert completed.conclusion == "failure"


def test_check__annotations_go_in_batches_of_fifty(job: Job) -> None:
    remarks = [Annotation("experiments/a.yaml", n + 1, "failure", "t", "m") for n in range(120)]
    job.say("text", FAIL, annotations=remarks)
    (run,) = job.double.check_runs()
    assert [a["start_line"] for a in run.annotations] == list(range(1, 121))
    assert run.conclusion == "failure"


def test_check__can_be_left_out(job: Job) -> None:
    job.say("text", FAIL, check=None)
    assert job.double.check_runs() == []


# What GitHub refuses

Break = Callable[[GitHubDouble], object]
BROKEN: dict[str, tuple[Break, list[tuple[str, str]]]] = {
    "token of a fork or of Dependabot": (
        lambda d: setattr(d, "read_only", True),
        [("comment", "issues: write or pull-requests: write"), ("check run", "checks: write")],
    ),
    "no permission to comment": (
        lambda d: d.permissions.update(issues="read", pull_requests="read"),
        [("comment", "issues: write or pull-requests: write")],
    ),
    "no permission for checks": (lambda d: d.permissions.update(checks="read"), [("check run", "checks: write")]),
    "locked conversation": (lambda d: d.lock_pull(7), [("comment", "")]),
    "comments stay down": (lambda d: d.fail("*", COMMENTS, times=None), [("comment", "")]),
    "checks stay down": (lambda d: d.fail("*", CHECKS, times=None), [("check run", "")]),
    "comment is too long for GitHub": (
        lambda d: d.fail("POST", COMMENTS, status=422, message="Validation Failed"),
        [("comment", "")],
    ),
    "primary rate limit": (
        lambda d: d.primary_limit(times=None, retry_after_s=3_000),
        [("comment", ""), ("check run", "")],
    ),
    "secondary rate limit for hours": (
        lambda d: d.secondary_limit(times=None, retry_after_s=9_000),
        [("comment", ""), ("check run", "")],
    ),
    "too many requests": (lambda d: d.too_many_requests("POST", times=None), [("comment", ""), ("check run", "")]),
    "everything is down": (lambda d: d.fail(status=503, times=None), [("comment", ""), ("check run", "")]),
    "pull request is gone": (lambda d: d.hub.state.pulls.clear(), [("comment", "")]),
}


@pytest.mark.parametrize(("broken", "gaps"), BROKEN.values(), ids=BROKEN)
def test_refusal__is_data_that_names_what_and_the_permission(
    job: Job, broken: Break, gaps: list[tuple[Literal["comment", "check run"], str]]
) -> None:
    broken(job.double)
    published = job.say("text", FAIL)
    assert [(gap.what, gap.permission) for gap in published.gaps] == gaps
    for gap in published.gaps:
        assert gap.notice.startswith(f"the {gap.what} was not written: ")
        assert "\n" not in gap.notice
        assert gap.permission in gap.notice
    assert sum(job.slept) <= 90


@pytest.mark.parametrize(("broken", "gaps"), BROKEN.values(), ids=BROKEN)
def test_refusal__is_an_error_where_publishing_is_required(
    job: Job, broken: Break, gaps: list[tuple[str, str]]
) -> None:
    broken(job.double)
    with pytest.raises(BrokenEnvironmentError) as error:
        job.say("text", FAIL, required=True)
    for what, _ in gaps:
        assert f"the {what} was not written" in str(error.value)


def test_refusal__of_opening_the_check_is_data(job: Job) -> None:
    job.double.read_only = True
    gap = open_check(job.client, Check("default", job.head_sha))
    assert isinstance(gap, Gap)
    assert (gap.what, gap.permission) == ("check run", "checks: write")


def test_refusal__short_limits_are_waited_for(job: Job) -> None:
    job.double.secondary_limit("POST", COMMENTS, retry_after_s=20)
    job.double.too_many_requests("POST", CHECKS, retry_after_s=30)
    assert job.say("text", FAIL).gaps == ()
    assert job.slept == [20.0, 30.0]


# Costs


def test_calls__of_a_whole_pull_request_are_at_most_fifteen(job: Job) -> None:
    double, now = job.double, datetime(2026, 1, 2, tzinfo=UTC)
    pull = double.hub.pull(7)
    store = parse_store("branch:base", client=job.client)
    store.save(builders.report(commit=pull.base_sha), ref="main", run_id=1)
    for number in range(3):
        double.commit_files("main", {"other.py": b"%d" % number})
    double.move_pull(7, job.head_sha)  # tested on top of a base branch that has moved on
    job.say("of an earlier run")
    for number in range(130):
        double.add_comment(7, f"talk {number}")
    double.hub.state.comments = dict(reversed(double.hub.state.comments.items()))  # ours is the last of two pages

    def connect() -> Client:
        return Client(double.repository, "ghs_x", base_url=double.url)

    with connect() as prepare:
        tested = prepare.parents(pull.merge_commit_sha or "")[0]
        store = parse_store("branch:base", client=prepare)
        base = choose_base(store, prepare.first_parents(tested), "main", now=now)
        open_check(prepare, Check("default", job.head_sha))
        assert base is not None
        assert base.age_commits == 3
    with connect() as job.client:
        job.say("of this run")
        assert (job.bodies[-1], len(job.comments)) == ("of this run", 131)
        assert (prepare.calls, job.client.calls) == (7, 6)
