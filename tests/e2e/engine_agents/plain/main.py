"""Binds everything before it is called."""

import asyncio
import subprocess
import sys
from typing import Any

from plain_alias import fetch as alias  # type: ignore[import-not-found]  # another module has bound it

from plain.guard import check  # type: ignore[import-not-found]  # found from this agent's folder
from plain.tools import Mailbox, fetch, fetch_later, search  # type: ignore[import-not-found]  # found from this agent's folder


def run() -> list[Any]:
    mailbox = Mailbox()
    if not check("fine"):
        return ["refused"]
    seen = [fetch("a"), alias("b"), asyncio.run(fetch_later("c")), mailbox.send("x/d"), search("e")]
    return [*seen, Mailbox.count(), Mailbox.name()]


def guarded() -> str:
    try:
        return str(check("fine"))
    except TimeoutError as error:
        return type(error).__name__


def spawns() -> list[str]:
    import multiprocessing

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(fetch, ["x"])


def tells_where_it_is_from() -> list[Any]:
    import inspect

    import plain.tools  # type: ignore[import-not-found]  # found from this agent's folder

    source = inspect.getsource(sys.modules["plain.tools"]).splitlines()[0]
    return [source, type(plain.tools.__loader__).__name__, type(plain.tools.__spec__.loader).__name__]


def environment() -> Any:
    import os

    return [os.environ.get("MODEL"), os.environ.get("CHAOS_GATE_FAKE"), subprocess.__name__]
