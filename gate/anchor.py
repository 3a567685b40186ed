"""Head against a pinned report, so that slow drift shows: beside a comparison, and without a say in it. Pure."""

from gate.comparison import Anchor, Comparison, Drop, Row
from gate.completion import why_no_base
from gate.findings import pair_up
from gate.policy import Policy
from gate.report import Report
from gate.rows import compare_rows, draft_rows


def with_anchor(comparison: Comparison, anchor: Anchor, pinned: Report | None, head: Report) -> Comparison:
    """Return the comparison with what of head is worse than a pinned report, under the policy that was applied.

    `anchor` names the report, or says why there is none to compare with (`pinned` is None).
    """
    if pinned is not None:
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
