"""The failure is not only survived, but seen."""

from typing import ClassVar

from pydantic import field_validator

from gate.policy import Category
from gate.probes.base import Check, Probe, count
from gate.trace import Trace

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class AlertRaised(Probe):
    """A log record of at least `level` whose message contains `contains` was written."""

    type: ClassVar[str] = "alert_raised"
    category: ClassVar[Category] = "detection"
    contains: str = ""
    level: str = "WARNING"

    @field_validator("level")
    @classmethod
    def _known_level(cls, level: str) -> str:
        if level.upper() not in LEVELS:
            raise ValueError(f"must be one of {', '.join(LEVELS)}")
        return level

    @property
    def label(self) -> str:
        return f"alert_raised({self.contains!r}, {self.level})"

    def check(self, trace: Trace) -> Check:
        least = LEVELS.index(self.level.upper())
        hits = [
            e
            for e in trace.of("log")
            if e.data.get("level") in LEVELS
            and LEVELS.index(e.data["level"]) >= least
            and self.contains in e.data["message"]
        ]
        return Check(bool(hits), count(hits, "record"))
