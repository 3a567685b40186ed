"""What the event of a workflow asks of the gate: one pure function over the event payload, which is untrusted input."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gate.errors import BrokenEnvironmentError, UsageError

Job = Literal["gate", "publish", "nothing"]
ReadOnly = Literal["", "fork", "dependabot"]

_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_DEPENDABOT = "dependabot[bot]"
_TWO_WORKFLOWS = (
    "use two workflows: `on: pull_request` runs the gate with a read-only token, and a second one `on: workflow_run` "
    "publishes its report without checking anything out (see 'Pull requests from forks' in the README)"
)
_RECIPES = {
    "pull_request_target": "it hands a write token to code of the pull request",
    "issue_comment": "anyone who can comment would start code of the pull request next to a write token",
}


@dataclass(frozen=True)
class BaseWish:
    """The commit to compare with: `sha` and what lies behind it, else the latest stored of the branch `ref`.

    `sha` is empty where only the latest is asked for; `skip` is a commit that is no base, the pushed one itself.
    """

    ref: str
    sha: str = ""
    skip: str = ""


@dataclass(frozen=True)
class Source:
    """What a `workflow_run` ran for: its pull request is looked up by owner, branch and head sha, its report by run."""

    owner: str
    branch: str
    run_id: int
    succeeded: bool = False


@dataclass(frozen=True)
class Activity:
    """What one event asks for.

    `gate` runs the suite, compares and publishes; `publish` only renders what another workflow found; `nothing` ends
    with success and says `reason`. The check goes on `head_sha`, the comment on `pull_request`, the report is stored as
    a base of the branch `record_ref` (empty: not stored). `read_only` says why writing will probably be refused.
    """

    event: str
    job: Job
    reason: str = ""
    head_sha: str = ""
    base: BaseWish | None = None
    pull_request: int | None = None
    source: Source | None = None
    record_ref: str = ""
    read_only: ReadOnly = ""

    @property
    def runs(self) -> bool:
        """Return whether experiments are run."""
        return self.job == "gate"


def decide(
    event_name: str,
    payload: Mapping[str, Any],
    *,
    repository: str,
    sha: str,
    ref: str,
    default_branch: str = "",
    tracked: Collection[str] = (),
    tested_parents: Sequence[str] = (),
    base_input: str = "",
    store: bool | None = None,
) -> Activity:
    """Return what the event asks for.

    Args:
        sha, ref: GITHUB_SHA and GITHUB_REF.
        default_branch: used where the payload does not name it.
        tracked: branches whose pushes are stored besides the default branch.
        tested_parents: the parents of the commit that is checked out, if it is known.
        base_input: what a `workflow_dispatch` was asked to compare with: a branch or sha.
        store: whether the report becomes a base; None: as the table says. Where it is given, events that the table does
            not know are taken too.

    Raises:
        UsageError: an event that the gate refuses, does not know or stores nothing for.
        BrokenEnvironmentError: the payload lacks what the event needs.
    """
    facts = _Facts(event_name, payload)
    if event_name in _RECIPES:
        raise UsageError(f"the event {event_name} is refused: {_RECIPES[event_name]}", fix=_TWO_WORKFLOWS)
    default = facts.optional("repository", "default_branch") or default_branch
    activity = _activity(facts, repository, sha, ref, default, tracked, tested_parents, base_input, store is not None)
    if store is None or activity.job != "gate":
        return activity
    if not store:
        return replace(activity, record_ref="")
    branch = activity.record_ref or _branch(ref)
    if event_name in ("pull_request", "merge_group") or not branch:
        raise UsageError(
            f"nothing can be stored on {event_name}: only a branch itself has a base",
            fix="record on push, schedule or workflow_dispatch of a branch",
        )
    return replace(activity, record_ref=branch)


def _activity(
    facts: "_Facts",
    repository: str,
    sha: str,
    ref: str,
    default: str,
    tracked: Collection[str],
    tested_parents: Sequence[str],
    base_input: str,
    any_event: bool,
) -> Activity:
    """Return what the table of events says."""
    event_name = facts.event
    match event_name:
        case "pull_request":
            return _pull_request(facts, repository, tested_parents)
        case "workflow_run":
            return _workflow_run(facts)
        case "merge_group":
            return _merge_group(facts)
        case "push":
            return _push(facts, default, {default, *tracked} - {""}, sha, ref)
        case "schedule":
            branch = _branch(ref) or default
            return Activity(event_name, "gate", head_sha=_need_sha(sha), base=BaseWish(branch), record_ref=branch)
        case "workflow_dispatch":
            wish = BaseWish(default, base_input) if _SHA.fullmatch(base_input) else BaseWish(base_input or default)
            return Activity(event_name, "gate", head_sha=_need_sha(sha), base=wish)
    if any_event:
        return Activity(event_name, "gate", head_sha=_need_sha(sha), base=BaseWish(default))
    raise UsageError(
        f"the event {event_name!r:.80} is not one that the gate answers to",
        fix="start it on pull_request, push, merge_group, schedule, workflow_dispatch or workflow_run, "
        "or set `mode` to run, publish or record",
    )


def _pull_request(facts: "_Facts", repository: str, tested_parents: Sequence[str]) -> Activity:
    number = facts.number("pull_request", "number")
    if facts.optional("action") == "closed":
        return Activity(facts.event, "nothing", reason=f"pull request {number} is closed", pull_request=number)
    head = facts.sha("pull_request", "head", "sha")
    base = facts.sha("pull_request", "base", "sha")
    # GITHUB_SHA is a merge of the base branch and head: its first parent is what head was really tested on top of.
    if len(tested_parents) == 2 and tested_parents[1] == head and _SHA.fullmatch(tested_parents[0]):
        base = tested_parents[0]
    head_repository = facts.optional("pull_request", "head", "repo", "full_name")  # null once a fork is deleted
    read_only: ReadOnly = ""
    if head_repository.lower() != repository.lower():
        read_only = "fork"
    elif _DEPENDABOT in (facts.optional("sender", "login"), facts.optional("pull_request", "user", "login")):
        read_only = "dependabot"
    return Activity(
        facts.event,
        "gate",
        head_sha=head,
        base=BaseWish(facts.branch("pull_request", "base", "ref"), base),
        pull_request=number,
        read_only=read_only,
    )


def _workflow_run(facts: "_Facts") -> Activity:
    if facts.optional("action") not in ("", "completed"):
        return Activity(facts.event, "nothing", reason="the other workflow has not completed yet")
    if facts.optional("workflow_run", "event") != "pull_request":
        return Activity(facts.event, "nothing", reason="the other workflow did not run for a pull request")
    head = facts.sha("workflow_run", "head_sha")
    owner = facts.optional("workflow_run", "head_repository", "owner", "login")
    branch = facts.optional("workflow_run", "head_branch")
    if not owner or not branch:
        return Activity(facts.event, "nothing", reason="the fork of the pull request is deleted", head_sha=head)
    succeeded = facts.optional("workflow_run", "conclusion") == "success"
    source = Source(owner, branch, facts.number("workflow_run", "id"), succeeded)
    return Activity(facts.event, "publish", head_sha=head, source=source)


def _merge_group(facts: "_Facts") -> Activity:
    if facts.optional("action") not in ("", "checks_requested"):
        return Activity(facts.event, "nothing", reason="the merge group asks for no checks")
    wish = BaseWish(facts.branch("merge_group", "base_ref"), facts.sha("merge_group", "base_sha"))
    return Activity(facts.event, "gate", head_sha=facts.sha("merge_group", "head_sha"), base=wish)


def _push(facts: "_Facts", default: str, tracked: Collection[str], sha: str, ref: str) -> Activity:
    ref = facts.optional("ref") or ref
    if facts.at("deleted") is True or _is_zero(facts.optional("after")):
        return Activity(facts.event, "nothing", reason=f"{_branch(ref) or ref} was deleted")
    branch = _branch(ref)
    if not branch:
        return Activity(facts.event, "nothing", reason=f"{ref} is not a branch, and only branches have a base")
    before = facts.optional("before")
    before = before if _SHA.fullmatch(before) and not _is_zero(before) else ""
    head = _need_sha(facts.optional("after") or sha)
    if branch in tracked:
        return Activity(facts.event, "gate", head_sha=head, base=BaseWish(branch, before, head), record_ref=branch)
    return Activity(facts.event, "gate", head_sha=head, base=BaseWish(default, before or head, head))


class _Facts:
    """Reads from a payload in which any piece may be missing, null or of another type."""

    def __init__(self, event: str, payload: Mapping[str, Any]) -> None:
        self.event, self._payload = event, payload

    def at(self, *path: str) -> object:
        value: object = self._payload
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def optional(self, *path: str) -> str:
        value = self.at(*path)
        return value if isinstance(value, str) and len(value) <= 1_000 and not _CONTROL.search(value) else ""

    def sha(self, *path: str) -> str:
        value = self.optional(*path)
        if not _SHA.fullmatch(value) or _is_zero(value):
            raise self._lacks("a commit sha", path)
        return value

    def branch(self, *path: str) -> str:
        value = self.optional(*path).removeprefix("refs/heads/")
        if not value:
            raise self._lacks("a branch", path)
        return value

    def number(self, *path: str) -> int:
        value = self.at(*path)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self._lacks("a positive number", path)
        return value

    def _lacks(self, what: str, path: Sequence[str]) -> BrokenEnvironmentError:
        return BrokenEnvironmentError(
            f"the payload of the {self.event} event has no usable {'.'.join(path)} ({what} is expected)",
            fix="check that GITHUB_EVENT_PATH holds the event that GITHUB_EVENT_NAME names",
        )


def _branch(ref: str) -> str:
    """Return the branch that a full ref names; a tag or a pull request's ref names none."""
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else ""


def _is_zero(sha: str) -> bool:
    return bool(sha) and not sha.strip("0")


def _need_sha(sha: str) -> str:
    if not _SHA.fullmatch(sha) or _is_zero(sha):
        raise BrokenEnvironmentError(f"{sha!r:.80} is not a commit sha", fix="set GITHUB_SHA, as GitHub Actions does")
    return sha
