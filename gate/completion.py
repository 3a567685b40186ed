"""What a phase that was stopped early may still have come to. Pure."""

from gate.report import DECIDED_STOP, ExperimentReport, Phase, Report
from gate.trace import MAX_RUNS

Table = tuple[int, int, int, int]
"""Base passes, base runs, head passes, head runs."""


def at_best(table: Table, spared: int) -> Table:
    """Return the counts if all the runs that head was spared had passed."""
    x1, n1, x2, n2 = table
    return x1, n1, x2 + spared, n2 + spared


def at_worst(table: Table, spared: int) -> Table:
    """Return the counts if all the runs that head was spared had failed."""
    x1, n1, x2, n2 = table
    return x1, n1, x2, n2 + spared


def swapped(table: Table) -> Table:
    """Return the counts with base and head exchanged."""
    x1, n1, x2, n2 = table
    return x2, n2, x1, n1


def runs_spared(experiment: ExperimentReport, phase: Phase) -> int:
    """Return how many runs a phase was spared since none of them could change a verdict.

    They may all have passed and may all have failed: a claim holds if it does at the worse of the two.
    """
    for one in experiment.phases:
        if one.phase == phase and one.stop_reason == DECIDED_STOP:
            return max(0, min(one.planned_runs, MAX_RUNS) - len(one.runs))
    return 0


def stopped(report: Report) -> list[str]:
    """Return the experiments that were spared runs since their comparison with a base was decided."""
    return [e.name for e in report.experiments if any(p.stop_reason == DECIDED_STOP for p in e.phases)]


def why_no_base(report: Report) -> str:
    """Return why a report cannot be stored as a base; empty if it can."""
    if not (names := stopped(report)):
        return ""
    what = "was stopped early because its comparison was decided: counts that depend on a base are none themselves"
    return f"{names[0]!r:.200} {what}"
