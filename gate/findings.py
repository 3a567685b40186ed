"""What two reports show as a matter of fact: what is gone, what is violated, whose status changed. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from gate import stats
from gate.comparison import Counts, CriticalFinding, Missing, Notice, Row, StatusChange
from gate.counting import UNCOUNTED
from gate.judge import MAX_INFRA, below_threshold, violated
from gate.policy import LONGEST_ACCEPTED, ExperimentPolicy, KnownFinding, Policy, Removed, Severity
from gate.report import ExperimentReport, FaultReport, Phase, ProbeReport, Report, at_each_look

SILENCED_LEVEL = 0.001
"""Below this chance, a fault that acts in fewer runs of head than of base is no luck."""

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
    """Return what the base measured and head does not: experiments, probes, and experiments gone silent.

    `removed` excuses what is really gone: an experiment by its name, a probe by `experiment/probe`.
    """
    allowed = {r.name: r.reason for r in removed}
    found: list[Missing] = []
    for pair in pairs:
        if pair.base is None:
            continue
        if pair.head is None:
            found.append(Missing(experiment=pair.name, allowed=allowed.get(pair.name, "")))
        elif _silenced(pair.base, pair.head):
            found.append(Missing(experiment=pair.name))
        else:
            found += [
                Missing(experiment=pair.name, probe=probe, phase=phase, allowed=allowed.get(f"{pair.name}/{probe}", ""))
                for (probe, phase), base, head in pair.probes()
                if base is not None and head is None
            ]
    return found


def chaos_runs(experiment: ExperimentReport) -> int:
    """Return how many chaos runs were counted."""
    return max((p.runs for p in experiment.probes if p.phase == "chaos"), default=0)


def _fewer_fired(base: ExperimentReport, head: ExperimentReport) -> list[tuple[FaultReport, FaultReport]]:
    """Return the faults that acted in fewer runs of head than of base, beyond what luck explains."""
    runs = chaos_runs(base), chaos_runs(head)
    if base.fingerprint != head.fingerprint or not all(runs):
        return []
    return [
        (b, h)
        for b, h in zip(base.faults, head.faults, strict=False)
        if b.runs_fired > 0
        and stats.exact_test(min(b.runs_fired, runs[0]), runs[0], min(h.runs_fired, runs[1]), runs[1]) <= SILENCED_LEVEL
    ]


def _silenced(base: ExperimentReport, head: ExperimentReport) -> bool:
    """Return whether a fault that acted in base acted in no run of head."""
    return any(not h.runs_fired for _, h in _fewer_fired(base, head))


def measured(experiment: ExperimentReport) -> bool:
    """Return whether chaos counts mean anything: faults acted, the baseline held, runs were not lost.

    An experiment that is inconclusive only for want of runs (`require_confidence`) is measured.
    """
    if experiment.status != "inconclusive":
        return True
    return (
        any(f.fired for f in experiment.faults)
        and not lost_runs(experiment)
        and not any(p.phase == "baseline" and below_threshold(p) for p in experiment.probes)
        and not any(p.phase == "chaos" and p.severity == "critical" and p.vacuous == p.runs for p in experiment.probes)
    )


def find_critical(pairs: list[Pair], known_findings: Sequence[KnownFinding], today: date) -> list[CriticalFinding]:
    """Return every violated critical probe of head. A pull request can make neither severity nor threshold milder."""
    accepted = {k.probe: k for k in known_findings if today <= k.expires <= today + LONGEST_ACCEPTED}
    found: list[CriticalFinding] = []
    for pair in pairs:
        if pair.head is None:
            continue
        confidence = (pair.base or pair.head).confidence
        for (probe_id, phase), base, head in pair.probes():
            if head is None or stricter_severity(base, head) != "critical":
                continue
            threshold = max(head.threshold, base.threshold if base else 0.0)
            if not violated(head, threshold, at_each_look(confidence, pair.head.looks(phase))):
                continue
            known = ""
            # Base is held to its own threshold: raising it in head would else turn a new finding into an old one.
            if base is not None and pair.comparable and violated(base, base.threshold, confidence):
                known = "also violated in base"
            elif entry := accepted.get(f"{pair.name}/{probe_id}"):
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
    return stats.exact_test(base.passes, base.runs, head.passes, head.runs, test="fisher")


def stricter_severity(base: ProbeReport | None, head: ProbeReport | None) -> Severity:
    """Return the graver of two severities: a pull request cannot make a probe milder."""
    order: tuple[Severity, ...] = ("critical", "high", "medium", "low")
    return min((p.severity for p in (base, head) if p is not None), key=order.index)


def find_status_changes(pairs: list[Pair], rows: list[Row]) -> list[StatusChange]:
    """Return the experiments whose own status differs."""
    told = {
        "weakness": {r.experiment for r in rows if r.verdict in ("regressed", "small_drop")},
        "held": {r.experiment for r in rows if r.verdict == "improved"},
        "inconclusive": set[str](),
    }
    return [
        StatusChange(
            experiment=pair.name,
            base=pair.base.status,
            head=pair.head.status,
            reason=pair.head.reason,
            significant=pair.name in told[pair.head.status],
        )
        for pair in pairs
        if pair.base and pair.head and pair.base.status != pair.head.status
    ]


def find_warnings(
    base: Report | None,
    head: Report,
    pairs: list[Pair],
    policy: Policy,
    removed: Sequence[Removed],
    known_findings: Sequence[KnownFinding],
    today: date,
) -> list[Notice]:
    """Return what the reader must know beside the rows."""
    notices = _limits(base, head)
    if base is not None and head.policy != policy:
        changed = [k for k, v in head.policy.model_dump().items() if v != policy.model_dump()[k]]
        notices.append(Notice(kind="policy_differs", detail=", ".join(changed)))
    for entry in known_findings:
        if entry.expires < today:
            notices.append(Notice(kind="known_finding_expired", probe=entry.probe, detail=entry.expires.isoformat()))
        if entry.expires > today + LONGEST_ACCEPTED:
            notices.append(Notice(kind="known_finding_too_long", probe=entry.probe, detail=entry.expires.isoformat()))
    if base is not None:
        notices += [*_excuses_added(base, removed, known_findings), *_settings_differ(pairs)]
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
        if pair.base and pair.head:
            notices += [
                Notice(
                    kind="never_tested",
                    experiment=pair.name,
                    detail=f"{h.type} on {h.target}: acted in {h.runs_fired} runs, base {b.runs_fired}",
                )
                for b, h in _fewer_fired(pair.base, pair.head)
            ]
        if pair.head and (lost := lost_runs(pair.head)):
            notices.append(Notice(kind="infra", experiment=pair.name, detail=str(lost)))
    return list(dict.fromkeys(notices))


def _limits(base: Report | None, head: Report) -> list[Notice]:
    """Return what the formats of the reports cannot say: once for both, then what holds of one side only."""
    of_base = base.limits if base else head.limits
    sides = (
        ("", [text for text in head.limits if text in of_base]),
        ("base ", [text for text in of_base if text not in head.limits]),
        ("head ", [text for text in head.limits if text not in of_base]),
    )
    return [
        Notice(kind="other", detail=f"{side}{head.tool.name}: {text}"[:4000]) for side, said in sides for text in said
    ]


def _excuses_added(
    base: Report, removed: Sequence[Removed], known_findings: Sequence[KnownFinding]
) -> Iterator[Notice]:
    """Yield what is excused here and was not, or otherwise, when the base was made; nothing where that is not known."""
    for entry in removed:
        if base.removed is not None and entry not in base.removed:
            yield Notice(kind="excuse_added", experiment=entry.name, detail="removed")
    for known in known_findings:
        if base.known_findings is not None and known not in base.known_findings:
            yield Notice(kind="excuse_added", probe=known.probe, detail="known_findings")


def _settings_differ(pairs: list[Pair]) -> Iterator[Notice]:
    """Yield in which settings, other than those that make up a fingerprint, head was run; each change once."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        if pair.base and pair.head:
            before, after = _settings(pair.base), _settings(pair.head)
            changed = [f"{k} {before[k]} → {v}" for k, v in after.items() if before.get(k, v) != v]
            if changed:
                found.setdefault(", ".join(changed), []).append(pair.name)
    for detail, names in found.items():
        more = f"; the same in {len(names) - 1} more" if len(names) > 1 else ""
        yield Notice(kind="settings_differ", experiment=names[0], detail=detail[:3_900] + more)


def _settings(experiment: ExperimentReport) -> dict[str, object]:
    """Return the settings of an experiment by name, as far as they are known."""
    runs = {f"{phase.phase} runs": phase.planned_runs for phase in experiment.phases}
    target = {"target": experiment.target} if experiment.target else {}
    return {**target, "seed": experiment.seed, **runs, "confidence": experiment.confidence}


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
