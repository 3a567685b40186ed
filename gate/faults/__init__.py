"""What is injected: a file per family, one class per fault."""

from gate.faults.base import (
    FAULTS,
    Delay,
    Effect,
    Fault,
    Injection,
    Override,
    Raise,
    Redirect,
    Repeat,
    Return,
)

__all__ = [
    "FAULTS",
    "Delay",
    "Effect",
    "Fault",
    "Injection",
    "Override",
    "Raise",
    "Redirect",
    "Repeat",
    "Return",
]
