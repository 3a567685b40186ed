"""Accounts, the repository, pull requests and their comments."""

from __future__ import annotations

import time

from tests.double.hub import Hub
from tests.double.ids import EPOCH
from tests.double.repository import FileChange
from tests.double.routes import Answer, ApiError, Call, not_found, serves
from tests.double.state import Comment, Pull, now

MAX_BODY_CHARACTERS = 65536
REPO = "/repos/{owner}/{repo}"
_COMMENT_READ = ("issues=read", "pull_requests=read")
_COMMENT_WRITE = ("issues=write", "pull_requests=write")


@serves("GET", "/user")
def get_user(call: Call) -> Answer:
    if call.hub.identity.app_slug is not None:
        raise ApiError(403, "Resource not accessible by integration")
    counts = ("public_repos", "public_gists", "followers", "following", "private_gists", "total_private_repos")
    more = ("owned_private_repos", "disk_usage", "collaborators")
    blank = ("name", "company", "blog", "location", "email", "hireable", "bio")
    return Answer(
        200,
        {
            **call.shapes.user(call.hub.identity.user),
            **dict.fromkeys(blank),
            **dict.fromkeys(counts + more, 0),
            "two_factor_authentication": True,
            "created_at": EPOCH,
            "updated_at": EPOCH,
        },
    )


@serves("GET", "/rate_limit")
def get_rate_limit(call: Call) -> Answer:
    limit, used = call.hub.rate_limit, min(call.hub.used, call.hub.rate_limit)
    core = {"limit": limit, "used": used, "remaining": limit - used, "reset": int(time.time()) + 3600}
    search = {"limit": 30, "used": 0, "remaining": 30, "reset": int(time.time()) + 60}
    return Answer(200, {"resources": {"core": core, "search": search}, "rate": core})


@serves("GET", REPO, "metadata=read")
def get_repository(call: Call) -> Answer:
    return Answer(200, call.shapes.full_repository(call.hub.full_name))


def _history(hub: Hub, pull: Pull) -> tuple[list[FileChange], list[str]]:
    """The changed files and the commits, oldest first; empty for commits git does not hold."""
    git = hub.git
    if git.type_of(pull.base_sha) != "commit" or git.type_of(pull.head_sha) != "commit":
        return [], []
    base = git.merge_base(pull.base_sha, pull.head_sha) or pull.base_sha
    return git.changes(base, pull.head_sha), git.rev_list(f"{base}..{pull.head_sha}")[::-1]


def _count(hub: Hub, pull: Pull) -> int:
    return sum(comment.number == pull.number for comment in hub.state.comments.values())


@serves("GET", f"{REPO}/pulls", "pull_requests=read")
def list_pulls(call: Call) -> Answer:
    state = call.query.get("state", "open")
    if state not in {"open", "closed", "all"}:
        raise ApiError(422, "Validation Failed", errors=[{"resource": "PullRequest", "code": "invalid"}])
    pulls = [pull for pull in call.hub.state.pulls.values() if state in {"all", pull.state}]
    head = call.query.get("head", "")
    if ":" in head:  # without an owner GitHub ignores the filter
        owner, _, ref = head.partition(":")
        pulls = [pull for pull in pulls if pull.head_ref == ref and (pull.head_repo or "/").split("/")[0] == owner]
    if "base" in call.query:
        pulls = [pull for pull in pulls if pull.base_ref == call.query["base"]]
    updated = call.query.get("sort") == "updated"
    ascending = call.query.get("direction", "desc" if call.query.get("sort", "created") == "created" else "asc")
    pulls.sort(
        key=lambda pull: (pull.updated_at if updated else pull.created_at, pull.number), reverse=ascending == "desc"
    )
    return call.paged([call.shapes.simple_pull(pull) for pull in pulls])


@serves("GET", f"{REPO}/pulls/{{pull_number}}", "pull_requests=read")
def get_pull(call: Call) -> Answer:
    pull = call.hub.pull(call.number("pull_number"))
    changes, commits = _history(call.hub, pull)
    return Answer(200, call.shapes.pull(pull, changes, len(commits), _count(call.hub, pull)))


@serves("GET", f"{REPO}/pulls/{{pull_number}}/files", "pull_requests=read")
def list_pull_files(call: Call) -> Answer:
    pull = call.hub.pull(call.number("pull_number"))
    changes, _ = _history(call.hub, pull)
    return call.paged([call.shapes.file_change(change, pull.head_sha) for change in changes])


@serves("GET", f"{REPO}/pulls/{{pull_number}}/commits", "pull_requests=read")
def list_pull_commits(call: Call) -> Answer:
    _, commits = _history(call.hub, call.hub.pull(call.number("pull_number")))
    page = call.hub.git.commits(commits[call.slice()])
    return Answer(200, [call.shapes.commit(each) for each in page], headers=call.link_header(len(commits)))


@serves("GET", f"{REPO}/commits/{{commit_sha}}/pulls", "pull_requests=read", "contents=read")
def list_pulls_of_commit(call: Call) -> Answer:
    sha = call.hub.git.resolve_commit(call.parameters["commit_sha"])
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {call.parameters['commit_sha']}")
    hub = call.hub
    found = [
        call.shapes.simple_pull(pull)
        for pull in hub.state.pulls.values()
        if (pull.head_repo == hub.full_name or hub.list_fork_pulls_by_commit)
        and (sha in (pull.head_sha, pull.merge_commit_sha if pull.merged else None) or sha in _history(hub, pull)[1])
    ]
    return call.paged(found)


@serves("GET", f"{REPO}/issues/{{issue_number}}", *_COMMENT_READ)
def get_issue(call: Call) -> Answer:
    pull = call.hub.pull(call.number("issue_number"))
    return Answer(200, call.shapes.issue(pull, _count(call.hub, pull)))


@serves("GET", f"{REPO}/issues/{{issue_number}}/comments", *_COMMENT_READ)
def list_comments(call: Call) -> Answer:
    number = call.hub.pull(call.number("issue_number")).number
    comments = [comment for comment in call.hub.state.comments.values() if comment.number == number]
    if "since" in call.query:
        comments = [comment for comment in comments if comment.updated_at >= call.query["since"]]
    page = [call.shapes.comment(comment) for comment in comments[call.slice()]]
    return Answer(200, page, headers=call.link_header(len(comments)))


def _body(call: Call) -> str:
    body = call.body.get("body")
    if not isinstance(body, str):
        raise ApiError(422, 'Invalid request.\n\n"body" wasn\'t supplied.')
    if not body.strip():
        error = {"resource": "IssueComment", "code": "unprocessable", "field": "data"}
        raise ApiError(422, "Validation Failed", errors=[{**error, "message": "Body cannot be blank"}])
    if len(body) > MAX_BODY_CHARACTERS:
        error = {"resource": "IssueComment", "code": "unprocessable", "field": "data"}
        message = f"Body is too long (maximum is {MAX_BODY_CHARACTERS} characters)"
        raise ApiError(422, "Validation Failed", errors=[{**error, "message": message}])
    return body


@serves("POST", f"{REPO}/issues/{{issue_number}}/comments", *_COMMENT_WRITE)
def create_comment(call: Call) -> Answer:
    hub = call.hub
    pull = hub.pull(call.number("issue_number"))
    if pull.locked:
        raise ApiError(403, "Unable to create comment because issue is locked.")
    body = _body(call)
    comment = Comment(hub.state.next_id(), pull.number, hub.identity.user, body, hub.identity.app_slug)
    hub.state.comments[comment.id] = comment
    document = call.shapes.comment(comment)
    return Answer(201, document, headers={"Location": document["url"]})


def _comment(call: Call) -> Comment:
    comment = call.hub.state.comments.get(call.number("comment_id"))
    if comment is None:
        raise not_found()
    return comment


@serves("GET", f"{REPO}/issues/comments/{{comment_id}}", *_COMMENT_READ)
def get_comment(call: Call) -> Answer:
    return Answer(200, call.shapes.comment(_comment(call)))


@serves("PATCH", f"{REPO}/issues/comments/{{comment_id}}", *_COMMENT_WRITE)
def update_comment(call: Call) -> Answer:
    comment = _comment(call)
    comment.body = _body(call)
    comment.updated_at = now()
    return Answer(200, call.shapes.comment(comment))


@serves("DELETE", f"{REPO}/issues/comments/{{comment_id}}", *_COMMENT_WRITE)
def delete_comment(call: Call) -> Answer:
    del call.hub.state.comments[_comment(call).id]
    return Answer(204)
