"""The agent's side of a run: says what happens, asks what to do, does it.

Which run this is stands in the environment, so that child processes belong to the run of their parent; outside a run
everything here is a no-op. One connection per thread and process, one JSON line per message.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from gate.chaos import errors
from gate.chaos.connection import Connection, GoneError, connect, give_up
from gate.chaos.wire import DEPTH_LIMIT, Encoder, cut, decode

SOCKET = "CHAOS_GATE_SOCKET"
RUN = "CHAOS_GATE_RUN"
SEED = "CHAOS_GATE_SEED"


class Repeat(Exception):  # noqa: N818 (control flow, not an error)
    """Carry the call out `times` times more."""

    def __init__(self, times: int) -> None:
        super().__init__(times)
        self.times = times


class Override(Exception):  # noqa: N818 (control flow, not an error)
    """Do not carry the call out; `value` is its result."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class Redirect(Exception):  # noqa: N818 (control flow, not an error)
    """Send the request to another host or model."""

    def __init__(self, host: str | None, model: str | None) -> None:
        super().__init__(host, model)
        self.host, self.model = host, model


class Run:
    """The run this process belongs to. `points`: where faults act in it, None while that is not known."""

    def __init__(self, path: str, token: str) -> None:
        self.path, self.token = path, token
        self.points: frozenset[str] | None = None
        self._local = threading.local()
        self._kept: dict[int, Any] = {}
        self._handles = itertools.count(1)
        self._over = False

    def record(self, kind: str, name: str, **data: Any) -> None:
        """Tell the gate what happened."""
        encoder = Encoder(_describe)
        message = {"op": "record", "kind": kind, "name": name, "data": encoder.encode(data), "t": time.monotonic_ns()}
        self._exchange(lambda connection: connection.tell(message))

    def end(self, **outcome: Any) -> None:
        """Tell the gate how the run ended; `output` is encoded, the rest is plain."""
        if "output" in outcome:
            outcome["output"] = Encoder(_describe).encode(outcome["output"])
        self._exchange(lambda connection: connection.tell({"op": "end", **outcome}))

    def intercept(self, point: str, name: str, value: Any, can: tuple[str, ...]) -> tuple[float, Callable[[], Any]]:
        """Ask what to do at a point; return the seconds to wait first, and what gives the value or raises."""
        if self.points is not None and point not in self.points:
            return 0.0, lambda: value
        form = Encoder(self._keep).encode(value)
        message = {"op": "intercept", "point": point, "name": name, "value": form, "can": can}
        reply = self._exchange(lambda connection: connection.ask(message))
        if reply is None:
            return 0.0, lambda: value
        return reply.get("delay", 0.0), lambda: self._carry_out(reply, form, value)

    def _carry_out(self, reply: dict[str, Any], form: Any, value: Any) -> Any:
        do = reply["do"]
        if do == "value":
            return self._merge(reply["value"], form, value)
        if do == "raise":
            raise _error(reply["error"], reply["message"], reply["fields"])
        if do == "repeat":
            raise Repeat(reply["times"])
        if do == "override":
            raise Override(self._decode(reply["value"]))
        if do == "redirect":
            raise Redirect(reply["host"], reply["model"])
        return value

    def _merge(self, new: Any, old: Any, value: Any) -> Any:
        """Decode a form; what is in it of the form that was sent becomes the agent's own object again."""
        if new == old:
            return value
        if isinstance(new, list) and isinstance(old, list) and isinstance(value, list) and len(old) == len(value):
            first = max(len(new) - len(old), 0) if new[-len(old) :] == old else 0  # items may have been put before
            known = dict(enumerate(zip(old, value), first))  # noqa: B905 (Python 3.9)
            return [self._merge(item, *known[i]) if i in known else self._decode(item) for i, item in enumerate(new)]
        if (
            type(new) is dict
            and type(old) is dict
            and isinstance(value, dict)
            and not _is_tag(new)
            and not _is_tag(old)
        ):
            return {k: self._merge(v, old[k], value[k]) if k in old else self._decode(v) for k, v in new.items()}
        return self._decode(new)

    def _decode(self, form: Any) -> Any:
        return decode(form, lambda payload: self._kept.get(payload[0], payload[1]))

    def _keep(self, value: Any, encoder: Encoder) -> list[Any]:
        handle = os.getpid() << 32 | next(self._handles)
        self._kept[handle] = value
        return [handle, *_describe(value, encoder)[1:]]

    def _exchange(self, talk: Callable[[Connection], Any]) -> Any:
        """Talk over this thread's connection; None once the run is over."""
        if self._over:
            return None
        try:
            connection = self._connection()
            if connection.busy:  # a signal handler, or a tool called while a value was written
                connection = self._connect()
            return self._talk(connection, talk)
        except GoneError:
            self._over = True
            return None
        except OSError as error:
            if error.errno is None:  # a TimeoutError that a signal handler of the agent raised
                raise
            give_up(error)

    def _talk(self, connection: Connection, talk: Callable[[Connection], Any]) -> Any:
        connection.busy = True
        try:
            reply = talk(connection)
        except BaseException:  # a signal handler may raise half-way through a line: the next call starts afresh
            connection.forget()
            if getattr(self._local, "connection", None) is connection:
                del self._local.connection
            raise
        connection.busy = False
        return reply

    def _connect(self) -> Connection:
        connection = connect(self.path)
        # the answer also says that the gate has taken this connection, so that nothing sent over it can get lost
        hello = connection.ask({"op": "hello", "run": self.token})
        self.points = frozenset(hello["points"])
        return connection

    def take(self, connection: Connection, points: list[str]) -> None:
        """Have this thread go on with a connection over which the gate has ordered the run."""
        self._local.connection, self.points = connection, frozenset(points)

    def close(self) -> None:
        """Close this thread's connection."""
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is not None:
            connection.forget()
            del self._local.connection

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is not None and connection.pid == os.getpid() and connection.intact():
            return connection
        if connection is not None:
            connection.forget()
        self._local.connection = connection = self._connect()
        return connection


_suspended: contextvars.ContextVar[bool] = contextvars.ContextVar("chaos_gate_suspended", default=False)
_attached: Run | None = None
_found: Run | None = None


def attach(path: str, token: str) -> Run:
    """Make this process part of a run, whatever becomes of its environment."""
    global _attached
    _attached = Run(path, token)
    return _attached


def detach() -> None:
    """Undo `attach`."""
    global _attached
    if _attached is not None:
        _attached.close()
    _attached = None


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """Pause faults and recording in this context, for set-up code."""
    token = _suspended.set(True)
    try:
        yield
    finally:
        _suspended.reset(token)


def current() -> Run | None:
    """Return the run that this process is part of, None outside one."""
    global _found
    if _suspended.get():
        return None
    if _attached is not None:
        return _attached
    token = os.environ.get(RUN)
    if token is None:
        return None
    if _found is None or _found.token != token:
        _found = Run(os.environ.get(SOCKET, ""), token)
    return _found


def record(kind: str, name: str, **data: Any) -> None:
    """Tell the gate what happened; nothing outside a run."""
    run = current()
    if run is not None:
        run.record(kind, name, **data)


def intercept(point: str, name: str, value: Any = None, *, can: tuple[str, ...] = ()) -> Any:
    """Return the value as the faults of this run leave it, wait, or raise what they inject.

    `can` names the control flow that the caller knows how to carry out: repeat, override, redirect.
    """
    run = current()
    if run is None:
        return value
    delay, finish = run.intercept(point, name, value, can)
    if delay:
        time.sleep(delay)
    return finish()


async def aintercept(point: str, name: str, value: Any = None, *, can: tuple[str, ...] = ()) -> Any:
    """Do what `intercept` does without holding up the event loop while waiting."""
    run = current()
    if run is None:
        return value
    delay, finish = run.intercept(point, name, value, can)
    if delay:
        import asyncio  # takes longer to import than all the rest, and this agent has imported it

        await asyncio.sleep(delay)
    return finish()


def seed() -> int | None:
    """Return the seed of this run, None outside one or if the experiment is unseeded."""
    text = os.environ.get(SEED)
    return int(text) if text else None


def _describe(value: Any, encoder: Encoder) -> list[Any]:
    """Return handle 0, the text of a value, and what its `model_dump()` gives, for one that has it."""
    fields = None
    dump = None if isinstance(value, type) or encoder.bare else getattr(value, "model_dump", None)
    if callable(dump) and encoder.depth < DEPTH_LIMIT:
        fields = ask_agent(dump)
    text = cut(value) if type(value) is str else ask_agent(lambda: cut(str.__str__(str(value))))
    form = Encoder(_describe_leaf).encode(fields) if type(fields) is dict else None
    return [0, _plain(text or f"<{type(value).__name__}>"), form]


def _describe_leaf(value: Any, _encoder: Encoder) -> list[Any]:
    return [0, _plain(ask_agent(lambda: cut(str.__str__(str(value)))) or f"<{type(value).__name__}>"), None]


def ask_agent(question: Callable[[], Any]) -> Any:
    """Return what code of the agent says of one of its objects, None if it fails."""
    try:
        return question()
    except Exception:  # noqa: BLE001 (any object of the agent may raise anything when asked to describe itself)
        return None


def _is_tag(form: dict[str, Any]) -> bool:
    return len(form) == 1 and next(iter(form)).startswith("$")


def _plain(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _error(name: str, message: str, fields: dict[str, Any]) -> Exception:
    if name == "ChaosAuthError":
        return errors.ChaosAuthError(**fields)
    if name == "ChaosRateLimit":
        return errors.ChaosRateLimit(message, **fields)
    return {"ChaosTimeout": errors.ChaosTimeout}.get(name, errors.ChaosError)(message)
