"""The branch store on a real git repository: layout, races, lost answers, rules, pruning."""

import json
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gate.errors import BrokenEnvironmentError, InvalidFileError
from gate.github import Client, UnreachableError
from gate.history import History
from gate.report import Report
from gate.store.branch import ATTEMPTS, BranchStore
from gate.store.stored import KEPT, Sample, StoredReport, history_text, outdated, stored_text, summarize
from tests import builders
from tests.double import GitHubDouble

BRANCH = "agent-chaos-baseline"


@pytest.fixture
def double() -> Iterator[GitHubDouble]:
    with GitHubDouble() as server:
        yield server
        server.check()


@pytest.fixture
def client(double: GitHubDouble) -> Iterator[Client]:
    with Client(double.repository, "ghs_x", base_url=double.url, sleep=lambda _: None) as connected:
        yield connected


def open_store(client: Client, key: str = "default", slept: list[float] | None = None) -> BranchStore:
    """Return a store that remembers nothing and hardly sleeps."""

    def sleep(seconds: float) -> None:
        if slept is not None:
            slept.append(seconds)
        time.sleep(seconds / 100)

    return BranchStore(client, BRANCH, key, sleep=sleep)


def commit(number: int) -> str:
    """Return the sha of a commit that nobody made."""
    return f"{number:040x}"


def report(number: int, passes: int = 38) -> Report:
    """Return a report of a commit; higher numbers ended later."""
    ended = {"ended_at": f"2026-01-01T00:{number % 3600 // 60:02}:{number % 60:02}Z"}
    made = builders.report(builders.experiment("e", builders.probe(passes, 40)), commit=commit(number))
    return made.model_copy(update=ended)


def stored(double: GitHubDouble, path: str) -> Any:
    """Return a file of the branch as JSON."""
    return json.loads(double.branch_files(BRANCH)[path])


def entries(double: GitHubDouble, ref: str = "main", key: str = "default") -> list[tuple[str, int]]:
    """Return commit and run of every line of a branch's history."""
    return [(e["commit"], e["run_id"]) for e in stored(double, f"v1/{key}/history/{ref}.json")["entries"]]


# Layout


def test_save__first_write_makes_an_orphan_branch_and_later_ones_go_on_top(
    double: GitHubDouble, client: Client
) -> None:
    main = double.commit_files("main", {"agent.py": b""})
    for number in (1, 2):
        assert open_store(client).save(report(number), ref="main", run_id=number)
    assert main not in double.branch_log(BRANCH)
    assert len(double.branch_log(BRANCH)) == 2
    assert double.branch_head("main") == main
    assert sorted(double.branch_files(BRANCH)) == [
        f"v1/default/00/{commit(1)}.json",
        f"v1/default/00/{commit(2)}.json",
        "v1/default/history/main.json",
    ]


def test_save__history_has_a_line_with_the_counts_of_every_report(double: GitHubDouble, client: Client) -> None:
    for number in (1, 2):
        open_store(client).save(report(number), ref="refs/heads/main", run_id=number)
    history = stored(double, "v1/default/history/main.json")
    assert history["entries"][-1] == {
        "commit": commit(2),
        "run_id": 2,
        "attempt": 1,
        "ended_at": "2026-01-01T00:00:02Z",
        "tool_version": report(2).tool.version,
        "experiments": [
            {"name": "e", "status": "held", "fingerprint": "f", "counts": {"chaos/output_matches": [38, 40]}}
        ],
    }
    assert [line.commit for line in open_store(client).history("main")] == [commit(1), commit(2)]


def test_save__samples_of_one_commit_stand_side_by_side(double: GitHubDouble, client: Client) -> None:
    for run_id, passes in ((11, 38), (12, 36), (13, 40)):
        open_store(client).save(report(1, passes), ref="main", run_id=run_id)
    samples = stored(double, f"v1/default/00/{commit(1)}.json")["samples"]
    assert [(s["run_id"], s["report"]["experiments"][0]["probes"][0]["passes"]) for s in samples] == [
        (11, 38),
        (12, 36),
        (13, 40),
    ]
    assert entries(double) == [(commit(1), 11), (commit(1), 12), (commit(1), 13)]


def test_save__later_attempt_replaces_an_earlier_one_and_not_the_other_way(
    double: GitHubDouble, client: Client
) -> None:
    for attempt, passes in ((2, 36), (1, 38), (3, 35)):
        open_store(client).save(report(1, passes), ref="main", run_id=11, attempt=attempt)
    (sample,) = stored(double, f"v1/default/00/{commit(1)}.json")["samples"]
    assert (sample["attempt"], len(entries(double))) == (3, 1)


def test_save__a_commit_keeps_its_newest_samples(
    double: GitHubDouble, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gate.store.stored.KEPT_SAMPLES", 2)
    for run_id in (1, 2, 3):
        open_store(client).save(report(1), ref="main", run_id=run_id)
    samples = stored(double, f"v1/default/00/{commit(1)}.json")["samples"]
    assert [s["run_id"] for s in samples] == [2, 3]
    assert len(entries(double)) == 3


def test_save__keys_and_branches_do_not_meet(double: GitHubDouble, client: Client) -> None:
    open_store(client).save(report(1), ref="main", run_id=1)
    open_store(client, "voice").save(report(2), ref="release/1.x", run_id=2)
    open_store(client, "voice").save(report(3), ref="a" * 240, run_id=3)
    assert open_store(client).commits() == {commit(1)}
    assert open_store(client, "voice").commits() == {commit(2), commit(3)}
    assert open_store(client, "voice").latest("main") is None
    assert entries(double, "release%2F1.x", "voice") == [(commit(2), 2)]
    assert [line.commit for line in open_store(client, "voice").history("a" * 240)] == [commit(3)]
    assert max(len(p.rpartition("/")[2]) for p in double.branch_files(BRANCH)) < 255


def test_save__leaves_other_files_of_the_branch_alone(double: GitHubDouble, client: Client) -> None:
    double.commit_files(BRANCH, {"README.md": b"kept", "v1/default/00/note.txt": b"kept", "v1/x.json": b"kept"})
    open_store(client).save(report(1), ref="main", run_id=1)
    assert sum(content == b"kept" for content in double.branch_files(BRANCH).values()) == 3
    assert open_store(client).commits() == {commit(1)}


def test_save__needs_a_commit(client: Client) -> None:
    with pytest.raises(BrokenEnvironmentError, match="names no commit"):
        open_store(client).save(builders.report(), ref="main", run_id=1)


def test_branch__is_a_sound_git_repository(double: GitHubDouble, client: Client) -> None:
    for number in range(3):
        open_store(client).save(report(number), ref="main", run_id=number)
    check = ["git", "-C", str(double.directory / "repository.git"), "fsck", "--strict"]
    assert subprocess.run(check, capture_output=True, text=True, check=False).returncode == 0


def test_calls__of_reading_and_writing(double: GitHubDouble, client: Client) -> None:
    def calls(work: Any) -> int:
        before = client.calls
        work()
        return client.calls - before

    assert calls(lambda: open_store(client).load(commit(1))) == 1
    assert calls(lambda: open_store(client).save(report(1), ref="main", run_id=1)) == 6
    assert calls(lambda: open_store(client).save(report(2), ref="main", run_id=2)) == 9
    assert calls(lambda: open_store(client).load(commit(1))) == 3
    store = open_store(client)
    assert calls(lambda: (store.commits(), store.load(commit(1)), store.load(commit(9)))) == 3
    assert calls(lambda: open_store(client).latest("main")) == 4


# Races and lost answers


@pytest.mark.parametrize(("rounds", "same_commit"), [(20, False), (5, True)], ids=["two commits", "one commit"])
def test_save__two_writers_at_once_both_survive(double: GitHubDouble, rounds: int, same_commit: bool) -> None:
    failed: list[Exception] = []
    together = threading.Barrier(2)

    def write(writer: int) -> None:
        with Client(double.repository, "ghs_x", base_url=double.url) as client:
            for number in range(rounds):
                subject = number if same_commit else 2 * number + writer
                together.wait(60)
                try:
                    open_store(client).save(report(subject), ref="main", run_id=2 * number + writer)
                except BrokenEnvironmentError as error:
                    failed.append(error)

    writers = [threading.Thread(target=write, args=(writer,)) for writer in (0, 1)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert failed == []
    runs = {run for _, run in entries(double)}
    assert runs == set(range(2 * rounds))
    kept = [
        s["run_id"] for p in double.branch_files(BRANCH) if "/history/" not in p for s in stored(double, p)["samples"]
    ]
    assert sorted(kept) == list(range(2 * rounds))


def test_save__lost_races_are_tried_again_with_growing_pauses(double: GitHubDouble, client: Client) -> None:
    open_store(client).save(report(1), ref="main", run_id=1)
    double.race(BRANCH, times=ATTEMPTS - 1)
    slept: list[float] = []
    assert open_store(client, slept=slept).save(report(2), ref="main", run_id=2)
    assert len(slept) == ATTEMPTS - 1
    assert all(0.1 <= s <= 7.5 for s in slept)
    assert entries(double) == [(commit(1), 1), (commit(2), 2)]


def test_save__gives_up_after_eight_lost_races(double: GitHubDouble, client: Client) -> None:
    open_store(client).save(report(1), ref="main", run_id=1)
    double.race(BRANCH, times=None)
    with pytest.raises(BrokenEnvironmentError, match=rf"{BRANCH}: the branch cannot be updated \(Update is not a fast"):
        open_store(client).save(report(2), ref="main", run_id=2)
    assert len(double.calls("PATCH")) == ATTEMPTS


def test_save__another_writer_creates_the_branch_first(double: GitHubDouble, client: Client) -> None:
    def other() -> None:
        with Client(double.repository, "ghs_x", base_url=double.url) as second:
            open_store(second).save(report(1), ref="main", run_id=1)

    double.on("POST", "/git/refs$", other)
    assert open_store(client).save(report(2), ref="main", run_id=2)
    assert entries(double) == [(commit(1), 1), (commit(2), 2)]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("how", ["fail", "drop"])
@pytest.mark.parametrize("first", [True, False], ids=["creating the branch", "moving it"])
def test_save__lost_answer_leaves_one_sample(
    double: GitHubDouble, client: Client, when: str, how: str, first: bool
) -> None:
    if not first:
        open_store(client).save(report(1), ref="main", run_id=1)
    getattr(double, how)("POST" if first else "PATCH", "/git/refs", when=when)
    open_store(client).save(report(2), ref="main", run_id=2)
    assert entries(double) == ([] if first else [(commit(1), 1)]) + [(commit(2), 2)]


def test_save__github_that_stays_down_is_an_error(double: GitHubDouble, client: Client) -> None:
    double.fail(status=503, times=None)
    with pytest.raises(UnreachableError):
        open_store(client).save(report(1), ref="main", run_id=1)


# What forbids the write


@pytest.mark.parametrize("exists", [False, True], ids=["creating the branch", "moving it"])
def test_save__ruleset_is_named_with_the_branch_and_the_way_out(
    double: GitHubDouble, client: Client, exists: bool
) -> None:
    if exists:
        open_store(client).save(report(1), ref="main", run_id=1)
    double.protect_branch(BRANCH)
    with pytest.raises(BrokenEnvironmentError) as error:
        open_store(client).save(report(2), ref="main", run_id=2)
    text = str(error.value)
    assert text.startswith(f"{BRANCH}: the branch cannot be updated (Repository rule violations found")
    assert "fix: leave this branch out of rulesets and branch protection" in text
    assert len(double.calls("*", "/git/refs$|/git/refs/heads")) == (2 if exists else 1) + exists * 0


def test_save__token_that_may_only_read_is_told_the_permission(double: GitHubDouble, client: Client) -> None:
    double.read_only = True
    with pytest.raises(BrokenEnvironmentError, match=r"give the job `permissions: contents: write`"):
        open_store(client).save(report(1), ref="main", run_id=1)
    assert double.branch_head(BRANCH) is None


# Reading what anyone may have written


@pytest.mark.parametrize("content", [b"", b"{}", b'{"schema_version": 1, "ref": "main", "entries": [{}]}', b"[[["])
def test_history__of_another_shape_is_an_error_and_is_not_overwritten(
    double: GitHubDouble, client: Client, content: bytes
) -> None:
    path = "v1/default/history/main.json"
    double.commit_files(BRANCH, {path: content})
    for work in (
        lambda: open_store(client).history("main"),
        lambda: open_store(client).save(report(1), ref="main", run_id=1),
    ):
        with pytest.raises(InvalidFileError, match=rf"branch {BRANCH}, {path}"):
            work()
    assert double.branch_files(BRANCH)[path] == content


def test_load__report_of_another_commit_is_an_error(double: GitHubDouble, client: Client) -> None:
    open_store(client).save(report(1), ref="main", run_id=1)
    content = double.branch_files(BRANCH)[f"v1/default/00/{commit(1)}.json"]
    double.commit_files(BRANCH, {f"v1/default/00/{commit(2)}.json": content})
    with pytest.raises(InvalidFileError, match=f"{commit(2)}.json: holds a report of commit {commit(1)}"):
        open_store(client).load(commit(2))


def test_load__size_is_looked_at_before_the_content_is_fetched(
    double: GitHubDouble, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gate.store.branch.MAX_BYTES", 100)
    double.commit_files(BRANCH, {f"v1/default/00/{commit(1)}.json": b" " * 101})
    with pytest.raises(InvalidFileError, match="larger than"):
        open_store(client).load(commit(1))
    assert double.calls("GET", "/git/blobs/") == []


def test_latest__passes_over_lines_whose_report_is_gone(double: GitHubDouble, client: Client) -> None:
    for number in (1, 2):
        open_store(client).save(report(number), ref="main", run_id=number)
    double.commit_files(BRANCH, {f"v1/default/00/{commit(2)}.json": None})
    latest = open_store(client).latest("main")
    assert latest is not None
    assert latest.commit == commit(1)


def test_list__of_a_branch_too_large_for_one_answer(
    double: GitHubDouble, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("default", "voice"):
        open_store(client, key).save(report(1), ref="main", run_id=1)
    monkeypatch.setattr("tests.double.git_data.MAX_TREE_ENTRIES", 6)
    assert open_store(client, "voice").commits() == {commit(1)}
    assert open_store(client, "absent").commits() == set()
    monkeypatch.setattr("tests.double.git_data.MAX_TREE_ENTRIES", 3)
    with pytest.raises(BrokenEnvironmentError, match="v1/voice: too many files to list"):
        open_store(client, "voice").commits()


# Pruning


def test_save__keeps_the_newest_of_the_key(
    double: GitHubDouble, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gate.store.branch.KEPT", 3)
    open_store(client, "voice").save(report(1), ref="main", run_id=1)
    for number in (1, 2, 3, 4, 5):
        open_store(client).save(report(number), ref="main", run_id=number)
    assert open_store(client).commits() == {commit(n) for n in (3, 4, 5)}
    assert entries(double) == [(commit(n), n) for n in (3, 4, 5)]
    assert open_store(client, "voice").commits() == {commit(1)}


def test_save__file_never_grows_beyond_what_is_read_back(
    double: GitHubDouble, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = len(stored_text(StoredReport(samples=[Sample(run_id=1, attempt=1, report=report(1))])))
    monkeypatch.setattr("gate.store.stored.MAX_BYTES", 2 * one + 100)
    for run_id in (1, 2, 3):
        open_store(client).save(report(1), ref="main", run_id=run_id)
    samples = stored(double, f"v1/default/00/{commit(1)}.json")["samples"]
    assert [s["run_id"] for s in samples] == [2, 3]
    monkeypatch.setattr("gate.store.stored.MAX_BYTES", one - 100)
    with pytest.raises(BrokenEnvironmentError, match="the report is larger than"):
        open_store(client).save(report(2), ref="main", run_id=4)


def test_history_text__keeps_the_newest_entries() -> None:
    line = summarize(Sample(run_id=0, attempt=1, report=report(1)))
    entries = [line.model_copy(update={"run_id": number}) for number in range(KEPT + 100)]
    kept = History.model_validate_json(history_text(History(ref="main", entries=entries))).entries
    assert [entry.run_id for entry in kept] == list(range(100, KEPT + 100))


def test_outdated__report_that_no_history_names_goes_first() -> None:
    line = summarize(Sample(run_id=0, attempt=1, report=report(1)))
    assert outdated({commit(1), commit(2)}, [History(ref="main", entries=[line])], 1) == {commit(2)}


def test_prune__counts_all_branches_together_and_spares_the_latest_of_each(
    double: GitHubDouble, client: Client
) -> None:
    for number, ref in ((1, "release"), (2, "main"), (3, "main"), (4, "main"), (5, "main")):
        open_store(client).save(report(number), ref=ref, run_id=number)
    assert open_store(client).prune(2) == 3
    assert open_store(client).commits() == {commit(1), commit(5)}
    assert (entries(double), entries(double, "release")) == ([(commit(5), 5)], [(commit(1), 1)])
    assert open_store(client).prune(2) == 0
