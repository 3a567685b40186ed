"""Marks an agent's tools, models, memories and controls for chaos experiments.

Standard library only, and without effect outside a run: production code may keep them.
"""

from gate.chaos.decorators import (
    agent,
    control,
    describe_tool,
    discover_agent,
    llm,
    memory,
    output,
    payment,
    tool,
)
from gate.chaos.errors import ChaosAuthError, ChaosError, ChaosRateLimit, ChaosTimeout
from gate.chaos.hook import seed

__all__ = [
    "ChaosAuthError",
    "ChaosError",
    "ChaosRateLimit",
    "ChaosTimeout",
    "agent",
    "control",
    "describe_tool",
    "discover_agent",
    "llm",
    "memory",
    "output",
    "payment",
    "seed",
    "tool",
]
