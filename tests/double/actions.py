"""Workflow runs and their artifacts."""

from __future__ import annotations

from tests.double.conversation import REPO
from tests.double.routes import STORAGE, Answer, ApiError, Call, not_found, serves
from tests.double.state import Artifact, WorkflowRun


def _run(call: Call) -> WorkflowRun:
    run = call.hub.state.runs.get(call.number("run_id"))
    if run is None:
        raise not_found()
    return run


@serves("GET", f"{REPO}/actions/runs/{{run_id}}", "actions=read")
def get_run(call: Call) -> Answer:
    return Answer(200, call.shapes.run(_run(call)))


@serves("GET", f"{REPO}/actions/runs/{{run_id}}/artifacts", "actions=read")
def list_artifacts(call: Call) -> Answer:
    run = _run(call)
    artifacts = [artifact for artifact in call.hub.state.artifacts.values() if artifact.run_id == run.id]
    if "name" in call.query:
        artifacts = [artifact for artifact in artifacts if artifact.name == call.query["name"]]
    documents = [call.shapes.artifact(artifact) for artifact in sorted(artifacts, key=lambda each: -each.id)]
    return call.paged(documents, lambda page: {"total_count": len(documents), "artifacts": page})


def _artifact(call: Call) -> Artifact:
    artifact = call.hub.state.artifacts.get(call.number("artifact_id"))
    if artifact is None:
        raise not_found()
    return artifact


@serves("GET", f"{REPO}/actions/artifacts/{{artifact_id}}", "actions=read")
def get_artifact(call: Call) -> Answer:
    return Answer(200, call.shapes.artifact(_artifact(call)))


@serves("GET", f"{REPO}/actions/artifacts/{{artifact_id}}/{{archive_format}}", "actions=read")
def download_artifact(call: Call) -> Answer:
    artifact = _artifact(call)
    if call.parameters["archive_format"] != "zip":
        raise not_found()
    if artifact.expired:
        raise ApiError(410, "Artifact has expired")
    return Answer(302, headers={"Location": f"{STORAGE}{artifact.id}"})
