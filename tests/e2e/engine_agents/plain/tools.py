"""Its tools."""

from posixpath import basename
from typing import Any


def fetch(url: str) -> str:
    return f"page {url}"


async def fetch_later(url: str) -> str:
    return f"later {url}"


def _private(text: str) -> str:
    return text


class Mailbox:
    """Has methods of every kind."""

    def send(self, text: str) -> str:
        return f"sent {basename(_private(text))}"

    @staticmethod
    def count() -> int:
        return 1

    @classmethod
    def name(cls) -> str:
        return cls.__name__


class Searcher:
    """A tool that is an object."""

    __name__ = "search"

    def __call__(self, text: str) -> Any:
        return [text]


search = Searcher()
