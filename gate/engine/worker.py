"""One worker process, seen from the gate: started, given runs, watched, replaced when it dies."""

import asyncio
import json
import secrets
import subprocess
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from gate.chaos import hook, instrument, process, tree, wire
from gate.engine.live import LiveRun
from gate.engine.schedule import RunSettings, Start
from gate.engine.server import Idle, Server
from gate.errors import BrokenEnvironmentError

HOOK = Path(process.__file__).with_name("worker.py")
START_LIMIT_S = 30.0
IMPORT_LIMIT_S = 300.0
GRACE_S = 5.0
"""How long a worker may take to report the end of a run that it was told to kill."""
RESTARTS = 5
"""How often in a row a worker is replaced without having finished a run."""
AHEAD = 8
"""How many processes wait for runs to come, and how many are forked at once; half of them together cost less."""
_UNFORKED = 71
"""Exit status of a process that there could not be: the system's own (EX_OSERR)."""
_SHOWN_LINES = 15


@dataclass(frozen=True, slots=True)
class Exit:
    """How a run's process ended. `status`: exit code, negative for a signal, None if the worker was lost with it."""

    kind: Literal["exited", "timeout", "lost"]
    status: int | None = None
    tail: str = ""


@dataclass(slots=True, eq=False)
class _Job:
    """A run and its order; `child` is the number of the process that has it, None while it waits for one."""

    live: LiveRun
    order: dict[str, Any]
    timeout_s: float
    finished: asyncio.Future[Exit]
    child: int | None = None
    expired: bool = False
    timers: list[asyncio.TimerHandle] = field(default_factory=list)


class Worker:
    """Starts an interpreter for one way to start the agent and has it carry out runs, about as many as `expected`."""

    def __init__(self, server: Server, settings: RunSettings, start: Start, scratch: Path, expected: int) -> None:
        self._server, self._settings, self._start = server, settings, start
        self._scratch, self.expected = scratch, expected
        self._lock = asyncio.Lock()
        self._turn = asyncio.Semaphore(1 if start.isolation == "none" else settings.parallel)
        self._process: _Process | None = None
        self._failures = 0

    @property
    def _ahead(self) -> int:
        if self._start.isolation == "none":
            return 0
        return max(0, min(AHEAD, self._settings.parallel + 1, self.expected))

    async def start(self) -> None:
        """Have a process that has imported the target, a new one if there is none.

        Raises:
            BrokenEnvironmentError: the interpreter does not start, or the target cannot be imported.
        """
        async with self._lock:
            if self._process is None or not self._process.alive:
                await self.stop()
                self._process = _Process(self._server, self._settings, self._start, self._scratch, self._ahead)
                await self._process.start()

    async def run(self, live: LiveRun, order: dict[str, Any], timeout_s: float) -> Exit:
        """Carry out one run, at most `timeout_s` long."""
        async with self._turn:
            return await self._run(live, order, timeout_s)

    async def _run(self, live: LiveRun, order: dict[str, Any], timeout_s: float) -> Exit:
        if self._failures > RESTARTS:
            return Exit("lost", tail=f"its worker died {self._failures} times in a row")
        await self.start()
        assert self._process is not None  # noqa: S101 (start has set it or raised)
        self.expected -= 1
        self._process.ahead = self._ahead
        ended = await self._process.run(live, order, timeout_s)
        self._failures = self._failures + 1 if ended.kind == "lost" else 0
        return ended

    def kill(self, run: str) -> None:
        """End a run before its time."""
        if self._process is not None:
            self._process.kill(run)

    async def stop(self) -> None:
        """End the process and everything it started."""
        if self._process is not None:
            await self._process.stop()


class _Process:
    """`ahead`: how many processes are to wait for runs that are still to come."""

    def __init__(self, server: Server, settings: RunSettings, start: Start, scratch: Path, ahead: int) -> None:
        self._server, self._settings, self._start = server, settings, start
        self._entrypoint, self.ahead = start.entrypoint, ahead
        self._token = secrets.token_hex(16)
        self._folder = scratch / f"worker-{self._token[:8]}"
        self._loop = asyncio.get_running_loop()
        self._greeted: asyncio.Future[None] = self._loop.create_future()
        self._ready: asyncio.Future[str] = self._loop.create_future()
        self._gone = asyncio.Event()
        self._transport: asyncio.Transport | None = None
        self._popen: subprocess.Popen[bytes] | None = None
        self._jobs: dict[str, _Job] = {}
        self._queue: deque[_Job] = deque()
        self._coming = 0
        self._idle: dict[int, Idle] = {}
        self._children: dict[int, str] = {}
        """By the number of a process the run that it has; empty if it has none, or ended before it was heard of."""

    @property
    def alive(self) -> bool:
        return not self._gone.is_set()

    async def start(self) -> None:
        self._server.workers[self._token] = self
        self._folder.mkdir()
        given = {**self._settings.environment, **dict(self._start.environment)}
        environment = {k: v for k, v in given.items() if not k.startswith("CHAOS_GATE_")}
        environment |= {hook.SOCKET: str(self._server.path), "TMPDIR": str(self._folder)}
        if self._start.instrument:
            environment[instrument.INSTRUMENT] = self._start.instrument
        if self._start.trees:
            environment[tree.TREES] = json.dumps([str(root) for root in self._start.trees])
        command = [*self._settings.python, str(HOOK), str(self._server.path), self._token, self._entrypoint]
        command.append(self._start.isolation)
        try:
            with (self._folder / "output").open("wb") as output:
                self._popen = subprocess.Popen(
                    command,
                    cwd=self._start.folder(self._settings.cwd),
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
        except OSError as error:
            raise self._broken(f"the agent's interpreter does not start: {error}") from None
        await self._await_first_words(self._popen)

    async def _await_first_words(self, popen: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while not self._greeted.done():
            if popen.poll() is not None:
                raise self._broken(
                    f"the agent's interpreter ended at once with status {popen.returncode}", self._tail()
                )
            if time.monotonic() > deadline:
                await self.stop()
                raise self._broken(f"the agent's interpreter said nothing for {START_LIMIT_S:.0f} s", self._tail())
            await asyncio.wait([self._greeted], timeout=0.05)
        gone = asyncio.ensure_future(self._gone.wait())
        first: list[asyncio.Future[Any]] = [self._ready, gone]
        await asyncio.wait(first, timeout=IMPORT_LIMIT_S, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if not self._ready.done():
            died = self._gone.is_set()
            await self.stop()
            what = "ended the interpreter" if died else f"took longer than {IMPORT_LIMIT_S:.0f} s"
            raise self._broken(f"importing {self._entrypoint} {what}", self._tail())
        if traceback := self._ready.result():
            await self.stop()
            raise self._broken(f"{self._entrypoint} cannot be imported", traceback)

    def _broken(self, what: str, detail: str = "") -> BrokenEnvironmentError:
        python = " ".join(self._settings.python)
        shown = self._settings.redactor.quote(detail, _SHOWN_LINES)
        module, folder = self._entrypoint.partition(":")[0], self._start.folder(self._settings.cwd)
        return BrokenEnvironmentError(
            f"{what}\n{shown}" if shown else what,
            fix=f"`{python} -c 'import {module}'` must work in {folder}; --python names the interpreter "
            "that has the agent's packages, --target its module:callable",
        )

    def _tail(self) -> str:
        try:
            with (self._folder / "output").open("rb") as file:
                file.seek(max(0, file.seek(0, 2) - 8_000))
                return file.read().decode("utf-8", "backslashreplace")
        except OSError:
            return ""

    # what the server tells

    def connected(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def receive(self, message: dict[str, Any]) -> None:
        op = message["op"]
        if op == "worker" and not self._greeted.done():
            self._greeted.set_result(None)
        elif op in ("ready", "broken") and not self._ready.done():
            if op == "ready":
                self._match()
            self._ready.set_result(message.get("traceback", ""))
        elif op == "exited":
            self._ended(message["child"], Exit("exited", message["status"], message["tail"]))
        elif op == "unforked":
            self._fail_next(Exit("exited", _UNFORKED, message["tail"]))

    def lost(self) -> None:
        self._gone.set()
        self._queue.clear()
        for run in list(self._jobs):
            self._finish(run, Exit("lost", tail=self._tail() or "its worker died"))

    def idle(self, child: int, connection: Idle) -> None:
        if child in self._children:  # it ended before this was read, or somebody takes its number
            connection.abort()
            return
        self._coming -= 1
        self._children[child] = ""
        self._idle[child] = connection
        self._match()

    def left(self, child: int, connection: Idle) -> None:
        if self._idle.get(child) is connection:
            del self._idle[child]

    # runs

    async def run(self, live: LiveRun, order: dict[str, Any], timeout_s: float) -> Exit:
        if not self.alive:
            return Exit("lost", tail="its worker died")
        job = self._jobs[live.token] = _Job(live, order, timeout_s, self._loop.create_future())
        self._queue.append(job)
        self._match()
        try:
            return await job.finished
        finally:
            self._jobs.pop(live.token, None)
            if job in self._queue:
                self._queue.remove(job)
            for timer in job.timers:
                timer.cancel()

    def _match(self) -> None:
        """Give the processes that wait the runs that wait."""
        while self._queue and self._idle:
            job, (job.child, connection) = self._queue.popleft(), self._idle.popitem()
            self._children[job.child] = job.live.token
            job.live.begin()
            connection.order(job.live, _line({**job.order, "run": job.live.token, "points": job.live.points}))
            job.timers.append(self._loop.call_later(job.timeout_s, self._expire, job.live.token))
        wanted = len(self._queue) + self.ahead
        count = min(wanted - len(self._idle), AHEAD) - self._coming
        if count > 0 and 2 * count >= min(wanted, AHEAD):
            self._say({"op": "fork", "count": count})
            self._coming += count

    def _ended(self, child: int, ended: Exit) -> None:
        """Note the end of a process: of its run, of one that waits for it if it was never heard of, or of none."""
        self._idle.pop(child, None)
        run = self._children.pop(child, None)
        if run:
            self._finish(run, ended)
        elif run is None:
            self._children[child] = ""
            self._fail_next(ended)

    def _fail_next(self, ended: Exit) -> None:
        """Let the run that has waited longest have no process: what it was to have did not come to be."""
        self._coming -= 1
        if self._queue:
            self._finish(self._queue.popleft().live.token, ended)
            self._match()

    def kill(self, run: str) -> None:
        state = self._jobs.get(run)
        if state is not None and state.child is not None:
            self._say({"op": "kill", "child": state.child})
            state.timers.append(self._loop.call_later(GRACE_S, self._abandon))

    def _expire(self, run: str) -> None:
        self._jobs[run].expired = True
        if self._start.isolation == "none":  # the worker is the run, and does not listen
            self._abandon()
        else:
            self.kill(run)

    def _abandon(self) -> None:
        """Give up a worker that no longer answers."""
        if self._popen is not None:
            process.kill(self._popen.pid)
        if self._transport is not None:
            self._transport.abort()

    def _finish(self, run: str, ended: Exit) -> None:
        state = self._jobs.pop(run, None)
        if state is not None and not state.finished.done():
            state.finished.set_result(Exit("timeout", ended.status, ended.tail) if state.expired else ended)

    def _say(self, message: dict[str, Any]) -> bool:
        if self._transport is None or self._transport.is_closing() or not self.alive:
            return False
        self._transport.write(_line(message))
        return True

    async def stop(self) -> None:
        """Close the connections, which ends the worker; kill it if it does not go by itself."""
        for connection in self._idle.values():
            connection.abort()
        if self._transport is not None:
            self._transport.close()
        if self._popen is not None:
            waiting = asyncio.create_task(asyncio.to_thread(self._popen.wait))
            await asyncio.wait([waiting], timeout=GRACE_S if self._transport is not None else 0)
            process.kill(self._popen.pid)
            await waiting
        self._server.workers.pop(self._token, None)


def _line(message: dict[str, Any]) -> bytes:
    return wire.dumps(message).encode("ascii") + b"\n"
