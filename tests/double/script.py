"""The ways to make a double misbehave, by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

from tests.double.faults import Fault, FaultList, Kind
from tests.double.pipeline import Pipeline


class Script:
    """Each method adds one rule and returns it; its `hits` count how often it was met."""

    _pipeline: Pipeline

    @property
    def faults(self) -> FaultList:
        """The rules in force."""
        return self._pipeline.faults

    def fail(
        self,
        method: str = "*",
        path: str = "",
        status: int = 502,
        times: int | None = 1,
        when: Literal["before", "after"] = "before",
        **more: Any,
    ) -> Fault:
        """Let matching requests answer `status`. See `Fault` for the other fields."""
        return self._add(Fault(path=path, method=method, status=status, times=times, when=when, **more))

    def _add(self, fault: Fault) -> Fault:
        self._pipeline.faults.add(fault)
        return fault

    def _kind(self, kind: Kind, method: str, path: str, times: int | None, **more: Any) -> Fault:
        return self._add(Fault(path=path, method=method, kind=kind, times=times, **more))

    def forbid(self, method: str = "*", path: str = "", times: int | None = None, **more: Any) -> Fault:
        """403 as for a token without the permission, with the header that names it."""
        return self._kind("forbidden", method, path, times, **more)

    def too_many_requests(
        self, method: str = "*", path: str = "", times: int | None = 1, retry_after_s: int = 60, **more: Any
    ) -> Fault:
        """429 with `Retry-After`."""
        return self._kind("too_many_requests", method, path, times, retry_after_s=retry_after_s, **more)

    def primary_limit(self, method: str = "*", path: str = "", times: int | None = 1, **more: Any) -> Fault:
        """403 with no requests remaining."""
        return self._kind("primary_limit", method, path, times, **more)

    def secondary_limit(
        self, method: str = "*", path: str = "", times: int | None = 1, retry_after_s: int | None = 60, **more: Any
    ) -> Fault:
        """403 with the message of a secondary rate limit, and `Retry-After` unless None."""
        return self._kind("secondary_limit", method, path, times, retry_after_s=retry_after_s, **more)

    def protect_branch(self, branch: str) -> Fault:
        """A ruleset that rejects every write to the branch."""
        return self._kind("ruleset", "*", "", None, branch=branch)

    def drop(
        self,
        method: str = "*",
        path: str = "",
        times: int | None = 1,
        when: Literal["before", "after"] = "before",
        **more: Any,
    ) -> Fault:
        """Close the connection without an answer, before or after the effect."""
        return self._kind("drop", method, path, times, when=when, **more)

    def slow(self, delay_s: float, method: str = "*", path: str = "", times: int | None = 1) -> Fault:
        """Answer late."""
        return self._kind("slow", method, path, times, delay_s=delay_s)

    def race(self, branch: str, times: int | None = 1) -> Fault:
        """Let another writer move the branch just before each of the next updates of it."""
        return self._kind("race", "PATCH", rf"/git/refs/heads/{re.escape(branch)}$", times, branch=branch)

    def on(self, method: str, path: str, action: Callable[[], object], times: int | None = 1) -> Fault:
        """Run `action` just before the next matching request is served."""
        return self._kind("slow", method, path, times, action=action)
