"""Check runs and their annotations."""

from __future__ import annotations

from typing import Any

from tests.double.conversation import REPO
from tests.double.routes import Answer, ApiError, Call, not_found, serves
from tests.double.state import CheckRun, now

MAX_OUTPUT_BYTES = 65535
MAX_ANNOTATIONS = 50
CONCLUSIONS = ("action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out")
STATUSES = ("queued", "in_progress", "completed", "waiting", "requested", "pending")
_ANNOTATION_FIELDS = ("path", "start_line", "end_line", "annotation_level", "message")


def _invalid(text: str) -> ApiError:
    return ApiError(422, f"Invalid request.\n\n{text}")


def _one_of(call: Call, name: str, allowed: tuple[str, ...]) -> str | None:
    value = call.body.get(name)
    if value is not None and value not in allowed:
        raise _invalid(f"{value} is not a member of {', '.join(allowed)}.")
    return value


def _output(call: Call) -> dict[str, Any]:
    """The checked `output` of the request, empty when there is none."""
    output = call.body.get("output")
    if output is None:
        return {}
    if not isinstance(output, dict):
        raise _invalid("For 'properties/output', the value is not an object.")
    for name in ("title", "summary"):
        # GitHub's description calls title optional for updates, its text calls it required.
        if not isinstance(output.get(name), str):
            raise _invalid(f'"{name}" wasn\'t supplied.')
    for name in ("summary", "text"):
        size = len((output.get(name) or "").encode())
        if size > MAX_OUTPUT_BYTES:
            raise _invalid(f"Only {MAX_OUTPUT_BYTES} characters are allowed; {size} were supplied.")
    annotations = output.get("annotations") or []
    if len(annotations) > MAX_ANNOTATIONS:
        raise _invalid(f"No more than {MAX_ANNOTATIONS} items are allowed; {len(annotations)} were supplied.")
    for annotation in annotations:
        for name in _ANNOTATION_FIELDS:
            if annotation.get(name) is None:
                raise _invalid(f'"{name}" wasn\'t supplied.')
        if annotation["annotation_level"] not in {"notice", "warning", "failure"}:
            raise _invalid(f"{annotation['annotation_level']} is not a member of notice, warning, failure.")
    return output


def _apply(call: Call, run: CheckRun) -> None:
    """Write the checked request into the run; annotations are added, everything else is replaced."""
    status, conclusion = _one_of(call, "status", STATUSES), _one_of(call, "conclusion", CONCLUSIONS)
    output = _output(call)
    if conclusion == "stale":
        raise _invalid("The conclusion stale can only be set by GitHub.")
    if conclusion is None and (status == "completed" or call.body.get("completed_at")):
        raise _invalid('"conclusion" wasn\'t supplied.')
    if conclusion is not None:
        status = "completed"
    if status is not None:
        run.status, run.conclusion = status, conclusion
        run.completed_at = call.body.get("completed_at") or now() if status == "completed" else None
    run.started_at = call.body.get("started_at") or run.started_at or now()
    run.name = call.body.get("name") or run.name
    run.external_id = call.body.get("external_id", run.external_id)
    run.details_url = call.body.get("details_url") or run.details_url
    if output:
        run.title, run.summary = output["title"], output["summary"]
        run.text = output.get("text", run.text)
        run.annotations.extend(output.get("annotations") or [])


def _require_app(call: Call) -> None:
    if call.hub.identity.app_slug is None:
        raise ApiError(403, "You must authenticate via a GitHub App.")


@serves("POST", f"{REPO}/check-runs", "checks=write")
def create_check_run(call: Call) -> Answer:
    _require_app(call)
    hub = call.hub
    name, sha = call.required("name"), call.required("head_sha")
    if hub.git.type_of(sha) != "commit":
        raise ApiError(422, f"No commit found for SHA: {sha}")
    slug = hub.identity.app_slug
    assert slug is not None
    run = CheckRun(0, name, sha, slug, hub.identity.app_id)
    _apply(call, run)
    run.id = hub.state.next_id()
    hub.state.check_runs[run.id] = run
    return Answer(201, call.shapes.check_run(run))


def _check_run(call: Call) -> CheckRun:
    run = call.hub.state.check_runs.get(call.number("check_run_id"))
    if run is None:
        raise not_found()
    return run


@serves("GET", f"{REPO}/check-runs/{{check_run_id}}", "checks=read")
def get_check_run(call: Call) -> Answer:
    return Answer(200, call.shapes.check_run(_check_run(call)))


@serves("PATCH", f"{REPO}/check-runs/{{check_run_id}}", "checks=write")
def update_check_run(call: Call) -> Answer:
    _require_app(call)
    run = _check_run(call)
    app_id = call.hub.identity.app_id
    if run.app_id != app_id:
        message = f"Invalid app_id `{app_id}` - check run can only be modified by the GitHub App that created it."
        raise ApiError(403, message)
    _apply(call, run)
    return Answer(200, call.shapes.check_run(run))


@serves("GET", f"{REPO}/check-runs/{{check_run_id}}/annotations", "checks=read")
def list_annotations(call: Call) -> Answer:
    run = _check_run(call)
    return call.paged([call.shapes.annotation(run, annotation) for annotation in run.annotations])


@serves("GET", f"{REPO}/commits/{{ref}}/check-runs", "checks=read")
def list_check_runs(call: Call) -> Answer:
    sha = call.hub.git.resolve_commit(call.parameters["ref"])
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {call.parameters['ref']}")
    runs = [run for run in call.hub.state.check_runs.values() if run.head_sha == sha]
    if call.query.get("filter", "latest") == "latest":
        runs = list({(run.app_id, run.name): run for run in runs}.values())
    if "check_name" in call.query:
        runs = [run for run in runs if run.name == call.query["check_name"]]
    if "status" in call.query:
        runs = [run for run in runs if run.status == call.query["status"]]
    if "app_id" in call.query:
        runs = [run for run in runs if str(run.app_id) == call.query["app_id"]]
    documents = [call.shapes.check_run(run) for run in sorted(runs, key=lambda run: -run.id)]
    return call.paged(documents, lambda page: {"total_count": len(documents), "check_runs": page})
