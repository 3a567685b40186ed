"""The worker's life: import the target, fork per run, report how each process ended, leave nothing behind."""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import resource
import select
import socket
import sys
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from gate.chaos import hook, instrument, judges, process, tree
from gate.chaos.connection import Connection, GoneError, connect
from gate.chaos.target import Find, explain_import, flush, resolve, run_target
from gate.chaos.wire import dumps

FOR_AGENTS = (judges,)
"""Modules that nothing here needs: loaded so that an agent's project can import them."""
OUTPUT_LIMIT = 8_000
"""Bytes of a run's output that are kept, from its end."""
FILE_SIZE_LIMIT = 1 << 30
_STAND_IN = os.path.join(os.path.dirname(__file__), "standin")  # noqa: PTH118, PTH120 (pathlib is slow to import)
_CHUNK = 1 << 16
WARM_UPS = 16
"""Enough for CPython to have adapted its code (PEP 659)."""
_PIPE = 1 << 15


def main(path: str, worker: str, entrypoint: str, isolation: str) -> None:
    """Serve runs until the gate closes the connection.

    `isolation`: `fork` imports the target once and forks for every run, `process` forks first and imports in every
    run, `none` carries the runs out in this process.
    """
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    control.connect(path)
    process.die_with_parent(os.getppid())
    process.inherit_orphans()
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, FILE_SIZE_LIMIT)
    sys.argv = [entrypoint]
    tree.move(entrypoint)
    paths = (os.environ.get("PYTHONPATH"), _STAND_IN)  # by which interpreters that the agent starts find `gate.chaos`
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    _tell(control, {"op": "worker", "worker": worker, "pid": os.getpid()})
    find = functools.cache(functools.partial(resolve, entrypoint))
    problem = _try_in_child(find) if isolation == "process" else _try(find)
    if problem:
        _tell(control, {"op": "broken", "traceback": problem})
        return

    def carry_out(child: int) -> None:
        with contextlib.suppress(GoneError):  # the gate needs no further process
            _carry_out(connect(path), path, worker, child, find)

    if isolation == "none":
        _serve_here(control, carry_out)
        return
    _warm_up(path)
    gc.collect()
    gc.freeze()
    process.outlive_parent()
    _Worker(control, carry_out).serve()


def _try(find: Find) -> str:
    """Import the target; return what went wrong."""
    try:
        find()
        instrument.check()
        if stray := tree.find_stray():
            raise ImportError(f"not of the tree that it is to come from: {stray}")
    except BaseException as error:  # noqa: BLE001 (whatever an agent does on import, the gate is to know)
        return explain_import(error)
    return ""


def _try_in_child(find: Find) -> str:
    """Import the target in a fork, so that nothing of it is in this process; return what went wrong."""
    ours, theirs = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            process.die_with_parent(parent)
            os.write(theirs, b"tried:" + _try(find).encode("utf-8", "backslashreplace")[-_PIPE:])
            flush()
            os._exit(0)
        finally:
            os._exit(70)
    os.close(theirs)
    with open(ours, encoding="utf-8", errors="replace") as pipe:  # noqa: PTH123 (a descriptor)
        tried, _, problem = pipe.read().partition(":")
    os.waitpid(pid, 0)
    process.kill_children(lambda _pid: False)
    return problem if tried else "the import ended the process"


def _serve_here(control: socket.socket, carry_out: Callable[[int], None]) -> None:
    """Carry runs out one after the other in this process."""
    _tell(control, {"op": "ready"})
    with control.makefile("r", encoding="ascii") as lines:
        for child, _line in enumerate(lines):
            carry_out(child)
            _tell(control, {"op": "exited", "child": child, "status": 0, "tail": ""})


def _carry_out(connection: Connection, path: str, worker: str, child: int, find: Find) -> None:
    """Tell the gate that a process is there, and carry out what it orders."""
    order = connection.ask({"op": "idle", "worker": worker, "child": child})
    run_target(find, path, order, connection)


def _warm_up(path: str) -> None:
    """Carry out runs of nothing: what Python writes into code that is new to it, no fork has to write again.

    The gate knows of no such run, which is what a thread of the agent is told that has something to say meanwhile.
    """
    order = dumps({"run": "", "points": [], "environment": {hook.RUN: "", hook.SEED: ""}, "arguments": {}})
    for _ in range(WARM_UPS):
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.sendall(order.encode("ascii") + b"\n")
            _carry_out(Connection(ours), path, "", 0, lambda: int)


def _limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, hard))


def _tell(control: socket.socket, message: dict[str, Any]) -> None:
    control.sendall(dumps(message).encode("ascii") + b"\n")


class _Child:
    """A process for one run, seen from the worker."""

    def __init__(self, number: int, pid: int, output: int) -> None:
        self.number, self.pid, self.output = number, pid, output
        try:
            self.handle = os.pidfd_open(pid)
        except OSError:  # a sandbox without it
            self.handle = -1
        self.tail = b""

    def drain(self) -> bool:
        """Read some of its output; return whether there may be more right now."""
        try:
            data = os.read(self.output, _CHUNK)
        except BlockingIOError:
            return False
        self.tail = (self.tail + data)[-OUTPUT_LIMIT:]
        return bool(data)

    def close(self) -> None:
        os.close(self.output)
        if self.handle >= 0:
            os.close(self.handle)


class _Worker:
    """Forks when it is told to, and reports how each process ended; the order for a run goes past it."""

    def __init__(self, control: socket.socket, carry_out: Callable[[int], None]) -> None:
        self.control, self.carry_out = control, carry_out
        self.pid = os.getpid()
        self.spared = process.children()  # what the agent started on import lives as long as the worker
        self.children: dict[int, _Child] = {}
        self.forked = 0
        self.received = b""
        self.poll = select.poll()
        self.speakers: dict[int, _Child] = {}

    def serve(self) -> None:
        self.poll.register(self.control, select.POLLIN)
        try:
            _tell(self.control, {"op": "ready"})
            while self._wait():
                pass
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:  # the gate is gone, or this is a bug: either way nothing of the agent stays
            for child in self.children.values():
                process.kill(child.pid)
            process.kill_children(lambda _pid: False)

    def _wait(self) -> bool:
        """Handle what comes; return whether the gate is still there."""
        blind = [child for child in self.children.values() if child.handle < 0]
        ended, lines = list(blind), []
        for fd, _event in self.poll.poll(5 if blind else None):
            if fd == self.control.fileno():
                data = self.control.recv(_CHUNK)
                if not data:
                    return False
                *lines, self.received = (self.received + data).split(b"\n")
            elif (child := self.speakers[fd]).output != fd:
                ended.append(child)
            elif not child.drain():
                self._forget(fd)
        for child in ended:
            if process.has_ended(child.pid):
                self._finish(child)
        for line in lines:
            self._handle(json.loads(line))
        return True

    def _handle(self, message: dict[str, Any]) -> None:
        if message["op"] == "fork":
            for _ in range(message["count"]):
                try:
                    self._fork()
                except OSError as error:
                    _tell(self.control, {"op": "unforked", "tail": f"cannot fork: {error}"})
        elif message["op"] == "kill":
            for child in self.children.values():
                if child.number == message["child"]:
                    process.kill(child.pid)

    def _fork(self) -> None:
        """Have one more process, which tells the gate itself that it is there.

        Raises:
            OSError: there cannot be one more.
        """
        flush()
        ours, theirs = os.pipe()
        number = self.forked = self.forked + 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads that were started on import
            try:
                pid = os.fork()
            except OSError:
                os.close(ours)
                os.close(theirs)
                raise
        if pid == 0:
            os.close(ours)
            self._become(number, theirs)
        os.close(theirs)
        os.set_blocking(ours, False)
        child = self.children[pid] = _Child(number, pid, ours)
        for fd in (child.output, child.handle):
            if fd >= 0:
                self.speakers[fd] = child
                self.poll.register(fd, select.POLLIN)

    def _become(self, number: int, output: int) -> NoReturn:
        """Turn a fresh fork into the process of a run."""
        try:
            os.setsid()
            process.die_with_parent(self.pid)
            process.inherit_orphans()
            self.control.close()
            for sibling in self.children.values():
                sibling.close()
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
            self.carry_out(number)
            os._exit(0)
        finally:
            os._exit(70)

    def _forget(self, fd: int) -> None:
        if self.speakers.pop(fd, None) is not None:
            self.poll.unregister(fd)

    def _finish(self, child: _Child) -> None:
        """Report a process's end once nothing of its run is left."""
        process.kill(child.pid)
        status = process.reap(child.pid)
        del self.children[child.pid]
        # what does not end is waited for once: the gate inherits it, and says so
        self.spared |= process.kill_children(lambda p: p in self.spared or p in self.children)
        while child.drain():
            pass
        for fd in (child.output, child.handle):
            self._forget(fd)
        child.close()
        tail = child.tail.decode("utf-8", "backslashreplace")
        _tell(self.control, {"op": "exited", "child": child.number, "status": status, "tail": tail})
