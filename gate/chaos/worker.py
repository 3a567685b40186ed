"""Runs inside the agent's interpreter: imports the target once, then forks for every run.

Started by path, `PYTHON worker.py SOCKET WORKER ENTRYPOINT ISOLATION`; needs nothing but the standard library and the
files beside it, and makes nothing but `gate.chaos` and a stand-in for the public package importable for the agent,
where it has no packages of these names.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 9):  # noqa: UP036 (this runs in whatever interpreter the agent has)
    sys.exit("an agent needs Python 3.9 or later, this is " + sys.version)

import importlib
import importlib.machinery
import os
import types

_TOP_LEVEL = ("gate", "agentic_chaos_security")
_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (pathlib takes time to import)


class _StandIn:
    """Provides `gate.chaos`, or the public package, where there is none: the last of all finders."""

    def __init__(self, modules: dict[str, types.ModuleType]) -> None:
        self.modules = modules

    def find_spec(self, name: str, *_where: object) -> importlib.machinery.ModuleSpec | None:
        if name not in _TOP_LEVEL:
            return None
        sys.modules.update({n: m for n, m in self.modules.items() if n.partition(".")[0] == name})
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return self.modules[spec.name]

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: the module has been executed."""


def _load() -> types.ModuleType:
    """Import our own files without taking the name `gate` from the agent."""
    if sys.path and os.path.abspath(sys.path[0] or os.curdir) == _HERE:  # noqa: PTH100
        del sys.path[0]  # Python put the folder of this script there
    package = types.ModuleType("gate")
    package.__path__ = [os.path.dirname(_HERE)]  # noqa: PTH120
    sys.modules["gate"] = package
    module = importlib.import_module("gate.chaos.serve")
    sys.modules["gate.chaos.instrument"].install()
    package.__path__ = []
    ours = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "gate"}
    ours.update(ours["gate.chaos.public"].stand_in())
    sys.meta_path.append(_StandIn(ours))
    return module


_serve = _load()  # for multiprocessing's new interpreters too, which load this file under another name

if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())  # noqa: PTH109
    _serve.main(*sys.argv[1:])
