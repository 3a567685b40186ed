"""What a fault is: parameters, the points it acts on, and a pure function from a value to an effect."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from gate.faults.payloads import new_canary
from gate.policy import Model
from gate.registry import Registry


@dataclass(frozen=True, slots=True)
class Return:
    """Go on with this value. `changed` is false when the fault could not change what it met."""

    value: Any
    changed: bool = True


@dataclass(frozen=True, slots=True)
class Raise:
    """Raise at the agent. `error` names the class in `gate.chaos.errors`; `fields` are its further arguments."""

    error: Literal["ChaosError", "ChaosTimeout", "ChaosRateLimit", "ChaosAuthError"]
    message: str
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delay:
    """Let the call wait for so many seconds, then go on."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Repeat:
    """Carry the call out this many times more."""

    times: int


@dataclass(frozen=True, slots=True)
class Override:
    """Do not carry the call out; this is its result."""

    value: Any


@dataclass(frozen=True, slots=True)
class Redirect:
    """Send the request to another host or model."""

    host: str | None
    model: str | None


Effect = Return | Raise | Delay | Repeat | Override | Redirect


@dataclass(frozen=True, slots=True)
class Injection:
    """Where a fault acts, with the run's generator.

    `previous` holds earlier values at this point and name, oldest first. `canaries` collects what was planted.
    """

    point: str
    name: str
    rng: random.Random
    previous: Sequence[Any]
    canaries: set[str]

    def canary(self) -> str:
        """Draw a new canary (one draw of 32 bits) and remember that it was planted."""
        token = new_canary(self.rng)
        self.canaries.add(token)
        return token


FAULTS: Registry["Fault"] = Registry("gate.faults", "fault")


class Fault(Model):
    """A fault and its parameters (`params:` in a file); subclasses register under `type`."""

    type: ClassVar[str] = ""
    points: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if cls.type:
            FAULTS.register(cls.type, cls)

    def apply(self, value: Any, injection: Injection) -> Effect:
        """Return what happens to a value; the draws from `injection.rng` are part of the format."""
        raise TypeError(f"{type(self).__name__} must define apply")
