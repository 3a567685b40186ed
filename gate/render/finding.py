"""What a comparison found, one by one and gravest first: the list behind the reports that other tools read."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from gate.comparison import Comparison, ReasonKind, Row
from gate.policy import Severity
from gate.render import number, wording
from gate.render.escape import Sentence, say
from gate.report import Phase

FindingKind = Literal["critical-finding", "regression", "missing", "small-drop"]
SEVERITIES: tuple[Severity, ...] = ("critical", "high", "medium", "low")
_REASON: dict[FindingKind, ReasonKind] = {
    "critical-finding": "new_critical",
    "regression": "regression",
    "missing": "missing",
    "small-drop": "small_drop",
}


@dataclass(frozen=True)
class Finding:
    """One thing somebody should look at. `known` says why it was accepted; `probe` is absent for a whole experiment."""

    kind: FindingKind
    experiment: str
    probe: str | None
    phase: Phase | None
    severity: Severity
    blocks: bool
    sentence: Sentence
    detail: str = ""
    known: str = ""


def find(comparison: Comparison) -> list[Finding]:
    """Return the findings, blocking ones first, then by severity, each group in the comparison's order."""
    found = [*_critical(comparison), *_rows(comparison), *_missing(comparison)]
    return sorted(found, key=lambda f: (bool(f.known), not f.blocks, SEVERITIES.index(f.severity)))


def blocking_kinds(comparison: Comparison) -> set[ReasonKind]:
    """Return the kinds of reasons that block under the applied policy."""
    return {reason.kind for reason in comparison.reasons if reason.blocks}


def fallen(row: Row) -> Sentence:
    """Return the counts of a probe that got worse, and how likely chance alone would have done it."""
    p = row.p_value if row.adjusted_p_value is None else row.adjusted_p_value
    facts = wording.improved(row)
    return facts if p is None else say("{} (p {})", facts, number.p_value(p))


def _critical(comparison: Comparison) -> Iterable[Finding]:
    blocks = "new_critical" in blocking_kinds(comparison)
    for f in comparison.new_critical:
        text = wording.new_critical(f, comparison.policy.alpha, has_base=comparison.base is not None)
        yield Finding("critical-finding", f.experiment, f.probe, f.phase, "critical", blocks, text, f.detail)
    for f in comparison.known_critical:
        text = wording.known_critical(f)
        yield Finding("critical-finding", f.experiment, f.probe, f.phase, "critical", False, text, f.detail, f.known)


def _rows(comparison: Comparison) -> Iterable[Finding]:
    blocking = blocking_kinds(comparison)
    kinds: dict[str, FindingKind] = {"regressed": "regression", "small_drop": "small-drop"}
    for row in comparison.rows:
        if kind := kinds.get(row.verdict):
            blocks = _REASON[kind] in blocking
            yield Finding(kind, row.experiment, row.probe, row.phase, row.severity, blocks, fallen(row))


def _missing(comparison: Comparison) -> Iterable[Finding]:
    blocks = "missing" in blocking_kinds(comparison)
    for gone in comparison.missing:
        severities = [r.severity for r in comparison.rows if r.experiment == gone.experiment]
        severity: Severity = min(severities, key=SEVERITIES.index) if severities else "high"
        known = gone.allowed.strip()
        text = wording.allowed(gone) if known else say("{} — in the base, not in head", wording.missing(gone))
        open_ = blocks and not known
        yield Finding("missing", gone.experiment, gone.probe, gone.phase, severity, open_, text, known=known)
