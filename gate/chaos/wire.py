"""Values as JSON that loses nothing: tags for what JSON has not, handles for what cannot travel.

A tag is an object with one key that starts with `$`. What neither JSON nor a tag can say, is too large, too deep or
cyclic becomes `{"$o": [handle, text, fields]}`; what that means is for each side to say.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Callable
from typing import Any

DEPTH_LIMIT = 64
NODE_LIMIT = 100_000
TEXT_LIMIT = 1_000_000
"""Characters of one string or bytes of one value: beyond it a value travels as an opaque one, its text cut."""

_CONTAINERS: tuple[type[Any], ...] = (list, dict, tuple, set, frozenset)
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def dumps(value: Any) -> str:
    """Return one line of JSON."""
    return _ENCODER.encode(value)


def cut(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return a text, its middle replaced by a marker if it is longer than the limit."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}[... {len(text) - 2 * half} characters cut ...]{text[-half:]}"


class Encoder:
    """Turn one value into plain JSON values; `opaque` gives the payload of `$o` for what cannot travel.

    While `bare` is true the other side must be able to hash what it reads.
    """

    def __init__(self, opaque: Callable[[Any, Encoder], list[Any]]) -> None:
        self.bare = False
        self._opaque = opaque
        self._nodes = 0
        self._above: set[int] = set()

    @property
    def depth(self) -> int:
        """Return how many containers are open around the value that is being encoded."""
        return len(self._above)

    def encode(self, value: Any) -> Any:
        """Return the JSON form of a value."""
        kind = type(value)  # never isinstance: proxies and mocks lie about their class
        if value is None or kind is bool:
            return value
        self._nodes += 1
        if kind is str:
            return self._string(value)
        if kind is int:
            return value if value.bit_length() < 10_000 else self._tag_opaque(value)
        if kind is float:
            return value if math.isfinite(value) else {"$f": str(value)}
        if kind is bytes and len(value) <= TEXT_LIMIT:
            return {"$b": base64.b64encode(value).decode("ascii")}
        if kind is datetime.date:
            return {"$date": value.isoformat()}
        if kind is datetime.datetime and not value.fold and type(value.tzinfo) in (type(None), datetime.timezone):
            return {"$time": value.isoformat()}
        for base in _CONTAINERS:
            if issubclass(kind, base):
                return self._container(value, base)
        # a subclass may say something else of itself, so its base is asked
        if issubclass(kind, str):
            return self._string(str.__str__(value))
        if issubclass(kind, int):
            return self.encode(int.__pos__(value))
        if issubclass(kind, float):
            return self.encode(float.__pos__(value))
        return self._tag_opaque(value)

    def _string(self, value: str) -> Any:
        if len(value) > TEXT_LIMIT:
            return self._tag_opaque(value)
        if value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value):
            return value
        return {"$u": [ord(c) for c in value]}

    def _container(self, value: Any, base: type[Any]) -> Any:
        unhashable = self.bare and base not in (tuple, frozenset)
        too_much = self.depth >= DEPTH_LIMIT or self._nodes + base.__len__(value) > NODE_LIMIT
        if unhashable or too_much or id(value) in self._above:
            return self._tag_opaque(value)
        self._above.add(id(value))
        try:
            if base is dict:
                return self._mapping(list(dict.items(value)))
            items = list(base.__iter__(value))
            if base is list:
                return [self.encode(item) for item in items]
            if base is tuple:
                return {"$t": [self.encode(item) for item in items]}
            return {"$s" if base is set else "$fs": [self._hashable(item) for item in items]}
        finally:
            self._above.discard(id(value))

    def _mapping(self, pairs: list[tuple[Any, Any]]) -> Any:
        if all(type(key) is str and not key.startswith("$") and key.isascii() for key, _ in pairs):
            return {key: self.encode(item) for key, item in pairs}
        return {"$m": [[self._hashable(key), self.encode(item)] for key, item in pairs]}

    def _hashable(self, value: Any) -> Any:
        before, self.bare = self.bare, True
        try:
            return self.encode(value)
        finally:
            self.bare = before

    def _tag_opaque(self, value: Any) -> Any:
        return {"$o": self._opaque(value, self)}


def decode(value: Any, opaque: Callable[[list[Any]], Any]) -> Any:
    """Return the value of a JSON form; `opaque` turns the payload of `$o` into what this side has for it.

    Raises:
        ValueError: a tag that does not exist, or one with a payload of another shape.
    """
    if isinstance(value, list):
        return [decode(item, opaque) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, payload),) = value.items()
        if tag.startswith("$"):
            try:
                return _TAGS[tag](payload, opaque)
            except (KeyError, TypeError, IndexError, OverflowError) as error:
                raise ValueError(f"bad value {tag}: {error}") from None
    return {key: decode(item, opaque) for key, item in value.items()}


def _items(payload: list[Any], opaque: Callable[[list[Any]], Any]) -> list[Any]:
    return [decode(item, opaque) for item in payload]


_TAGS: dict[str, Callable[[Any, Callable[[list[Any]], Any]], Any]] = {
    "$o": lambda payload, opaque: opaque(payload),
    "$f": lambda payload, _: _FLOATS[payload],
    "$u": lambda payload, _: "".join(map(chr, payload)),
    "$b": lambda payload, _: base64.b64decode(payload),
    "$date": lambda payload, _: datetime.date.fromisoformat(payload),
    "$time": lambda payload, _: datetime.datetime.fromisoformat(payload),
    "$t": lambda payload, opaque: tuple(_items(payload, opaque)),
    "$s": lambda payload, opaque: set(_items(payload, opaque)),
    "$fs": lambda payload, opaque: frozenset(_items(payload, opaque)),
    "$m": lambda payload, opaque: {decode(k, opaque): decode(v, opaque) for k, v in payload},
}
