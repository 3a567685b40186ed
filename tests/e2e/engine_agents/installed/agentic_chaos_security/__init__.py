"""The seams of the public package that we reach it by, and no more: a session in a context variable."""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from agentic_chaos_security import runtime  # type: ignore[import-not-found]
from agentic_chaos_security.faults import Override, Repeat  # type: ignore[import-not-found]


def _mark(kind: str, after: str | None) -> Any:
    def decorator(fn: Any = None, *, name: str | None = None) -> Any:
        if not callable(fn):
            return functools.partial(decorator, name=fn or name)
        return _wrap(fn, name or fn.__name__, kind, after)

    return decorator


def _wrap(fn: Callable[..., Any], name: str, kind: str, after: str | None) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        session = runtime._current.get()
        if session is None:
            return fn(*args, **kwargs)
        session.trace.record(kind, name, args=list(args), kwargs=kwargs)
        try:
            session.intercept(kind, name, None, args=args, kwargs=kwargs)
            result = fn(*args, **kwargs)
        except Override as forced:
            result = forced.value
        except Repeat as repeat:
            result = [fn(*args, **kwargs) for _ in range(1 + repeat.times)][-1]
        if after:
            result = session.intercept(after, name, result)
        session.trace.record(f"{kind}.result", name, result=result)
        return result

    async def later(*args: Any, **kwargs: Any) -> Any:
        delays: list[float] = []
        session = runtime._current.get()
        session.trace.record(kind, name, args=list(args), kwargs=kwargs)
        session.intercept(kind, name, None, _delays=delays, args=args, kwargs=kwargs)
        return session.intercept(after, name, await fn(*args, **kwargs), _delays=delays)

    return functools.wraps(fn)(later if inspect.iscoroutinefunction(fn) else call)


tool = _mark("tool.call", "tool.result")
control = _mark("control", None)


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """Pause."""
    token = runtime._current.set(None)
    try:
        yield
    finally:
        runtime._current.reset(token)
