"""Agents that misbehave, each in its own way."""

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

from gate import chaos

STATE = {"runs": 0}


@chaos.tool
def look(place: Any = "here") -> Any:
    """Return what it was given."""
    return place


def exits_with_success() -> NoReturn:
    sys.exit(0)


def exits_at_once() -> NoReturn:
    os._exit(0)


def exits_in_a_thread_of_asyncio() -> Any:
    async def main() -> NoReturn:
        raise SystemExit(0)

    return main()


def hangs() -> None:
    time.sleep(3600)


def ignores_signals_and_hangs() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(3600)


def spins() -> None:
    while True:
        pass


def sorts_for_ever_in_c() -> None:
    sum(range(10**15))


def segfaults() -> None:
    ctypes.string_at(0)


def kills_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kills_its_parent() -> str:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(3600)
    return "survived"


def stops_its_parent() -> str:
    os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep(3600)
    return "survived"


def kills_its_sibling() -> str:
    """Kill what else its parent has started: the processes that wait for the next runs."""
    parent = os.getppid()
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    siblings = {int(pid) for pid in children} - {os.getpid()}
    for sibling in siblings:
        os.kill(sibling, signal.SIGKILL)
    while any(Path(f"/proc/{sibling}").exists() for sibling in siblings):
        time.sleep(0.001)
    return "killed" if siblings else "alone"


def prints_workflow_commands() -> str:
    print("::error::planted", flush=True)
    print("::error::planted", file=sys.stderr, flush=True)
    os.write(1, b"::set-output name=x::planted\n")
    return "done"


def floods_its_output() -> str:
    block = "x" * 1_000_000
    for _ in range(100):
        sys.stdout.write(block)
    return "done"


def leaves_a_daemon(marker: str) -> str:
    """Start a process in a session of its own whose parent is gone, and wait until it runs."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            Path(marker).write_text(str(os.getpid()))
            time.sleep(3600)
        os._exit(0)
    os.wait()
    while not (Path(marker).exists() and Path(marker).read_text()):
        time.sleep(0.001)
    return "done"


def leaves_a_daemon_to_the_gate(marker: str) -> str:
    leaves_a_daemon(marker)
    return kills_its_parent()


def leaves_a_subprocess(marker: str) -> str:
    child = subprocess.Popen(["sleep", "3600"], start_new_session=True)
    Path(marker).write_text(str(child.pid))
    return "done"


def hangs_with_a_daemon(marker: str) -> None:
    leaves_a_daemon(marker)
    time.sleep(3600)


def returns(what: str) -> Any:
    cyclic: list[Any] = [1]
    cyclic.append(cyclic)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return {
        "nan": float("nan"),
        "bytes": b"\xff\x00",
        "cyclic": cyclic,
        "deep": deep,
        "surrogate": "lone \ud800 surrogate",
        "huge": "x" * 100_000_000,
        "object": object(),
        "bare": Bare(),
        "int keys": {1: "one", (2, 3): "two"},
        "big int": 10**5_000,
        "set": {1, "two", None},
        "generator": (n for n in range(3)),
        "control": "\x1b[31m\x00",
    }[what]


class Bare:
    """An object that cannot say what it is."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


class Unusual(BaseException):
    """Not an Exception."""


def raises_base_exception() -> NoReturn:
    raise Unusual("out of the ordinary")


def raises_keyboard_interrupt() -> NoReturn:
    raise KeyboardInterrupt


def raises_unprintable() -> NoReturn:
    class UnprintableError(Exception):
        def __repr__(self) -> str:
            raise RuntimeError("no")

    raise UnprintableError


def closes_its_descriptors() -> str:
    look("before")
    os.closerange(0, 256)
    files = [Path(name).open("wb") for name in ["/tmp/engine-test"] * 8]  # noqa: SIM115 (takes the freed numbers)
    look("after")
    size = Path("/tmp/engine-test").stat().st_size
    del files
    return f"done {size}"


def uses_up_descriptors() -> str:
    look("before")
    taken = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    look("after")
    return "done"


def changes_directory() -> str:
    before = str(Path.cwd())
    os.chdir("/")
    return before


def changes_globals() -> int:
    STATE["runs"] += 1
    return STATE["runs"]


def clears_its_environment() -> str:
    os.environ.clear()
    look("home")
    return "done"


def interrupts_itself() -> str:
    """Run a signal handler that calls tools while tools are being called, and sometimes raises."""
    calls, expected = 0, False

    def on_alarm(*_: Any) -> None:
        nonlocal calls, expected
        calls += 1
        look("from the handler")
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        if calls % 3 == 0 and expected:
            expected = False
            raise TimeoutError("from the handler")

    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        with contextlib.suppress(TimeoutError):
            expected = True
            look(list(range(100)))
            expected = False
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return "done"


def uses_threads() -> int:
    threads = [threading.Thread(target=look, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(threads)


def uses_pools() -> int:
    """Call tools from a thread pool of its own and from asyncio's."""

    async def main() -> list[Any]:
        return await asyncio.gather(*(asyncio.to_thread(look, n) for n in range(10)))

    with ThreadPoolExecutor(4) as pool:
        return len([*pool.map(look, range(10)), *asyncio.run(main())])


def leaves_a_thread() -> str:
    threading.Thread(target=time.sleep, args=(3600,)).start()
    return "done"


def forks_and_both_return() -> str:
    if os.fork():
        os.wait()
        return "parent"
    return "child"


def forks_and_the_child_calls() -> str:
    look("parent")
    if os.fork() == 0:
        look("child")
        os._exit(0)
    os.wait()
    return "done"


def starts_an_interpreter() -> str:
    code = "from gate import chaos; chaos.tool(name='far')(str)('x')"
    subprocess.run([sys.executable, "-c", code], check=True)
    return "done"


def spawns_by_multiprocessing() -> list[Any]:
    import multiprocessing

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.map(look, ["x"])


def writes_rubbish_to_the_socket() -> str:
    import socket

    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ["CHAOS_GATE_SOCKET"])
        connection.sendall(b'{"op": "hello", "run": "%s"}\n' % os.environ["CHAOS_GATE_RUN"].encode())
        connection.recv(100)
        connection.sendall(b"rubbish\n")
    time.sleep(0.5)
    return "done"


def calls_tools_for_ever() -> None:
    while True:
        look("x" * 100_000)


def calls_with_too_much() -> str:
    look(["x" * 1_000_000 for _ in range(40)])
    return "done"


def fills_its_folder() -> str:
    import tempfile

    folder = Path(tempfile.mkdtemp())
    (folder / "file").write_text("x")
    folder.chmod(0)
    return str(folder)
