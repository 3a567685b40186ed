"""The Git Data API: refs, blobs, trees and commits, over the real repository."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import UTC, datetime
from typing import Any

from tests.double.conversation import REPO
from tests.double.repository import Signature, TreeChange
from tests.double.routes import Answer, ApiError, Call, Json, not_found, serves

MAX_TREE_ENTRIES = 100_000
_SHA = re.compile(r"[0-9a-f]{40}")
_TYPES = {"100644": "blob", "100755": "blob", "120000": "blob", "040000": "tree", "160000": "commit"}


def wrapped_base64(content: bytes) -> str:
    """Base64 in lines of 60 characters, as GitHub sends it."""
    text = base64.b64encode(content).decode()
    return "".join(f"{text[start : start + 60]}\n" for start in range(0, len(text), 60))


def _ref(call: Call, name: str, sha: str) -> Json:
    return call.shapes.ref(name, sha, call.hub.git.type_of(sha) or "commit")


@serves("GET", f"{REPO}/git/ref/{{ref}}", "contents=read")
def get_ref(call: Call) -> Answer:
    name = f"refs/{call.parameters['ref']}"
    sha = call.hub.git.ref(name)
    if sha is None:
        raise not_found()
    return Answer(200, _ref(call, name, sha))


@serves("GET", f"{REPO}/git/matching-refs/{{ref}}", "contents=read")
def list_matching_refs(call: Call) -> Answer:
    found = call.hub.git.refs(f"refs/{call.parameters['ref']}")
    return Answer(200, [_ref(call, name, sha) for name, sha in sorted(found.items())])


def _sha(call: Call) -> str:
    sha = str(call.required("sha"))
    if not _SHA.fullmatch(sha):
        raise ApiError(422, "The sha parameter must be exactly 40 characters and contain only [0-9a-f].")
    kind = call.hub.git.type_of(sha)
    if kind is None:
        raise ApiError(422, "Object does not exist")
    return sha


@serves("POST", f"{REPO}/git/refs", "contents=write")
def create_ref(call: Call) -> Answer:
    git, name = call.hub.git, str(call.required("ref"))
    if not name.startswith("refs/") or name.count("/") < 2:
        raise ApiError(422, "Reference name must start with 'refs/' and have at least two slashes.")
    if not git.valid_ref(name):
        raise ApiError(422, f"{name} is not a valid ref name.")
    sha = _sha(call)
    if name.startswith("refs/heads/") and git.type_of(sha) != "commit":
        raise ApiError(422, "Reference update failed: the object is not a commit")
    if not git.update_ref(name, sha, None):
        raise ApiError(422, "Reference already exists" if git.ref(name) else "Reference update failed")
    document = _ref(call, name, sha)
    return Answer(201, document, headers={"Location": document["url"]})


@serves("PATCH", f"{REPO}/git/refs/{{ref}}", "contents=write")
def update_ref(call: Call) -> Answer:
    git, name = call.hub.git, f"refs/{call.parameters['ref']}"
    sha = _sha(call)
    while True:
        old = git.ref(name)
        if old is None:
            raise ApiError(422, "Reference does not exist")
        if not call.body.get("force", False) and not git.is_ancestor(old, sha):
            raise ApiError(422, "Update is not a fast forward")
        # A writer that came in between makes the swap fail; the next look decides about the new tip.
        if git.update_ref(name, sha, old):
            return Answer(200, _ref(call, name, sha))


@serves("DELETE", f"{REPO}/git/refs/{{ref}}", "contents=write")
def delete_ref(call: Call) -> Answer:
    name = f"refs/{call.parameters['ref']}"
    if call.hub.git.ref(name) is None:
        raise ApiError(422, "Reference does not exist")
    call.hub.git.delete_ref(name)
    return Answer(204)


@serves("POST", f"{REPO}/git/blobs", "contents=write")
def create_blob(call: Call) -> Answer:
    content, encoding = str(call.required("content")), call.body.get("encoding", "utf-8")
    if encoding not in {"utf-8", "base64"}:
        raise ApiError(422, f"Invalid request.\n\n{encoding} is not a member of utf-8, base64.")
    try:
        data = content.encode() if encoding == "utf-8" else base64.b64decode("".join(content.split()), validate=True)
    except binascii.Error:
        raise ApiError(422, "content is not valid Base64") from None
    sha = call.hub.git.write_blob(data)
    url = f"{call.shapes.repo_url}/git/blobs/{sha}"
    return Answer(201, {"sha": sha, "url": url}, headers={"Location": url})


@serves("GET", f"{REPO}/git/blobs/{{file_sha}}", "contents=read")
def get_blob(call: Call) -> Answer:
    sha = call.parameters["file_sha"]
    if not _SHA.fullmatch(sha):
        raise ApiError(422, "The sha parameter must be exactly 40 characters and contain only [0-9a-f].")
    if call.hub.git.type_of(sha) != "blob":
        raise not_found()
    content = call.hub.git.read_blob(sha)
    if wants_raw(call):
        return Answer(200, raw=content, content_type="application/vnd.github.raw+json; charset=utf-8")
    return Answer(
        200,
        {
            "sha": sha,
            "node_id": f"B_{sha}",
            "size": len(content),
            "url": f"{call.shapes.repo_url}/git/blobs/{sha}",
            "content": wrapped_base64(content),
            "encoding": "base64",
        },
    )


def wants_raw(call: Call) -> bool:
    """Whether the request asks for the raw media type, in any of its spellings."""
    return re.search(r"application/vnd\.github(\.v3)?\.raw(\+json)?\b", call.headers.get("accept", "")) is not None


def _tree_json(call: Call, sha: str, *, recursive: bool) -> Json:
    entries = call.hub.git.list_tree(sha, recursive=recursive)
    listed = []
    for entry in entries[:MAX_TREE_ENTRIES]:
        size: Json = {} if entry.size is None else {"size": entry.size}
        url = {} if entry.type == "commit" else {"url": f"{call.shapes.repo_url}/git/{entry.type}s/{entry.sha}"}
        listed.append({"path": entry.path, "mode": entry.mode, "type": entry.type, "sha": entry.sha, **size, **url})
    return {
        "sha": sha,
        "url": f"{call.shapes.repo_url}/git/trees/{sha}",
        "tree": listed,
        "truncated": len(entries) > MAX_TREE_ENTRIES,
    }


@serves("GET", f"{REPO}/git/trees/{{tree_sha}}", "contents=read")
def get_tree(call: Call) -> Answer:
    sha = call.hub.git.resolve_tree(call.parameters["tree_sha"])
    if sha is None:
        raise not_found()
    # Any value of the parameter means recursive, also `0` and `false`.
    return Answer(200, _tree_json(call, sha, recursive="recursive" in call.query))


def _path(entry: Json) -> str:
    path = entry.get("path")
    if not isinstance(path, str) or not path:
        raise ApiError(422, "Must supply a valid tree.path")
    if path.startswith("/"):
        raise ApiError(422, "tree.path cannot start with a slash")
    if any(part in {"", ".", "..", ".git"} for part in path.split("/")) or "\0" in path:
        raise ApiError(422, "tree.path contains a malformed path component")
    return path


def _change(call: Call, entry: Any, base: str | None) -> TreeChange:
    if not isinstance(entry, dict):
        raise ApiError(422, "Invalid tree info")
    git, path, mode = call.hub.git, _path(entry), entry.get("mode")
    if "sha" in entry and entry["sha"] is None:
        if base is None or git.entry(base, path) is None:
            raise ApiError(422, "GitRPC::BadObjectState")
        return TreeChange(path, "100644", None)
    if mode not in _TYPES:
        raise ApiError(422, "Must supply a valid tree.mode")
    if entry.get("type", _TYPES[mode]) != _TYPES[mode]:
        raise ApiError(422, "Must supply a valid tree.type")
    if ("sha" in entry) == ("content" in entry):
        raise ApiError(422, "Must supply either tree.sha or tree.content")
    if "content" in entry:
        return TreeChange(path, mode, git.write_blob(str(entry["content"]).encode()))
    sha = str(entry["sha"])
    if mode != "160000" and (not _SHA.fullmatch(sha) or git.type_of(sha) != _TYPES[mode]):
        raise ApiError(422, f"tree.sha {sha} is not a valid {_TYPES[mode]}")
    return TreeChange(path, mode, sha)


@serves("POST", f"{REPO}/git/trees", "contents=write")
def create_tree(call: Call) -> Answer:
    git, entries, base = call.hub.git, call.required("tree", list), call.body.get("base_tree")
    if not entries:
        raise ApiError(422, "Invalid tree info")
    if base is not None and git.type_of(str(base)) != "tree":
        raise ApiError(422, "base_tree is not a valid tree oid")
    sha = git.write_tree([_change(call, entry, base) for entry in entries], base)
    document = _tree_json(call, sha, recursive=False)
    return Answer(201, document, headers={"Location": document["url"]})


def _signature(call: Call, name: str, fallback: Signature) -> Signature:
    person = call.body.get(name)
    if not person:
        return fallback
    if not person.get("name") or not person.get("email"):
        missing = "email" if person.get("name") else "name"
        raise ApiError(422, f'Invalid request.\n\n"{missing}" wasn\'t supplied.')
    date = person.get("date", fallback.date)
    try:
        moment = datetime.fromisoformat(date.replace("Z", "+00:00"))
    except ValueError:
        raise ApiError(422, f"Invalid request.\n\n{date} is not a valid date.") from None
    return Signature(person["name"], person["email"], moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


@serves("POST", f"{REPO}/git/commits", "contents=write")
def create_commit(call: Call) -> Answer:
    git, message, tree = call.hub.git, str(call.required("message")), str(call.required("tree"))
    parents = [str(parent) for parent in call.body.get("parents") or []]
    if not _SHA.fullmatch(tree) or git.type_of(tree) != "tree":
        raise ApiError(422, "Tree SHA does not exist")
    for parent in parents:
        if not _SHA.fullmatch(parent) or git.type_of(parent) != "commit":
            raise ApiError(422, "Parent SHA does not exist or is not a commit object")
    author = _signature(call, "author", call.hub.signature())
    committer = _signature(call, "committer", author)
    sha = git.write_commit(tree, parents, message, author, committer)
    document = call.shapes.git_commit(git.commits([sha])[0])
    return Answer(201, document, headers={"Location": document["url"]})


@serves("GET", f"{REPO}/git/commits/{{commit_sha}}", "contents=read")
def get_git_commit(call: Call) -> Answer:
    sha = call.parameters["commit_sha"]
    if not _SHA.fullmatch(sha) or call.hub.git.type_of(sha) != "commit":
        raise not_found()
    return Answer(200, call.shapes.git_commit(call.hub.git.commits([sha])[0]))
