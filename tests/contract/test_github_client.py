"""The client over the real PyGithub against a local GitHub: what is repeated, what is not, and what an error says."""

import itertools
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest

from gate.errors import BrokenEnvironmentError, ExitCode, UsageError
from gate.github import (
    ApiError,
    Client,
    ConflictError,
    NotFoundError,
    RateLimitedError,
    RefusedError,
    UnreachableError,
)
from tests.double import GitHubDouble, Identity, User

When = Literal["before", "after"]

COMMENTS = r"/issues/7/comments$"
CHECKS = r"/check-runs$"


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def read(self) -> float:
        """Return the seconds that were slept."""
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self.slept.append(seconds)
        self.seconds += seconds


def connect(double: GitHubDouble, clock: Clock, token: str = "ghs_token") -> Client:
    """Return a client that never really sleeps."""
    return Client(double.repository, token, base_url=double.url, clock=clock.read, sleep=clock.sleep)


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the files of a double with one pull request, made once since git takes its time."""
    directory = tmp_path_factory.mktemp("seed")
    with GitHubDouble(directory) as double:
        base = double.commit_files("main", {"agent.py": b"1"})
        head = double.commit_files("feature", {"agent.py": b"2"}, parents=[base])
        double.open_pull(7, "main", base, "feature", head)
    return directory


@pytest.fixture
def double(seed: Path, tmp_path: Path) -> Iterator[GitHubDouble]:
    with GitHubDouble(shutil.copytree(seed, tmp_path / "double")) as server:
        server.hub.state_file = None  # nothing needs to outlive the test
        yield server
        server.check()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(double: GitHubDouble, clock: Clock) -> Iterator[Client]:
    with connect(double, clock) as connected:
        yield connected


def head_of(double: GitHubDouble) -> str:
    """Return the head of the pull request."""
    return double.hub.pull(7).head_sha


def check_fields(double: GitHubDouble) -> dict[str, object]:
    """Return what a check run is created from."""
    return {"name": "gate", "head_sha": head_of(double), "external_id": "default", "status": "in_progress"}


# What is repeated


def test_read__comes_again_after_server_errors(client: Client, double: GitHubDouble, clock: Clock) -> None:
    double.fail("GET", "/pulls/7", status=502, times=3)
    assert client.pull_request(7).head.sha == head_of(double)
    assert len(double.calls("GET", "/pulls/7")) == 4
    assert [round(s / 2**i, 2) for i, s in enumerate(clock.slept)] == [pytest.approx(1, abs=0.25)] * 3


def test_read__gives_up_after_five_attempts(client: Client, double: GitHubDouble) -> None:
    double.fail("GET", "/pulls/7", status=503, times=None)
    with pytest.raises(UnreachableError, match=r"GET /repos/octo-org/travel-agent/pulls/7: 503") as error:
        client.pull_request(7)
    assert (len(double.calls("GET", "/pulls/7")), error.value.exit_code) == (5, ExitCode.ENVIRONMENT)


def test_read__comes_again_after_a_dropped_connection(client: Client, double: GitHubDouble) -> None:
    double.drop("GET", "/pulls/7", times=2)
    assert client.pull_request(7).number == 7


def test_edit__comes_again_before_and_after_the_effect(client: Client, double: GitHubDouble) -> None:
    comment = client.create_comment(7, "first")
    double.fail("PATCH", "/issues/comments/", when="before")
    double.fail("PATCH", "/issues/comments/", when="after")
    client.edit_comment(comment.id, "second")
    assert [c.body for c in double.comments(7)] == ["second"]
    assert len(double.calls("PATCH")) == 3


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("how", ["fail", "drop"])
def test_create_comment__never_twice(client: Client, double: GitHubDouble, when: When, how: str, clock: Clock) -> None:
    for number in range(120):
        double.add_comment(7, f"talk {number}")
    getattr(double, how)("POST", COMMENTS, when=when)
    client.create_comment(7, "ours\r\nsecond line  ")
    assert sum(c.body.startswith("ours") for c in double.comments(7)) == 1
    assert len(double.calls("POST", COMMENTS)) == (2 if when == "before" else 1)
    assert len(clock.slept) == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_create_check_run__never_twice(client: Client, double: GitHubDouble, when: When) -> None:
    double.fail("POST", CHECKS, when=when)
    created = client.create_check_run(check_fields(double))
    assert [run.id for run in double.check_runs()] == [created.id]


def test_create_comment__gives_up_without_a_comment(client: Client, double: GitHubDouble) -> None:
    double.fail("POST", COMMENTS, status=500, times=None)
    with pytest.raises(UnreachableError):
        client.create_comment(7, "ours")
    assert (len(double.calls("POST", COMMENTS)), double.comments(7)) == (5, [])


def test_git_objects__are_created_again_since_their_name_is_their_content(client: Client, double: GitHubDouble) -> None:
    double.fail("POST", "/git/blobs", when="after", times=2)
    blob = client.create_blob(b"content")
    assert client.blob(blob) == b"content"


# Rate limits


@pytest.mark.parametrize("limit", ["too_many_requests", "secondary_limit"])
def test_rate_limit__waits_as_long_as_github_asks_even_for_a_post(
    client: Client, double: GitHubDouble, clock: Clock, limit: str
) -> None:
    getattr(double, limit)("POST", COMMENTS, retry_after_s=17)
    client.create_comment(7, "ours")
    assert (clock.slept, len(double.comments(7))) == ([17.0], 1)


def test_rate_limit__without_a_time_waits_a_minute(client: Client, double: GitHubDouble, clock: Clock) -> None:
    double.secondary_limit("GET", "/pulls/7", retry_after_s=None)
    client.pull_request(7)
    assert clock.slept == [60.0]


def test_rate_limit__primary_waits_for_its_reset(client: Client, double: GitHubDouble, clock: Clock) -> None:
    double.primary_limit("GET", "/pulls/7", retry_after_s=20)
    client.pull_request(7)
    assert clock.slept == [pytest.approx(20, abs=2)]


def test_rate_limit__that_lasts_too_long_ends_at_once(client: Client, double: GitHubDouble, clock: Clock) -> None:
    double.primary_limit("GET", "/pulls/7", retry_after_s=1_800)
    with pytest.raises(RateLimitedError, match=r"403 \(API rate limit exceeded"):
        client.pull_request(7)
    assert clock.slept == []


def test_wait__is_capped_over_all_requests_of_a_client(client: Client, double: GitHubDouble, clock: Clock) -> None:
    double.too_many_requests("GET", times=None, retry_after_s=40)
    for _ in range(3):
        with pytest.raises(RateLimitedError):
            client.pull_request(7)
    assert clock.slept == [40.0, 40.0]


def test_wait__counts_the_time_that_failing_requests_took(double: GitHubDouble) -> None:
    slow = iter(range(0, 10_000, 25))  # every look at the clock is 25 s later
    slept: list[float] = []
    double.fail("GET", "/pulls/7", times=None)
    with (
        Client(
            double.repository, "ghs_x", base_url=double.url, clock=lambda: float(next(slow)), sleep=slept.append
        ) as client,
        pytest.raises(UnreachableError),
    ):
        client.pull_request(7)
    assert len(slept) == 3  # 3 × 25 s of waiting for answers, and the pauses, are nearly 90 s


def test_requests__are_not_slowed_down_by_pygithub(
    client: Client, double: GitHubDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_sleep(seconds: float) -> None:
        raise AssertionError(f"PyGithub slept {seconds} s")

    monkeypatch.setattr(time, "sleep", no_sleep)
    comment = client.create_comment(7, "one")
    client.edit_comment(comment.id, "two")
    assert (client.pull_request(7).number, client.calls) == (7, 3)


# Errors


@pytest.mark.parametrize(
    ("path", "permission", "write"),
    [
        (COMMENTS, "issues: write or pull-requests: write", lambda client: client.create_comment(7, "ours")),
        (CHECKS, "checks: write", lambda client: client.create_check_run({"name": "gate", "head_sha": "a" * 40})),
        ("/git/blobs", "contents: write", lambda client: client.create_blob(b"")),
    ],
    ids=["comment", "check", "content"],
)
def test_refused__names_the_permission_as_a_workflow_writes_it(
    client: Client, double: GitHubDouble, path: str, permission: str, write: Callable[[Client], object]
) -> None:
    double.forbid("POST", path)
    with pytest.raises(RefusedError, match=r"403 \(Resource not accessible by integration\)") as error:
        write(client)
    assert (error.value.permission, len(double.calls("POST"))) == (permission, 1)
    assert f"give the token `{permission}`" in str(error.value)
    assert isinstance(error.value, BrokenEnvironmentError)


def test_refused__token_of_a_fork(client: Client, double: GitHubDouble) -> None:
    double.read_only = True
    with pytest.raises(RefusedError) as error:
        client.create_comment(7, "ours")
    assert error.value.permission == "issues: write or pull-requests: write"


def test_refused__locked_conversation_is_no_missing_permission(client: Client, double: GitHubDouble) -> None:
    double.lock_pull(7)
    with pytest.raises(RefusedError, match="locked") as error:
        client.create_comment(7, "ours")
    assert error.value.permission == ""


@pytest.mark.parametrize(
    "message",
    [
        "Repository was archived so is read-only.",
        "Resource protected by organization SAML enforcement. You must grant your token access to this organization.",
        "The `octo` organization has an IP allow list enabled, and your IP address is not permitted.",
    ],
    ids=["archived", "SAML", "IP allow list"],
)
def test_refused__says_what_github_said(client: Client, double: GitHubDouble, message: str) -> None:
    double.fail("POST", COMMENTS, status=403, message=message)
    with pytest.raises(RefusedError) as error:
        client.create_comment(7, "ours")
    assert (error.value.message, error.value.permission) == (message, "")


def test_refused__bad_credentials(double: GitHubDouble, clock: Clock) -> None:
    double.hub.token = "ghs_right"
    with connect(double, clock, "ghs_wrong") as client, pytest.raises(RefusedError, match=r"401 \(Bad credentials\)"):
        client.pull_request(7)


def test_refused__write_that_github_hides_behind_a_404(client: Client, double: GitHubDouble) -> None:
    header = {"X-Accepted-GitHub-Permissions": "checks=write"}
    double.fail("POST", CHECKS, status=404, message="Not Found", headers=header)
    with pytest.raises(RefusedError) as error:
        client.create_check_run(check_fields(double))
    assert (error.value.permission, error.value.status) == ("checks: write", 404)


def test_not_found__pull_request(client: Client) -> None:
    with pytest.raises(NotFoundError, match=r"pulls/8: 404 \(Not Found\)"):
        client.pull_request(8)


def test_conflict__says_what_is_wrong(client: Client, double: GitHubDouble) -> None:
    fields = check_fields(double) | {"head_sha": "e" * 40}
    with pytest.raises(ConflictError, match="No commit found for SHA"):
        client.create_check_run(fields)


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (200, "<html>Please log in</html>", "the answer is not JSON"),
        (200, "", "not the answer of a GitHub API"),
        (200, "[]", "not the answer of a GitHub API"),
        (200, '{"number": "seven"}', "not the answer of a GitHub API: number:"),
        (400, "<html>proxy</html>", "pulls/7: 400$"),
        (422, '"text"', "pulls/7: 422$"),
        (422, '{"message": ["x"], "errors": "y"}', "pulls/7: 422$"),
    ],
)
def test_strange_answer__is_one_clear_error(
    client: Client, double: GitHubDouble, status: int, body: str, says: str
) -> None:
    double.fail("GET", "/pulls/7", status=status, body=body)
    with pytest.raises(ApiError, match=f"(?m){says}"):
        client.pull_request(7)


def test_unreachable__nobody_listens(clock: Clock) -> None:
    with GitHubDouble() as gone:
        url = gone.url
    with (
        Client("o/r", "ghs_x", base_url=url, clock=clock.read, sleep=clock.sleep) as client,
        pytest.raises(UnreachableError, match=r"no answer \(ConnectionError\)"),
    ):
        client.pull_request(7)


@pytest.mark.parametrize("repository", ["", "travel-agent", "a/b/c", "a/..b?", "../x y"])
def test_client__needs_owner_and_name(repository: str) -> None:
    with pytest.raises(UsageError, match="is not a repository"):
        Client(repository, "x")


@pytest.mark.parametrize("url", ["", "api.github.com", "ftp://x", "https://"])
def test_client__needs_the_url_of_an_api(url: str) -> None:
    with pytest.raises(UsageError, match="is not the URL of an API"):
        Client("o/r", "x", base_url=url)


# Ways to ask


def test_client__speaks_to_an_enterprise_server(double: GitHubDouble, clock: Clock) -> None:
    for url in (double.ghes_url, f"{double.ghes_url}/"):
        with Client(double.repository, "ghs_x", base_url=url, sleep=clock.sleep) as client:
            client.create_comment(7, "ours")
            assert list(client.comments(7))[-1].body == "ours"


def test_client__reads_public_data_without_a_token(double: GitHubDouble, clock: Clock) -> None:
    with connect(double, clock, "") as client:
        assert client.pull_request(7).number == 7
        with pytest.raises(RefusedError, match="401"):
            client.create_comment(7, "ours")


def test_comments__come_from_every_page_and_no_page_too_many(client: Client, double: GitHubDouble) -> None:
    for number in range(300):
        double.add_comment(7, f"talk {number}")
    assert [c.body for c in client.comments(7)] == [f"talk {n}" for n in range(300)]
    assert client.calls == 3
    assert next(iter(client.comments(7))).body == "talk 0"
    assert client.calls == 4


def test_login__of_the_token_of_a_workflow_costs_nothing(client: Client) -> None:
    assert (client.login(), client.calls) == ("github-actions[bot]", 0)


def test_login__of_an_unknown_kind_of_token_is_asked_for_once(double: GitHubDouble, clock: Clock) -> None:
    with connect(double, clock, "opaque") as client:
        assert [client.login(), client.login()] == ["github-actions[bot]"] * 2
        assert client.calls == 1


@pytest.mark.parametrize(
    ("token", "identity", "login"),
    [
        ("ghp_x", Identity(User("octocat")), "octocat"),
        ("ghs_x", Identity(User("our-gate[bot]", 5, "Bot"), "our-gate", 99), "our-gate[bot]"),
    ],
    ids=["a person", "an app"],
)
def test_login__of_a_person_or_an_app(clock: Clock, token: str, identity: Identity, login: str) -> None:
    with GitHubDouble(identity=identity) as double, connect(double, clock, token) as client:
        sha = double.commit_files("main", {"a": b""})
        if identity.app_slug:
            client.create_check_run({"name": "gate", "head_sha": sha, "external_id": "default"})
        assert client.login() == login


def test_find_check_run__by_name_and_external_id(client: Client, double: GitHubDouble) -> None:
    head = head_of(double)
    old = double.add_check_run("gate", head, external_id="default")
    new = double.add_check_run("gate", head, external_id="default")
    double.add_check_run("gate", head, external_id="other")
    double.add_check_run("gate / other", head, external_id="default")
    found = client.find_check_run(head, "gate", "default")
    assert (found.id if found else None, old.id < new.id) == (new.id, True)
    assert client.find_check_run(head, "gate", "third") is None


def test_pull_requests_of__owner_branch_and_head(client: Client, double: GitHubDouble) -> None:
    head = head_of(double)
    base = double.hub.pull(7).base_sha
    for number, repository in ((8, "someone/fork"), (9, "other/fork"), (10, "someone/fork")):
        double.open_pull(number, "main", base, "feature", head, head_repo=repository)
    double.open_pull(11, "main", base, "feature", base, head_repo="someone/fork")
    double.close_pull(10)
    assert [p.number for p in client.pull_requests_of("someone", "feature", head)] == [8]
    assert client.pull_requests_of("nobody", "feature", head) == []


def test_first_parents__follow_the_branch_and_not_what_was_merged(
    client: Client, double: GitHubDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gate.github.client.PAGE", 15)
    dates = (f"2030-01-01T00:00:{second:02}Z" for second in itertools.count())  # the order in which commits are listed
    tip = double.branch_head("main") or ""
    expected = [tip]
    for merge in range(9):
        side = tip
        for step in range(3):
            side = double.commit_files(f"side{merge}", {"s": b"%d" % step}, parents=[side], date=next(dates))
        tip = double.commit_files("main", {"agent.py": b"m%d" % merge}, parents=[tip, side], date=next(dates))
        expected.insert(0, tip)
    assert list(client.first_parents(tip)) == expected
    assert client.calls == 3  # 37 commits


def test_first_parents__ask_for_no_more_than_is_drawn(client: Client, double: GitHubDouble) -> None:
    tip = double.branch_head("main") or ""
    ancestors = client.first_parents(tip)
    assert (next(ancestors), client.calls) == (tip, 0)
    assert (next(ancestors, None), client.calls) == (None, 1)


def test_first_parents__end_at_the_limit_and_at_an_unknown_commit(client: Client, double: GitHubDouble) -> None:
    tip = ""
    for number in range(12):
        tip = double.commit_files("main", {"agent.py": b"%d" % number})
    assert len(list(client.first_parents(tip, limit=10))) == 10
    assert list(client.first_parents("e" * 40)) == ["e" * 40]


@pytest.mark.parametrize("name", ["v1", "releases/v1#%41"])
def test_commit_of_tag__also_through_an_annotated_one(client: Client, double: GitHubDouble, name: str) -> None:
    head, git = head_of(double), ("git", "-c", "user.name=Mona", "-c", "user.email=mona@example.com")
    subprocess.run([*git, "tag", "--annotate", "--message", "one", name, head], cwd=double.git.path, check=True)
    double.git.force_ref("refs/tags/plain", head)
    double.git.force_ref("refs/tags/file", double.git.write_blob(b"1"))
    double.create_branch("branch", head)
    assert client.commit_of_tag(name) == client.commit_of_tag("plain") == head
    assert client.commit_of_tag("file") is None
    assert client.commit_of_tag("branch") is None
    assert client.commit_of_tag(head) is None


def test_parents__of_a_test_merge(client: Client, double: GitHubDouble) -> None:
    pull = double.hub.pull(7)
    assert client.parents(pull.merge_commit_sha or "") == [double.branch_head("main"), pull.head_sha]


def test_import__does_not_load_pygithub() -> None:
    code = "import sys, gate.publish, gate.store; print([m for m in ('github', 'requests') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
