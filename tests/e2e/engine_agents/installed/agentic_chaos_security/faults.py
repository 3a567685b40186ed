"""Errors and control flow."""

from typing import Any


class ChaosError(Exception):
    """An injected error."""


class ChaosTimeout(ChaosError, TimeoutError):  # noqa: N818 (the package's own name)
    """An injected timeout."""


class Repeat(BaseException):
    """Once more."""

    def __init__(self, times: int) -> None:
        self.times = times


class Override(BaseException):
    """A value instead."""

    def __init__(self, value: Any) -> None:
        self.value = value
