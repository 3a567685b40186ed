"""Screen and confirm: what is to be run again on base and head, and what the fresh counts decide. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from gate import stats
from gate.comparison import Row, Screen
from gate.completion import Table, at_best
from gate.confirmation import Confirmation
from gate.findings import Pair, lost_runs, pair_up
from gate.policy import Policy
from gate.report import ExperimentReport, Phase, Report
from gate.rows import Draft, acted, compare_rows, draft_rows, is_sequential
from gate.trace import MAX_RUNS

FACTOR = 2
"""How many times the runs of the first look a confirmation has."""


@dataclass(frozen=True)
class Rerun:
    """An experiment to be run again on both commits: runs per phase, seed of the first, and whether without faults too.

    No run before had one of the seeds; None: unseeded.
    """

    experiment: str
    runs: int
    seed: int | None
    baseline: bool


def plan_reruns(base: Report, head: Report, policy: Policy) -> list[Rerun]:
    """Return what a confirmation has to run, in the order of head; nothing where the policy asks for none."""
    drafts = draft_rows(pair_up(base, head), policy)
    phases: dict[str, set[Phase]] = {}
    for draft, row in zip(drafts, compare_rows(drafts), strict=True):
        if policy.confirm == "auto" and is_due(draft, row):
            phases.setdefault(draft.pair.name, set()).add(draft.key[1])
    pairs = {draft.pair.name: draft.pair for draft in drafts}
    return [_rerun(pairs[name], baseline="baseline" in found) for name, found in phases.items()]


def is_due(draft: Draft, row: Row) -> bool:
    """Return whether a row has to be confirmed: it looks worse, or its experiment was edited."""
    return _is_flagged(draft, row) or _is_edited(draft)


def _is_flagged(draft: Draft, row: Row) -> bool:
    """Return whether the row looks worse if it stood alone, at either look, or in its family."""
    p_values = [stats.exact_test(*at_best(*look)) for look in draft.tables]
    if row.adjusted_p_value is not None:
        p_values.append(row.adjusted_p_value)
    return min(p_values, default=1.0) <= draft.claims.alpha


def _is_edited(draft: Draft) -> bool:
    """Return whether base never ran this definition of the experiment, and could; sequential ones need no base."""
    pair, head = draft.pair, draft.head
    return (
        pair.base is not None and not pair.comparable and head is not None and head.runs > 0 and not is_sequential(head)
    )


def confirming_runs(planned: int, phase: Phase) -> int:
    """Return how many runs, of base and head together, confirm a phase of so many: without faults, those with too."""
    return 2 * min(FACTOR * planned, MAX_RUNS) * (2 if phase == "baseline" else 1)


def _rerun(pair: Pair, *, baseline: bool) -> Rerun:
    assert pair.head is not None  # noqa: S101 (only what head has is due)
    seed = pair.head.seed
    if seed is not None:
        sides = [side for side in (pair.base, pair.head) if side is not None]
        used = [run.seed for side in sides for phase in side.phases for run in phase.runs if run.seed is not None]
        planned = max(phase.max_runs or phase.planned_runs for phase in pair.head.phases)
        seed = max([*used, seed + planned - 1]) + 1
    return Rerun(pair.name, _fresh_runs(pair), seed, baseline)


def _fresh_runs(pair: Pair) -> int:
    """Return how many runs a phase has in a confirmation: reckoned from what was planned, however many came of it."""
    return min(FACTOR * _planned_runs(pair), MAX_RUNS)


def _planned_runs(pair: Pair) -> int:
    return max((phase.planned_runs for phase in pair.head.phases), default=0) if pair.head else 0


def confirm_rows(drafts: Sequence[Draft], rows: Sequence[Row], confirmation: Confirmation) -> list[Row]:
    """Return the rows with those that are due decided by fresh counts alone, where there are any.

    One family: Holm over all of them. A row that looked worse and has no fresh counts stays as the first look had it;
    where there are both kinds, each has half of alpha.
    """
    due = {at: draft for at, draft in enumerate(drafts) if is_due(draft, rows[at])}
    fresh = {at: _fresh_table(draft, confirmation) for at, draft in due.items()}
    tables = {at: table for at, table in fresh.items() if not isinstance(table, str)}
    worse = stats.holm(stats.exact_test(*table) for table in tables.values())
    better = stats.holm(stats.exact_test(x2, n2, x1, n1) for x1, n1, x2, n2 in tables.values())
    left = any(_is_flagged(due[at], rows[at]) for at in due.keys() - tables.keys())
    families = 2 if tables and left else 1
    decided = list(rows)
    for at, table, dropped, rose in zip(tables, tables.values(), worse, better, strict=True):
        adjusted = min(1.0, families * dropped), min(1.0, families * rose)
        decided[at] = _confirmed(drafts[at], rows[at], table, *adjusted)
    for at, why in fresh.items():
        if isinstance(why, str):
            decided[at] = _unconfirmed(drafts[at], rows[at], why, families)
    return decided


def _confirmed(draft: Draft, row: Row, table: Table, dropped: float, rose: float) -> Row:
    decided = draft.tested(table, dropped, rose, "confirmation")
    assert row.head is not None  # noqa: S101 (only what head has is due)
    screen = Screen(base=row.base, head=row.head, p_value=row.p_value)
    repeated = decided.verdict in ("regressed", "small_drop") or not _is_flagged(draft, row)
    verdict = decided.verdict if repeated else "not_reproduced"
    return decided.model_copy(update={"screen": screen, "verdict": verdict})


def _unconfirmed(draft: Draft, row: Row, why: str, families: int) -> Row:
    if families > 1 and draft.table and row.adjusted_p_value is not None and row.decided_by is not None:
        halved = min(1.0, families * row.adjusted_p_value)
        row = draft.tested(draft.table, halved, 1.0, row.decided_by, spared=draft.spared)
    return row.model_copy(update={"unconfirmed": why[:4_000]})


def _fresh_table(draft: Draft, confirmation: Confirmation) -> Table | str:
    """Return the fresh counts of a row, or why they cannot decide."""
    pair, (probe_id, phase) = draft.pair, draft.key
    base, head = (_find(report, pair.name) for report in (confirmation.base, confirmation.head))
    told = confirmation.impossible.get(pair.name) or confirmation.reason
    if base is None or head is None:
        return told or "it was not run again"
    counts = []
    for name, side in (("base", base), ("head", head)):
        if why := _why_unfit(pair, side, phase):
            return told or f"the fresh runs of {name} cannot decide: {why}"
        probe = next((p for p in side.probes if (p.id, p.phase) == draft.key), None)
        if probe is None or not probe.runs:
            return told or f"the fresh runs of {name} have no counts of {probe_id}"
        counts += [probe.passes, probe.runs]
    return counts[0], counts[1], counts[2], counts[3]


def _find(report: Report | None, name: str) -> ExperimentReport | None:
    return next((e for e in report.experiments if e.name == name), None) if report else None


def _why_unfit(pair: Pair, side: ExperimentReport, phase: Phase) -> str:
    """Return why the fresh runs of one commit are no yardstick; empty if they are one."""
    assert pair.head is not None  # noqa: S101 (only what head has is due)
    wanted = _fresh_runs(pair)
    had = next((len(p.runs) for p in side.phases if p.phase == phase), 0)
    if side.fingerprint != pair.head.fingerprint:
        return "they are of another definition"
    if had < wanted:
        return f"{had} of {wanted} were carried out"
    if lost := lost_runs(side):
        return f"{lost} were lost to the provider or the gate"
    return "no fault acted in them" if phase == "chaos" and not acted(side) else ""
