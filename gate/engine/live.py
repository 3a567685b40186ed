"""A run that is going on, as its hook's messages tell it."""

import asyncio
import contextlib
import json
import math
import time
from collections.abc import Callable
from typing import Any, Protocol

from gate.chaos.wire import Encoder, decode, dumps
from gate.engine.session import Decision, Session
from gate.engine.verdict import Ending
from gate.faults import Override, Raise, Redirect, Repeat
from gate.trace import AgentError, Opaque

EVENT_LIMIT = 100_000
BYTE_LIMIT = 256_000_000
"""What one run may record before it is stopped: a run that cannot be seen whole must not pass."""


class Connection(Protocol):
    """A hook's connection."""

    def abort(self) -> None:
        """Close it, whatever is still to come."""


class LiveRun:
    """Answers the hook's questions during one run; `stop` is called when the run cannot go on."""

    def __init__(self, token: str, session: Session, stop: Callable[[], None]) -> None:
        self.token, self.session, self._stop = token, session, stop
        self.connections: set[Connection] = set()
        self.ending: Ending | None = None
        self._drained = asyncio.Event()
        self._started = time.monotonic_ns()
        self._bytes = 0

    def receive(self, line: bytes) -> bytes | None:
        """Take one message of the hook; return the line to answer with, if it waits for one."""
        self._bytes += len(line)
        if self._bytes > BYTE_LIMIT or len(self.session.trace.events) > EVENT_LIMIT:
            self.overflow()
            return None
        try:
            message = json.loads(line)
            return self._receive(message["op"], message)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            self.fail(Ending("crash", f"the hook sent what is not of its protocol: {error!r}"))
            return None

    def _receive(self, op: str, message: dict[str, Any]) -> bytes | None:
        if op == "record":
            data = _decode(message["data"])
            if not isinstance(data, dict):
                raise TypeError("data is not an object")
            self.session.record(str(message["kind"]), str(message["name"]), data, self._time(message.get("t")))
        elif op == "intercept":
            return self._intercept(message)
        elif op == "end":
            self._end(message)
        elif op == "hello":
            return _line({"points": self.points})
        else:
            raise ValueError(f"unknown op {op!r}")
        return None

    def _intercept(self, message: dict[str, Any]) -> bytes | None:
        point, name, value = str(message["point"]), str(message["name"]), _decode(message.get("value"))
        can = [str(c) for c in message.get("can", ())]
        try:
            decision = self.session.intercept(point, name, value, can=can, at=time.monotonic_ns())
            return _line(_answer(decision))
        except Exception as error:  # noqa: BLE001 (a fault that breaks is an error of the gate in this run, not of the agent)
            self.fail(Ending("gate_error", f"a fault failed at {point} {name}: {error!r}"))
            return None

    def _end(self, message: dict[str, Any]) -> None:
        if self.ending is not None:
            return
        trace = self.session.trace
        duration_s = float(message.get("duration_s", 0.0))
        trace.duration_s = duration_s if math.isfinite(duration_s) and duration_s >= 0 else self.elapsed_s
        if stray := message.get("stray"):
            self.ending = Ending("gate_error", f"the run is not of the tree that it is to show: {stray}")
        elif "crash" in message:
            self.ending = Ending("crash", f"the agent left by {message['crash']}")
        elif "error" in message:
            type_, text = message["error"]
            trace.error = AgentError(str(type_), str(text))
            classes = tuple(str(name)[:200] for name in message.get("classes", ())[:100])
            self.ending = Ending("error", classes=classes, injected=message.get("injected") is True)
        else:
            trace.output = _decode(message["output"])
            self.ending = Ending("ok")

    @property
    def points(self) -> list[str]:
        """Return where faults act in this run."""
        return sorted(self.session.points)

    def begin(self) -> None:
        """Note that the run is handed out now."""
        self._started = time.monotonic_ns()

    def overflow(self) -> None:
        """Stop a run that says too much."""
        self.fail(Ending("crash", f"recorded more than {EVENT_LIMIT:,} events or {BYTE_LIMIT // 1_000_000} MB"))

    def fail(self, ending: Ending) -> None:
        """Stop the run and let this be its end, whatever it still says."""
        if self.ending is None or self.ending.outcome in ("ok", "error"):
            self.ending = ending
        self._stop()

    @property
    def elapsed_s(self) -> float:
        """Return the seconds since the run was handed out."""
        return (time.monotonic_ns() - self._started) / 1e9

    def opened(self, connection: Connection) -> None:
        """Note a connection of the run."""
        self.connections.add(connection)

    def closed(self, connection: Connection) -> None:
        """Note that a connection has given all it had."""
        self.connections.discard(connection)
        if not self.connections:
            self._drained.set()

    async def drain(self, patience_s: float) -> None:
        """Wait until every connection has given what it had; they end with the processes of the run."""
        if not self.connections:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while self.connections:
                    self._drained.clear()
                    await self._drained.wait()
        for connection in list(self.connections):
            connection.abort()

    def _time(self, sent: Any) -> int:
        """Return the time of an event: the sender's where it can be true, else now."""
        now = time.monotonic_ns()
        return sent if type(sent) is int and self._started <= sent <= now else now


def _line(message: dict[str, Any]) -> bytes:
    return dumps(message).encode("ascii") + b"\n"


def _answer(decision: Decision) -> dict[str, Any]:
    effect = decision.effect
    reply: dict[str, Any] = {"delay": decision.delay_s} if decision.delay_s else {}
    if isinstance(effect, Raise):
        return reply | {"do": "raise", "error": effect.error, "message": effect.message, "fields": effect.fields}
    if isinstance(effect, Repeat):
        return reply | {"do": "repeat", "times": effect.times}
    if isinstance(effect, Override):
        return reply | {"do": "override", "value": _encode(effect.value)}
    if isinstance(effect, Redirect):
        return reply | {"do": "redirect", "host": effect.host, "model": effect.model}
    return reply | ({"do": "value", "value": _encode(effect.value)} if decision.changed else {"do": "proceed"})


def _encode(value: Any) -> Any:
    return Encoder(_opaque_form).encode(value)


def _opaque_form(value: Any, _encoder: Encoder) -> list[Any]:
    if isinstance(value, Opaque):
        return [value.handle, value.text]
    if isinstance(value, str):  # a fault made it longer than values may be
        return [0, value]
    raise TypeError(f"a fault returned a {type(value).__name__}, which cannot travel")


def _decode(form: Any) -> Any:
    return decode(form, lambda payload: Opaque(int(payload[0]), str(payload[1]), _fields(payload)))


def _fields(payload: list[Any]) -> Any:
    return _decode(payload[2]) if len(payload) > 2 and payload[2] is not None else None
