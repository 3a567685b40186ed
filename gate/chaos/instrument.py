"""Marks functions of an agent that carries no decorators: by name, when their module is imported.

What is to be marked stands in the environment as JSON, `{"entrypoint": "my_agent:run", "places": {"tool":
["my_agent.tools:*"], ...}}`. A module's functions are wrapped once it has run and before whoever imports it can bind
them. A glob takes the functions that its module defines itself, without the private ones and the entry point.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import json
import os
import sys
import types
from importlib.machinery import ModuleSpec
from typing import Any

from gate.chaos import decorators

INSTRUMENT = "CHAOS_GATE_INSTRUMENT"
_WILD = "*?["
_PUBLIC = "agentic_chaos_security"


class _Rule:
    def __init__(self, kind: str, place: str, entrypoint: str) -> None:
        self.entrypoint = entrypoint
        self.mark: decorators.Mark = getattr(decorators, kind)
        self.place = place
        self.module, _, path = place.partition(":")
        self.path = path.split(".")
        self.module_is_exact = not any(c in self.module for c in _WILD)

    def matches(self, module: str) -> bool:
        """Return whether the rule is about a module; globs leave our own and the public package alone."""
        if self.module_is_exact:
            return module == self.module
        return fnmatch.fnmatchcase(module, self.module) and module.partition(".")[0] not in ("gate", _PUBLIC)

    def apply(self, module: types.ModuleType) -> None:
        """Wrap what the rule names in a module.

        Raises:
            AttributeError: it names one thing, and that is not there or cannot be called.
        """
        found = self._wrap(module, self.path, module.__name__)
        if not found and self.module_is_exact and not any(c in "".join(self.path) for c in _WILD):
            raise AttributeError(f"instrument: {self.place}: there is no such function")

    def _wrap(self, holder: Any, path: list[str], home: str) -> int:
        name, *rest = path
        wild, found = any(c in name for c in _WILD), 0
        for key, value in list(vars(holder).items()):
            if not fnmatch.fnmatchcase(key, name):
                continue
            if wild and (key.startswith("_") or f"{home}:{key}" == self.entrypoint):
                continue
            function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            if wild and getattr(function, "__module__", None) != home:
                continue  # what the module has imported is not its own
            if rest:
                found += self._wrap(value, rest, home) if isinstance(value, type) else 0
            elif isinstance(function, types.FunctionType) or (callable(value) and not wild and not _is_class(value)):
                found += 1
                if not _is_marked(function):
                    setattr(holder, key, self.mark(value))
        return found


def _is_class(value: Any) -> bool:
    return isinstance(value, type)


def _is_marked(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return hasattr(function, "__chaos_gate__") or (code is not None and f"/{_PUBLIC}/" in code.co_filename)


class _Loader:
    """Loads a module by its own loader, then applies the rules to it."""

    def __init__(self, inner: Any, rules: list[_Rule]) -> None:
        self._inner, self._rules = inner, rules

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        spec.loader = self._inner  # what it puts into the module is to be its own
        try:
            return self._inner.create_module(spec)  # type: ignore[no-any-return]
        finally:
            spec.loader = self  # type: ignore[assignment]

    def exec_module(self, module: types.ModuleType) -> None:
        module.__loader__ = self._inner
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        self._inner.exec_module(module)
        for rule in self._rules:
            rule.apply(sys.modules.get(module.__name__, module))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Finder:
    """The first of all finders: has the others find a module, and changes how it is loaded."""

    def __init__(self, rules: list[_Rule]) -> None:
        self.rules = rules
        self.before = frozenset(sys.modules)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        rules = [rule for rule in self.rules if rule.matches(name)]
        if not rules:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, rules)  # type: ignore[assignment]
                return spec
        return None


_installed: _Finder | None = None


def install() -> None:
    """Have the modules that the environment names instrumented from now on."""
    global _installed
    text = os.environ.get(INSTRUMENT)
    if text:
        wanted: dict[str, Any] = json.loads(text)
        places: dict[str, list[str]] = wanted["places"]
        rules = [_Rule(kind, place, wanted["entrypoint"]) for kind, some in places.items() for place in some]
        _installed = _Finder(rules)
        sys.meta_path.insert(0, _installed)


def check() -> None:
    """See, once the agent is imported, that every module named exists.

    Raises:
        ModuleNotFoundError: it does not.
        ImportError: it was imported before the agent, so nothing of it can be instrumented.
    """
    if _installed is None:
        return
    for rule in _installed.rules:
        if not rule.module_is_exact:
            continue
        if rule.module in _installed.before:
            raise ImportError(f"instrument: {rule.place}: this module runs the agent, and cannot be instrumented")
        if rule.module not in sys.modules and importlib.util.find_spec(rule.module) is None:
            raise ModuleNotFoundError(f"instrument: {rule.place}: no module named {rule.module!r}")
