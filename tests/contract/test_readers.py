"""What every registered reader owes: tests, a place in the documentation, and errors of the gate."""

from pathlib import Path

import pytest

from gate.errors import InvalidFileError
from gate.readers import READERS, Reader

ROOT = Path(__file__).parents[2]
HEADS = [
    b"",
    b"{",
    b"[",
    b"<",
    b"\x00",
    b"PK",
    b'"',
    b"[[[[[[",
    b'{"a',
    b'{"a":{"b":{"c":{"d":1}}}}',
    b"}]",
    b"\xff" * 9,
]

each = pytest.mark.parametrize("reader", [READERS[type_]() for type_ in READERS], ids=list(READERS))


@each
def test_reader__has_a_test_and_a_line_in_the_documentation(reader: Reader) -> None:
    tests = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests/unit").glob("test_readers*.py"))
    words = reader.format.removeprefix("agent-chaos-gate's ").partition("'s ")[0]
    assert words.lower() in tests.lower()
    assert f"`{reader.type}`" in (ROOT / "docs/readers.md").read_text(encoding="utf-8")


@each
def test_reader__says_in_one_line_what_it_reads(reader: Reader) -> None:
    first = (reader.__doc__ or "").splitlines()[0]
    assert first.endswith(".") and 10 < len(first) <= 120


@each
@pytest.mark.parametrize("head", HEADS, ids=repr)
def test_reader__sniffs_nothing_into_fragments(reader: Reader, head: bytes) -> None:
    assert reader.handles(head, "file") in (False, head == b"<" and reader.type == "junit")


@each
@pytest.mark.parametrize("data", [b"{}", b"[]", b"<a/>", b"[1]", b"null", b'"x"'], ids=repr)
def test_reader__refuses_what_is_not_its_own(reader: Reader, data: bytes) -> None:
    with pytest.raises(InvalidFileError) as caught:
        reader.read(data, "some-file")
    assert "some-file" in str(caught.value)
