"""What comes back is wrong: missing, cut, malformed, stale or tampered with."""

import copy
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from gate.faults.base import Effect, Fault, Injection, Return

_ANSWERS = ("llm.response", "tool.result", "memory.read", "resource.read", "agent.message")


class Empty(Fault):
    """The answer is empty: the empty value of its own kind, else None."""

    type: ClassVar[str] = "empty"
    points: ClassVar[tuple[str, ...]] = _ANSWERS

    def apply(self, value: Any, injection: Injection) -> Effect:
        kind = next((k for k in (str, bytes, list, dict, tuple) if isinstance(value, k)), None)
        changed = value is not None if kind is None else len(value) > 0
        return Return(kind() if kind else None, changed)


class Truncate(Fault):
    """Only the first `keep` of a text or list arrives, as a share of its length."""

    type: ClassVar[str] = "truncate"
    points: ClassVar[tuple[str, ...]] = _ANSWERS
    keep: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.5

    def apply(self, value: Any, injection: Injection) -> Effect:
        if not isinstance(value, str | bytes | list | tuple):
            return Return(value, changed=False)
        cut = value[: int(len(value) * self.keep)]
        return Return(cut, changed=len(cut) < len(value))


class CorruptJson(Fault):
    """A JSON text is cut anywhere; a mapping loses one of its keys."""

    type: ClassVar[str] = "corrupt_json"
    points: ClassVar[tuple[str, ...]] = ("llm.response", "tool.result", "agent.message")

    def apply(self, value: Any, injection: Injection) -> Effect:
        if isinstance(value, str) and len(value) > 1:
            return Return(value[: injection.rng.randrange(1, len(value))])
        if isinstance(value, dict) and value:
            corrupted = dict(value)
            del corrupted[injection.rng.choice(sorted(corrupted, key=str))]
            return Return(corrupted)
        return Return(value, changed=False)


class Replay(Fault):
    """An earlier answer comes again instead of this one: the `previous` one, or the `first`."""

    type: ClassVar[str] = "replay"
    points: ClassVar[tuple[str, ...]] = (
        "agent.message",
        "tool.result",
        "memory.read",
        "resource.read",
        "llm.response",
        "payment.result",
    )
    which: Literal["previous", "first"] = "previous"

    def apply(self, value: Any, injection: Injection) -> Effect:
        if not injection.previous:
            return Return(value, changed=False)
        earlier = injection.previous[0 if self.which == "first" else -1]
        return Return(earlier, changed=bool(earlier != value))


class Patch(Fault):
    """Fields of structured data are overwritten: `set` maps dotted paths, such as `cart.items.0.price`, to values.

    Mappings on the way are made where they are missing. A path that leads through anything but mappings and lists,
    or beyond the end of a list, is left out.
    """

    type: ClassVar[str] = "patch"
    points: ClassVar[tuple[str, ...]] = (
        "agent.discover",
        "agent.message",
        "tool.result",
        "memory.read",
        "resource.read",
        "payment.result",
    )
    set: dict[str, Any] | None = None

    def apply(self, value: Any, injection: Injection) -> Effect:
        if not isinstance(value, dict | list):
            return Return(value, changed=False)
        patched = copy.deepcopy(value)
        for path, new in (self.set or {}).items():
            _overwrite(patched, path.split("."), copy.deepcopy(new))
        return Return(patched, changed=bool(patched != value))


def _overwrite(data: Any, path: list[str], new: Any) -> None:
    """Set one place in nested mappings and lists; do nothing if the path does not fit them."""
    *way, last = path
    for part in way:
        if isinstance(data, dict):
            data = data.setdefault(part, {})
        elif (at := _index(data, part)) is not None:
            data = data[at]
        else:
            return
    if isinstance(data, dict):
        data[last] = new
    elif (at := _index(data, last)) is not None:
        data[at] = new


def _index(data: Any, part: str) -> int | None:
    """Return the position that a part of a path names in a list, from the end if negative; None if there is none."""
    if not isinstance(data, list):
        return None
    try:
        at = int(part)
    except ValueError:
        return None
    return at if -len(data) <= at < len(data) else None
