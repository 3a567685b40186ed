"""What is said of each thing in a comparison: one function a sentence, the same words in every output."""

import re
from datetime import date

from gate.comparison import (
    Comparison,
    CriticalFinding,
    Missing,
    Notice,
    Reason,
    ReasonKind,
    Row,
    Side,
    StatusChange,
    Verdict,
)
from gate.policy import LONGEST_ACCEPTED, KnownFinding, Removed
from gate.render import number
from gate.render.escape import Own, Part, Sentence, join, say
from gate.report import Phase

CRITICAL = ("{} critical finding", "{} critical findings")

FEW_UNDECIDED = 5
"""No more inconclusive rows than this get a line each; of more, one line tells, and the lines are folded."""

_SHA = re.compile(r"[0-9a-f]{7,64}")

ICON: dict[Verdict, Own] = {
    "pass": Own("✅"),
    "fail": Own("❌"),
    "inconclusive": Own("⚠️"),
    "no_base": Own("ℹ️"),
}
WORD: dict[Verdict, Own] = {
    "pass": Own("PASS"),
    "fail": Own("FAIL"),
    "inconclusive": Own("INCONCLUSIVE"),
    "no_base": Own("NO BASE"),
}
REASON: dict[ReasonKind, tuple[str, str]] = {
    "regression": ("{} regression", "{} regressions"),
    "new_critical": ("{} new critical finding", "{} new critical findings"),
    "missing": ("{} missing experiment or probe", "{} missing experiments or probes"),
    "small_drop": ("{} small drop", "{} small drops"),
    "not_comparable": ("{} experiment that cannot be compared", "{} experiments that cannot be compared"),
    "not_reproduced": ("{} drop that was not seen again", "{} drops that were not seen again"),
    "inconclusive": ("{} undecided probe", "{} undecided probes"),
    "no_base": ("no base to compare with", "no base to compare with"),
    "infra": ("{} experiment that lost runs to the provider", "{} experiments that lost runs to the provider"),
    "no_runs": ("{} probe or experiment without a valid run", "{} probes or experiments without a valid run"),
}


# --- the whole ------------------------------------------------------------------------------------------------------


def headline(comparison: Comparison) -> Sentence:
    """Return in words whether the merge is blocked, by what, and what else deserves a look."""
    has_base = comparison.base is not None
    blocking = [r for r in comparison.reasons if r.blocks]
    undecided = sum(r.verdict == "inconclusive" for r in comparison.rows)
    if comparison.blocks:
        text = say("this blocks the merge")
        return say("{}: {}", text, listed(blocking, has_base=has_base)) if blocking else text
    if comparison.verdict == "pass":
        text = say("nothing blocks this merge")
    elif comparison.verdict == "inconclusive" and 0 < undecided <= FEW_UNDECIDED:
        text = say("does not block this merge: {} undecided", part_of(undecided, len(comparison.rows)))
    else:
        text = say("does not block this merge")
    others = [r for r in comparison.reasons if not r.blocks and r.kind not in ("inconclusive", "no_base")]
    return say("{}; worth a look: {}", text, listed(others, has_base=has_base)) if others else text


def part_of(count: int, total: int) -> Own:
    """Return `3 of 40 probes`."""
    return Own(f"{count:,} of {number.many(total, 'probe')}")


def reason(why: Reason, *, has_base: bool) -> Own:
    """Return `2 regressions`; without a base no critical finding can be called new."""
    one, more = REASON[why.kind] if has_base or why.kind != "new_critical" else CRITICAL
    return Own((one if why.count == 1 else more).format(f"{why.count:,}"))


def listed(reasons: list[Reason], *, has_base: bool) -> Sentence:
    """Return `1 regression, 2 small drops`."""
    return join((reason(why, has_base=has_base) for why in reasons), ", ")


def consequence(reasons: list[Reason], kind: ReasonKind) -> Sentence | None:
    """Return whether things of a kind block the merge, and by which line of the policy if they do not."""
    found = [r for r in reasons if r.kind == kind]
    if not found:
        return None
    if found[0].blocks:
        return say("blocks the merge")
    by = "inconclusive" if kind == "not_reproduced" else kind
    if kind == "new_critical" and any(r.kind == "no_base" for r in reasons):
        by = "no_base"
    return say("does not block ({})", f"on_{by}: warn")


def no_base() -> Sentence:
    """Return how a base comes to be."""
    return say(
        "No base yet: the first push to the default branch records one, and pull requests are compared with it "
        "from then on."
    )


def undecided_summary(rows: list[Row], total: int) -> Sentence:
    """Return the one line that stands for many inconclusive rows."""
    effects = sorted({r.min_effect for r in rows})
    effect = number.points(effects[0]) if len(effects) == 1 else say("{} or more", number.points(effects[0]))
    needed = sorted(r.runs_needed for r in rows if r.runs_needed is not None)
    text = say("{} are undecided: a drop of {} can neither be shown nor ruled out", part_of(len(rows), total), effect)
    if not needed:
        return say("{}.", text)
    span = say("{}", needed[0]) if needed[0] == needed[-1] else say("{} to {}", needed[0], needed[-1])
    open_ones = len(rows) - len(needed)
    rest = say(", for {} of them the number is not known", open_ones) if open_ones else say("")
    return say("{}; about {} fresh runs a side would settle them{}.", text, span, rest)


def age(base: Side) -> Sentence:
    """Return how far the base lies behind, or that this is not known."""
    parts: list[Part] = []
    if base.age_days is not None:
        parts.append(say("{} old", number.many(base.age_days, "day")))
    if base.age_commits is not None:
        parts.append(say("{} behind", number.many(base.age_commits, "commit")))
    return join(parts, ", ") if parts else say("age unknown")


def short_commit(sha: str) -> str | None:
    """Return the first digits of a commit, None for anything else."""
    return sha[:7] if _SHA.fullmatch(sha) else None


def spend(head: Side) -> Sentence:
    """Return what head's runs took."""
    return say("{}, {}, {}", number.many(head.runs, "run"), number.many(head.tokens, "token"), number.money(head.usd))


# --- rows -----------------------------------------------------------------------------------------------------------


def probe_name(probe: str, label: str, phase: Phase | None = None) -> Part:
    """Return what a probe is called: its label, or its id where several share the label; chaos goes without saying."""
    shown = label if label.strip() and not probe.startswith(label) else probe
    return say("{} (baseline)", shown) if phase == "baseline" else shown


def name(row: Row | CriticalFinding) -> Sentence:
    """Return `experiment · probe`."""
    return say("{} · {}", row.experiment, probe_name(row.probe, row.label, row.phase))


def undecided(row: Row) -> Sentence:
    """Return the power warning of an inconclusive row."""
    head = row.head
    if not row.base or not row.base.runs or not head or not head.runs:
        gone = "base" if head and head.runs else "head" if row.base and row.base.runs else "base and head"
        return say("{} — no valid run in {}, so nothing can be said", name(row), Own(gone))
    facts = say("{} — {}, base {}", name(row), of_head(row), number.counts(row.base))
    if row.decided_by == "sequential":
        return say("{}. The sequential test of its threshold did not pass; its counts are not compared", facts)
    if row.pass_at is not None and head.passes >= row.pass_at:
        return say("{}. The counts would do, but the experiment itself came out inconclusive", facts)
    bounds = say(
        "{}, {}",
        say("no count would pass")
        if row.pass_at is None
        else say("{} would pass", at_least(row.pass_at, head.runs + row.spared)),
        say("none would fail") if row.fail_at is None else say("{} would fail", at_most(row.fail_at)),
    )
    if row.fail_at is not None and head.passes + row.spared <= row.fail_at:
        bounds = say("{} if this probe stood alone", bounds)
    power = say("power unknown") if row.power is None else say("power {}", number.power(row.power))
    needed = (
        say("how many runs would settle it is unknown")
        if row.runs_needed is None
        else say("about {} would settle it", number.many(row.runs_needed, "fresh run a side", "fresh runs a side"))
    )
    return say("{}. {}; {} for a drop of {}; {}", facts, bounds, power, number.points(row.min_effect), needed)


def at_least(count: int, runs: int) -> Own:
    """Return `39 or 40`, `38 or more`, or `40` when that is all of them."""
    return Own(f"{count:,}" if count >= runs else f"{count:,} or more")


def at_most(count: int) -> Own:
    """Return `35 or fewer`, or `0`."""
    return Own(f"{count:,} or fewer" if count else "0")


def of_head(row: Row) -> Part:
    """Return head's counts, those of the first look too where more runs were added."""
    counts = number.counts(row.head)
    return say("{}, first look {}", counts, number.counts(row.first_look)) if row.first_look else counts


def improved(row: Row) -> Sentence:
    """Return the counts of a probe that got better."""
    return say("{} — {} → {}", name(row), number.counts(row.base), of_head(row))


def first_seen(row: Row) -> Sentence:
    """Return the counts of a probe for which the base has none."""
    return say("{} — {}", name(row), number.counts(row.head))


def not_comparable(row: Row) -> Sentence:
    """Return the counts of a probe whose experiment is defined differently on both sides."""
    return say("{} — {}, base {} under another definition", name(row), number.counts(row.head), number.counts(row.base))


# --- findings and the rest ------------------------------------------------------------------------------------------


def violated(finding: CriticalFinding) -> Sentence:
    """Return how many runs violated a critical probe."""
    often = say("{} violated it", number.of(finding.head))
    if finding.threshold >= 1:
        return often
    return say("{} (passes must reach {})", often, number.share(finding.threshold))


def new_critical(finding: CriticalFinding, alpha: float, *, has_base: bool) -> Sentence:
    """Return the sighting, with what it can and cannot tell about the pull request that made it."""
    facts = say("{} — {}", name(finding), violated(finding))
    base = finding.base
    if not has_base:
        return facts
    if base is None:
        return say("{}, the base has no such probe", facts)
    if not base.runs:
        return say("{}, the base has no valid run of it", facts)
    facts = say("{}, base {} of {}", facts, base.runs - base.passes, base.runs)
    if finding.p_value is None:
        return say("{} under another definition", facts)
    if finding.p_value <= alpha:
        return say("{}: more than chance explains (p {})", facts, number.p_value(finding.p_value))
    doubt = say("the pull request may not have introduced it (p {})", number.p_value(finding.p_value))
    return say("{}: {}, but it happens", facts, doubt)


def known_critical(finding: CriticalFinding) -> Sentence:
    """Return a violation that does not block, with the reason."""
    return say("{} — {}; {}", name(finding), violated(finding), finding.known)


def known_finding(entry: KnownFinding) -> Sentence:
    """Return what chaos-gate.yaml accepts although it was not seen."""
    return say("{} — would be accepted until {}, not seen this time; {}", entry.probe, day(entry.expires), entry.reason)


def removed(entry: Removed) -> Sentence:
    """Return what was taken away on purpose."""
    return say("{} — removed on purpose; {}", entry.name, entry.reason)


def allowed(gone: Missing) -> Sentence:
    """Return what is missing with a reason that is not in the list of removed experiments."""
    return say("{} — removed on purpose; {}", missing(gone), gone.allowed)


def missing(gone: Missing) -> Sentence:
    """Return what the base has and head lacks."""
    if gone.probe is None:
        return say("{}", gone.experiment)
    return say("{} · {}", gone.experiment, probe_name(gone.probe, "", gone.phase))


def status_change(change: StatusChange) -> Sentence:
    """Return an experiment's own change of status, and whether chance could have done it."""
    chance = say("beyond chance") if change.significant else say("chance alone could do this")
    text = say("{} — {} → {}, {}", change.experiment, Own(change.base), Own(change.head), chance)
    return say("{}; {}", text, change.reason) if change.reason.strip() else text


def notice(entry: Notice) -> Sentence:
    """Return what the reader must know beside the rows."""
    where = join([p for p in (entry.experiment, entry.probe) if p.strip()] or [Own("the suite")], " · ")
    detail = entry.detail.strip()
    after = say(" ({})", detail) if detail else say("")
    match entry.kind:
        case "policy_differs":
            return say(
                "The policy differs from the base's{}. The base's was applied; the new one takes effect after "
                "the merge.",
                after,
            )
        case "threshold_differs":
            return say("{}: the threshold was changed{}; for critical findings the stricter one counts.", where, after)
        case "severity_differs":
            return say("{}: the severity was changed{}; the graver one counts.", where, after)
        case "known_finding_expired":
            return say("{}: listed as a known finding, but that has expired{}.", where, after)
        case "known_finding_too_long":
            days = LONGEST_ACCEPTED.days
            return say("{}: not accepted as a known finding, which can be for {} days at most{}.", where, days, after)
        case "excuse_added":
            return say("{}: excused by this change, not in the base{}.", where, after)
        case "settings_differ":
            return say("{}: run in another way than the base{}.", where, after)
        case "base_is_ancestor":
            return say("Nothing is stored for the base commit itself{}; its nearest stored ancestor stands in.", after)
        case "base_is_latest":
            return say(
                "Nothing is stored for the base commit or its ancestors{}; the latest report of the branch stands in.",
                after,
            )
        case "never_tested":
            return say("{}: never put to the test, no run had anything to hold against{}.", where, after)
        case "same_code":
            return say("The code is the base's own: the provider changed, or a service or machine that the agent uses.")
        case "not_confirmed":
            return say("{}: base and head could not be run again to confirm{}; the first look decided.", where, after)
        case "infra":
            lost = Own(f"{int(detail):,} runs") if detail.isascii() and detail.isdecimal() and len(detail) < 9 else None
            return say(
                "{}: {} were lost to the provider and are left out of the counts.", where, lost or say("runs{}", after)
            )
    texts: list[Part] = [where] if entry.experiment.strip() or entry.probe.strip() else []
    return join([*texts, entry.detail], ": ") if detail or not texts else say("{}", where)


def day(value: date) -> Own:
    """Return `2026-01-31`."""
    return Own(value.isoformat())
