"""The socket that hooks and workers talk to, one JSON line per message."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from gate.engine.live import LiveRun

LINE_LIMIT = 32_000_000


class WorkerPeer(Protocol):
    """Who a worker's messages are for."""

    def connected(self, transport: asyncio.Transport) -> None:
        """Take the way to the worker."""

    def receive(self, message: dict[str, Any]) -> None:
        """Take one message of the worker."""

    def lost(self) -> None:
        """Note that the worker is gone."""

    def idle(self, child: int, connection: "Idle") -> None:
        """Take a process of the worker that waits for an order."""

    def left(self, child: int, connection: "Idle") -> None:
        """Note that a process no longer waits."""


class Idle(Protocol):
    """A connection over which an order can go."""

    def order(self, run: LiveRun, line: bytes) -> None:
        """Send an order; from now on the connection is the run's."""

    def abort(self) -> None:
        """Close it."""


class Server:
    """Knows every run and worker by its token, and listens for them on one path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs: dict[str, LiveRun] = {}
        self.workers: dict[str, WorkerPeer] = {}
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "Server":
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: _Connection(self), str(self.path), backlog=512)
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._server is not None:
            self._server.close()


class _Connection(asyncio.Protocol):
    def __init__(self, server: Server) -> None:
        self._server = server
        self._parts: list[bytes] = []
        self._size = 0
        self._take: Callable[[bytes], bytes | None] = self._introduce
        self._leave: Callable[[], None] = lambda: None
        self._overflow: Callable[[], None] = lambda: None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 (what a stream server hands out)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        first, *rest = data.split(b"\n")
        self._parts.append(first)
        self._size += len(first)
        if self._size > LINE_LIMIT:
            self._overflow()
            self.abort()
        for following in rest:
            line = b"".join(self._parts)
            self._parts, self._size = [following], len(following)
            answer = self._take(line)
            if answer is not None and self._transport is not None:
                self._transport.write(answer)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        self._leave()

    def _introduce(self, line: bytes) -> bytes | None:
        """Find out from the first line who speaks; close on a stranger."""
        assert self._transport is not None  # noqa: S101 (lines come over a transport)
        try:
            message = json.loads(line)
            op = message["op"]
            if op == "worker":
                self._introduce_worker(self._server.workers[message["worker"]], message)
                return None
            if op == "idle":
                self._introduce_idle(self._server.workers[message["worker"]], int(message["child"]))
                return None
            run = self._server.runs[message["run"]]
        except (KeyError, TypeError, ValueError, RecursionError):
            self._transport.close()
            return None
        self._belong(run)
        return run.receive(line)

    def _belong(self, run: LiveRun) -> None:
        run.opened(self)
        self._take, self._leave, self._overflow = run.receive, lambda: run.closed(self), run.overflow

    def _introduce_idle(self, worker: WorkerPeer, child: int) -> None:
        self._take, self._leave = self._refuse, lambda: worker.left(child, self)
        worker.idle(child, self)

    def _refuse(self, _line: bytes) -> None:
        """Close on a process that speaks before it has its order."""
        self.abort()

    def order(self, run: LiveRun, line: bytes) -> None:
        """Send an order; from now on the connection is the run's."""
        assert self._transport is not None  # noqa: S101 (it has introduced itself over it)
        self._belong(run)
        self._transport.write(line)

    def _introduce_worker(self, worker: WorkerPeer, message: dict[str, Any]) -> None:
        assert self._transport is not None  # noqa: S101 (lines come over a transport)
        worker.connected(self._transport)
        self._take, self._leave = (lambda line: worker.receive(json.loads(line))), worker.lost
        worker.receive(message)
