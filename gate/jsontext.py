"""JSON text looked through once, without a tree: is a key given twice, and where are the elements of an array."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from gate.errors import InvalidFileError

Path = Sequence[Sequence[str]]
Take = Callable[[str, int, int], None]
_SPACE = re.compile(r"[ \t\n\r]*")
_CLOSING = re.compile(r'"(?:[^"\\]|\\.)*"|(})', re.DOTALL)
_BYTES = re.compile("[\x80-\xff]+")


class JsonText:
    """One JSON text; `source` names it in errors.

    It is looked at as Latin-1: so it takes one byte a character whatever is in it, and places in it are places in the
    bytes. All that JSON itself is made of is ASCII.
    """

    def __init__(self, data: bytes, source: str) -> None:
        self._text = data.decode("latin-1")
        self._source = source
        self._closed = 0
        self._insides: list[range] = []
        self._take: Take | None = None
        # Nothing is kept of what is decoded: objects become None, and a number is as good as its length.
        self._decode = json.JSONDecoder(object_pairs_hook=self._close, parse_int=len, parse_float=len).raw_decode

    def walk(self, path: Path | None = None, take: Take | None = None) -> list[range]:
        """Look through the whole text, once; return where the insides of the arrays at `path` are.

        `path` holds the names that are followed at each level, none for an array at the top. `take` gets the key path,
        start and end of every element. Between elements this is strict; around the arrays it only sees twins.

        Raises:
            InvalidFileError: it is cut off, not JSON or nested too deeply, or a key stands twice in one object; by
                line.
        """
        self._take = take
        at = self._space(self._value(self._space(0), path, ""))
        if at != len(self._text):
            raise self._invalid(at, "more after its end")
        return self._insides

    def _value(self, at: int, path: Path | None, name: str) -> int:
        """Return the end of the value that begins here."""
        opening = self._text[at : at + 1]
        if path and opening == "{":
            return self._object(at, path, name)
        if path is not None and not path and opening == "[":
            return self._array(at, name)
        return self._decoded(at)[1]

    def _object(self, at: int, path: Path, name: str) -> int:
        seen: set[str] = set()
        while self._text[at : at + 1] != "}":
            at = self._space(at + 1)  # behind the brace or a comma
            if self._text[at : at + 1] != '"':
                break
            raw, end = self._decoded(at)
            if (key := _spelled(raw)) in seen:
                raise self._refusal(at, _twice(key))
            seen.add(key)
            at = self._space(self._expect(":", self._space(end)))
            at = self._space(self._value(at, path[1:] if key in path[0] else None, f"{name}{key}."))
            if self._text[at : at + 1] != ",":
                break
        return self._expect("}", at)

    def _array(self, start: int, name: str) -> int:
        at = self._space(start + 1)
        more = self._text[at : at + 1] != "]"
        for index in itertools.count():
            if not more:
                break
            end = self._decoded(at)[1]
            if self._take:
                self._take(f"{name}{index}", at, end)
            at = self._space(end)
            if more := self._text[at : at + 1] == ",":
                at = self._space(at + 1)
        self._insides.append(range(start + 1, at))
        return self._expect("]", at)

    def _decoded(self, at: int) -> tuple[Any, int]:
        """Return the value that begins here, as far as it is kept, and its end."""
        self._closed = 0
        try:
            return self._decode(self._text, at)
        except json.JSONDecodeError as error:
            open_text = error.msg.startswith("Unterminated string")
            raise self._invalid(len(self._text) if open_text else error.pos, error.msg) from None
        except RecursionError:
            raise self._refusal(at, "nested too deeply") from None
        except _TwiceError as error:
            closings = (m.start() for m in _CLOSING.finditer(self._text, at) if m[1])
            place = next(itertools.islice(closings, self._closed - 1, None))
            raise self._refusal(place, _twice(error.key)) from None

    def _close(self, pairs: list[tuple[str, Any]]) -> None:
        """Take an object that ends, and keep nothing of it."""
        self._closed += 1
        keys = dict(pairs)
        if len(keys) == len(pairs) and "".join(keys).isascii():
            return
        key, times = Counter(_spelled(key) for key, _ in pairs).most_common(1)[0]
        if times > 1:
            raise _TwiceError(key)

    def _expect(self, sign: str, at: int) -> int:
        if self._text[at : at + 1] != sign:
            raise self._invalid(at, f"{sign!r} expected")
        return at + 1

    def _space(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        assert match  # noqa: S101 (it matches nothing at all, too)
        return match.end()

    def _invalid(self, at: int, why: str) -> InvalidFileError:
        ended = not self._text[at:].strip()
        return self._refusal(at, f"Invalid JSON: {'it ends too early; the file may be cut off' if ended else why}")

    def _refusal(self, at: int, why: str) -> InvalidFileError:
        return InvalidFileError([f"{self._source}:{self._text.count(chr(10), 0, at) + 1}: {why}"])


class _TwiceError(Exception):
    """A key stands twice in an object."""

    def __init__(self, key: str) -> None:
        self.key = key


def _twice(key: str) -> str:
    return f"key {key!r:.80} stands twice in one object"


def _spelled(key: str) -> str:
    """Return a key as UTF-8, so that one that is written with an escape is the same as one that is not."""

    def raw(found: re.Match[str]) -> str:
        try:
            return found[0].encode("latin-1").decode("utf-8")
        except UnicodeDecodeError:
            return found[0]  # it was an escape

    return _BYTES.sub(raw, key)
