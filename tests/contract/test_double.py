"""The local GitHub, driven by the client the gate uses and checked against GitHub's own description."""

from __future__ import annotations

import http.client
import io
import json
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from github import Auth, Github, GithubException, GithubRetry, InputGitTreeElement, UnknownObjectException
from github.Repository import Repository
from requests.exceptions import ConnectionError as RequestsConnectionError

from tests.double import GitHubDouble, Identity, User
from tests.double.contract import EXEMPTIONS, EXTRA_QUERY, contract
from tests.double.events import DEPENDABOT, Events, runner_environment
from tests.double.routes import Json, operations

COMMENTS = "/repos/octo-org/travel-agent/issues/7/comments"
STORE = "agent-chaos-baseline"
TOKEN = "ghs_test"
OUTPUT: dict[str, Any] = {"title": "No regressions", "summary": "3 experiments"}


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a double with a pull request, made once and copied for each test."""
    folder = tmp_path_factory.mktemp("seed") / "double"
    with GitHubDouble(folder) as double:
        base = double.commit_files("main", {"agent.py": b"print(1)\n", "docs/a.md": b"a"}, "First")
        double.create_branch("feature", base)
        head = double.commit_files("feature", {"agent.py": b"print(2)\n"}, "Second")
        double.open_pull(7, "main", base, "feature", head)
    return folder


@pytest.fixture
def double(seed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitHubDouble]:
    """A double of its own; at the end no exchange may have left GitHub's description."""
    folder = tmp_path_factory.mktemp("github") / "double"
    shutil.copytree(seed, folder)
    with GitHubDouble(folder) as double:
        double.hub.state_file = None
        yield double
        double.check()


@pytest.fixture
def client(double: GitHubDouble) -> Iterator[Github]:
    with connect(double.url) as client:
        yield client


@pytest.fixture
def repo(double: GitHubDouble, client: Github) -> Repository:
    return client.get_repo(double.repository)


def connect(url: str, retry: GithubRetry | None = None) -> Github:
    """PyGithub without its pauses and, unless given, without its retries."""
    return Github(
        auth=Auth.Token(TOKEN), base_url=url, retry=retry, seconds_between_requests=None, seconds_between_writes=None
    )


def head_of(double: GitHubDouble) -> str:
    head = double.branch_head("feature")
    assert head is not None
    return head


def write_file(repo: Repository, path: str, content: str, parent: str | None) -> str:
    """One commit of the store's protocol: blob, tree, commit. The sha of the commit."""
    blob = repo.create_git_blob(content, "utf-8")
    entry = InputGitTreeElement(path, "100644", "blob", sha=blob.sha)
    if parent is None:
        return repo.create_git_commit("Add a report", repo.create_git_tree([entry]), []).sha
    tip = repo.get_git_commit(parent)
    tree = repo.create_git_tree([entry], base_tree=tip.tree)
    return repo.create_git_commit("Add a report", tree, [tip]).sha


def request(url: str, method: str = "GET", body: Any = None, token: str | None = TOKEN) -> tuple[int, Any]:
    """Status and JSON of a request without PyGithub; redirects are followed as urllib does."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        headers["Content-Type"] = "application/json"
    call = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(call, timeout=20) as answer:
            raw = answer.read()
            return answer.status, json.loads(raw) if raw else None
    except urllib.error.HTTPError as error:
        with error:
            raw = error.read()
            return error.code, json.loads(raw) if raw else None


# Comments


def test_comments__three_hundred_come_in_pages_of_a_hundred(double: GitHubDouble, repo: Repository) -> None:
    for index in range(299):
        double.add_comment(7, f"comment {index}")
    created = repo.get_pull(7).create_issue_comment("mine")
    client = repo.requester
    client.per_page = 100
    listed = list(repo.get_issue(7).get_comments())
    assert [comment.body for comment in listed] == [f"comment {index}" for index in range(299)] + ["mine"]
    assert listed[-1].id == created.id
    pages = double.calls("GET", r"/issues/7/comments$")
    assert [page.query.get("page", "1") for page in pages] == ["1", "2", "3"]
    assert 'rel="next"' in pages[0].response_headers["Link"] and 'rel="next"' not in pages[2].response_headers["Link"]


def test_comments__per_page_is_capped_at_a_hundred(double: GitHubDouble) -> None:
    for index in range(120):
        double.add_comment(7, str(index))
    _, listed = request(f"{double.url}{COMMENTS}?per_page=300")
    assert len(listed) == 100


def test_comment__is_written_edited_and_deleted_by_the_actions_bot(double: GitHubDouble, repo: Repository) -> None:
    comment = repo.get_pull(7).create_issue_comment("first")
    assert (comment.user.login, comment.user.type) == ("github-actions[bot]", "Bot")
    comment.edit("second")
    assert repo.get_issue(7).get_comment(comment.id).body == "second"
    assert [each.body for each in double.comments(7)] == ["second"]
    comment.delete()
    assert double.comments(7) == []


@pytest.mark.parametrize(
    ("body", "status"), [("x" * 65536, 201), ("x" * 65537, 422), (" ", 422)], ids=["longest", "too-long", "blank"]
)
def test_comment__body_limits(double: GitHubDouble, body: str, status: int) -> None:
    assert request(f"{double.url}{COMMENTS}", "POST", {"body": body})[0] == status


def test_comment__on_a_locked_conversation_is_forbidden(double: GitHubDouble, repo: Repository) -> None:
    double.lock_pull(7)
    with pytest.raises(GithubException, match="issue is locked") as caught:
        repo.get_pull(7).create_issue_comment("late")
    assert caught.value.status == 403


# Who is asking


def test_user__is_forbidden_for_an_installation(client: Github) -> None:
    with pytest.raises(GithubException, match="not accessible by integration"):
        _ = client.get_user().login


def test_user__of_a_personal_token_writes_comments_but_no_checks() -> None:
    with GitHubDouble(identity=Identity(User("mona", 42))) as double, connect(double.url) as client:
        sha = double.commit_files("main", {"a": b"a"})
        double.open_pull(7, "main", sha, "main", sha)
        repo = client.get_repo(double.repository)
        assert client.get_user().login == "mona"
        assert repo.get_pull(7).create_issue_comment("hello").user.login == "mona"
        with pytest.raises(GithubException, match="authenticate via a GitHub App"):
            repo.create_check_run("gate", sha)
        double.check()


def test_permissions__a_missing_one_is_named_in_the_header(double: GitHubDouble, repo: Repository) -> None:
    double.permissions["checks"] = "read"
    with pytest.raises(GithubException) as caught:
        repo.create_check_run("gate", head_of(double))
    assert caught.value.status == 403
    assert caught.value.headers is not None
    assert caught.value.headers["x-accepted-github-permissions"] == "checks=write"
    repo.get_pull(7).create_issue_comment("still allowed")


def test_read_only__refuses_every_write_and_no_read(double: GitHubDouble, repo: Repository) -> None:
    double.read_only = True
    for operation in operations():
        path = operation.template.replace("{owner}/{repo}", double.repository)
        path = path.replace("{issue_number}", "7").replace("{ref}", "heads/main")
        if operation.writes and "{" not in path:
            assert request(f"{double.url}{path}", operation.method, {})[0] == 403, operation.key
    assert repo.get_pull(7).number == 7
    double.violations.clear()  # the bodies sent here were empty


def test_token__a_wrong_one_is_refused_and_a_missing_one_may_read(double: GitHubDouble) -> None:
    double.hub.token = TOKEN
    assert request(f"{double.url}{COMMENTS}", token="other")[0] == 401
    assert request(f"{double.url}{COMMENTS}", token=None)[0] == 200
    assert request(f"{double.url}{COMMENTS}", "POST", {"body": "x"}, token=None)[0] == 401
    assert {each.token for each in double.requests} == {"other", None}


# Git Data API


def test_store__an_orphan_branch_is_made_from_blob_tree_commit_and_ref(double: GitHubDouble, repo: Repository) -> None:
    with pytest.raises(UnknownObjectException):
        _ = repo.get_git_ref(f"heads/{STORE}").object
    commit = write_file(repo, "v1/gate/ab/abc.json", "{}", None)
    repo.create_git_ref(f"refs/heads/{STORE}", commit)
    assert double.branch_files(STORE) == {"v1/gate/ab/abc.json": b"{}"}
    assert double.branch_log(STORE) == [commit]
    with pytest.raises(GithubException, match="Reference already exists") as caught:
        repo.create_git_ref(f"refs/heads/{STORE}", commit)
    assert caught.value.status == 422


def test_store__base_tree_keeps_the_other_files(double: GitHubDouble, repo: Repository) -> None:
    first = double.commit_files(STORE, {"v1/a.json": b"1", "v1/deep/b.json": b"2"})
    second = write_file(repo, "v1/deep/c.json", "3", first)
    ref = repo.get_git_ref(f"heads/{STORE}")
    assert ref.object.sha == first
    ref.edit(second, force=False)
    assert double.branch_files(STORE) == {"v1/a.json": b"1", "v1/deep/b.json": b"2", "v1/deep/c.json": b"3"}


def test_store__of_two_racing_writers_one_wins(double: GitHubDouble) -> None:
    first = double.commit_files(STORE, {"a.json": b"1"})
    barrier, outcomes = threading.Barrier(2), []

    def write(name: str) -> None:
        with connect(double.url) as client:
            repo = client.get_repo(double.repository)
            ref = repo.get_git_ref(f"heads/{STORE}")
            commit = write_file(repo, name, "x", ref.object.sha)
            barrier.wait()
            try:
                ref.edit(commit, force=False)
                outcomes.append("written")
            except GithubException as error:
                outcomes.append(f"{error.status} {error.data['message']}")

    writers = [threading.Thread(target=write, args=(name,)) for name in ("b.json", "c.json")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(outcomes) == ["422 Update is not a fast forward", "written"]
    assert len(double.branch_log(STORE)) == 2 and double.branch_log(STORE)[-1] == first


def test_race__moves_the_branch_just_before_the_update(double: GitHubDouble, repo: Repository) -> None:
    first = double.commit_files(STORE, {"a.json": b"1"})
    rule = double.race(STORE, times=1)
    ref = repo.get_git_ref(f"heads/{STORE}")
    assert ref.object.sha == first
    with pytest.raises(GithubException, match="not a fast forward"):
        ref.edit(write_file(repo, "b.json", "x", first), force=False)
    tip = double.branch_head(STORE)
    assert tip is not None
    ref.edit(write_file(repo, "b.json", "x", tip), force=False)
    assert set(double.branch_files(STORE)) == {"a.json", "b.json", "race.txt"}
    assert rule.hits == 1


def test_ref__is_forced_only_when_asked(double: GitHubDouble, repo: Repository) -> None:
    ref = repo.get_git_ref("heads/feature")
    assert ref.object.sha == head_of(double)
    main = double.branch_head("main")
    assert main is not None
    with pytest.raises(GithubException, match="not a fast forward"):
        ref.edit(main)
    ref.edit(main, force=True)
    assert double.branch_head("feature") == main
    ref.delete()
    assert [each.ref for each in repo.get_git_matching_refs("heads/")] == ["refs/heads/main"]


def test_ref__an_untouched_one_is_read_before_it_is_written(double: GitHubDouble, repo: Repository) -> None:
    repo.get_git_ref("heads/feature").edit(head_of(double))
    calls = [(each.method, each.path.removeprefix(f"/repos/{double.repository}")) for each in double.requests[-2:]]
    assert calls == [("GET", "/git/ref/heads/feature"), ("PATCH", "/git/refs/heads/feature")]


def test_tree__null_deletes_and_content_writes(double: GitHubDouble, repo: Repository) -> None:
    base = repo.get_git_tree("main")
    changes = [
        InputGitTreeElement("docs/a.md", "100644", "blob", sha=None),
        InputGitTreeElement("run.sh", "100755", "blob", content="true\n"),
    ]
    tree = repo.create_git_tree(changes, base_tree=base)
    assert [(entry.path, entry.mode) for entry in tree.tree] == [("agent.py", "100644"), ("run.sh", "100755")]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"path": "a", "mode": "100644", "type": "blob", "sha": "1" * 40}, "not a valid blob"),
        ({"path": "/a", "mode": "100644", "type": "blob", "content": "x"}, "start with a slash"),
        ({"path": "../a", "mode": "100644", "type": "blob", "content": "x"}, "malformed path"),
        ({"path": "a", "mode": "100644", "type": "tree", "content": "x"}, "valid tree.type"),
        ({"path": "a", "mode": "100644", "sha": None}, "BadObjectState"),
    ],
    ids=["missing-blob", "absolute", "parent", "type", "delete-nothing"],
)
def test_tree__refuses(double: GitHubDouble, entry: Json, message: str) -> None:
    url = f"{double.url}/repos/{double.repository}/git/trees"
    status, body = request(url, "POST", {"tree": [entry]})
    assert status == 422 and message in body["message"]


def test_blob__bytes_survive_base64(double: GitHubDouble, repo: Repository) -> None:
    blob = repo.create_git_blob("AP/+", "base64")
    assert double.git.read_blob(blob.sha) == b"\x00\xff\xfe"
    assert repo.get_git_blob(blob.sha).content == "AP/+\n"


# Commits, comparisons, files


def test_commits__come_in_the_order_of_rev_list_not_first_parents(double: GitHubDouble, repo: Repository) -> None:
    dates = [f"2026-01-0{day}T00:00:00Z" for day in range(1, 5)]
    root = double.commit_files("line", {"a": b"1"}, "root", [], dates[0])
    left = double.commit_files("line", {"a": b"2"}, "left", [root], dates[1])
    right = double.commit_files("line", {"b": b"3"}, "right", [root], dates[2])
    merge = double.commit_files("line", {"b": b"3"}, "merge", [left, right], dates[3])
    assert [commit.sha for commit in repo.get_commits(sha=merge)] == [merge, right, left, root]
    assert [parent.sha for parent in repo.get_commit(merge).parents] == [left, right]


def test_commits__are_paged(double: GitHubDouble, repo: Repository) -> None:
    for index in range(5):
        double.commit_files("long", {"a": str(index).encode()})
    repo.requester.per_page = 2
    assert [commit.sha for commit in repo.get_commits(sha="long")] == double.branch_log("long")


def test_compare__counts_both_sides(double: GitHubDouble, repo: Repository) -> None:
    double.commit_files("main", {"other.py": b"x"})
    comparison = repo.compare("main", "feature")
    assert (comparison.status, comparison.ahead_by, comparison.behind_by) == ("diverged", 1, 1)
    assert [file.filename for file in comparison.files] == ["agent.py"]


@pytest.mark.parametrize(("size", "encoding"), [(1024, "base64"), (1024 * 1024 + 1, "none")], ids=["small", "large"])
def test_contents__of_a_file(double: GitHubDouble, repo: Repository, size: int, encoding: str) -> None:
    double.commit_files("files", {"big/data.bin": b"x" * size})
    found = repo.get_contents("big/data.bin", ref="files")
    assert not isinstance(found, list)
    assert (found.size, found.encoding) == (size, encoding)
    folder = repo.get_contents("big", ref="files")
    assert isinstance(folder, list) and [each.path for each in folder] == ["big/data.bin"]


def test_contents__raw_media_type_sends_the_bytes(double: GitHubDouble) -> None:
    url = f"{double.url}/repos/{double.repository}/contents/docs/a.md?ref=main"
    call = urllib.request.Request(url, headers={"Accept": "application/vnd.github.raw+json"})
    with urllib.request.urlopen(call, timeout=20) as answer:
        assert answer.read() == b"a"


@pytest.mark.parametrize("path", ["contents/none.txt", "branches/none", "git/ref/heads/none", "pulls/99", "nothing"])
def test_missing__is_a_404_in_githubs_shape(double: GitHubDouble, path: str) -> None:
    status, body = request(f"{double.url}/repos/{double.repository}/{path}")
    assert status == 404
    assert set(body) == {"message", "documentation_url", "status"}
    if path == "nothing":
        double.violations.clear()


def test_seed__takes_over_a_local_repository(double: GitHubDouble, tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q", "-b", "trunk")
    (tmp_path / "a.txt").write_text("hello")
    git("add", ".")
    git("commit", "-q", "-m", "One")
    git("tag", "v1")
    assert double.seed_from(tmp_path) == double.branch_head("trunk") == double.git.ref("refs/tags/v1")
    assert double.branch_files("trunk") == {"a.txt": b"hello"}


# Pull requests


def test_pull__has_a_test_merge_of_both_sides(double: GitHubDouble, repo: Repository) -> None:
    pull = repo.get_pull(7)
    assert (pull.mergeable, pull.changed_files, pull.commits) == (True, 1, 1)
    assert [parent.sha for parent in repo.get_git_commit(pull.merge_commit_sha).parents] == [
        double.branch_head("main"),
        head_of(double),
    ]
    assert double.git.ref("refs/pull/7/merge") == pull.merge_commit_sha


def test_pulls__are_found_by_the_forks_owner_and_branch(double: GitHubDouble, repo: Repository) -> None:
    base, head = double.branch_head("main") or "", head_of(double)
    double.open_pull(8, "main", base, "feature", head, head_repo="mona/travel-agent")
    double.open_pull(9, "main", base, "gone", head, head_repo=None)
    assert [pull.number for pull in repo.get_pulls(head="mona:feature")] == [8]
    assert [pull.number for pull in repo.get_pulls(head="octo-org:feature")] == [7]
    double.close_pull(8)
    assert [pull.number for pull in repo.get_pulls(head="mona:feature")] == []
    assert [pull.number for pull in repo.get_pulls(state="all", head="mona:feature")] == [8]
    # GitHub does not find pull requests of forks by commit.
    assert [pull.number for pull in repo.get_commit(head).get_pulls()] == [7]
    assert repo.get_pull(9).head.repo is None
    assert repo.get_pull(8).head.repo.full_name == "mona/travel-agent"


# Check runs


def test_check_run__is_opened_found_and_completed(double: GitHubDouble, repo: Repository) -> None:
    sha = head_of(double)
    opened = repo.create_check_run("agent-chaos-gate", sha, external_id="default", status="in_progress", output=OUTPUT)
    assert (opened.status, opened.app.slug) == ("in_progress", "github-actions")
    assert double.check_runs(sha)[0].conclusion is None
    found = list(repo.get_commit(sha).get_check_runs(check_name="agent-chaos-gate"))
    assert [(run.id, run.external_id) for run in found] == [(opened.id, "default")]
    found[0].edit(status="completed", conclusion="neutral", output={**OUTPUT, "text": "details"})
    (run,) = double.check_runs(sha)
    assert (run.status, run.conclusion, run.text) == ("completed", "neutral", "details")
    assert run.completed_at is not None


def test_check_run__annotations_add_up(double: GitHubDouble, repo: Repository) -> None:
    note: dict[str, str | int] = {
        "path": "a.py",
        "start_line": 1,
        "end_line": 1,
        "annotation_level": "warning",
        "message": "m",
    }
    run = repo.create_check_run("gate", head_of(double), output={**OUTPUT, "annotations": [note] * 50})
    run.edit(output={**OUTPUT, "annotations": [note] * 20})
    assert run.output.annotations_count == 70
    assert len(list(run.get_annotations())) == 70


def test_check_runs__of_the_same_name_show_only_the_latest(double: GitHubDouble, repo: Repository) -> None:
    sha = head_of(double)
    first, second = repo.create_check_run("gate", sha), repo.create_check_run("gate", sha)
    double.add_check_run("gate", sha, app_slug="other", app_id=99)
    commit = repo.get_commit(sha)
    assert [run.id for run in commit.get_check_runs(check_name="gate", filter="all")][1:] == [second.id, first.id]
    own = commit.get_check_runs(check_name="gate")
    assert [run.id for run in own if run.app.slug == "github-actions"] == [second.id]


def test_check_run__of_another_app_cannot_be_changed(double: GitHubDouble, repo: Repository) -> None:
    other = double.add_check_run("gate", head_of(double), app_slug="other", app_id=99)
    with pytest.raises(GithubException, match="only be modified by the GitHub App that created it"):
        repo.get_check_run(other.id).edit(status="in_progress")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"head_sha": "1" * 40}, "No commit found"),
        ({"name": None}, '"name" wasn\'t supplied'),
        ({"status": "completed"}, '"conclusion" wasn\'t supplied'),
        ({"conclusion": "fine"}, "is not a member of"),
        ({"output": {"summary": "s"}}, '"title" wasn\'t supplied'),
        ({"output": {"title": "t", "summary": "é" * 40_000}}, "80000 were supplied"),
        ({"output": {**OUTPUT, "annotations": [{}] * 51}}, "No more than 50 items"),
        ({"output": {**OUTPUT, "annotations": [{"path": "a"}]}}, '"start_line" wasn\'t supplied'),
    ],
    ids=["sha", "name", "conclusion-missing", "conclusion-unknown", "title", "bytes", "annotations", "annotation"],
)
def test_check_run__is_refused(double: GitHubDouble, fields: Json, message: str) -> None:
    body = {"name": "gate", "head_sha": head_of(double), **fields}
    status, answer = request(f"{double.url}/repos/{double.repository}/check-runs", "POST", body)
    assert status == 422 and message in answer["message"]
    assert double.check_runs() == []
    double.violations.clear()  # the request was malformed on purpose


# Workflow runs and artifacts


def test_artifacts__are_listed_and_come_from_another_host_without_the_token(
    double: GitHubDouble, repo: Repository
) -> None:
    run = double.add_run(head_of(double), "feature", "mona/travel-agent")
    artifact = double.add_artifact(run.id, "agent-chaos-gate-default", {"report.json": b"{}"})
    found = repo.get_workflow_run(run.id)
    assert (found.head_sha, found.pull_requests) == (head_of(double), [])
    assert [each.id for each in found.get_artifacts()] == [artifact.id]
    with urllib.request.urlopen(found.get_artifacts()[0].archive_download_url) as answer:
        assert answer.url.startswith(f"http://localhost:{double.port}/")
        archive = zipfile.ZipFile(io.BytesIO(answer.read()))
    assert archive.read("report.json") == b"{}"
    assert double.calls("GET", "^/_storage/")[0].token is None


def test_artifact__storage_refuses_a_request_that_brings_the_token(double: GitHubDouble) -> None:
    run = double.add_run(head_of(double), "feature")
    artifact = double.add_artifact(run.id, "a", {})
    connection = http.client.HTTPConnection("127.0.0.1", double.port)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    connection.request("GET", f"/repos/{double.repository}/actions/artifacts/{artifact.id}/zip", headers=headers)
    redirect = connection.getresponse()
    redirect.read()
    assert redirect.status == 302
    connection.request("GET", redirect.headers["Location"].split(str(double.port))[1], headers=headers)
    assert connection.getresponse().status == 400
    connection.close()


def test_artifact__an_expired_one_is_gone(double: GitHubDouble) -> None:
    run = double.add_run(head_of(double), "feature")
    artifact = double.add_artifact(run.id, "a", {}, expired=True)
    assert request(f"{double.url}/repos/{double.repository}/actions/artifacts/{artifact.id}/zip")[0] == 410


# Faults


def test_fault__before_has_no_effect_and_wears_out(double: GitHubDouble, repo: Repository) -> None:
    double.fail("POST", r".*/comments$", status=502, times=1, when="before")
    pull = repo.get_pull(7)
    with pytest.raises(GithubException) as caught:
        pull.create_issue_comment("x")
    assert caught.value.status == 502
    assert double.comments(7) == []
    pull.create_issue_comment("x")
    assert len(double.comments(7)) == 1


def test_fault__after_has_the_effect_so_that_a_blind_retry_posts_twice(double: GitHubDouble) -> None:
    double.fail("POST", r".*/comments$", status=502, times=1, when="after")
    with connect(double.url, GithubRetry(total=2, backoff_factor=0)) as client:
        client.get_repo(double.repository).get_pull(7).create_issue_comment("x")
    assert [comment.body for comment in double.comments(7)] == ["x", "x"]


@pytest.mark.parametrize(
    ("kind", "status", "header", "message"),
    [
        ("forbid", 403, "X-Accepted-GitHub-Permissions", "Resource not accessible by integration"),
        ("too_many_requests", 429, "Retry-After", "secondary rate limit"),
        ("secondary_limit", 403, "Retry-After", "You have exceeded a secondary rate limit"),
        ("primary_limit", 403, "X-RateLimit-Reset", "API rate limit exceeded"),
    ],
)
def test_fault__refusals(double: GitHubDouble, kind: str, status: int, header: str, message: str) -> None:
    getattr(double, kind)("POST", r"/comments$")
    answered, body = request(f"{double.url}{COMMENTS}", "POST", {"body": "x"})
    assert answered == status and message in body["message"]
    assert header in double.requests[-1].response_headers
    assert double.requests[-1].fault is not None
    assert double.comments(7) == []


def test_fault__a_ruleset_rejects_every_write_of_the_branch(double: GitHubDouble, repo: Repository) -> None:
    first = double.commit_files(STORE, {"a.json": b"1"})
    double.protect_branch(STORE)
    ref = repo.get_git_ref(f"heads/{STORE}")
    assert ref.object.sha == first
    for _ in range(2):
        with pytest.raises(GithubException, match="Repository rule violations found") as caught:
            ref.edit(write_file(repo, "b.json", "x", first))
        assert caught.value.status == 422
    with pytest.raises(GithubException, match="Repository rule violations found"):
        repo.create_git_ref(f"refs/heads/{STORE}", first)
    repo.create_git_ref("refs/heads/another", first)
    assert double.branch_head(STORE) == first


@pytest.mark.parametrize(("when", "kept"), [("before", 0), ("after", 1)])
def test_fault__a_dropped_connection(double: GitHubDouble, repo: Repository, when: Any, kept: int) -> None:
    pull = repo.get_pull(7)
    double.drop("POST", r"/comments$", when=when)
    with pytest.raises(RequestsConnectionError):
        pull.create_issue_comment("x")
    assert len(double.comments(7)) == kept
    assert double.requests[-1].status == 0


def test_fault__skip_lets_the_first_pass(double: GitHubDouble, repo: Repository) -> None:
    double.fail("POST", r"/comments$", status=500, skip=1)
    pull = repo.get_pull(7)
    pull.create_issue_comment("passes")
    with pytest.raises(GithubException):
        pull.create_issue_comment("fails")


def test_fault__a_page_that_is_not_json(double: GitHubDouble, repo: Repository) -> None:
    double.fail("GET", r"/pulls/7$", status=502, body="<html>Unicorn!</html>")
    with pytest.raises(GithubException) as caught:
        repo.get_pull(7)
    assert caught.value.status == 502


def test_on__runs_an_action_before_the_request(double: GitHubDouble, repo: Repository) -> None:
    double.on("GET", r"/pulls/7$", lambda: double.move_pull(7, double.commit_files("feature", {"z": b"z"})))
    assert repo.get_pull(7).commits == 2


# The checker


def test_checker__a_misspelt_field_is_a_violation(double: GitHubDouble) -> None:
    body = {"name": "gate", "head_sha": head_of(double), "external-id": "default"}
    assert request(f"{double.url}/repos/{double.repository}/check-runs", "POST", body)[0] == 201
    (violation,) = double.violations
    assert violation.side == "request" and "external-id" in violation.problem
    with pytest.raises(AssertionError, match="external-id"):
        double.check()
    double.violations.clear()


def test_checker__a_wrong_type_and_an_unknown_parameter_are_violations(double: GitHubDouble) -> None:
    request(f"{double.url}{COMMENTS}", "POST", {"body": 3})
    request(f"{double.url}{COMMENTS}?perpage=100")
    request(f"{double.url}{COMMENTS}?per_page=many")
    assert [violation.side for violation in double.violations] == ["request"] * 3
    double.violations.clear()


def test_checker__a_path_that_github_does_not_have_is_a_violation(double: GitHubDouble) -> None:
    path = f"/repos/{double.repository}/git/ref/heads/feature"
    assert request(f"{double.url}{path}", "PATCH", {"sha": head_of(double)})[0] == 404
    assert [violation.operation for violation in double.violations] == [f"PATCH {path}"]
    double.violations.clear()


def test_checker__a_failure_of_the_double_itself_is_a_violation(double: GitHubDouble) -> None:
    double.on("GET", r"/pulls/7$", lambda: dict[str, int]()["missing"])
    assert request(f"{double.url}/repos/{double.repository}/pulls/7")[0] == 500
    assert "KeyError: 'missing'" in double.violations[0].problem
    double.violations.clear()


def test_checker__a_malformed_answer_is_a_violation(double: GitHubDouble, repo: Repository) -> None:
    double.add_comment(7, "x").created_at = "yesterday"
    request(f"{double.url}{COMMENTS}")
    (violation,) = double.violations
    assert violation.side == "response" and "$[0].created_at" in violation.problem
    double.violations.clear()


def test_checker__an_answer_without_a_required_field_is_a_violation() -> None:
    problems = contract().response("GET /repos/{owner}/{repo}/git/ref/{ref}", 200, {"ref": "x"}, "application/json")
    assert any("'object' is a required property" in problem for problem in problems)


def test_checker__every_exemption_has_a_reason() -> None:
    assert all(exemption.reason for exemption in EXEMPTIONS)
    assert all(reason for names in EXTRA_QUERY.values() for reason in names.values())


# GHES, log, process


def test_ghes__the_prefix_is_accepted_and_kept_in_links(double: GitHubDouble) -> None:
    for index in range(3):
        double.add_comment(7, str(index))
    with connect(double.ghes_url) as client:
        client.requester.per_page = 1
        issue = client.get_repo(double.repository).get_issue(7)
        assert [comment.body for comment in issue.get_comments()] == ["0", "1", "2"]
    assert {each.prefix for each in double.requests} == {"/api/v3"}


@contextmanager
def running(command: list[str]) -> Iterator[str]:
    """The address of a double in a process of its own, which ends cleanly whatever happens."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.terminate()
            assert process.wait(10) == 0


def test_process__is_scripted_and_inspected_over_http(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "tests.double", "--state", str(tmp_path / "state"), "--log", str(log)]
    with running(command) as url:

        def call(name: str, **arguments: Any) -> Any:
            status, body = request(f"{url}/_double/call", "POST", {"name": name, "arguments": arguments})
            assert status == 200, body
            return body["result"]

        sha = call("commit_files", branch="main", files={"a.txt": "hello"})
        pull = call("open_pull", number=7, base_ref="main", base_sha=sha, head_ref="main", head_sha=sha)
        assert pull["author"]["login"] == "octocat"
        rule = {"method": "POST", "path": "/comments$", "status": 503}
        assert request(f"{url}/_double/faults", "POST", rule)[0] == 201
        assert request(f"{url}{COMMENTS}", "POST", {"body": "x"})[0] == 503
        assert request(f"{url}{COMMENTS}", "POST", {"body": "x"})[0] == 201
        assert request(f"{url}/_double/settings", "POST", {"read_only": True})[0] == 200
        assert request(f"{url}{COMMENTS}", "POST", {"body": "x"})[0] == 403
        assert request(f"{url}/_double/faults", "POST", {"colour": "red"})[0] == 400
        _, state = request(f"{url}/_double/state")
        _, requests = request(f"{url}/_double/requests")
    assert [comment["body"] for comment in state["comments"]] == ["x"]
    assert state["branches"]["main"]["files"] == {"a.txt": "hello"}
    assert state["violations"] == []
    assert [each["status"] for each in requests] == [503, 201, 403]
    assert [json.loads(line)["token"] for line in log.read_text().splitlines()] == [TOKEN] * 3
    with GitHubDouble(tmp_path / "state") as again:
        assert [comment.body for comment in again.comments(7)] == ["x"]
        assert again.branch_head("main") == sha


# Event payloads


EVENTS = Events()
PULLS = {
    "opened": EVENTS.pull_request(),
    "synchronize": EVENTS.pull_request("synchronize", draft=True),
    "closed": EVENTS.pull_request("closed", merged=True),
    "fork": EVENTS.pull_request(head_repo="mona/travel-agent"),
    "deleted-fork": EVENTS.pull_request(head_repo=None),
    "dependabot": EVENTS.pull_request(author=DEPENDABOT),
    "ghes": Events(server="https://ghe.example.org").pull_request(),
}


@pytest.mark.parametrize("payload", PULLS.values(), ids=PULLS.keys())
def test_event__a_pull_request_fits_githubs_description(payload: Json) -> None:
    assert contract().component("pull-request", payload["pull_request"]) == []
    assert contract().component("full-repository", {**payload["repository"], **_COUNTS}) == []
    assert contract().component("simple-user", payload["sender"]) == []


_COUNTS = {"network_count": 0, "subscribers_count": 0}  # webhooks leave these two out


@pytest.mark.parametrize(
    ("payload", "number"),
    [(EVENTS.workflow_run(number=7), 1), (EVENTS.workflow_run(number=7, head_repo="mona/travel-agent"), 0)],
    ids=["same-repository", "fork"],
)
def test_event__a_workflow_run_fits_and_lists_no_pull_of_a_fork(payload: Json, number: int) -> None:
    assert contract().component("workflow-run", payload["workflow_run"]) == []
    assert len(payload["workflow_run"]["pull_requests"]) == number


def test_event__an_issue_comment_fits() -> None:
    payload = EVENTS.issue_comment()
    assert contract().component("issue", payload["issue"]) == []
    assert contract().component("issue-comment", payload["comment"]) == []


@pytest.mark.parametrize(
    ("event", "payload", "sha", "ref"),
    [
        ("pull_request", EVENTS.pull_request(), "c" * 40, "refs/pull/7/merge"),
        ("pull_request_target", EVENTS.pull_request_target(), "b" * 40, "refs/heads/main"),
        ("push", EVENTS.push("refs/heads/next"), "a" * 40, "refs/heads/next"),
        ("push", EVENTS.push("refs/tags/v1", created=True), "a" * 40, "refs/tags/v1"),
        ("push", EVENTS.push("refs/heads/old", deleted=True), "a" * 40, "refs/heads/main"),
        (
            "merge_group",
            EVENTS.merge_group(),
            "a" * 40,
            f"refs/heads/gh-readonly-queue/main/pr-7-{'b' * 40}",
        ),
        ("workflow_run", EVENTS.workflow_run(), "a" * 40, "refs/heads/main"),
        ("schedule", EVENTS.schedule(), "a" * 40, "refs/heads/main"),
        ("workflow_dispatch", EVENTS.workflow_dispatch("refs/heads/x", {"base": "main"}), "a" * 40, "refs/heads/x"),
        ("issue_comment", EVENTS.issue_comment(), "a" * 40, "refs/heads/main"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isidentifier() else "",
)
def test_event__the_runner_points_at_the_commit(event: str, payload: Json, sha: str, ref: str) -> None:
    environment = runner_environment(event, payload)
    assert (environment["GITHUB_SHA"], environment["GITHUB_REF"]) == (sha, ref)
    assert json.loads(json.dumps(payload)) == payload
