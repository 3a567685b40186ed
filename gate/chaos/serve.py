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
from typing import Any, NoReturn

from gate.chaos import instrument, judges, process, tree
from gate.chaos.target import Find, explain_import, flush, resolve, run_target
from gate.chaos.wire import dumps

FOR_AGENTS = (judges,)
"""Modules that nothing here needs: loaded so that an agent's project can import them."""
OUTPUT_LIMIT = 8_000
"""Bytes of a run's output that are kept, from its end."""
FILE_SIZE_LIMIT = 1 << 30
_STAND_IN = os.path.join(os.path.dirname(__file__), "standin")  # noqa: PTH118, PTH120 (pathlib is slow to import)
_CHUNK = 1 << 16
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
    if isolation == "none":
        _serve_here(control, path, find)
        return
    gc.collect()
    gc.freeze()
    process.outlive_parent()
    _Worker(control, path, find).serve()


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


def _serve_here(control: socket.socket, path: str, find: Find) -> None:
    """Carry runs out one after the other in this process."""
    _tell(control, {"op": "ready"})
    with control.makefile("r", encoding="ascii") as lines:
        for line in lines:
            job = json.loads(line)
            if job["op"] == "run":
                run_target(find, path, job)
                _tell(control, {"op": "exited", "run": job["run"], "status": 0, "tail": ""})


def _limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(which, (value, hard))


def _tell(control: socket.socket, message: dict[str, Any]) -> None:
    control.sendall(dumps(message).encode("ascii") + b"\n")


class _Child:
    """A run's process, seen from the worker; `run` is empty while it waits for its order."""

    def __init__(self, pid: int, output: int, order: int) -> None:
        self.run, self.pid, self.output, self.order = "", pid, output, order
        try:
            self.handle = os.pidfd_open(pid)
        except OSError:  # a sandbox without it
            self.handle = -1
        self.silent = False
        self.tail = b""

    def begin(self, run: str, order: bytes) -> None:
        """Have it carry a run out."""
        self.run = run
        with contextlib.suppress(BrokenPipeError), open(self.order, "wb") as pipe:  # noqa: PTH123 (a descriptor)
            pipe.write(order)  # if something has killed it meanwhile, that is how the run ended

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
    def __init__(self, control: socket.socket, path: str, find: Find) -> None:
        self.control, self.path, self.find = control, path, find
        self.pid = os.getpid()
        self.spared = process.children()  # what the agent started on import lives as long as the worker
        self.running: dict[int, _Child] = {}
        self.next: _Child | None = None  # forked ahead, so that no run waits for it
        self.received = b""

    def serve(self) -> None:
        try:
            _tell(self.control, {"op": "ready"})
            self._fork_ahead()
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
                    self._handle(line)
            elif fd in outputs:
                outputs[fd].drain()
        return True

    def _handle(self, line: bytes) -> None:
        message = json.loads(line)
        run = message["run"]
        if message["op"] == "run":
            self._begin(run, line)
        elif message["op"] == "kill":
            for child in self.running.values():
                if child.run == run:
                    process.kill(child.pid)

    def _begin(self, run: str, order: bytes) -> None:
        child = self.next
        if child is None or process.has_ended(child.pid):
            try:
                child = self._fork()
            except OSError as error:
                _tell(self.control, {"op": "exited", "run": run, "status": 71, "tail": f"cannot fork: {error}"})
                return
        self.running[child.pid] = child
        child.begin(run, order)
        self._fork_ahead()

    def _fork_ahead(self) -> None:
        self.next = None
        with contextlib.suppress(OSError):  # it is tried again when a run needs it
            self.next = self._fork()

    def _fork(self) -> _Child:
        """Return a process that waits for its order.

        Raises:
            OSError: there cannot be one more.
        """
        flush()
        output, order = os.pipe(), os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads that were started on import
            try:
                pid = os.fork()
            except OSError:
                for fd in (*output, *order):
                    os.close(fd)
                raise
        if pid == 0:
            os.close(output[0])
            os.close(order[1])
            self._become(order[0], output[1])
        os.close(output[1])
        os.close(order[0])
        os.set_blocking(output[0], False)
        return _Child(pid, output[0], order[1])

    def _become(self, order: int, output: int) -> NoReturn:
        """Turn a fresh fork into the process of the run that it is ordered to carry out."""
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
            with open(order, "rb") as pipe:
                line = pipe.read()
            if line:
                run_target(self.find, self.path, json.loads(line))
            os._exit(0)
        finally:
            os._exit(70)

    def _finish(self, child: _Child) -> None:
        """Report a run's end once nothing of it is left."""
        process.kill(child.pid)
        status = process.reap(child.pid)
        del self.running[child.pid]
        waiting = self.next.pid if self.next is not None else 0
        # what does not end is waited for once: the gate inherits it, and says so
        self.spared |= process.kill_children(lambda p: p == waiting or p in self.spared or p in self.running)
        while child.drain():
            pass
        child.close()
        tail = child.tail.decode("utf-8", "backslashreplace")
        _tell(self.control, {"op": "exited", "run": child.run, "status": status, "tail": tail})
