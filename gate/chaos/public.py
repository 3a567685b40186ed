"""Agents that carry the decorators of the public package `agentic_chaos_security` run here unchanged.

Where the package is installed for the agent, its runtime is handed a session that asks our gate, so everything that
goes through the runtime does: decorators, HTTP transports, MCP proxy. Where it is not, modules of its name stand in.
"""

from __future__ import annotations

import contextvars
import importlib
import importlib.util
import sys
import time
import types
from typing import Any

from gate.chaos import decorators, errors, hook

NAME = "agentic_chaos_security"
_DECORATORS = (
    "agent",
    "control",
    "describe_tool",
    "discover_agent",
    "llm",
    "memory",
    "output",
    "payment",
    "tool",
)
_ERRORS = ("ChaosAuthError", "ChaosError", "ChaosRateLimit", "ChaosTimeout")


def bridge() -> None:
    """Have the package's runtime in this process ask the run of this process, if the agent has the package."""
    if NAME not in sys.modules:  # an agent may import it only during a run
        spec = importlib.util.find_spec(NAME)
        if spec is not None and spec.origin is not None:
            importlib.import_module(f"{NAME}.runtime")
    runtime = sys.modules.get(f"{NAME}.runtime")
    if getattr(runtime, "__file__", None) is None:
        return
    session: Any = _Session(importlib.import_module(f"{NAME}.faults"))
    # a default, unlike a value, holds in every thread
    runtime._current = contextvars.ContextVar("chaos_gate", default=session)  # type: ignore[union-attr]


class _Session:
    """What the package's runtime expects of a session."""

    def __init__(self, faults: Any) -> None:
        self._faults = faults
        self.trace = self

    def record(self, kind: str, name: str, **data: Any) -> None:
        hook.record(kind, name, **data)

    def intercept(
        self, point: str, name: str, value: Any, *, _delays: list[float] | None = None, **context: Any
    ) -> Any:
        run = hook.current()
        if run is None:
            return value
        delay_s, finish = run.intercept(point, name, value, _abilities(point, context))
        if delay_s and _delays is not None:
            _delays.append(delay_s)
        elif delay_s:
            time.sleep(delay_s)
        try:
            return finish()
        except hook.Repeat as effect:
            raise self._faults.Repeat(effect.times) from None
        except hook.Override as effect:
            raise self._faults.Override(effect.value) from None
        except hook.Redirect as effect:
            raise self._faults.Redirect(effect.host, effect.model) from None
        except errors.ChaosError as error:
            raise self._translate(error) from None

    def _translate(self, error: errors.ChaosError) -> Exception:
        theirs: Any = getattr(self._faults, type(error).__name__)
        args = error.args
        if isinstance(error, errors.ChaosAuthError):
            args = (error.status, error.error, error.description, error.scope)
        elif isinstance(error, errors.ChaosRateLimit):
            args = (*args, error.retry_after)
        translated: Exception = theirs(*args)
        return translated


def _abilities(point: str, context: dict[str, Any]) -> tuple[str, ...]:
    """Return the control flow that the asking part of the package carries out."""
    if "args" in context or "arguments" in context:  # decorators, MCP proxy
        return ("repeat", "override")
    return ("repeat", "redirect") if point == "llm.call" else ("repeat",)  # HTTP transports


def stand_in() -> dict[str, types.ModuleType]:
    """Return modules to use where the package is not installed: what an agent's own code imports of it."""
    marks = {name: getattr(decorators, name) for name in _DECORATORS}
    calls = {"intercept": _intercept, "suspended": hook.suspended}
    runtime = {**calls, "aintercept": _aintercept, "record": hook.record, "current": hook.current}
    return {
        NAME: _module(NAME, {**marks, **calls, "__path__": []}),
        f"{NAME}.inject": _module(f"{NAME}.inject", marks),
        f"{NAME}.runtime": _module(f"{NAME}.runtime", runtime),
        f"{NAME}.faults": _module(f"{NAME}.faults", {name: getattr(errors, name) for name in _ERRORS}),
    }


def _module(name: str, contents: dict[str, Any]) -> types.ModuleType:
    module = types.ModuleType(name, "Stands in for a module of the public package.")
    vars(module).update(contents)
    return module


def _intercept(point: str, name: str, value: Any = None, **_context: Any) -> Any:
    return hook.intercept(point, name, value)


async def _aintercept(point: str, name: str, value: Any = None, **_context: Any) -> Any:
    return await hook.aintercept(point, name, value)
