"""What a reader owes: to know its format by the first bytes, and to read it whole or to say why not."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from gate.errors import InvalidFileError
from gate.registry import Registry
from gate.report import Report

READERS: Registry["Reader"] = Registry("gate.readers", "reader")

MAX_BYTES = 200_000_000
"""No file of another tool may be larger."""


class Reader(ABC):
    """One format of report; subclasses register under `type` and are made without arguments.

    `format`: its name in sentences. `max_bytes`: larger files are refused unread.
    """

    type: ClassVar[str]
    format: ClassVar[str]
    max_bytes: ClassVar[int] = MAX_BYTES

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if hasattr(cls, "type"):
            READERS.register(cls.type, cls)

    @abstractmethod
    def handles(self, head: bytes, name: str) -> bool:
        """Return whether a file is of this format, by its first bytes without a byte order mark, and its name."""

    @abstractmethod
    def read(self, data: bytes, source: str) -> Report:
        """Return the report of UTF-8 bytes; `source` names the file in errors.

        Raises:
            InvalidFileError: not whole, not of this format, or something in it would be misread.
        """


class UnreadFormat(Reader):
    """A format that is known by name and not read yet. `instead`: what the user can do."""

    instead: ClassVar[str]

    def read(self, data: bytes, source: str) -> Report:  # noqa: ARG002  # nothing of it is looked at
        """Refuse the file by the name of its format."""
        raise InvalidFileError([f"{source}: {self.format}: not read yet"], fix=self.instead)
