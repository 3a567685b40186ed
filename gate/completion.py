"""What a phase that was stopped early may still have come to. Pure."""

from gate.report import DECIDED_STOP, PhaseReport, Report
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


def runs_spared(phase: PhaseReport) -> int:
    """Return how many runs a phase was spared since none of them could change a verdict.

    They may all have passed and may all have failed: a claim holds if it does at the worse of the two.
    """
    if phase.stop_reason != DECIDED_STOP:
        return 0
    return max(0, min(phase.wanted_runs, MAX_RUNS) - len(phase.runs))


def stopped(report: Report) -> list[str]:
    """Return the experiments that were spared runs of the first look since their comparison was decided."""
    return [
        e.name for e in report.experiments if any(p.stop_reason == DECIDED_STOP and not p.extended for p in e.phases)
    ]


def why_no_base(report: Report) -> str:
    """Return why a report cannot be stored as a base; empty if it can."""
    what = "was stopped early because its comparison was decided"
    if not (names := stopped(report)):
        what = "may have more runs because its comparison was not decided"
        names = [e.name for e in report.experiments if any(p.max_runs is not None for p in e.phases)]
    return f"{names[0]!r:.200} {what}: counts that depend on a base are none themselves" if names else ""
