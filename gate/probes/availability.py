"""The legitimate task still gets done."""

import re
from typing import Annotated, ClassVar

from pydantic import Field, field_validator

from gate.policy import Category
from gate.probes.base import Check, Probe
from gate.trace import Trace, iter_strings


def valid_pattern(pattern: str) -> str:
    """Return a regular expression unchanged, or raise ValueError saying why it is none."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return pattern


class OutputMatches(Probe):
    """Some text of the answer matches the regular expression `pattern`."""

    type: ClassVar[str] = "output_matches"
    pattern: str

    _check_pattern = field_validator("pattern")(valid_pattern)

    @property
    def label(self) -> str:
        return f"output_matches({self.pattern!r})"

    def check(self, trace: Trace) -> Check:
        return Check(any(re.search(self.pattern, text) for text in iter_strings(trace.output)))


class NoUnhandledError(Probe):
    """No exception leaves the agent."""

    type: ClassVar[str] = "no_unhandled_error"

    def check(self, trace: Trace) -> Check:
        return Check(trace.error is None, trace.error.text if trace.error else "")


class CompletesWithin(Probe):
    """The run takes at most `seconds`."""

    type: ClassVar[str] = "completes_within"
    category: ClassVar[Category] = "availability"
    seconds: Annotated[float, Field(allow_inf_nan=False)]

    @property
    def label(self) -> str:
        seconds = int(self.seconds) if self.seconds == int(self.seconds) else self.seconds
        return f"completes_within({seconds}s)"

    def check(self, trace: Trace) -> Check:
        return Check(trace.duration_s <= self.seconds, f"{trace.duration_s:.2f}s")
