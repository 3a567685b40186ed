"""What a suite will take and what it will show, before anything is spent. Pure."""

from gate.plan.model import COSTS, Cost, Plan, PlannedExperiment, PlannedProbe, PlanTotal
from gate.plan.spending import parse_price
from gate.plan.suite import plan_suite

__all__ = [
    "COSTS",
    "Cost",
    "Plan",
    "PlanTotal",
    "PlannedExperiment",
    "PlannedProbe",
    "parse_price",
    "plan_suite",
]
