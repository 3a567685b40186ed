"""Processes of Linux: who dies with whom, who inherits orphans, who is left."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable

PATIENCE_S = 2.0
"""How long what was killed may take to end."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Have this process killed when its parent dies, now if that has happened already."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def outlive_parent() -> None:
    """Undo `die_with_parent`: this process cleans up after itself when its parent dies."""
    _libc.prctl(_PR_SET_PDEATHSIG, 0, 0, 0, 0)


def inherit_orphans(inherit: bool = True) -> None:
    """Make this process the parent of descendants whose own parent dies."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, int(inherit), 0, 0, 0)


def children() -> set[int]:
    """Return the ids of this process's children, zombies included."""
    found: set[int] = set()
    try:
        for task in os.listdir("/proc/self/task"):  # noqa: PTH208 (no pathlib: this runs at every fork)
            with open(f"/proc/self/task/{task}/children", encoding="ascii") as file:  # noqa: PTH123
                found.update(map(int, file.read().split()))
    except FileNotFoundError:  # a kernel without CONFIG_PROC_CHILDREN
        return {pid for pid in _all() if parent_of(pid) == os.getpid()}
    return found


def parent_of(pid: int) -> int:
    """Return the parent of a process, 0 if it is gone."""
    return _stat(pid, 1)


def session_of(pid: int) -> int:
    """Return the session of a process, 0 if it is gone."""
    return _stat(pid, 3)


def kill(pid: int) -> None:
    """Kill a process and its group, if they are still there."""
    for send in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send(pid, signal.SIGKILL)


def kill_children(spared: Callable[[int], bool], patience_s: float = PATIENCE_S) -> set[int]:
    """Kill and reap every child that is not spared, and the orphans this brings.

    Returns those that are still there after `patience_s`: in uninterruptible sleep, another user's, a fork bomb.
    """
    deadline = time.monotonic() + patience_s
    while doomed := {pid for pid in children() if not spared(pid)}:
        if time.monotonic() > deadline:
            return doomed
        for pid in doomed:
            kill(pid)
        for pid in doomed:
            reap(pid)
        if children() & doomed:
            time.sleep(0.001)
    return set()


def has_ended(pid: int) -> bool:
    """Return whether a child has ended; it stays unreaped, so its id stays taken."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def reap(pid: int) -> int | None:
    """Return the exit code of a child that has ended (negative: a signal), None if it has not or was reaped before."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status) if ended else None


def _all() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208


def _stat(pid: int, field: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return int(file.read().rpartition(")")[2].split()[field])
    except (FileNotFoundError, ProcessLookupError):
        return 0
