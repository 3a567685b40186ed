"""The first levels of a JSON text, as far as its first bytes show them."""

import re
from collections.abc import Mapping
from functools import lru_cache

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|["{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
_DEPTH = 3


@lru_cache(maxsize=2)
def outline(head: bytes) -> Mapping[str, str]:
    """Return the first token of every value down to the third level, by path: `results.[].passed` to `true`.

    The path of the whole is empty; `[]` stands for an element of an array. Only the first value of a path counts, and
    what follows an error or the end of the bytes is not there: this is for sniffing, not for reading.
    """
    found: dict[str, str] = {}
    path: list[str] = []
    in_object: list[bool] = []
    is_key = False
    for match in _TOKEN.finditer(head):
        token = match.group()
        if token == b'"' or (not found and token not in (b"{", b"[")):
            break
        if token in (b"}", b"]"):
            if not in_object:
                break
            in_object.pop()
            path.pop()
            is_key = False
        elif token == b",":
            is_key = bool(in_object and in_object[-1])
        elif token == b":":
            is_key = False
        elif is_key:
            path[-1] = token[1:-1].decode("utf-8", "replace")
        else:
            if len(path) <= _DEPTH:
                found.setdefault(".".join(path), token[:40].decode("utf-8", "replace"))
            if token in (b"{", b"["):
                is_key = token == b"{"
                in_object.append(is_key)
                path.append("" if is_key else "[]")
    return found
