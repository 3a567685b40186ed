"""What is checked of a run: a file per family, one class per probe."""

from gate.probes.base import PROBES, Check, Probe

__all__ = ["PROBES", "Check", "Probe"]
