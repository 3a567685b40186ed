"""Head against a pinned report, so that slow drift shows: beside a comparison, and without a say in it. Pure."""

from gate.comparison import Anchor, Comparison, Drop, Row
from gate.completion import why_no_base
from gate.confirmation import Confirmation
from gate.findings import pair_up
from gate.policy import Policy
from gate.report import ExperimentReport, Report
from gate.rows import compare_rows, draft_rows


def with_anchor(
    comparison: Comparison,
    anchor: Anchor,
    pinned: Report | None,
    head: Report,
    confirmation: Confirmation | None = None,
) -> Comparison:
    """Return the comparison with what of head is worse than a pinned report, under the policy that was applied.

    `anchor` names the report, or says why there is none to compare with (`pinned` is None). Where head was run again,
    its fresh counts stand for it: the first ones may have been ended early for that.
    """
    if pinned is not None:
        if confirmation is not None and confirmation.head is not None:
            head = _freshest(head, confirmation.head, comparison)
        anchor = _compared(anchor, pinned, head, comparison.policy)
    return comparison.model_copy(update={"anchor": anchor})


def _compared(anchor: Anchor, pinned: Report, head: Report, policy: Policy) -> Anchor:
    anchor = anchor.model_copy(update={"commit": pinned.commit, "problem": _why_unfit(pinned, head)})
    if anchor.problem:
        return anchor
    pairs = pair_up(pinned, head)
    drafts = draft_rows(pairs, policy)
    return anchor.model_copy(
        update={
            "probes": sum(draft.base is not None for draft in drafts),
            "compared": sum(draft.table is not None for draft in drafts),
            "worse": [_drop(row) for row in compare_rows(drafts) if row.verdict in ("regressed", "small_drop")],
            "changed": [pair.name for pair in pairs if pair.base and pair.head and not pair.comparable],
        }
    )


def _freshest(head: Report, fresh: Report, comparison: Comparison) -> Report:
    """Return head's report with the fresh counts in the phases that were decided by them."""
    decided = {(row.experiment, row.phase) for row in comparison.rows if row.decided_by == "confirmation"}
    again = {e.name: e for e in fresh.experiments}

    def freshest(one: ExperimentReport) -> ExperimentReport:
        other = again.get(one.name, one)
        probes = {(p.id, p.phase): p for p in other.probes if (one.name, p.phase) in decided}
        phases = {p.phase: p for p in other.phases if (one.name, p.phase) in decided}
        update = {
            "probes": [probes.get((p.id, p.phase), p) for p in one.probes],
            "phases": [phases.get(p.phase, p) for p in one.phases],
        }
        return one.model_copy(update=update)

    return head.model_copy(update={"experiments": [freshest(one) for one in head.experiments]})


def _drop(row: Row) -> Drop:
    """Return a row that is worse, with the counts that say so: of two looks, those of the first."""
    head, spared = (row.first_look, 0) if row.first_look else (row.head, row.spared)
    assert row.base is not None  # noqa: S101 (a row that was tested has all three)
    assert head is not None  # noqa: S101
    assert row.adjusted_p_value is not None  # noqa: S101
    return Drop(
        experiment=row.experiment,
        probe=row.probe,
        label=row.label,
        phase=row.phase,
        anchor=row.base,
        head=head,
        p_value=row.adjusted_p_value,
        spared=spared,
    )


def _why_unfit(pinned: Report, head: Report) -> str:
    """Return why a report is no anchor of head; empty if it is one."""
    if pinned.tool.name != head.tool.name:
        tools = f"it was written by {pinned.tool.name}, this report by {head.tool.name}"
        return f"{tools}: their counts mean other things"
    return why_no_base(pinned)
