"""What a store of base reports can do, and how its name is spelled: `branch:NAME` or `file:PATH`."""

import re
from abc import ABC, abstractmethod
from collections.abc import Set
from typing import Any, ClassVar, Self

from gate.errors import UsageError
from gate.github import Client
from gate.history import Summary
from gate.registry import Registry
from gate.report import Report

_KEY = re.compile(r"[a-z0-9-]{1,40}")
# What `git check-ref-format` forbids in a name, and a dash in front, which git would take for an option.
_NOT_A_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|^[-./]|[./]$|^$")

STORES: Registry["Store"] = Registry("gate.store", "store")


class Store(ABC):
    """Base reports of one key; subclasses register under `type`.

    `pinned`: the store holds one report that is the base of everything, whatever commit it was made at. Every method
    raises `InvalidFileError` for what makes no sense, and `BrokenEnvironmentError` where it cannot get there.
    """

    type: ClassVar[str]
    pinned: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        STORES.register(cls.type, cls)

    @classmethod
    @abstractmethod
    def at(cls, place: str, *, key: str, client: Client | None) -> Self:
        """Return the store at what stands behind `type:`; `UsageError` if nothing can be there."""

    @abstractmethod
    def commits(self) -> Set[str]:
        """Return the commits that have a stored report."""

    @abstractmethod
    def load(self, commit: str) -> Report | None:
        """Return the newest report of exactly this commit."""

    @abstractmethod
    def latest(self, ref: str) -> Report | None:
        """Return the report stored last for a branch."""

    @abstractmethod
    def history(self, ref: str) -> list[Summary]:
        """Return a line for every report stored for a branch, oldest first."""

    @abstractmethod
    def save(self, report: Report, *, ref: str, run_id: int, attempt: int = 1) -> bool:
        """Store a report, without transcripts, as the latest of a branch; False if that is done already."""

    @abstractmethod
    def prune(self, keep: int) -> int:
        """Take away the reports of all but the newest `keep` commits; return how many went."""


def is_ref_name(name: str) -> bool:
    """Return whether a branch or a tag can have this name."""
    return not _NOT_A_REF.search(name)


def parse_store(spec: str, *, key: str = "default", client: Client | None = None) -> Store:
    """Return the store that `branch:NAME` or `file:PATH` names.

    Raises:
        UsageError: no such store, a bad key or place, or GitHub is needed and `client` is missing.
    """
    kind, _, place = spec.partition(":")
    if kind not in STORES or not place:
        raise UsageError(f"{spec!r:.120} names no store", fix=f"write {' or '.join(f'{k}:…' for k in STORES)}")
    if not _KEY.fullmatch(key):
        raise UsageError(f"{key!r:.80} is not a key", fix="use 1 to 40 of a-z, 0-9 and -")
    return STORES[kind].at(place, key=key, client=client)
