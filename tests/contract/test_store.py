"""What every store of base reports does: keeps what is asked of it, and distrusts what it reads."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gate.errors import BrokenEnvironmentError, InvalidFileError, UsageError
from gate.github import Client
from gate.report import Failure, Report
from gate.store import STORES, Store, parse_store
from tests import builders
from tests.double import GitHubDouble

COMMIT, OTHER = "a" * 40, "b" * 40
BRANCH = "agent-chaos-baseline"
SECRET = "sk-transcript-of-an-agent"


def report(commit: str = COMMIT, passes: int = 38, ended: str = "2026-01-01T00:01:00Z") -> Report:
    """Return a report with counts, outcomes by seed, and a failure that quotes the agent."""
    failure = Failure(
        phase="chaos",
        index=3,
        seed=3,
        outcome="error",
        probes=["output_matches"],
        detail=SECRET,
        error=SECRET,
        output=SECRET,
    )
    probe = builders.probe(passes, 40).model_copy(update={"detail": SECRET})
    experiment = builders.experiment("guardrail", probe).model_copy(update={"failures": [failure]})
    return builders.report(experiment, commit=commit).model_copy(update={"ended_at": ended})


@dataclass
class Place:
    """A fresh place for one kind of store: how to open it, and its raw content."""

    def __init__(
        self, spec: str, client: Client | None, read: Callable[[], str], write: Callable[[bytes], object]
    ) -> None:
        self.spec, self.client, self.read, self.write = spec, client, read, write

    def open(self) -> Store:
        """Return the store with nothing remembered."""
        return parse_store(self.spec, client=self.client)


@contextmanager
def file_place(directory: Path) -> Iterator[Place]:
    """A path in a folder that does not exist yet."""
    file = directory / "base" / "report.json"

    def write(content: bytes) -> None:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)

    yield Place(f"file:{file}", None, file.read_text, write)


@contextmanager
def branch_place(directory: Path) -> Iterator[Place]:
    """A branch that does not exist yet."""
    with GitHubDouble(directory) as double, Client(double.repository, "ghs_x", base_url=double.url) as client:
        yield Place(
            f"branch:{BRANCH}",
            client,
            lambda: "".join(content.decode() for content in double.branch_files(BRANCH).values()),
            lambda content: double.commit_files(BRANCH, {f"v1/default/aa/{COMMIT}.json": content}),
        )
        double.check()


PLACES = {"file": file_place, "branch": branch_place}


@pytest.fixture(params=sorted(STORES))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Return a place for every registered store; a new kind fails here until it has one in `PLACES`."""
    with PLACES[request.param](tmp_path) as made:
        yield made


def test_store__is_empty_at_first(place: Place) -> None:
    store = place.open()
    assert (store.commits(), store.load(COMMIT), store.latest("main"), store.history("main")) == (set(), None, None, [])


def test_store__gives_back_counts_outcomes_fingerprints_policy_and_version(place: Place) -> None:
    saved = report()
    assert place.open().save(saved, ref="main", run_id=1)
    loaded = place.open().load(COMMIT)
    assert loaded is not None
    assert place.open().latest("main") == loaded
    assert (loaded.commit, loaded.policy, loaded.tool, loaded.spend) == (
        saved.commit,
        saved.policy,
        saved.tool,
        saved.spend,
    )
    (experiment,), (expected,) = loaded.experiments, saved.experiments
    assert experiment.phases == expected.phases
    assert (experiment.fingerprint, experiment.probes[0].passes, experiment.probes[0].runs) == ("f", 38, 40)


def test_store__keeps_no_transcripts(place: Place) -> None:
    place.open().save(report(), ref="main", run_id=1)
    assert SECRET not in place.read()


def test_store__same_run_twice_is_one(place: Place) -> None:
    place.open().save(report(), ref="main", run_id=1)
    before = place.read()
    assert not place.open().save(report(), ref="main", run_id=1)
    assert place.read() == before


def test_store__newest_report_of_a_commit_is_its_base(place: Place) -> None:
    for run_id, passes in ((1, 38), (2, 31)):
        place.open().save(report(passes=passes), ref="main", run_id=run_id)
    loaded = place.open().load(COMMIT)
    assert loaded is not None
    assert loaded.experiments[0].probes[0].passes == 31


def test_store__knows_no_other_commit(place: Place) -> None:
    place.open().save(report(), ref="main", run_id=1)
    assert (place.open().load(OTHER), place.open().commits()) == (None, {COMMIT})


def test_store__latest_is_what_was_saved_last(place: Place) -> None:
    place.open().save(report(COMMIT), ref="main", run_id=1)
    place.open().save(report(OTHER), ref="refs/heads/main", run_id=2)
    latest = place.open().latest("main")
    assert latest is not None
    assert latest.commit == OTHER


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"\xff\xfe\x00",
        b"[]",
        b"{}",
        b'{"schema_version": 2}',
        b'{"schema_version": 1, "samples": []}',
        b"[" * 100_000,
        b'{"schema_version": 1, "samples": [{"run_id": "x"}]}',
        report().to_json().replace('"passes": 38', '"passes": 41').encode(),
        report().to_json().replace('"passes": 38', '"passes": NaN').encode(),
        report(OTHER).to_json().encode()[:-40],
    ],
    ids=lambda content: content[:24].decode(errors="replace"),
)
def test_store__content_of_another_shape_is_an_error_that_names_the_place(place: Place, content: bytes) -> None:
    place.write(content)
    with pytest.raises(InvalidFileError) as error:
        place.open().load(COMMIT)
    assert "report.json" in str(error.value) or f"branch {BRANCH}, v1/default/aa/{COMMIT}.json" in str(error.value)
    assert len(str(error.value)) < 2_000


def test_store__content_that_is_too_large_is_an_error(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gate.report.MAX_BYTES", 1_000)
    monkeypatch.setattr("gate.store.branch.MAX_BYTES", 1_000)
    place.write(b" " * 1_001)
    with pytest.raises(InvalidFileError, match="larger than"):
        place.open().load(COMMIT)


def test_store__keys_of_a_later_version_are_ignored(place: Place) -> None:
    place.open().save(report(), ref="main", run_id=1)
    data = json.loads(report().to_json()) | {"later": {"x": 1}}
    stored = {"schema_version": 1, "later": 1, "samples": [{"run_id": 1, "attempt": 1, "report": data}]}
    place.write(json.dumps(data if place.spec.startswith("file") else stored).encode())
    assert place.open().load(COMMIT) is not None


@pytest.mark.parametrize("keep", [1, 500])
def test_store__prune_keeps_the_newest(place: Place, keep: int) -> None:
    place.open().save(report(), ref="main", run_id=1)
    assert place.open().prune(keep) == 0
    assert place.open().commits() == {COMMIT}


# Names of stores


@pytest.mark.parametrize("spec", ["", "branch", "branch:", "file:", "s3:bucket", "agent-chaos-baseline", ":x"])
def test_parse_store__unknown_spelling_lists_the_known(spec: str) -> None:
    with pytest.raises(UsageError, match=r"names no store\n  fix: write branch:… or file:…"):
        parse_store(spec)


@pytest.mark.parametrize(
    "branch",
    ["a b", "a..b", "-x", "/x", "x/", "x.", ".x", "a//b", "a/.b", "x.lock", "a@{b", "a~1", "a\nb", "refs/heads/"],
)
def test_parse_store__what_git_would_not_take_for_a_branch(branch: str) -> None:
    with pytest.raises(UsageError, match=r"is not the name of a branch|names no store"):
        parse_store(f"branch:{branch}", client=Client("o/r", "x"))


@pytest.mark.parametrize("key", ["", "A", "a_b", "a/b", "x" * 41, "a\n"])
def test_parse_store__bad_key(key: str) -> None:
    with pytest.raises(UsageError, match="is not a key"):
        parse_store("file:x", key=key)


def test_parse_store__branch_needs_github() -> None:
    with pytest.raises(UsageError, match="GitHub is needed for branch:b"):
        parse_store("branch:b")


def test_file_store__place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BrokenEnvironmentError, match="cannot be written"):
        parse_store(f"file:{tmp_path}/file/report.json").save(report(), ref="main", run_id=1)


def test_file_store__folder_is_not_a_report(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="cannot be read: Is a directory"):
        parse_store(f"file:{tmp_path}").latest("main")
