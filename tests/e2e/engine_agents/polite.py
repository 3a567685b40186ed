"""Agents that behave, to see that every kind of fault reaches them over the socket."""

import asyncio
import logging
import os
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

from gate import chaos

IMPORTED_AT = time.monotonic()


class Record:
    """Something that only this process can hold."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return f"record of {self.text}"

    def model_dump(self) -> dict[str, Any]:
        return {"inner": self.text}


RECORD = Record("value")
ORDERED = OrderedDict(a=1)


@chaos.tool
def fetch(what: Any) -> Any:
    """Return what it was given."""
    return what


@chaos.tool
async def fetch_later(what: Any) -> Any:
    return what


@chaos.tool
def send(text: Any) -> str:
    return f"sent {text}"


@chaos.control("guard")
def guard(text: str) -> bool:
    return True


def echo(value: Any = "value") -> Any:
    return fetch(value)


def calls_and_reports(value: Any = "value") -> Any:
    """Return the result of a tool, or the error with its fields."""
    try:
        return fetch(value)
    except chaos.ChaosError as error:
        return [type(error).__name__, str(error), {k: v for k, v in vars(error).items() if v is not None}]


async def calls_later(value: Any = "value") -> Any:
    return await fetch_later(value)


def keeps_objects() -> list[bool]:
    """Return whether an object comes back as itself: alone, in a list, in what a fault added to."""
    alone = fetch(RECORD) is RECORD
    inside = fetch([RECORD, ORDERED])
    return [alone, inside[0] is RECORD, inside[1] is ORDERED, len(inside) == 3]


def leaks(value: Any = "value") -> str:
    send(fetch(value))
    return "done"


def logs() -> str:
    logging.getLogger("agent").warning("guard is down: %s", "badly")
    logging.getLogger("agent").info("not seen")
    return "done"


def waits_for_others(folder: str, runs: int) -> str:
    """Return once so many runs are under way."""
    Path(folder, str(os.getpid())).touch()
    deadline = time.monotonic() + 10
    while len([*Path(folder).iterdir()]) < runs:
        assert time.monotonic() < deadline
        time.sleep(0.002)
    return "done"


def tells_its_seed() -> Any:
    return [chaos.seed(), os.environ.get("CHAOS_GATE_SEED")]


def tells_its_environment() -> Any:
    return {**os.environ, "cwd": str(Path.cwd()), "temporary": __import__("tempfile").gettempdir()}


def tells_its_limits() -> Any:
    import resource

    stdin = os.read(0, 1)
    return [resource.getrlimit(resource.RLIMIT_CORE)[0], stdin, os.getsid(0) == os.getpid()]


def tells_when_it_was_imported() -> float:
    return IMPORTED_AT


def fails() -> None:
    raise ValueError("no sk-abcdefghijklmnop1234567890 here")


def guarded(seen: str = "") -> str:
    """Do something random by seed, like a real agent; the answer depends on a fault."""
    try:
        guard("text")
    except chaos.ChaosTimeout:
        return "refused"
    return f"answer {chaos.seed()}"


@chaos.llm
def think(text: str) -> dict[str, Any]:
    return {"model": "scripted", "text": text, "usage": {"input_tokens": 40, "output_tokens": 2}}


def thinks() -> str:
    think("one")
    think("two")
    return "done"


@chaos.llm
def mutter(text: str) -> str:
    return text


def thinks_silently() -> str:
    return mutter("done")


def streams() -> Any:
    yield "a"
    yield "b"


async def streams_later() -> Any:
    yield "a"
    await asyncio.sleep(0)
    yield "b"


def sleeps(seconds: float, marker: str = "") -> str:
    if marker:
        Path(marker).write_text(str(os.getpid()))
    time.sleep(seconds)
    return "done"


not_callable = 5
