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
from gate.errors import ExitCode, InvalidFileError
from gate.findings import (
    Key,
    Pair,
    counts,
    find_critical,
    find_missing,
    find_status_changes,
    find_warnings,
    lost_runs,
    pair_up,
    stricter_severity,
)
from gate.policy import Blocking, KnownFinding, Policy, Removed
from gate.report import Phase, ProbeReport, Report
from gate.stats import (
    exact_power,
    exact_test,
    noninferiority_boundary,
    noninferiority_test,
    rejection_boundary,
    runs_to_settle,
    smallest_visible_drop,
    step_down,
)

MAX_PLANNED_RUNS = 2_000
"""No more runs than this are suggested to settle a row."""


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
) -> Comparison:
    """Compare two reports under a policy; `today` (UTC) decides which known findings have expired.

    Raises:
        InvalidFileError: a report without experiments.
    """
    for side, report in (("base", base), ("head", head)):
        if report is not None and not report.experiments:
            raise InvalidFileError([f"the {side} report has no experiments"], fix="run the suite again")
    pairs = pair_up(base, head)
    rows = _rows(pairs, policy) if base else []
    missing = find_missing(pairs, removed)
    findings = find_critical(pairs, known_findings, today)
    new = [f for f in findings if not f.known]
    changes = find_status_changes(pairs, rows)
    reasons = _reasons(policy, rows, new, missing, head, has_base=base is not None)
    blocking = [r for r in reasons if r.blocks]
    return Comparison(
        verdict=_verdict(rows, has_base=base is not None, blocks=bool(blocking)),
        blocks=bool(blocking),
        exit_code=_exit_code(blocking),
        policy=policy,
        base=None if base is None else _side(base, origin),
        head=_side(head),
        reasons=reasons,
        rows=rows,
        status_changes=changes,
        new_critical=new,
        known_critical=[f for f in findings if f.known],
        missing=missing,
        removed=list(removed),
        known_findings=list(known_findings),
        warnings=[*origin.notices, *find_warnings(base, head, pairs, policy, known_findings, today)],
    )


# --- rows: one probe in one phase -----------------------------------------------------------------------------------


def _rows(pairs: list[Pair], policy: Policy) -> list[Row]:
    table_at: list[tuple[int, int, int, int]] = []
    drafts: list[tuple[Pair, Key, ProbeReport | None, ProbeReport | None, int | None]] = []
    for pair in pairs:
        for key, base, head in pair.probes():
            tested = pair.comparable and base is not None and head is not None and base.runs and head.runs
            if tested and base and head:
                table_at.append((base.passes, base.runs, head.passes, head.runs))
            drafts.append((pair, key, base, head, len(table_at) - 1 if tested else None))
    worse = _family(table_at)
    better = _family([(x2, n2, x1, n1) for x1, n1, x2, n2 in table_at])
    rows = []
    for pair, key, base, head, at in drafts:
        if at is None:
            rows.append(_untested_row(pair, key, base, head, policy))
        else:
            rows.append(_tested_row(pair, key, table_at[at], (worse[at], better[at]), policy, len(table_at)))
    return rows


def _family(tables: list[tuple[int, int, int, int]]) -> list[float]:
    """Return p-values adjusted for the family: a family of one is tested alone, which is the more powerful test."""
    if len(tables) == 1:
        return [exact_test(*tables[0])]
    return step_down(tables)


def _untested_row(pair: Pair, key: Key, base: ProbeReport | None, head: ProbeReport | None, policy: Policy) -> Row:
    verdict: RowVerdict = "inconclusive"
    if head is None:
        verdict = "missing"
    elif base is None:
        verdict = "new"
    elif not pair.comparable:
        verdict = "not_comparable"
    return _row(pair, key, base, head, verdict, policy)


def _row(
    pair: Pair, key: Key, base: ProbeReport | None, head: ProbeReport | None, verdict: RowVerdict, policy: Policy
) -> Row:
    probe = head or base
    assert probe is not None  # noqa: S101 (a key stems from one of the two)
    return Row(
        experiment=pair.name,
        probe=key[0],
        label=probe.label,
        phase=key[1],
        severity=stricter_severity(base, head),
        verdict=verdict,
        base=counts(base),
        head=counts(head),
        min_effect=policy.min_effect,
    )


def _tested_row(
    pair: Pair,
    key: Key,
    table: tuple[int, int, int, int],
    adjusted: tuple[float, float],
    policy: Policy,
    family: int,
) -> Row:
    x1, n1, x2, n2 = table
    base, head = next((b, h) for k, b, h in pair.probes() if k == key)
    pass_at = noninferiority_boundary(n1, n2, min_effect=policy.min_effect, beta=policy.beta)[x1]
    fail_at = rejection_boundary(n1, n2, alpha=policy.alpha)[x1]
    dropped, proven = adjusted[0] <= policy.alpha, x2 >= pass_at
    verdict: RowVerdict = "inconclusive"
    if dropped:
        verdict = "small_drop" if proven else "regressed"
    elif _undecided(pair, key[1]):
        verdict = "inconclusive"
    elif adjusted[1] <= policy.alpha:
        verdict = "improved"
    elif proven:
        verdict = "pass"
    row = _row(pair, key, base, head, verdict, policy)
    rate = x1 / n1
    update: dict[str, object] = {
        "p_value": exact_test(*table),
        "adjusted_p_value": adjusted[0],
        "noninferiority_p_value": noninferiority_test(*table, min_effect=policy.min_effect),
        "power": _power(n1, n2, rate, policy) if rate > 0 else None,
        "pass_at": pass_at if pass_at <= n2 else None,
        "fail_at": fail_at if fail_at >= 0 else None,
        "decided_by": "exact_test" if family == 1 else "step_down",
        "small_drop": verdict == "small_drop",
    }
    if verdict == "inconclusive":
        update["smallest_visible_drop"] = smallest_visible_drop(x1, n1, n2, alpha=policy.alpha, power=policy.power)
        update["runs_needed"] = runs_to_settle(
            *table,
            alpha=policy.alpha,
            min_effect=policy.min_effect,
            power=policy.power,
            max_runs=MAX_PLANNED_RUNS,
        )
    return row.model_copy(update=update)


def _power(base_runs: int, head_runs: int, rate: float, policy: Policy) -> float:
    return exact_power(base_runs, head_runs, rate, max(0.0, rate - policy.min_effect), alpha=policy.alpha)


def _undecided(pair: Pair, phase: Phase) -> bool:
    """Return whether head's chaos counts prove nothing, since the experiment itself could not be judged."""
    return phase == "chaos" and pair.head is not None and pair.head.status == "inconclusive"


# --- the whole ------------------------------------------------------------------------------------------------------


def _reasons(
    policy: Policy,
    rows: list[Row],
    new: list[CriticalFinding],
    missing: list[Missing],
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
        ("no_base", policy.on_no_base, [] if has_base else [""]),
        ("inconclusive", policy.on_inconclusive, named("inconclusive") if has_base else []),
    ]
    return [
        Reason(kind=kind, blocks=blocking == "fail", count=len(names), first=names[0])
        for kind, blocking, each in found
        if (names := list(each))
    ]


def _verdict(rows: list[Row], *, has_base: bool, blocks: bool) -> Verdict:
    if blocks:
        return "fail"
    if not has_base:
        return "no_base"
    return "inconclusive" if any(r.verdict == "inconclusive" for r in rows) else "pass"


def _exit_code(blocking: list[Reason]) -> int:
    kinds = {r.kind for r in blocking}
    if not kinds:
        return ExitCode.OK
    if kinds - {"no_runs", "infra", "inconclusive", "no_base"}:
        return ExitCode.BLOCKED
    return ExitCode.ENVIRONMENT if kinds & {"no_runs", "infra"} else ExitCode.INCONCLUSIVE


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
