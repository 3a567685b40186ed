"""What each event asks for: the table of events, and payloads that lack or lie about their pieces."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import BrokenEnvironmentError, UsageError
from gate.event import Activity, BaseWish, Source, decide
from tests.double.events import BASE_SHA, DEPENDABOT, HEAD_SHA, MERGE_SHA, Events

EVENTS = Events()
OTHER, ZERO = "f" * 40, "0" * 40
MAIN, FEATURE = "refs/heads/main", "refs/heads/feature"


def ask(event: str, payload: dict[str, Any], **facts: Any) -> Activity:
    """Decide as a runner would ask, `facts` replacing what differs."""
    return decide(event, payload, **{"repository": EVENTS.repository, "sha": MERGE_SHA, "ref": MAIN, **facts})


def pull_request(**fields: Any) -> Activity:
    """Return what a pull request of the same repository asks for, `fields` replacing what differs."""
    expected = {"head_sha": HEAD_SHA, "base": BaseWish("main", BASE_SHA), "pull_request": 7}
    return Activity("pull_request", "gate", **{**expected, **fields})


PULL_REQUEST = EVENTS.pull_request
PUSH = EVENTS.push
RUN = EVENTS.workflow_run
GROUP = EVENTS.merge_group
DEAD_FORK = RUN()
DEAD_FORK["workflow_run"]["head_repository"] = None

TABLE: dict[str, tuple[str, dict[str, Any], dict[str, Any], Activity]] = {
    "pull_request opened": ("pull_request", PULL_REQUEST(), {}, pull_request()),
    "pull_request synchronize": ("pull_request", PULL_REQUEST("synchronize"), {}, pull_request()),
    "pull_request draft": ("pull_request", PULL_REQUEST(draft=True), {}, pull_request()),
    "pull_request tested on a newer base": (
        "pull_request",
        PULL_REQUEST(),
        {"tested_parents": [OTHER, HEAD_SHA]},
        pull_request(base=BaseWish("main", OTHER)),
    ),
    "pull_request with head itself checked out": (
        "pull_request",
        PULL_REQUEST(),
        {"tested_parents": [OTHER]},
        pull_request(),
    ),
    "pull_request with some other merge checked out": (
        "pull_request",
        PULL_REQUEST(),
        {"tested_parents": [OTHER, BASE_SHA]},
        pull_request(),
    ),
    "pull_request into a release branch": (
        "pull_request",
        PULL_REQUEST(base_ref="release/1.x"),
        {},
        pull_request(base=BaseWish("release/1.x", BASE_SHA)),
    ),
    "pull_request from a fork": (
        "pull_request",
        PULL_REQUEST(head_repo="someone/travel-agent"),
        {},
        pull_request(read_only="fork"),
    ),
    "pull_request from a deleted fork": (
        "pull_request",
        PULL_REQUEST(head_repo=None),
        {},
        pull_request(read_only="fork"),
    ),
    "pull_request in a repository spelled otherwise": (
        "pull_request",
        PULL_REQUEST(),
        {"repository": EVENTS.repository.upper()},
        pull_request(),
    ),
    "pull_request from Dependabot": (
        "pull_request",
        PULL_REQUEST(author=DEPENDABOT),
        {},
        pull_request(read_only="dependabot"),
    ),
    "pull_request closed": (
        "pull_request",
        PULL_REQUEST("closed", merged=True),
        {},
        Activity("pull_request", "nothing", reason="pull request 7 is closed", pull_request=7),
    ),
    "push to the default branch": (
        "push",
        PUSH(),
        {},
        Activity("push", "gate", head_sha=HEAD_SHA, base=BaseWish("main", BASE_SHA, HEAD_SHA), record_ref="main"),
    ),
    "push of the first commit of the default branch": (
        "push",
        PUSH(created=True),
        {},
        Activity("push", "gate", head_sha=HEAD_SHA, base=BaseWish("main", "", HEAD_SHA), record_ref="main"),
    ),
    "push to a listed branch": (
        "push",
        PUSH("refs/heads/release/1.x"),
        {"tracked": ["release/1.x"]},
        Activity(
            "push",
            "gate",
            head_sha=HEAD_SHA,
            base=BaseWish("release/1.x", BASE_SHA, HEAD_SHA),
            record_ref="release/1.x",
        ),
    ),
    "push to another branch": (
        "push",
        PUSH(FEATURE),
        {},
        Activity("push", "gate", head_sha=HEAD_SHA, base=BaseWish("main", BASE_SHA, HEAD_SHA)),
    ),
    "push of a new other branch": (
        "push",
        PUSH(FEATURE, created=True),
        {},
        Activity("push", "gate", head_sha=HEAD_SHA, base=BaseWish("main", HEAD_SHA, HEAD_SHA)),
    ),
    "push of a tag": (
        "push",
        PUSH("refs/tags/v1.0"),
        {},
        Activity("push", "nothing", reason="refs/tags/v1.0 is not a branch, and only branches have a base"),
    ),
    "push that deletes a branch": (
        "push",
        PUSH(FEATURE, deleted=True),
        {},
        Activity("push", "nothing", reason="feature was deleted"),
    ),
    "merge_group asks for checks": (
        "merge_group",
        GROUP(),
        {},
        Activity("merge_group", "gate", head_sha=HEAD_SHA, base=BaseWish("main", BASE_SHA)),
    ),
    "merge_group destroyed": (
        "merge_group",
        GROUP("destroyed"),
        {},
        Activity("merge_group", "nothing", reason="the merge group asks for no checks"),
    ),
    "schedule": (
        "schedule",
        EVENTS.schedule(),
        {"sha": HEAD_SHA},
        Activity("schedule", "gate", head_sha=HEAD_SHA, base=BaseWish("main"), record_ref="main"),
    ),
    "workflow_dispatch": (
        "workflow_dispatch",
        EVENTS.workflow_dispatch(FEATURE),
        {"sha": HEAD_SHA, "ref": FEATURE},
        Activity("workflow_dispatch", "gate", head_sha=HEAD_SHA, base=BaseWish("main")),
    ),
    "workflow_dispatch against a branch": (
        "workflow_dispatch",
        EVENTS.workflow_dispatch(FEATURE),
        {"sha": HEAD_SHA, "ref": FEATURE, "base_input": "release/1.x"},
        Activity("workflow_dispatch", "gate", head_sha=HEAD_SHA, base=BaseWish("release/1.x")),
    ),
    "workflow_dispatch against a commit, recorded": (
        "workflow_dispatch",
        EVENTS.workflow_dispatch(),
        {"sha": HEAD_SHA, "base_input": OTHER, "store": True},
        Activity("workflow_dispatch", "gate", head_sha=HEAD_SHA, base=BaseWish("main", OTHER), record_ref="main"),
    ),
    "workflow_run of a fork": (
        "workflow_run",
        RUN(head_repo="someone/travel-agent"),
        {},
        Activity(
            "workflow_run", "publish", head_sha=HEAD_SHA, source=Source("someone", "feature", 1_000_001, succeeded=True)
        ),
    ),
    "workflow_run of a deleted fork": (
        "workflow_run",
        DEAD_FORK,
        {},
        Activity("workflow_run", "nothing", reason="the fork of the pull request is deleted", head_sha=HEAD_SHA),
    ),
    "workflow_run still going on": (
        "workflow_run",
        RUN("requested"),
        {},
        Activity("workflow_run", "nothing", reason="the other workflow has not completed yet"),
    ),
    "workflow_run after a push": (
        "workflow_run",
        RUN(event="push"),
        {},
        Activity("workflow_run", "nothing", reason="the other workflow did not run for a pull request"),
    ),
}


@pytest.mark.parametrize(("event", "payload", "facts", "expected"), TABLE.values(), ids=TABLE)
def test_decide__event_table(event: str, payload: dict[str, Any], facts: dict[str, Any], expected: Activity) -> None:
    assert ask(event, payload, **facts) == expected


@pytest.mark.parametrize(
    ("event", "payload"),
    [("pull_request_target", EVENTS.pull_request_target()), ("issue_comment", EVENTS.issue_comment())],
    ids=["pull_request_target", "issue_comment"],
)
def test_decide__refuses_a_write_token_next_to_foreign_code_with_the_recipe(
    event: str, payload: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match=f"the event {event} is refused.*\n.*two workflows.*workflow_run"):
        ask(event, payload)


@pytest.mark.parametrize("event", ["release", "create", "", "pull_request_review", "x" * 5_000])
def test_decide__unknown_event_is_an_error_that_lists_the_known(event: str) -> None:
    with pytest.raises(
        UsageError, match=r"not one that the gate answers to\n.*pull_request, push, merge_group"
    ) as error:
        ask(event, {})
    assert len(str(error.value)) < 400


def without(payload: dict[str, Any], *path: str, value: object = None) -> dict[str, Any]:
    """Return a payload with one piece replaced."""
    copy = dict(payload)
    copy[path[0]] = value if len(path) == 1 else without(copy[path[0]], *path[1:], value=value)
    return copy


@pytest.mark.parametrize(
    ("event", "payload", "named"),
    [
        ("pull_request", {}, "pull_request.number"),
        ("pull_request", without(PULL_REQUEST(), "pull_request"), "pull_request.number"),
        ("pull_request", without(PULL_REQUEST(), "pull_request", "number", value=True), "pull_request.number"),
        ("pull_request", without(PULL_REQUEST(), "pull_request", "number", value="7"), "pull_request.number"),
        ("pull_request", without(PULL_REQUEST(), "pull_request", "head"), "pull_request.head.sha"),
        ("pull_request", without(PULL_REQUEST(), "pull_request", "head", "sha", value="HEAD"), "pull_request.head.sha"),
        ("pull_request", without(PULL_REQUEST(), "pull_request", "head", "sha", value=ZERO), "pull_request.head.sha"),
        ("pull_request", without(PULL_REQUEST(), "pull_request", "base", "ref", value="a\nb"), "pull_request.base.ref"),
        ("merge_group", without(GROUP(), "merge_group", "base_sha"), "merge_group.base_sha"),
        ("workflow_run", without(RUN(), "workflow_run", "head_sha", value=["x"]), "workflow_run.head_sha"),
        ("workflow_run", without(RUN(), "workflow_run", "id", value=-1), "workflow_run.id"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_decide__lacking_piece_is_named(event: str, payload: dict[str, Any], named: str) -> None:
    with pytest.raises(BrokenEnvironmentError, match=rf"no usable {named} "):
        ask(event, payload)


@pytest.mark.parametrize("event", ["schedule", "workflow_dispatch"])
def test_decide__needs_the_sha_where_the_payload_has_none(event: str) -> None:
    with pytest.raises(BrokenEnvironmentError, match="'' is not a commit sha"):
        ask(event, {}, sha="")


def test_decide__push_of_a_payload_without_the_default_branch_uses_the_given_one() -> None:
    payload = without(PUSH(), "repository")
    assert ask("push", payload, default_branch="main").record_ref == "main"
    assert ask("push", payload).record_ref == ""


WHOLE = {
    "pull_request": PULL_REQUEST(),
    "push": PUSH(),
    "merge_group": GROUP(),
    "workflow_run": RUN(),
    "schedule": EVENTS.schedule(),
    "workflow_dispatch": EVENTS.workflow_dispatch(),
}
READ = [
    ("action",),
    ("after",),
    ("before",),
    ("deleted",),
    ("ref",),
    ("sender", "login"),
    ("repository", "default_branch"),
    ("pull_request",),
    ("pull_request", "number"),
    ("pull_request", "head"),
    ("pull_request", "head", "sha"),
    ("pull_request", "head", "repo"),
    ("pull_request", "base", "ref"),
    ("pull_request", "base", "sha"),
    ("pull_request", "user"),
    ("merge_group", "base_ref"),
    ("merge_group", "head_sha"),
    ("workflow_run",),
    ("workflow_run", "event"),
    ("workflow_run", "head_sha"),
    ("workflow_run", "head_branch"),
    ("workflow_run", "head_repository", "owner"),
]
HOSTILE = [
    None,
    True,
    0,
    -1,
    1.5,
    "",
    "x",
    ZERO,
    OTHER,
    "a\nb",
    "x" * 2_000,
    "refs/tags/v1",
    MAIN,
    [],
    ["x"],
    {},
    {"sha": None},
]


@given(
    event=st.sampled_from(sorted(WHOLE)),
    changes=st.dictionaries(st.sampled_from(READ), st.sampled_from(HOSTILE), max_size=3),
)
def test_decide__any_payload_gives_an_answer_or_a_clear_error(event: str, changes: dict[tuple[str, ...], Any]) -> None:
    payload = WHOLE[event]
    for path, value in changes.items():
        with contextlib.suppress(KeyError, TypeError, ValueError):  # the path is not in this payload, or no longer
            payload = without(payload, *path, value=value)
    try:
        activity = ask(event, payload)
    except BrokenEnvironmentError as error:
        assert "is expected" in error.what or "not a commit sha" in error.what  # noqa: PT017  # either outcome is fine
        return
    assert activity.job != "nothing" or activity.reason
    assert not activity.runs or (activity.head_sha and activity.base is not None)


@pytest.mark.parametrize("event", ["pull_request", "merge_group", "workflow_run", "workflow_dispatch"])
def test_decide__records_nothing_unasked_outside_of_push_and_schedule(event: str) -> None:
    assert ask(event, WHOLE[event], tracked=["main", "feature"]).record_ref == ""
