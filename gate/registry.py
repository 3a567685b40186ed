"""Name to plug-in: what `type:` in a file may say, with a did-you-mean for what it may not."""

import difflib
import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from gate.errors import UsageError

T = TypeVar("T")


def suggest(word: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)`, or nothing when no known word is close."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


class Registry(Generic[T]):
    """Plug-in classes by their `type`.

    Those of a package register by being defined in one of its modules; those of other distributions by an entry point
    of the group `agent_chaos_gate.<package>`.
    """

    def __init__(self, package: str, what: str) -> None:
        self._package, self._what = package, what
        self._classes: dict[str, type[T]] = {}
        self._loaded = False

    def register(self, type_: str, cls: type[T]) -> None:
        """Add a plug-in class; a name that is taken is an error of the plug-in."""
        if self._classes.setdefault(type_, cls) is not cls:
            raise UsageError(f"two {self._what} plug-ins are called {type_!r}", fix="rename one of them")

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{self._package}.{module.name}")
        for entry in entry_points(group=f"agent_chaos_gate.{self._package.rpartition('.')[2]}"):
            entry.load()

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._classes))

    def __contains__(self, type_: object) -> bool:
        self._load()
        return type_ in self._classes

    def __getitem__(self, type_: str) -> type[T]:
        self._load()
        return self._classes[type_]

    def unknown(self, type_: str) -> str:
        """Return the sentence that says that `type_` is not known here."""
        return f"unknown {self._what} {type_!r}{suggest(type_, self)}"
