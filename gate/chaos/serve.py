"""The worker's life: import the target, fork per run, report how each process ended, leave nothing behind."""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import json
import logging
import os
import resource
import select
import socket
import sys
import time
import traceback
import types
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from gate.chaos import hook, process
from gate.chaos.wire import decode, dumps

OUTPUT_LIMIT = 8_000
"""Bytes of a run's output that are kept, from its end."""
FILE_SIZE_LIMIT = 1 << 30
_CHUNK = 1 << 16


def main(path: str, worker: str, entrypoint: str) -> None:
    """Serve runs until the gate closes the connection."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    control.connect(path)
    parent = os.getppid()
    process.die_with_parent(parent)
    process.inherit_orphans()
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, FILE_SIZE_LIMIT)
    sys.argv = [entrypoint]
    _tell(control, {"op": "worker", "worker": worker, "pid": os.getpid()})
    try:
        target = _resolve(entrypoint)
    except BaseException as error:  # noqa: BLE001 (whatever an agent does on import, the gate is to know)
        _tell(control, {"op": "broken", "traceback": _traceback(error)})
        return
    gc.collect()
    gc.freeze()
    process.outlive_parent()
    _Worker(control, path, target).serve()


def _limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, hard))


def _resolve(entrypoint: str) -> Callable[..., Any]:
    name, _, path = entrypoint.partition(":")
    target: Any = importlib.import_module(name)
    for part in path.split("."):
        target = getattr(target, part)
    if not callable(target):
        raise TypeError(f"{entrypoint} is a {type(target).__name__}, and cannot be called")
    return target  # type: ignore[no-any-return]


def _traceback(error: BaseException) -> str:
    """Return the traceback of an import without the frames of this file and of the import system."""
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if f.filename != __file__ and not f.filename.startswith("<frozen importlib") and "importlib" not in f.filename
    ]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames)] if frames else []
    return "".join([*lines, *traceback.format_exception_only(type(error), error)])


def _tell(control: socket.socket, message: dict[str, Any]) -> None:
    control.sendall(dumps(message).encode("ascii") + b"\n")


class _Child:
    """A run's process, seen from the worker."""

    def __init__(self, run: str, pid: int, output: int) -> None:
        self.run, self.pid, self.output = run, pid, output
        try:
            self.handle = os.pidfd_open(pid)
        except OSError:  # a sandbox without it
            self.handle = -1
        self.silent = False
        self.tail = b""

    def drain(self) -> bool:
        """Read some of its output; return whether there may be more right now."""
        try:
            data = os.read(self.output, _CHUNK)
        except BlockingIOError:
            return False
        self.silent = not data
        self.tail = (self.tail + data)[-OUTPUT_LIMIT:]
        return bool(data)

    def close(self) -> None:
        os.close(self.output)
        if self.handle >= 0:
            os.close(self.handle)


class _Worker:
    def __init__(self, control: socket.socket, path: str, target: Callable[..., Any]) -> None:
        self.control, self.path, self.target = control, path, target
        self.pid = os.getpid()
        self.spared = process.children()  # what the agent started on import lives as long as the worker
        self.running: dict[int, _Child] = {}
        self.received = b""

    def serve(self) -> None:
        try:
            _tell(self.control, {"op": "ready"})
            while self._wait():
                for child in list(self.running.values()):
                    if process.has_ended(child.pid):
                        self._finish(child)
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:  # the gate is gone, or this is a bug: either way nothing of the agent stays
            for child in self.running.values():
                process.kill(child.pid)
            process.kill_children(lambda _pid: False)

    def _wait(self) -> bool:
        """Handle what comes; return whether the gate is still there."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        outputs = {child.output: child for child in self.running.values() if not child.silent}
        handles = [child.handle for child in self.running.values()]
        for fd in (*outputs, *handles):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        for fd, _event in poll.poll(5 if -1 in handles else None):
            if fd == self.control.fileno():
                data = self.control.recv(_CHUNK)
                if not data:
                    return False
                *lines, self.received = (self.received + data).split(b"\n")
                for line in lines:
                    self._handle(json.loads(line))
            elif fd in outputs:
                outputs[fd].drain()
        return True

    def _handle(self, message: dict[str, Any]) -> None:
        if message["op"] == "run":
            self._fork(message)
        elif message["op"] == "kill":
            for child in self.running.values():
                if child.run == message["run"]:
                    process.kill(child.pid)

    def _fork(self, job: dict[str, Any]) -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the agent may have put anything there
                stream.flush()
        ours, theirs = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads that were started on import
            try:
                pid = os.fork()
            except OSError as error:
                os.close(ours)
                os.close(theirs)
                _tell(self.control, {"op": "exited", "run": job["run"], "status": 71, "tail": f"cannot fork: {error}"})
                return
        if pid == 0:
            os.close(ours)
            self._become(job, theirs)
        os.close(theirs)
        os.set_blocking(ours, False)
        self.running[pid] = _Child(job["run"], pid, ours)
        _tell(self.control, {"op": "started", "run": job["run"], "pid": pid})

    def _become(self, job: dict[str, Any], output: int) -> NoReturn:
        """Turn a fresh fork into the run's process."""
        try:
            os.setsid()
            process.die_with_parent(self.pid)
            process.inherit_orphans()
            self.control.close()
            for sibling in self.running.values():
                sibling.close()
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
            run_target(self.target, self.path, job)
        finally:
            os._exit(70)

    def _finish(self, child: _Child) -> None:
        """Report a run's end once nothing of it is left."""
        process.kill(child.pid)
        status = process.reap(child.pid)
        del self.running[child.pid]
        process.kill_children(lambda pid: pid in self.spared or pid in self.running)
        while child.drain():
            pass
        child.close()
        tail = child.tail.decode("utf-8", "backslashreplace")
        _tell(self.control, {"op": "exited", "run": child.run, "status": status, "tail": tail})


def run_target(target: Callable[..., Any], path: str, job: dict[str, Any]) -> NoReturn:
    """Carry one run out in this process, tell the gate how it ended, and leave."""
    os.environ.update(job["environment"])
    _renew_randomness()
    leader = os.getpid()
    run = _hook_of_agent().attach(path, job["run"])
    logging.getLogger().addHandler(_LogRecords(run))
    arguments = decode(job["arguments"], lambda payload: payload[1])
    started = time.perf_counter()
    outcome: dict[str, Any]
    try:
        outcome = {"output": _complete(target(**arguments))}
    except (SystemExit, KeyboardInterrupt) as error:
        outcome = {"crash": repr(error)}
    except BaseException as error:  # noqa: BLE001 (what leaves an agent is data)
        outcome = {"error": [type(error).__name__, _repr(error)]}
    duration_s = time.perf_counter() - started
    if os.getpid() != leader:  # the agent forked, and its child came back here
        os._exit(0)
    run.end(duration_s=duration_s, **outcome)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(0)


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


def _repr(error: BaseException) -> str:
    try:
        return repr(error)[:4_000]
    except Exception:  # noqa: BLE001 (an exception of the agent's own)
        return f"{type(error).__name__}(...)"


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
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 (arguments that do not fit the message)
            message = str(record.msg)
        self.run.record("log", record.name, level=record.levelname, message=message)
