"""One tree in place of another: what the agent's interpreter would import from a checkout comes from a second one.

An environment in which the checkout is installed as editable has it on `sys.path`; those entries are moved. Whatever
still comes from the checkout is a stray, and so is a copy of it that was installed: it is told, not believed.
"""

from __future__ import annotations

import json
import os
import sys

TREES = "CHAOS_GATE_TREES"
"""JSON: the tree that is replaced, and the one in its place."""

_trees: list[str] = []
_target = ""
_installed: tuple[str, ...] = ()
_copies: set[str] = set()
_cleared: set[str] = set()


def move(entrypoint: str) -> None:
    """Put the second tree in the place of the first on the path, of this interpreter and of those it starts.

    The module of the entry point is what must come from there.
    """
    if not (told := os.environ.pop(TREES, "")):
        return
    import sysconfig  # takes longer to import than all the rest

    global _target, _installed, _copies
    _target = entrypoint.partition(":")[0]
    _trees[:] = [os.path.realpath(tree) for tree in json.loads(told)]
    _installed = tuple(os.path.realpath(path) for path in sysconfig.get_paths().values())
    _copies = _copied()
    sys.path[:] = [_moved(path) for path in sys.path]
    if path := os.environ.get("PYTHONPATH"):
        os.environ["PYTHONPATH"] = os.pathsep.join(map(_moved, path.split(os.pathsep)))


def find_stray() -> str:
    """Return which module is not of the second tree; empty if there is none, or if there is no second tree.

    The target has to be of it, of others it is enough that they are not of the first.
    """
    if not _trees:
        return ""
    if not _is_in(_file(_target), _trees[1]):
        return f"{_target} is loaded from {_file(_target) or 'no file'}"
    for name in list(sys.modules):
        if name not in _cleared:
            file = _file(name)
            if file in _copies or (_is_in(file, _trees[0]) and not _is_installed(file)):
                return f"{name} is loaded from {file}"
            _cleared.add(name)
    return ""


def _file(name: str) -> str:
    file = getattr(sys.modules.get(name), "__file__", None)
    return os.path.realpath(file) if isinstance(file, str) else ""


def _moved(path: str) -> str:
    real = os.path.realpath(path)
    if not path or not _is_in(real, _trees[0]) or _is_installed(real):
        return path
    return os.path.join(_trees[1], os.path.relpath(real, _trees[0]))  # noqa: PTH118 (pathlib is slow to import)


def _is_in(path: str, tree: str) -> bool:
    return path == tree or path.startswith(tree + os.sep)


def _is_installed(path: str) -> bool:
    """Return whether it belongs to the environment, which may stand inside the checkout."""
    return any(_is_in(path, folder) for folder in _installed)


def _copied() -> set[str]:
    """Return the installed files that were copied from the first tree."""
    from importlib.metadata import distributions
    from urllib.parse import unquote, urlsplit

    files: set[str] = set()
    for distribution in distributions():
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        url = urlsplit(str(origin.get("url", "")) if isinstance(origin, dict) else "")
        if url.scheme == "file" and _is_in(os.path.realpath(unquote(url.path)), _trees[0]):
            files.update(os.path.realpath(str(distribution.locate_file(file))) for file in distribution.files or ())
    return files
