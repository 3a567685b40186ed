"""Bad input of every kind, for every reader: refused with the file's name and a place; nothing half-read comes out."""

import gzip
import io
import itertools
import json
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gate.compare import compare
from gate.errors import InvalidFileError
from gate.readers import READERS, read_any
from gate.readers.base import UnreadFormat
from tests import builders

SAMPLES = Path(__file__).parents[1] / "samples"
OWN = builders.report(builders.experiment("alpha", builders.probe(40, 40))).to_json()
GOOD = {
    "agent-chaos-gate": OWN.encode(),
    "agentic-chaos-security": (SAMPLES / "agentic-chaos-security/mailbot-naive.json").read_bytes(),
    "agentassay": (SAMPLES / "agentassay/agentassay-demo-report.json").read_bytes(),
    "inspect": (SAMPLES / "inspect/log.json").read_bytes(),
    "junit": (SAMPLES / "pytest/repeat.junit.xml").read_bytes(),
    "promptfoo": (SAMPLES / "promptfoo/out.json").read_bytes(),
}
JSON = {name: data for name, data in GOOD.items() if name != "junit"}

each = pytest.mark.parametrize("data", GOOD.values(), ids=GOOD)
each_json = pytest.mark.parametrize("data", JSON.values(), ids=JSON)


def refusal(data: bytes) -> str:
    with pytest.raises(InvalidFileError) as caught:
        read_any(data, "some-file")
    assert all(problem.startswith("some-file") for problem in caught.value.problems)
    return str(caught.value)


def edited(data: bytes, change: Callable[[tuple[Any, ...], Any], Any]) -> bytes:
    """Return the document in which `change` had its say about every value."""

    def walk(value: Any, path: tuple[Any, ...]) -> Any:
        if isinstance(value, dict):
            value = {key: walk(item, (*path, key)) for key, item in value.items()}
        elif isinstance(value, list):
            value = [walk(item, (*path, at)) for at, item in enumerate(value)]
        return change(path, value)

    return json.dumps(walk(json.loads(data), ())).encode()


def test_every_reader__has_a_good_sample_here() -> None:
    reading = {type_ for type_ in READERS if not issubclass(READERS[type_], UnreadFormat)}
    assert GOOD.keys() == reading
    for name, data in GOOD.items():
        assert READERS[name]().handles(data[:65_536], "some-file")
        assert read_any(data, "some-file").experiments


@each
@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.999])
def test_truncated(data: bytes, share: float) -> None:
    assert refusal(data.rstrip()[: int(len(data.rstrip()) * share)])


@each
def test_empty(data: bytes) -> None:
    assert "the file is empty" in refusal(data[:0])


@each
def test_nested_deeply(data: bytes) -> None:
    if data in JSON.values():
        deep = data.replace(b"{", b'{"deep": ' + b"[" * 100_000 + b"]" * 100_000 + b", ", 1)
        said = refusal(deep)
        assert "nested too deeply" in said or "recursion limit exceeded" in said
    else:
        assert "nested deeper" in refusal(data.replace(b"</testcase>", b"<a>" * 200, 1))


@each
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-8 with a broken byte"])
def test_wrong_encoding(data: bytes, encoding: str) -> None:
    if encoding.startswith("utf-8"):
        assert "not UTF-8 text (byte" in refusal(data.replace(b'"', b'"\xff', 1))
    else:
        assert "UTF-16 or UTF-32" in refusal(data.decode().encode(encoding))


@pytest.mark.parametrize(
    "bomb",
    [
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE x SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1/"> %p;]>',
    ],
    ids=["nested entities", "external document type", "parameter entity"],
)
def test_xml_entities(bomb: str) -> None:
    text = GOOD["junit"].decode().removeprefix('<?xml version="1.0" encoding="utf-8"?>')
    assert "nothing is expanded" in refusal((bomb + text).encode())


@each
def test_archive(data: bytes) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("report", data)
    assert "a zip archive" in refusal(packed.getvalue())
    assert "compressed by gzip" in refusal(gzip.compress(data))


NUMBERS = {
    "agent-chaos-gate": "threshold",
    "agentic-chaos-security": "threshold",
    "agentassay": "total_cost_usd",
    "inspect": "epoch",
    "promptfoo": "cost",
}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5_000], ids=lambda n: n[:9])
@pytest.mark.parametrize("name", JSON)
def test_number__that_is_none(name: str, number: str) -> None:
    data = edited(JSON[name], lambda path, value: "NUMBER" if path[-1:] == (NUMBERS[name],) else value)
    said = refusal(data.replace(b'"NUMBER"', number.encode()))
    assert f"{NUMBERS[name]}: " in said or "Invalid JSON: number out of range" in said


@pytest.mark.parametrize("name", JSON)
@pytest.mark.parametrize("place", ["first", "last"])
def test_key__given_twice(name: str, place: str) -> None:
    data = JSON[name]
    at = data.index(b"{") if place == "first" else data.rindex(b"{")
    after = b"," if data[at + 1 :].strip()[:1] != b"}" else b""
    twins = b'{"x": 1,\n"x": 2' + after
    line = data[:at].count(b"\n") + 2
    said = refusal(data[:at] + twins + data[at + 1 :])
    assert "key 'x' stands twice in one object" in said
    found = int(said.split(":")[1])
    assert line <= found <= line + data[at:].count(b"\n")


NAMED = {
    "agent-chaos-gate": ("experiments",),
    "agentic-chaos-security": (),
    "agentassay": ("trial_results",),
    "inspect": ("samples",),
}


@pytest.mark.parametrize("name", NAMED)
def test_element__given_twice(name: str) -> None:
    twice = edited(JSON[name], lambda path, value: [*value, value[0]] if path == NAMED[name] else value)
    assert "twice" in refusal(twice) or "more than once" in refusal(twice)


def test_element__given_twice_is_more_than_the_file_itself_says() -> None:
    wanted = ("results", "results")
    twice = edited(JSON["promptfoo"], lambda path, value: [*value, value[0]] if path == wanted else value)
    assert "results.stats says" in refusal(twice)
    (case, *_) = GOOD["junit"].split(b"<testcase")[1:]
    assert "stands 2 times" in refusal(GOOD["junit"].replace(b"</testsuite>", b"<testcase" + case + b"</testsuite>", 1))


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(GOOD, 2)), ids="-".join)
def test_mixed_tools(one: str, other: str) -> None:
    base, head = read_any(GOOD[one], "base"), read_any(GOOD[other], "head")
    with pytest.raises(InvalidFileError, match="their counts mean different things"):
        compare(base, head, policy=base.policy, today=date(2026, 1, 1))
