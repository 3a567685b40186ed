"""Commits, comparisons, branches and files at a commit."""

from __future__ import annotations

from urllib.parse import quote

from tests.double.conversation import REPO
from tests.double.git_data import wants_raw, wrapped_base64
from tests.double.repository import TreeEntry
from tests.double.routes import Answer, ApiError, Call, Json, not_found, serves

MAX_CONTENT_BYTES = 1024 * 1024
MAX_RAW_BYTES = 100 * 1024 * 1024
MAX_COMPARE_FILES = 300


@serves("GET", f"{REPO}/commits", "contents=read")
def list_commits(call: Call) -> Answer:
    git, start = call.hub.git, call.query.get("sha", call.hub.default_branch)
    sha = git.resolve_commit(start)
    if sha is None:
        if not git.refs("refs/heads/"):
            raise ApiError(409, "Git Repository is empty.")
        raise not_found()
    options = tuple(
        f"--{name}={call.query[name]}" for name in ("since", "until", "author", "committer") if name in call.query
    )
    shas = git.rev_list(sha, options=options, path=call.query.get("path"))
    page = [call.shapes.commit(commit) for commit in git.commits(shas[call.slice()])]
    return Answer(200, page, headers=call.link_header(len(shas)))


def _changes(call: Call, old: str | None, new: str) -> list[Json]:
    git = call.hub.git
    before = old or git.write_tree([], None)
    return [call.shapes.file_change(change, new) for change in git.changes(before, new)]


@serves("GET", f"{REPO}/commits/{{ref}}", "contents=read")
def get_commit(call: Call) -> Answer:
    name = call.parameters["ref"]
    sha = call.hub.git.resolve_commit(name)
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {name}")
    commit = call.hub.git.commits([sha])[0]
    if "vnd.github.sha" in call.headers.get("accept", ""):
        return Answer(200, raw=sha.encode(), content_type="application/vnd.github.sha; charset=utf-8")
    files = _changes(call, commit.parents[0] if commit.parents else None, sha)
    additions, deletions = sum(each["additions"] for each in files), sum(each["deletions"] for each in files)
    stats = {"total": additions + deletions, "additions": additions, "deletions": deletions}
    page = files[call.slice()] if "page" in call.query else files[:MAX_COMPARE_FILES]
    return Answer(200, {**call.shapes.commit(commit), "stats": stats, "files": page})


@serves("GET", f"{REPO}/compare/{{basehead}}", "contents=read")
def compare(call: Call) -> Answer:
    git = call.hub.git
    names = call.parameters["basehead"].split("...")
    # `owner:ref` and `owner:repo:ref` name another repository of the network; all share these objects.
    shas = [git.resolve_commit(name.rsplit(":", 1)[-1]) for name in names]
    if len(shas) != 2 or shas[0] is None or shas[1] is None:
        raise not_found()
    base, head = shas[0], shas[1]
    fork_point = git.merge_base(base, head)
    if fork_point is None:
        raise ApiError(404, f"No common ancestor between {names[0]} and {names[1]}.")
    ahead, behind = git.rev_list(f"{base}..{head}")[::-1], git.rev_list(f"{head}..{base}")
    status = "diverged" if ahead and behind else "ahead" if ahead else "behind" if behind else "identical"
    url, html = f"{call.shapes.api}{call.path}", f"{call.shapes.repo_web}/compare/{quote(names[0])}...{quote(names[1])}"
    page = ahead[call.slice()] if {"page", "per_page"} & set(call.query) else ahead[:250]
    first, middle, *commits = (call.shapes.commit(each) for each in git.commits([base, fork_point, *page]))
    return Answer(
        200,
        {
            "url": url,
            "html_url": html,
            "permalink_url": html,
            "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch",
            "base_commit": first,
            "merge_base_commit": middle,
            "status": status,
            "ahead_by": len(ahead),
            "behind_by": len(behind),
            "total_commits": len(ahead),
            "commits": commits,
            "files": _changes(call, fork_point, head)[:MAX_COMPARE_FILES],
        },
    )


@serves("GET", f"{REPO}/branches/{{branch}}", "contents=read")
def get_branch(call: Call) -> Answer:
    name = call.parameters["branch"]
    sha = call.hub.git.ref(f"refs/heads/{name}")
    if sha is None:
        raise ApiError(404, "Branch not found")
    url = f"{call.shapes.repo_url}/branches/{quote(name)}"
    off = {"enforcement_level": "off", "contexts": [], "checks": []}
    return Answer(
        200,
        {
            "name": name,
            "commit": call.shapes.commit(call.hub.git.commits([sha])[0]),
            "_links": {"self": url, "html": f"{call.shapes.repo_web}/tree/{quote(name)}"},
            "protected": False,
            "protection": {"enabled": False, "required_status_checks": off},
            "protection_url": f"{url}/protection",
        },
    )


def _content(call: Call, entry: TreeEntry, path: str, ref: str) -> Json:
    kinds = {"tree": "dir", "commit": "submodule"}
    kind = "symlink" if entry.mode == "120000" else kinds.get(entry.type, "file")
    repo, web = call.shapes.repo_url, call.shapes.repo_web
    url = f"{repo}/contents/{quote(path)}?ref={quote(ref, safe='')}"
    git_url = None if kind == "submodule" else f"{repo}/git/{entry.type}s/{entry.sha}"
    html = f"{web}/{'tree' if kind == 'dir' else 'blob'}/{quote(ref)}/{quote(path)}"
    file = kind in {"file", "symlink"}
    raw = f"https://raw.githubusercontent.com/{call.hub.full_name}/{quote(ref)}/{quote(path)}"
    return {
        "type": kind,
        "name": path.rsplit("/", 1)[-1],
        "path": path,
        "sha": entry.sha,
        "size": entry.size or 0,
        "url": url,
        "git_url": git_url,
        "html_url": html,
        "download_url": raw if file else None,
        "_links": {"self": url, "git": git_url, "html": html},
    }


@serves("GET", f"{REPO}/contents/{{path}}", "contents=read")
def get_content(call: Call) -> Answer:
    git = call.hub.git
    ref, path = call.query.get("ref") or call.hub.default_branch, call.parameters["path"].strip("/")
    commit = git.resolve_commit(ref)
    if commit is None:
        raise ApiError(404, f"No commit found for the ref {ref}")
    entry = git.entry(commit, path)
    if entry is None:
        raise not_found()
    if entry.type == "tree":
        listing = [
            _content(call, child, f"{path}/{child.path}", ref) for child in git.list_tree(entry.sha, recursive=False)
        ]
        if "vnd.github.object" in call.headers.get("accept", ""):
            return Answer(200, {**_content(call, entry, path, ref), "entries": listing})
        return Answer(200, listing)
    document = _content(call, entry, path, ref)
    if entry.type == "commit":
        return Answer(200, {**document, "submodule_git_url": None})
    content = git.read_blob(entry.sha)
    if len(content) > MAX_RAW_BYTES:
        message = "This API returns blobs up to 100 MB in size. The requested blob is too large to fetch via the API."
        errors = [{"resource": "Blob", "field": "data", "code": "too_large"}]
        raise ApiError(403, message, errors=errors)
    if wants_raw(call):
        return Answer(200, raw=content, content_type="application/vnd.github.raw+json; charset=utf-8")
    if document["type"] == "symlink":
        return Answer(200, {**document, "target": content.decode()})
    if len(content) > MAX_CONTENT_BYTES:
        return Answer(200, {**document, "content": "", "encoding": "none"})
    return Answer(200, {**document, "content": wrapped_base64(content), "encoding": "base64"})
