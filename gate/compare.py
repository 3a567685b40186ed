"""Base and head to a comparison: rows by exact tests, findings by facts, and what of it blocks. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from gate.comparison import (
    Comparison,
    CriticalFinding,
    Missing,
    Notice,
    Reason,
    ReasonKind,
    Row,
    RowVerdict,
    Side,
    Verdict,
)
from gate.confirm import confirm_rows
from gate.confirmation import Confirmation
from gate.errors import ExitCode, InvalidFileError
from gate.findings import (
    Pair,
    find_critical,
    find_missing,
    find_status_changes,
    find_warnings,
    lost_runs,
    measured,
    pair_up,
)
from gate.history import Summary, with_history
from gate.policy import Blocking, KnownFinding, Policy, Removed
from gate.report import DIRTY, Report
from gate.rows import compare_rows, draft_rows


@dataclass(frozen=True)
class BaseOrigin:
    """How the base was found: how far it lies behind, in commits and days, and what the reader must know of that."""

    age_commits: int | None = None
    age_days: int | None = None
    notices: tuple[Notice, ...] = ()


def compare(
    base: Report | None,
    head: Report,
    *,
    policy: Policy,
    today: date,
    removed: Sequence[Removed] = (),
    known_findings: Sequence[KnownFinding] = (),
    origin: BaseOrigin = BaseOrigin(),
    confirmation: Confirmation | None = None,
    history: Sequence[Summary] = (),
) -> Comparison:
    """Compare two reports under a policy; `today` (UTC) decides which known findings have expired.

    `confirmation`: what was run again; None where nothing could be, since there are reports only.
    `history`: what was stored for the branch, shown beside each row.

    Raises:
        InvalidFileError: a report without experiments, or two of different tools.
    """
    if base is not None and base.tool.name != head.tool.name:
        raise InvalidFileError(
            [f"base was written by {base.tool.name}, head by {head.tool.name}: their counts mean different things"],
            fix="compare two reports of one tool; in the action, give each tool a gate of its own (`key`)",
        )
    for side, report in (("base", base), ("head", head)):
        if report is not None and not report.experiments:
            raise InvalidFileError([f"the {side} report has no experiments"], fix="run the suite again")
    pairs = pair_up(base, head)
    rows = _rows(pairs, policy, confirmation) if base else []
    missing = find_missing(pairs, removed)
    findings = find_critical(pairs, known_findings, today)
    new = [f for f in findings if not f.known]
    changes = find_status_changes(pairs, rows)
    unproven = _unproven(pairs, rows) if base else []
    reasons = _reasons(policy, rows, new, missing, unproven, head, has_base=base is not None)
    blocking = [r for r in reasons if r.blocks]
    return Comparison(
        verdict=_verdict(reasons, has_base=base is not None),
        blocks=bool(blocking),
        exit_code=_exit_code(blocking),
        policy=policy,
        base=None if base is None else _side(base, origin),
        head=_side(head),
        reasons=reasons,
        rows=with_history(rows, history, head),
        status_changes=changes,
        new_critical=new,
        known_critical=[f for f in findings if f.known],
        missing=missing,
        removed=list(removed),
        known_findings=list(known_findings),
        warnings=[
            *origin.notices,
            *_same_code(base, head, rows),
            *_unconfirmed(rows),
            *find_warnings(base, head, pairs, policy, removed, known_findings, today),
        ],
        confirmed_with=_confirmed_with(confirmation) if confirmation else None,
    )


def _rows(pairs: list[Pair], policy: Policy, confirmation: Confirmation | None) -> list[Row]:
    drafts = draft_rows(pairs, policy)
    rows = compare_rows(drafts)
    if confirmation is None and any(draft.spared for draft in drafts):  # stopped on the word that it is run again
        confirmation = Confirmation(reason="the fresh runs of base and head are not at hand")
    return rows if confirmation is None or policy.confirm == "off" else confirm_rows(drafts, rows, confirmation)


def _same_code(base: Report | None, head: Report, rows: list[Row]) -> list[Notice]:
    """Return that what changed is no change of code, where that is so."""
    if base is None or base.tested_tree != head.tested_tree or not head.tested_tree or head.tested_tree.endswith(DIRTY):
        return []
    changed = any(row.verdict in ("regressed", "small_drop", "improved") for row in rows)
    return [Notice(kind="same_code")] if changed else []


def _unconfirmed(rows: list[Row]) -> list[Notice]:
    """Return why rows could not be confirmed, once for each experiment and reason."""
    found = dict.fromkeys((row.experiment, row.unconfirmed) for row in rows if row.unconfirmed)
    return [Notice(kind="not_confirmed", experiment=name, detail=why) for name, why in found]


# --- the whole ------------------------------------------------------------------------------------------------------


def _reasons(
    policy: Policy,
    rows: list[Row],
    new: list[CriticalFinding],
    missing: list[Missing],
    unproven: list[str],
    head: Report,
    *,
    has_base: bool,
) -> list[Reason]:
    def named(verdict: RowVerdict) -> list[str]:
        return [f"{r.experiment}/{r.probe}" for r in rows if r.verdict == verdict]

    empty = [f"{e.name}/{p.id}" for e in head.experiments for p in e.probes if not p.runs]
    empty += [e.name for e in head.experiments if not e.probes]
    # Without a base the adoption of the gate is at stake, not this change: on_no_base decides.
    on_critical = policy.on_new_critical if has_base else policy.on_no_base
    found: list[tuple[ReasonKind, Blocking, Iterable[str]]] = [
        ("new_critical", on_critical, [f"{f.experiment}/{f.probe}" for f in new]),
        ("regression", policy.on_regression, named("regressed")),
        (
            "missing",
            policy.on_missing,
            [f"{m.experiment}/{m.probe}" if m.probe else m.experiment for m in missing if not m.allowed],
        ),
        ("no_runs", "fail", empty),
        ("infra", policy.on_infra, [e.name for e in head.experiments if lost_runs(e)]),
        ("small_drop", policy.on_small_drop, named("small_drop")),
        (
            "not_comparable",
            policy.on_not_comparable,
            list(dict.fromkeys(r.experiment for r in rows if r.verdict == "not_comparable")),
        ),
        ("not_reproduced", policy.on_inconclusive, named("not_reproduced")),
        ("no_base", policy.on_no_base, [] if has_base else [""]),
        ("inconclusive", policy.on_inconclusive, unproven),
    ]
    return [
        Reason(kind=kind, blocks=blocking == "fail", count=len(names), first=names[0])
        for kind, blocking, each in found
        if (names := list(each))
    ]


def _unproven(pairs: list[Pair], rows: list[Row]) -> list[str]:
    """Return what has no verdict: undecided rows, new experiments that measured nothing, all if nothing was tested."""
    if not any(row.decided_by for row in rows):
        return [pair.name for pair in pairs if pair.head]
    undecided = [f"{r.experiment}/{r.probe}" for r in rows if r.verdict == "inconclusive"]
    return undecided + [p.name for p in pairs if p.base is None and p.head and not measured(p.head)]


def _verdict(reasons: list[Reason], *, has_base: bool) -> Verdict:
    """Return the whole. PASS is a proof: a drop that is proven small is the only reason that leaves it standing."""
    if any(reason.blocks for reason in reasons):
        return "fail"
    if not has_base:
        return "no_base"
    return "inconclusive" if {reason.kind for reason in reasons} - {"small_drop"} else "pass"


def _exit_code(blocking: list[Reason]) -> int:
    kinds = {r.kind for r in blocking}
    if not kinds:
        return ExitCode.OK
    if kinds - {"no_runs", "infra", "inconclusive", "not_reproduced", "no_base"}:
        return ExitCode.BLOCKED
    return ExitCode.ENVIRONMENT if kinds & {"no_runs", "infra"} else ExitCode.INCONCLUSIVE


def _confirmed_with(confirmation: Confirmation) -> Side | None:
    """Return the commit that ran beside head, with what both of them took."""
    if confirmation.base is None or confirmation.head is None:
        return None
    one, other = _side(confirmation.base), _side(confirmation.head)
    usd = None if one.usd is None or other.usd is None else one.usd + other.usd
    return one.model_copy(update={"runs": one.runs + other.runs, "tokens": one.tokens + other.tokens, "usd": usd})


def _side(report: Report, origin: BaseOrigin | None = None) -> Side:
    return Side(
        commit=report.commit,
        ref=report.ref,
        runs=report.spend.runs,
        tokens=report.spend.tokens,
        usd=report.spend.usd,
        experiments=len(report.experiments),
        ended_at=report.ended_at,
        age_commits=origin.age_commits if origin else None,
        age_days=origin.age_days if origin else None,
    )
