"""A line to the gate, one JSON object per message."""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any, NoReturn

from gate.chaos.wire import dumps

UNREACHABLE = 86
"""Exit status of a process that cannot tell the gate what it does, and so must not go on."""


class GoneError(Exception):
    """The gate no longer listens: the run is over."""


class Connection:
    """A way to the gate, for one thread of one process."""

    def __init__(self, connected: socket.socket) -> None:
        self.pid = os.getpid()
        self.busy = False
        self.socket = connected
        self.inode = os.fstat(connected.fileno()).st_ino
        self.buffer = b""

    def intact(self) -> bool:
        """Return whether the descriptor is still ours: agents close what they do not know, and numbers are reused."""
        try:
            return os.fstat(self.socket.fileno()).st_ino == self.inode
        except OSError:
            return False

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message that is not answered."""
        try:
            self.socket.sendall(dumps(message).encode("ascii") + b"\n")
        except (BrokenPipeError, ConnectionResetError):
            raise GoneError from None

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message and return the answer."""
        self.tell(message)
        while b"\n" not in self.buffer:
            try:
                received = self.socket.recv(1 << 16)
            except ConnectionResetError:
                raise GoneError from None
            if not received:
                raise GoneError
            self.buffer += received
        line, _, self.buffer = self.buffer.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def forget(self) -> None:
        """Close the descriptor if it is ours, else leave it to its new owner."""
        if self.intact():
            self.socket.close()
        else:
            self.socket.detach()


def connect(path: str) -> Connection:
    """Return a new connection to the gate.

    Raises:
        GoneError: nobody listens.
    """
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connected.connect(path)
    except (FileNotFoundError, ConnectionRefusedError):
        raise GoneError from None
    return Connection(connected)


def give_up(error: OSError) -> NoReturn:
    """Leave at once: what the gate cannot see must not look as if it had not happened."""
    try:
        sys.stderr.write(f"chaos gate: cannot reach the gate from this process: {error}\n")
        sys.stderr.flush()
    finally:
        os._exit(UNREACHABLE)
