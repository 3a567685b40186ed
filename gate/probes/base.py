"""What a probe is: parameters, what it guards, and a pure check of one run's trace."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator

from gate.policy import Category, Model
from gate.registry import Registry
from gate.trace import Trace


@dataclass(frozen=True, slots=True)
class Check:
    """What a probe says of one run. `vacuous`: it held because there was nothing to hold against."""

    passed: bool
    detail: str = ""
    vacuous: bool = False


def _as_written(value: Any, check: ValidatorFunctionWrapHandler) -> float:
    checked: float = check(value)
    return value if isinstance(value, int) else checked


Limit = Annotated[int, Field(ge=0)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False), WrapValidator(_as_written)]
"""A finite number from zero on, kept as it was written: labels show `10` for 10 and `10.0` for 10.0."""

PROBES: Registry["Probe"] = Registry("gate.probes", "probe")


class Probe(Model):
    """A probe and its parameters (`params:` in a file); subclasses register under `type`."""

    type: ClassVar[str] = ""
    category: ClassVar[Category] = "availability"

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if cls.type:
            PROBES.register(cls.type, cls)

    @property
    def label(self) -> str:
        """Return the name shown for the probe, as in the public format."""
        return self.type

    def check(self, trace: Trace) -> Check:
        """Judge one run; pure."""
        raise TypeError(f"{type(self).__name__} must define check")


def count(things: list[Any], what: str) -> str:
    """Return `3 call(s)`."""
    return f"{len(things)} {what}(s)"
