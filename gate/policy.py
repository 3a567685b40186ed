"""What a repository asks of its gate: error rates, and what blocks."""

from datetime import date, timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Severity = Literal["critical", "high", "medium", "low"]
Category = Literal["security", "availability", "consumption", "detection"]
Blocking = Literal["fail", "warn"]

SEVERITY_OF: dict[Category, Severity] = {
    "security": "critical",
    "availability": "high",
    "consumption": "medium",
    "detection": "high",
}
"""The severity of a probe that does not state its own, by what it guards."""

LONGEST_ACCEPTED = timedelta(days=366)
"""How far ahead the day may lie until which a finding is accepted."""

Name = Annotated[str, Field(min_length=1, max_length=200)]
Rate = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
OpenRate = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Day = Annotated[date, BeforeValidator(lambda day: date.fromisoformat(day) if isinstance(day, str) else day)]


class Model(BaseModel):
    """Frozen, strict data that crosses a file or a process."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Policy(Model):
    """The claims a verdict rests on, and which verdicts block."""

    alpha: OpenRate = Field(0.05, description="false alarm, for the whole suite")
    min_effect: OpenRate = Field(0.10, description="the smallest drop in pass rate that matters")
    power: OpenRate = Field(0.80, description="a PASS misses a drop of min_effect at most 1 - power of the time")
    confirm: Literal["auto", "off"] = Field(
        "auto", description="run base and head again for what looks worse, before a FAIL stands"
    )
    extend: Literal["auto", "off"] = Field(
        "auto", description="more runs, as a second look, for what is still undecided; takes `confirm: auto`"
    )
    on_regression: Blocking = "fail"
    on_new_critical: Blocking = "fail"
    on_missing: Blocking = "fail"
    on_inconclusive: Blocking = "warn"
    on_no_base: Blocking = "warn"
    on_small_drop: Blocking = "warn"
    on_not_comparable: Blocking = "warn"
    on_infra: Blocking = "fail"

    @property
    def beta(self) -> float:
        """Return the chance that a PASS is wrong at a drop of exactly `min_effect`."""
        return 1 - self.power


class ExperimentPolicy(Model):
    """The claims of one experiment, where they are to differ from the suite's."""

    alpha: OpenRate | None = None
    min_effect: OpenRate | None = None
    power: OpenRate | None = None


class Removed(Model):
    """An experiment that was taken away on purpose."""

    name: Name
    reason: Name


class KnownFinding(Model):
    """A critical finding that is accepted until a day; `probe` is `experiment/probe` or a probe id."""

    probe: Name
    reason: Name
    expires: Day
