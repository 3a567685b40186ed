"""Marks for the places of an agent where faults can act. Outside a run they change nothing.

@chaos.tool
def fetch_page(url: str) -> str: ...

@chaos.control("guardrail.input")
def scan(text: str) -> bool: ...

@chaos.agent(name_arg="url")
def send_task(url: str, message: dict) -> dict: ...
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, TypeVar, overload

from gate.chaos.hook import Override, Repeat, aintercept, current, intercept, record

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
CAN = ("repeat", "override")


class Mark:
    """A decorator for one kind of call, with the points before it and after it."""

    def __init__(self, kind: str, before: str | None, after: str | None) -> None:
        self.kind, self.before, self.after = kind, before, after

    @overload
    def __call__(self, fn: F, /) -> F: ...
    @overload
    def __call__(
        self, fn: str | None = None, /, *, name: str | None = None, name_arg: str | None = None
    ) -> Callable[[F], F]: ...
    def __call__(self, fn: Any = None, /, *, name: str | None = None, name_arg: str | None = None) -> Any:
        """Mark a function; `name` is its own unless given, `name_arg` takes it from an argument of each call."""
        if fn is None or isinstance(fn, str):
            return lambda function: _wrap(self, function, fn or name, name_arg)
        return _wrap(self, fn, name, name_arg)


class _Call:
    """One call of a marked function during a run."""

    def __init__(self, mark: Mark, label: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.mark, self.label, self.args, self.kwargs = mark, label, args, kwargs

    def start(self) -> int:
        """Record the call and let faults act; return how often it is carried out, 0 times with an Override raised."""
        self._record()
        if self.mark.before is None:
            return 1
        try:
            intercept(self.mark.before, self.label, can=CAN)
        except Repeat as repeat:
            return 1 + repeat.times
        return 1

    async def astart(self) -> int:
        self._record()
        if self.mark.before is None:
            return 1
        try:
            await aintercept(self.mark.before, self.label, can=CAN)
        except Repeat as repeat:
            return 1 + repeat.times
        return 1

    def again(self) -> None:
        """Record one more delivery of the same call."""
        self._record(duplicate=True)

    def finish(self, result: Any) -> Any:
        """Let faults act on the result and record it."""
        if self.mark.after is not None:
            result = intercept(self.mark.after, self.label, result)
        record(f"{self.mark.kind}.result", self.label, result=result)
        return result

    async def afinish(self, result: Any) -> Any:
        if self.mark.after is not None:
            result = await aintercept(self.mark.after, self.label, result)
        record(f"{self.mark.kind}.result", self.label, result=result)
        return result

    def streams(self) -> bool:
        """Return whether items may pass as they come, since no fault of this run acts on the whole."""
        run = current()
        return run is None or self.mark.after is None or run.points is None or self.mark.after not in run.points

    def _record(self, **more: Any) -> None:
        record(self.mark.kind, self.label, args=list(self.args), kwargs=self.kwargs, **more)


def _wrap(mark: Mark, fn: Any, name: str | None, name_arg: str | None) -> Any:
    if isinstance(fn, (staticmethod, classmethod)):
        return type(fn)(_wrap(mark, fn.__func__, name, name_arg))
    signature = inspect.signature(fn) if name_arg else None
    fixed = name or str(getattr(fn, "__name__", type(fn).__name__))

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        label = fixed
        if signature is not None and name_arg is not None:
            given = signature.bind_partial(*args, **kwargs).arguments
            label = str(given[name_arg]) if name_arg in given else fixed
        return _Call(mark, label, args, kwargs)

    wrapper = _WRAPPERS[_kind(fn)](fn, call)
    functools.update_wrapper(wrapper, fn)
    wrapper.__chaos_gate__ = mark.kind  # type: ignore[attr-defined]  # so that nobody marks it once more
    return wrapper


def _kind(fn: Any) -> str:
    for candidate in (fn, getattr(fn, "__call__", None)):  # noqa: B004 (the method itself is wanted)
        if inspect.iscoroutinefunction(candidate):
            return "async"
        if inspect.isasyncgenfunction(candidate):
            return "async generator"
        if inspect.isgeneratorfunction(candidate):
            return "generator"
    return "sync"


Begin = Callable[[tuple[Any, ...], dict[str, Any]], _Call]


def _sync(fn: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if current() is None:
            return fn(*args, **kwargs)
        call = begin(args, kwargs)
        try:
            times = call.start()
        except Override as forced:
            return call.finish(forced.value)
        result = fn(*args, **kwargs)
        if inspect.iscoroutine(result):  # a plain function that hands on somebody's coroutine
            return _finish_later(fn, call, result, times)
        for _ in range(times - 1):
            call.again()
            result = fn(*args, **kwargs)
        return call.finish(result)

    return wrapper


async def _finish_later(fn: Callable[..., Any], call: _Call, first: Awaitable[Any], times: int) -> Any:
    result = await first
    for _ in range(times - 1):
        call.again()
        result = await fn(*call.args, **call.kwargs)
    return await call.afinish(result)


def _async(fn: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        if current() is None:
            return await fn(*args, **kwargs)
        call = begin(args, kwargs)
        try:
            times = await call.astart()
        except Override as forced:
            return await call.afinish(forced.value)
        result = await fn(*args, **kwargs)
        for _ in range(times - 1):
            call.again()
            result = await fn(*args, **kwargs)
        return await call.afinish(result)

    return wrapper


def _generator(fn: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        if current() is None:
            return (yield from fn(*args, **kwargs))
        call = begin(args, kwargs)
        try:
            times = call.start()
        except Override as forced:
            yield from _parts(call.finish(forced.value))
            return None
        for _ in range(times - 1):
            for _item in fn(*args, **kwargs):
                pass
            call.again()
        if not call.streams():
            items = list(fn(*args, **kwargs))
            yield from _changed(items, call.finish(_whole(items)))
            return None
        seen: list[Any] = []
        try:
            return (yield from _watched(fn(*args, **kwargs), seen))
        finally:
            record(f"{call.mark.kind}.result", call.label, result=_whole(seen))

    return wrapper


def _watched(items: Iterator[Any], seen: list[Any]) -> Generator[Any, Any, Any]:
    while True:
        try:
            item = next(items)
        except StopIteration as end:
            return end.value
        seen.append(item)
        yield item


def _async_generator(fn: Callable[..., Any], begin: Begin) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        if current() is None:
            async for item in fn(*args, **kwargs):
                yield item
            return
        call = begin(args, kwargs)
        try:
            times = await call.astart()
        except Override as forced:
            for item in _parts(await call.afinish(forced.value)):
                yield item
            return
        for _ in range(times - 1):
            async for _item in fn(*args, **kwargs):
                pass
            call.again()
        if not call.streams():
            items = [item async for item in fn(*args, **kwargs)]
            for item in _changed(items, await call.afinish(_whole(items))):
                yield item
            return
        seen: list[Any] = []
        try:
            async for item in fn(*args, **kwargs):
                seen.append(item)
                yield item
        finally:
            record(f"{call.mark.kind}.result", call.label, result=_whole(seen))

    return wrapper


def _whole(items: list[Any]) -> Any:
    """Return what a stream says as one value: a text if its items are texts."""
    return "".join(items) if items and all(type(item) is str for item in items) else items


def _parts(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _changed(items: list[Any], whole: Any) -> list[Any]:
    """Return the items of a stream after faults acted on the whole."""
    return items if whole == _whole(items) else _parts(whole)


_WRAPPERS: dict[str, Callable[[Callable[..., Any], Begin], Callable[..., Any]]] = {
    "sync": _sync,
    "async": _async,
    "generator": _generator,
    "async generator": _async_generator,
}

tool = Mark("tool.call", "tool.call", "tool.result")
"""A tool the agent can call."""
llm = Mark("llm.call", "llm.call", "llm.response")
"""A question to a model."""
memory = Mark("memory.read", None, "memory.read")
"""A read from long-term memory, a vector store or another source of retrieved text."""
control = Mark("control", "control", None)
"""A security control that decides: guardrail, authorisation, human approval."""
agent = Mark("agent.call", "agent.call", "agent.message")
"""A message or task for another agent, and its reply."""
payment = Mark("payment.call", "payment.call", "payment.result")
"""A step of a payment."""


def describe_tool(name: str, description: str) -> str:
    """Return the description of a tool as the model is to see it."""
    changed: str = intercept("tool.describe", name, description)
    record("tool.describe", name, description=changed)
    return changed


def discover_agent(name: str, card: T) -> T:
    """Return another agent's description of itself (an A2A Agent Card) as it is to be read."""
    changed: T = intercept("agent.discover", name, card)
    record("agent.discover", name, card=changed)
    return changed


def output(value: T) -> T:
    """Show the probes an intermediate output, such as a streamed message; return it."""
    record("output", "partial", value=value)
    return value
