"""What two reports show as a matter of fact: what is gone, what is violated, whose status changed. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from gate.comparison import Counts, CriticalFinding, Missing, Notice, Row, StatusChange
from gate.judge import MAX_INFRA, UNCOUNTED, violated
from gate.policy import ExperimentPolicy, KnownFinding, Policy, Removed, Severity
from gate.report import ExperimentReport, Phase, ProbeReport, Report
from gate.stats import exact_test

SILENCED_LEVEL = 0.001
"""Below this chance, faults that fired in base and never in head count as an experiment taken away, not as luck."""

Key = tuple[str, Phase]


@dataclass(frozen=True)
class Pair:
    """One experiment on both sides; at least one is there."""

    name: str
    base: ExperimentReport | None
    head: ExperimentReport | None

    @property
    def own_policy(self) -> ExperimentPolicy:
        """Return the experiment's own claims: the base's, so that a pull request cannot relax them."""
        known = self.base or self.head
        return (known.policy if known else None) or ExperimentPolicy()

    @property
    def comparable(self) -> bool:
        return self.base is not None and self.head is not None and self.base.fingerprint == self.head.fingerprint

    def probes(self) -> list[tuple[Key, ProbeReport | None, ProbeReport | None]]:
        """Return every (probe id, phase) of either side, head's order first."""
        sides = [{(p.id, p.phase): p for p in (e.probes if e else [])} for e in (self.base, self.head)]
        return [(key, sides[0].get(key), sides[1].get(key)) for key in {**sides[1], **sides[0]}]


def pair_up(base: Report | None, head: Report) -> list[Pair]:
    """Return the union of both sides by experiment name, head's order first."""
    base_by, head_by = ({e.name: e for e in r.experiments} if r else {} for r in (base, head))
    return [Pair(name, base_by.get(name), head_by.get(name)) for name in {**head_by, **base_by}]


def counts(probe: ProbeReport | None) -> Counts | None:
    """Return the counts of one side, if it is there."""
    return None if probe is None else Counts(passes=probe.passes, runs=probe.runs)


def find_missing(pairs: list[Pair], removed: Sequence[Removed]) -> list[Missing]:
    """Return what the base measured and head does not: experiments, probes, and experiments gone silent."""
    allowed = {r.name: r.reason for r in removed}
    found: list[Missing] = []
    for pair in pairs:
        if pair.base is None:
            continue
        if pair.head is None or _silenced(pair.base, pair.head):
            found.append(Missing(experiment=pair.name, allowed=allowed.get(pair.name, "")))
            continue
        for (probe, phase), base, head in pair.probes():
            if base is not None and head is None:
                reason = allowed.get(f"{pair.name}/{probe}", allowed.get(pair.name, ""))
                found.append(Missing(experiment=pair.name, probe=probe, phase=phase, allowed=reason))
    return found


def _silenced(base: ExperimentReport, head: ExperimentReport) -> bool:
    """Return whether faults fired in base and in no run of head, beyond what luck explains."""
    if base.fingerprint != head.fingerprint or any(f.fired for f in head.faults):
        return False
    fired = max((f.runs_fired for f in base.faults), default=0)
    runs = [max((p.runs for p in e.probes if p.phase == "chaos"), default=0) for e in (base, head)]
    if not fired or not all(runs):
        return False
    return exact_test(min(fired, runs[0]), runs[0], 0, runs[1]) <= SILENCED_LEVEL


def find_critical(pairs: list[Pair], known_findings: Sequence[KnownFinding], today: date) -> list[CriticalFinding]:
    """Return every violated critical probe of head. A pull request can make neither severity nor threshold milder."""
    accepted = {k.probe: k for k in known_findings if k.expires >= today}
    found = []
    for pair in pairs:
        if pair.head is None:
            continue
        confidence = (pair.base or pair.head).confidence
        for (probe_id, phase), base, head in pair.probes():
            if head is None or stricter_severity(base, head) != "critical":
                continue
            threshold = max(head.threshold, base.threshold if base else 0.0)
            if not violated(head, threshold, confidence):
                continue
            known = ""
            if base is not None and violated(base, threshold, confidence):
                known = "also violated in base"
            elif entry := accepted.get(f"{pair.name}/{probe_id}") or accepted.get(probe_id):
                known = f"accepted until {entry.expires.isoformat()}: {entry.reason}"
            tested = base is not None and base.runs > 0 and pair.comparable
            found.append(
                CriticalFinding(
                    experiment=pair.name,
                    probe=probe_id,
                    label=head.label,
                    phase=phase,
                    threshold=threshold,
                    head=Counts(passes=head.passes, runs=head.runs),
                    base=counts(base),
                    p_value=_chance(base, head) if tested and base else None,
                    detail=head.detail,
                    known=known,
                )
            )
    return found


def _chance(base: ProbeReport, head: ProbeReport) -> float:
    """Return how likely head would have got so many of the failures that the two sides share, by chance (Fisher)."""
    return exact_test(base.passes, base.runs, head.passes, head.runs, test="fisher")


def stricter_severity(base: ProbeReport | None, head: ProbeReport | None) -> Severity:
    """Return the graver of two severities: a pull request cannot make a probe milder."""
    order: tuple[Severity, ...] = ("critical", "high", "medium", "low")
    return min((p.severity for p in (base, head) if p is not None), key=order.index)


def find_status_changes(pairs: list[Pair], rows: list[Row]) -> list[StatusChange]:
    """Return the experiments whose own status differs."""
    told = {r.experiment for r in rows if r.verdict in ("regressed", "small_drop", "improved")}
    return [
        StatusChange(
            experiment=pair.name,
            base=pair.base.status,
            head=pair.head.status,
            reason=pair.head.reason,
            significant=pair.name in told,
        )
        for pair in pairs
        if pair.base and pair.head and pair.base.status != pair.head.status
    ]


def find_warnings(
    base: Report | None,
    head: Report,
    pairs: list[Pair],
    policy: Policy,
    known_findings: Sequence[KnownFinding],
    today: date,
) -> list[Notice]:
    """Return what the reader must know beside the rows."""
    notices = []
    if base is not None and head.policy != policy:
        changed = [k for k, v in head.policy.model_dump().items() if v != policy.model_dump()[k]]
        notices.append(Notice(kind="policy_differs", detail=", ".join(changed)))
    for entry in known_findings:
        if entry.expires < today:
            notices.append(Notice(kind="known_finding_expired", probe=entry.probe, detail=entry.expires.isoformat()))
    for pair in pairs:
        if differing := _own_claims_differ(pair):
            detail = f"{pair.name}: {', '.join(differing)}"
            notices.append(Notice(kind="policy_differs", experiment=pair.name, detail=detail[:4000]))
        for (probe_id, _), b, h in pair.probes():
            if b is None or h is None:
                continue
            if b.min_effect != h.min_effect:
                detail = f"{pair.name}/{probe_id}: min_effect"
                notices.append(
                    Notice(kind="policy_differs", experiment=pair.name, probe=probe_id, detail=detail[:4000])
                )
            if b.threshold != h.threshold:
                detail = f"{b.threshold} → {h.threshold}"
                notices.append(Notice(kind="threshold_differs", experiment=pair.name, probe=probe_id, detail=detail))
            if b.severity != h.severity:
                detail = f"{b.severity} → {h.severity}"
                notices.append(Notice(kind="severity_differs", experiment=pair.name, probe=probe_id, detail=detail))
        if pair.head and (lost := lost_runs(pair.head)):
            notices.append(Notice(kind="infra", experiment=pair.name, detail=str(lost)))
    return list(dict.fromkeys(notices))


def _own_claims_differ(pair: Pair) -> list[str]:
    """Return the keys of the experiment's own policy that head changes."""
    if pair.base is None or pair.head is None:
        return []
    base, head = (((side.policy or ExperimentPolicy()).model_dump()) for side in (pair.base, pair.head))
    return [key for key in base if base[key] != head[key]]


def lost_runs(experiment: ExperimentReport) -> int:
    """Return how many runs said nothing about the agent, if that is more than may be overlooked in some phase."""
    lost = [(sum(r.outcome in UNCOUNTED for r in phase.runs), len(phase.runs)) for phase in experiment.phases]
    return sum(k for k, _ in lost) if any(k > MAX_INFRA * n for k, n in lost) else 0
