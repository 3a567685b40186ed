"""One run in this process: import, call, say how it ended."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import logging
import os
import sys
import time
import traceback
import types
from collections.abc import Callable
from typing import Any

from gate.chaos import hook, judging, public, tree
from gate.chaos.connection import Connection
from gate.chaos.wire import decode

Find = Callable[[], Callable[..., Any]]
"""Returns the target, importing it if need be."""


def resolve(entrypoint: str) -> Callable[..., Any]:
    """Import the target `module:attribute`, and have what it carries of the public package ask us.

    Raises:
        TypeError: it cannot be called; besides this, whatever the import raises.
    """
    name, _, path = entrypoint.partition(":")
    target: Any = importlib.import_module(name)
    public.bridge()
    for part in path.split("."):
        target = getattr(target, part)
    if not callable(target):
        raise TypeError(f"{entrypoint} is a {type(target).__name__}, and cannot be called")
    return target  # type: ignore[no-any-return]


def explain_import(error: BaseException) -> str:
    """Return the traceback of an import without our own frames and those of the import system."""
    here = os.path.dirname(__file__)  # noqa: PTH120 (pathlib takes time to import)
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if not f.filename.startswith((here, "<frozen importlib")) and "importlib" not in f.filename
    ]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)] if frames else []
    return "".join([*lines, *traceback.format_exception_only(type(error), error)])


def run_target(find: Find, path: str, job: dict[str, Any], connection: Connection) -> None:
    """Carry one run out and tell the gate how it ended, over the connection by which it was ordered.

    When this returns, the process is no longer part of the run.
    """
    os.environ.update(job["environment"])
    _renew_randomness()
    leader = os.getpid()
    ours = _hook_of_agent()
    run = ours.attach(path, job["run"])
    run.take(connection, job["points"])
    records = _LogRecords(run)
    logging.getLogger().addHandler(records)
    started = time.perf_counter()
    outcome: dict[str, Any]
    try:
        outcome = {"output": _complete(_call(find(), job))}
    except (SystemExit, KeyboardInterrupt) as error:
        outcome = {"crash": repr(error)}
    except BaseException as error:  # noqa: BLE001 (what leaves an agent is data)
        classes = _classes(error)
        injected = any(name.endswith(".ChaosError") for name in _classes(error, contexts=True))
        outcome = {"error": [type(error).__name__, _repr(error)], "classes": classes, "injected": injected}
    duration_s = time.perf_counter() - started
    if os.getpid() != leader:  # the agent forked, and its child came back here
        os._exit(0)
    run.end(duration_s=duration_s, stray=tree.find_stray(), **outcome)
    logging.getLogger().removeHandler(records)
    ours.detach()
    for name in (hook.RUN, hook.SEED):
        os.environ.pop(name, None)
    flush()


def _call(target: Callable[..., Any], job: dict[str, Any]) -> Any:
    """Call an agent with its arguments, or a judge with what it is to judge."""
    arguments = decode(job["arguments"], lambda payload: payload[1])
    if "judge" not in job:
        return target(**arguments)
    with hook.suspended():
        return target(arguments["criterion"], arguments["output"], judging.read_trace(arguments))


def flush() -> None:
    """Write out what stands in the buffers of stdout and stderr, whatever the agent has put there."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _complete(result: Any) -> Any:
    """Await, or exhaust, what an entry point returned."""
    if inspect.isgenerator(result):
        return list(result)
    if not inspect.isasyncgen(result) and not inspect.isawaitable(result):
        return result
    import asyncio  # takes longer to import than all the rest

    return asyncio.run(_collect(result) if inspect.isasyncgen(result) else _await(result))


async def _collect(items: Any) -> list[Any]:
    return [item async for item in items]


async def _await(awaitable: Any) -> Any:
    return await awaitable


def _classes(error: BaseException, contexts: bool = False) -> list[str]:
    """Return the classes of an exception and of what it was raised from, bare and with their module."""
    names: dict[str, None] = {}
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending and len(seen) < 50:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        pending += [one.__cause__, one.__context__] if contexts else [one.__cause__]
        for cls in type(one).__mro__:
            if cls not in (object, BaseException, Exception):
                names.update({cls.__name__: None, f"{cls.__module__}.{cls.__qualname__}": None})
    return list(names)[:100]


def _repr(error: BaseException) -> str:
    return hook.ask_agent(lambda: repr(error)[:4_000]) or f"{type(error).__name__}(...)"


def _hook_of_agent() -> types.ModuleType:
    """Return the copy of our hook that the agent imported, or the worker's: one connection does for both."""
    theirs = sys.modules.get("gate.chaos.hook")
    return theirs if theirs is not None and getattr(theirs, "__file__", "") == hook.__file__ else hook


def _renew_randomness() -> None:
    """Have each run draw its own numbers: a fork inherits generators, and only `random` reseeds itself."""
    modules: list[Any] = [sys.modules.get(name) for name in ("numpy", "torch", "tempfile")]
    numpy, torch, tempfile = modules
    if numpy is not None and hasattr(numpy, "random"):
        numpy.random.seed(int.from_bytes(os.urandom(4), "little"))
    if torch is not None and hasattr(torch, "manual_seed"):
        torch.manual_seed(int.from_bytes(os.urandom(4), "little"))
    if tempfile is not None:
        tempfile.tempdir = None  # it remembers the folder of the worker


class _LogRecords(logging.Handler):
    """Records what the agent logs at WARNING and above."""

    def __init__(self, run: hook.Run) -> None:
        super().__init__(level=logging.WARNING)
        self.run = run

    def emit(self, record: logging.LogRecord) -> None:
        message = hook.ask_agent(record.getMessage)
        if message is None:  # arguments that do not fit it
            message = hook.ask_agent(lambda: str(record.msg)) or ""
        self.run.record("log", record.name, level=record.levelname, message=message)
