"""The endpoints under `/_double/`, through which another process scripts and inspects the double."""

from __future__ import annotations

import base64
import binascii
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.double.faults import Fault
from tests.double.routes import Answer, Json

if TYPE_CHECKING:
    from tests.double.double import GitHubDouble

CONTROL = "/_double/"
SETTINGS = ("read_only", "permissions", "default_permission", "private", "token", "list_fork_pulls_by_commit")
CALLS = (
    "open_pull",
    "move_pull",
    "close_pull",
    "lock_pull",
    "add_comment",
    "add_check_run",
    "add_run",
    "add_artifact",
    "commit_files",
    "create_branch",
    "seed_from",
)


def control(double: GitHubDouble, method: str, path: str, body: Any) -> Answer:
    """Answer a control request; every mistake is a 400 that says what was wrong."""
    try:
        return _control(double, method, path.removeprefix(CONTROL), body if body is not None else {})
    except (TypeError, ValueError, KeyError, AttributeError, binascii.Error) as error:
        return Answer(400, {"error": f"{type(error).__name__}: {error}"})


def _control(double: GitHubDouble, method: str, name: str, body: Any) -> Answer:
    match method, name:
        case "POST", "faults":
            rules = body if isinstance(body, list) else [body]
            return Answer(201, [double.faults.add(Fault(**rule)).to_json() for rule in rules])
        case "GET", "faults":
            return Answer(200, double.faults.to_json())
        case "DELETE", "faults":
            double.faults.clear()
            return Answer(204)
        case "GET", "requests":
            return Answer(200, [exchange.to_json() for exchange in double.requests])
        case "DELETE", "requests":
            double.requests.clear()
            return Answer(204)
        case "GET", "violations":
            return Answer(200, [str(violation) for violation in double.violations])
        case "DELETE", "violations":
            double.violations.clear()
            return Answer(204)
        case "GET", "state":
            return Answer(200, _state(double))
        case "POST", "settings":
            return Answer(200, _settings(double, body))
        case "POST", "call":
            if body["name"] not in CALLS:
                raise ValueError(f"{body['name']} is not one of {', '.join(CALLS)}")
            result = getattr(double, body["name"])(**_arguments(body.get("arguments", {})))
            return Answer(200, {"result": _plain(result)})
        case _:
            return Answer(404, {"error": f"no control endpoint {method} {name}"})


def _arguments(given: Json) -> Json:
    """Arguments with files as bytes: text as it is, `{"base64": …}` decoded, null kept as a removal."""

    def content(value: Any) -> bytes | None:
        if isinstance(value, dict):
            return base64.b64decode(value["base64"], validate=True)
        return None if value is None else str(value).encode()

    arguments = dict(given)
    if isinstance(arguments.get("files"), dict):
        arguments["files"] = {path: content(value) for path, value in arguments["files"].items()}
    if "source" in arguments:
        arguments["source"] = Path(arguments["source"])
    return arguments


def _plain(result: Any) -> Any:
    """A record as JSON values; an archive stays behind."""
    if not is_dataclass(result) or isinstance(result, type):
        return result
    return {name: value for name, value in asdict(result).items() if not isinstance(value, bytes)}


def _settings(double: GitHubDouble, body: Json) -> Json:
    for name, value in body.items():
        if name not in SETTINGS:
            raise ValueError(f"{name} is not one of {', '.join(SETTINGS)}")
        setattr(double.hub, name, value)
    return {name: getattr(double.hub, name) for name in SETTINGS}


def _state(double: GitHubDouble) -> Json:
    refs = double.git.refs("refs/heads/")
    branches = {ref.removeprefix("refs/heads/"): sha for ref, sha in refs.items()}
    return {
        **double.hub.state.to_json(),
        "repository": double.hub.full_name,
        "branches": {
            name: {
                "sha": sha,
                "files": {
                    path: content.decode(errors="replace") for path, content in double.branch_files(name).items()
                },
            }
            for name, sha in branches.items()
        },
        "violations": [str(violation) for violation in double.violations],
    }
