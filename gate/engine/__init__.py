"""Runs agents: schedule, workers, session (decides faults, records the trace), journal."""

from gate.engine.run import run_suite
from gate.engine.schedule import PlannedRun, RunSettings, plan
from gate.engine.session import Session

__all__ = ["PlannedRun", "RunSettings", "Session", "plan", "run_suite"]
