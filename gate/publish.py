"""The comment, then the check. What GitHub refuses becomes data: it never changes a verdict."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gate.comparison import Comparison
from gate.errors import BrokenEnvironmentError
from gate.github import ApiError, CheckRun, Client, Comment, NotFoundError, RefusedError, same_text
from gate.render.marker import Marker, read_marker

CHECK_NAME = "agent-chaos-gate"
ANNOTATIONS = 50
"""How many annotations GitHub takes in one request."""

CommentMode = Literal["changes", "always", "failures", "off"]
Conclusion = Literal["success", "failure", "neutral", "cancelled"]


@dataclass(frozen=True)
class Check:
    """The check run of one key on one commit. `details_url` is where its link leads: the workflow run."""

    key: str
    head_sha: str
    details_url: str = ""

    @property
    def name(self) -> str:
        """Return the name that the pull request shows."""
        return CHECK_NAME if self.key == "default" else f"{CHECK_NAME} / {self.key}"


@dataclass(frozen=True)
class Annotation:
    """A remark on a line of a file of the repository."""

    path: str
    line: int
    level: Literal["notice", "warning", "failure"]
    title: str
    message: str


@dataclass(frozen=True)
class Texts:
    """What is shown, within GitHub's limits; the comment ends in its marker."""

    comment: str
    check_title: str
    check_summary: str
    annotations: Sequence[Annotation] = ()


@dataclass(frozen=True)
class Gap:
    """Something that was not published, why, and the missing permission as a workflow writes it, if that is it."""

    what: Literal["comment", "check run"]
    reason: str
    permission: str = ""

    @property
    def notice(self) -> str:
        """Return one line that says what is missing and what to do."""
        fix = f"; the token lacks `{self.permission}`" if self.permission else ""
        return f"the {self.what} was not written: {self.reason}{fix}"


@dataclass(frozen=True)
class Published:
    """What stands on GitHub now. `superseded`: the pull request has a newer head, whose run will comment."""

    comment_url: str = ""
    check_url: str = ""
    superseded: bool = False
    gaps: tuple[Gap, ...] = ()


def publish(
    client: Client,
    comparison: Comparison,
    texts: Texts,
    check: Check | None,
    *,
    head_sha: str,
    pull_request: int | None,
    mode: CommentMode = "changes",
    required: bool = False,
) -> Published:
    """Write the comment, then complete the check.

    Args:
        check: None leaves the check run out.
        pull_request: None where the event has none; then there is no comment.
        required: whether a gap is an error.

    Raises:
        BrokenEnvironmentError: `required`, and something could not be written.
    """
    gaps: list[Gap] = []
    comment_url, check_url, superseded = "", "", False
    found = None
    if check is not None:
        with contextlib.suppress(ApiError):  # looked for first, since it tells whose comments are ours
            found = client.find_check_run(check.head_sha, check.name, check.key)
    if pull_request is not None and mode != "off":
        try:
            comment_url, superseded = _put_comment(client, pull_request, head_sha, texts.comment, comparison, mode)
        except ApiError as error:
            gaps.append(_gap("comment", error))
    if check is not None:
        conclusion = conclusion_of(comparison)
        completed = complete_check(
            client, check, conclusion, texts.check_title, texts.check_summary, texts.annotations, found=found
        )
        if isinstance(completed, Gap):
            gaps.append(completed)
        else:
            check_url = completed.html_url or ""
    if gaps and required:
        fix = "give the job what is missing under `permissions:`, or take `publish-required` away"
        raise BrokenEnvironmentError("\n".join(gap.notice for gap in gaps), where="publish", fix=fix)
    return Published(comment_url, check_url, superseded, tuple(gaps))


def conclusion_of(comparison: Comparison) -> Conclusion:
    """Return GitHub's word for a verdict. `neutral` passes branch protection, hence never for what blocks."""
    if comparison.blocks:
        return "failure"
    return "success" if comparison.verdict == "pass" else "neutral"


def is_worth_a_comment(comparison: Comparison) -> bool:
    """Return whether there is something to say beyond "as before"."""
    return (
        comparison.verdict != "pass"
        or bool(comparison.reasons or comparison.status_changes or comparison.new_critical or comparison.missing)
        or any(row.verdict != "pass" for row in comparison.rows)
        or any(notice.kind != "base_is_ancestor" for notice in comparison.warnings)
        or bool(comparison.anchor and (comparison.anchor.problem or comparison.anchor.worse))
    )


def _put_comment(
    client: Client, number: int, head_sha: str, text: str, comparison: Comparison, mode: CommentMode
) -> tuple[str, bool]:
    """Create or edit the one comment of a key; return its address, and whether a newer head forbade it."""
    marker = read_marker(text)
    if marker is None:
        raise ValueError("the comment does not end in its marker")
    own = _own_comment(client, number, marker.key)
    wanted = {"always": True, "changes": is_worth_a_comment(comparison), "failures": comparison.blocks}
    if own is None and not wanted[mode]:
        return "", False
    if client.pull_request(number).head.sha != head_sha:
        return "", True
    if own is not None and same_text(_without_marker(own.body or ""), _without_marker(text)):
        return own.html_url, False
    if own is not None:
        try:
            return client.edit_comment(own.id, text).html_url, False
        except ApiError as error:
            if error.status != 404:  # 404: deleted since it was listed
                raise
    return client.create_comment(number, text).html_url, False


def _own_comment(client: Client, number: int, key: str) -> Comment | None:
    """Return the oldest comment with our marker that this token wrote; anyone can copy a marker."""
    for comment in client.comments(number):
        marker: Marker | None = read_marker(comment.body or "")
        if marker and marker.key == key and comment.user and comment.user.login == client.login():
            return comment
    return None


def _without_marker(body: str) -> str:
    return body.rstrip().rpartition("\n")[0]


def open_check(client: Client, check: Check, title: str = "Running") -> CheckRun | Gap:
    """Put the check in progress, so that the pull request shows it while the suite runs."""
    output = {"title": title, "summary": "The experiments are running."}
    try:
        return _put_check(client, check, {"status": "in_progress", "output": output})
    except ApiError as error:
        return _gap("check run", error)


def complete_check(
    client: Client,
    check: Check,
    conclusion: Conclusion,
    title: str,
    summary: str,
    annotations: Sequence[Annotation] = (),
    *,
    found: CheckRun | None = None,
) -> CheckRun | Gap:
    """Give the check its conclusion, whether or not it was opened before; also how a crash is told.

    `found` is the check run where it is known already.
    """
    batches = [annotations[i : i + ANNOTATIONS] for i in range(0, len(annotations), ANNOTATIONS)]
    fields = {"status": "completed", "conclusion": conclusion}
    try:
        output = _output(title, summary, batches[0] if batches else ())
        run = _put_check(client, check, fields | {"output": output}, found)
        for batch in batches[1:]:
            client.edit_check_run(run.id, {"output": _output(title, summary, batch)})
    except ApiError as error:
        return _gap("check run", error)
    return run


def _output(title: str, summary: str, annotations: Sequence[Annotation]) -> dict[str, Any]:
    remarks = [
        {
            "path": a.path,
            "start_line": a.line,
            "end_line": a.line,
            "annotation_level": a.level,
            "title": a.title,
            "message": a.message,
        }
        for a in annotations
    ]
    return {"title": title, "summary": summary} | ({"annotations": remarks} if remarks else {})


def _put_check(client: Client, check: Check, fields: dict[str, Any], found: CheckRun | None = None) -> CheckRun:
    """Update the check run that is there, else create it."""
    if check.details_url:
        fields = fields | {"details_url": check.details_url}
    found = found or client.find_check_run(check.head_sha, check.name, check.key)
    if found is not None:
        try:
            return client.edit_check_run(found.id, fields)
        except (RefusedError, NotFoundError):
            pass  # another app's check under our name: make our own
    return client.create_check_run({"name": check.name, "head_sha": check.head_sha, "external_id": check.key, **fields})


def _gap(what: Literal["comment", "check run"], error: ApiError) -> Gap:
    return Gap(what, error.what, error.permission)
