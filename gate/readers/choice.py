"""Which reader a file is for, and what is refused before one sees it."""

import codecs
import re
from pathlib import Path

from pydantic import ValidationError

from gate.errors import InvalidFileError
from gate.jsontext import JsonText
from gate.policy import Policy
from gate.readers.base import MAX_BYTES, READERS, Reader
from gate.report import Report, Tool

HEAD_BYTES = 65_536
"""How much of a file is looked at to know its format."""

_CHUNK = 1 << 20
_EMPTY = re.compile(rb"\s*(\{\s*\}|\[\s*\])\s*")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PACKED = {b"PK\x03\x04": "a zip archive", b"\x1f\x8b": "compressed by gzip", b"\x28\xb5\x2f\xfd": "compressed by zstd"}


def read_file(path: Path, policy: Policy | None = None) -> Report:
    """Return the report in a file of any known format; `policy` is for reports of other tools, which state none.

    Raises:
        InvalidFileError: it cannot be read, or `read_any` refuses it.
    """
    report = read_any(read_bytes(path), str(path))
    if policy is None or report.tool.name == Tool().name:
        return report
    return report.model_copy(update={"policy": policy})


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, at most one more than any report may have.

    Raises:
        InvalidFileError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidFileError([f"{path}: cannot be read: {error.strerror}"]) from None


def read_any(data: bytes, source: str) -> Report:
    """Return the report in the bytes of a file of any known format; `source` names it in errors.

    Raises:
        InvalidFileError: empty, too large, not UTF-8, of no format or of one that is not read, or not whole.
    """
    if len(data) > MAX_BYTES:
        raise InvalidFileError([f"{source}: larger than {_megabytes(MAX_BYTES)}"], fix="split the suite")
    text = data.removeprefix(codecs.BOM_UTF8)
    if not text[:HEAD_BYTES].strip():
        raise InvalidFileError([f"{source}: Invalid JSON or XML: the file is empty"], fix="run the suite again")
    reader = _choose(text, source)
    if len(data) > reader.max_bytes:
        raise InvalidFileError([f"{source}: {reader.format}: larger than {_megabytes(reader.max_bytes)}"])
    _check_utf8(text, source)
    try:
        return reader.read(text, source)
    except ValidationError as error:
        why = error.errors(include_input=False, include_url=False)[0]["msg"]
        raise InvalidFileError([f"{source}: {reader.format}: does not fit into a report: {why}"]) from None


def _choose(data: bytes, source: str) -> Reader:
    head = data[:HEAD_BYTES]
    packed = head.startswith(tuple(_PACKED))
    if head.startswith(_UTF16) or (b"\x00" in head[:4] and not packed):
        raise InvalidFileError([f"{source}: UTF-16 or UTF-32 text, not UTF-8"], fix="write the file in UTF-8")
    readers = [READERS[type_]() for type_ in READERS]
    found = [reader for reader in readers if reader.handles(head, Path(source).name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidFileError([f"{source}: can be {' or '.join(r.format for r in found)}: not read"])
    known = ", ".join(reader.format for reader in readers)
    raise InvalidFileError([f"{source}: {_what(data, source)}"], fix=f"give a report of one of: {known}")


def _what(data: bytes, source: str) -> str:
    """Return what is wrong with a file that no reader knows."""
    for magic, text in _PACKED.items():
        if data.startswith(magic):
            return f"{text}, no report"
    _check_utf8(data, source)
    if data.lstrip()[:1] not in (b"{", b"["):
        return "neither JSON nor XML"
    JsonText(data, source).walk()
    if _EMPTY.fullmatch(data):
        return "empty; a report should be an object or an array with something in it"
    return "JSON, but of no report format that is known here"


def _check_utf8(data: bytes, source: str) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _CHUNK):
        end = start + _CHUNK
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(data[start:end], final=end >= len(data))
        except UnicodeDecodeError as error:
            raise InvalidFileError([f"{source}: not UTF-8 text (byte {start - pending + error.start})"]) from None


def _megabytes(size: int) -> str:
    return f"{size // 1_000_000} MB"
