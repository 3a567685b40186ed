"""The report of another workflow run: fetched without the token, and read as if an enemy had packed it."""

import io
import stat
import struct
import zipfile
from collections.abc import Iterator

import pytest

from gate.errors import InvalidFileError
from gate.github import ApiError, Client, RefusedError, UnreachableError, read_member
from tests.double import GitHubDouble

NAME, RUN = "agent-chaos-gate-default", 42


@pytest.fixture
def double() -> Iterator[GitHubDouble]:
    with GitHubDouble() as server:
        server.add_run(server.commit_files("main", {"a": b""}), "main", id=RUN)
        yield server
        server.check()


@pytest.fixture
def client(double: GitHubDouble) -> Iterator[Client]:
    with Client(double.repository, "ghs_x", base_url=double.url, sleep=lambda _: None) as connected:
        yield connected


def pack(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


# Fetching


def test_artifact__newest_of_the_name_without_the_token_on_the_way(double: GitHubDouble, client: Client) -> None:
    double.add_artifact(RUN, NAME, {"report.json": b"old"})
    double.add_artifact(RUN, NAME, {"report.json": b"new"})
    double.add_artifact(RUN, f"{NAME}-2", {"report.json": b"other"})
    archive = client.artifact(RUN, NAME)
    assert archive is not None
    assert read_member(archive, "report.json", 100) == b"new"
    assert "authorization" not in double.requests[-1].headers
    assert client.calls == 2


@pytest.mark.parametrize("expired", [True, False], ids=["expired", "never made"])
def test_artifact__that_is_not_there(double: GitHubDouble, client: Client, expired: bool) -> None:
    if expired:
        double.add_artifact(RUN, NAME, {"report.json": b""}, expired=True)
    assert client.artifact(RUN, NAME) is None


def test_artifact__too_large_is_not_read_to_the_end(
    double: GitHubDouble, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gate.github.client.MAX_ARCHIVE_BYTES", 1_000)
    double.add_artifact(RUN, NAME, b"x" * 1_001)
    with pytest.raises(ApiError, match="larger than 1,000 bytes"):
        client.artifact(RUN, NAME)


def test_artifact__download_that_breaks_is_tried_again(double: GitHubDouble, client: Client) -> None:
    double.add_artifact(RUN, NAME, {"report.json": b"x"})
    double.fail("GET", "/zip$", status=502, times=2)
    assert client.artifact(RUN, NAME)


def test_artifact__address_that_leads_nowhere(double: GitHubDouble, client: Client) -> None:
    double.add_artifact(RUN, NAME, {"report.json": b"x"})
    double.fail("GET", "/zip$", status=302, body="", headers={"Location": "http://127.0.0.1:9/nothing"})
    with pytest.raises(UnreachableError, match=r"the download failed \(ConnectionError\)"):
        client.artifact(RUN, NAME)


@pytest.mark.parametrize("address", ["", "file:///etc/passwd", "ftp://x/y"])
def test_artifact__address_of_another_kind(double: GitHubDouble, client: Client, address: str) -> None:
    double.add_artifact(RUN, NAME, {"report.json": b"x"})
    double.fail("GET", "/zip$", status=302, body="", headers={"Location": address})
    with pytest.raises(UnreachableError, match="the download failed"):
        client.artifact(RUN, NAME)


def test_artifact__token_that_may_not_read_actions(double: GitHubDouble, client: Client) -> None:
    double.forbid("GET", "/artifacts")
    with pytest.raises(RefusedError) as error:
        client.artifact(RUN, NAME)
    assert error.value.permission == "actions: read"


# Unpacking


def test_read_member__is_one_among_others() -> None:
    archive = pack(
        ("../../etc/passwd", b"x"), ("/report.json", b"x"), ("a/report.json", b"x"), ("report.json", b"mine")
    )
    assert read_member(archive, "report.json", 100) == b"mine"


def test_read_member__link_is_read_as_the_text_it_is() -> None:
    link = zipfile.ZipInfo("report.json")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert read_member(pack((link, b"/etc/passwd")), "report.json", 100) == b"/etc/passwd"


def test_read_member__bomb_stops_at_the_limit() -> None:
    archive = pack(("report.json", b"\0" * 50_000_000))
    assert len(archive) < 100_000
    with pytest.raises(InvalidFileError, match="larger than 1,000,000 bytes"):
        read_member(archive, "report.json", 1_000_000)


def test_read_member__size_that_the_archive_lies_about() -> None:
    archive = bytearray(pack(("report.json", b"\0" * 5_000)))
    directory = archive.rindex(b"PK\x01\x02")
    struct.pack_into("<I", archive, directory + 24, 10)  # the uncompressed size in the central directory
    with pytest.raises(InvalidFileError):
        read_member(bytes(archive), "report.json", 1_000)


def test_read_member__encrypted() -> None:
    archive = bytearray(pack(("report.json", b"x")))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        archive[archive.index(magic) + offset] |= 1
    with pytest.raises(InvalidFileError, match="is encrypted"):
        read_member(bytes(archive), "report.json", 100)


@pytest.mark.parametrize(
    "archive",
    [b"", b"not a zip", pack(("report.json", b"x" * 100))[:-10], pack(("report.json", b"x" * 100))[20:]],
    ids=["empty", "text", "end cut off", "start cut off"],
)
def test_read_member__damaged(archive: bytes) -> None:
    with pytest.raises(InvalidFileError, match=r"report.json: "):
        read_member(archive, "report.json", 100)


def test_read_member__content_that_does_not_match_its_sum() -> None:
    archive = bytearray(pack(("report.json", b"abcdef"), method=zipfile.ZIP_STORED))
    archive[archive.index(b"abcdef")] ^= 1
    with pytest.raises(InvalidFileError, match=r"cannot be read \(BadZipFile\)"):
        read_member(bytes(archive), "report.json", 100)


@pytest.mark.filterwarnings("ignore:Duplicate name")  # that is the point
def test_read_member__must_stand_once() -> None:
    with pytest.raises(InvalidFileError, match="stands 2 times"):
        read_member(pack(("report.json", b"1"), ("report.json", b"2")), "report.json", 100)
    with pytest.raises(InvalidFileError, match="stands 0 times"):
        read_member(pack(("Report.json", b"1")), "report.json", 100)
