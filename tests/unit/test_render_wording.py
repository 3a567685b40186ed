"""The sentences: what a reader is told about each thing in a comparison."""

from typing import Any

import pytest

from gate.comparison import Comparison, CriticalFinding, Missing, Notice, Reason, Row, Screen, StatusChange, Verdict
from gate.policy import Policy
from gate.render import deciding, wording
from gate.render.escape import plain
from tests.golden.comparisons import comparison as comparison_of
from tests.golden.comparisons import counts, reasons, row, undecided


def blocked(**given: tuple[int, bool]) -> Comparison:
    return comparison_of(verdict="fail", blocks=True, exit_code=1, reasons=reasons(**given))


def finding(head: str, base: str | None, p_value: float | None, **fields: Any) -> CriticalFinding:
    default = {"experiment": "e", "probe": "leak", "label": "leak", "phase": "chaos", "threshold": 1.0, "detail": ""}
    sides = {"head": counts(head), "base": counts(base) if base else None, "p_value": p_value}
    return CriticalFinding(**{**default, **sides, **fields})


@pytest.mark.parametrize(
    ("comparison", "said"),
    [
        (comparison_of(), "nothing blocks this merge"),
        (
            comparison_of(reasons=reasons(small_drop=(1, False), not_comparable=(2, False))),
            "nothing blocks this merge; worth a look: 1 small drop, 2 experiments that cannot be compared",
        ),
        (
            blocked(regression=(1, True), new_critical=(2, True), small_drop=(1, False)),
            "this blocks the merge: 1 regression, 2 new critical findings",
        ),
        (blocked(missing=(1, True)), "this blocks the merge: 1 missing experiment or probe"),
        (blocked(inconclusive=(3, True)), "this blocks the merge: 3 undecided probes"),
        (blocked(infra=(1, True)), "this blocks the merge: 1 experiment that lost runs to the provider"),
        (blocked(no_runs=(2, True)), "this blocks the merge: 2 probes or experiments without a valid run"),
        (blocked(), "this blocks the merge"),
        (
            comparison_of(verdict="inconclusive", rows=[undecided("e", "38/40", "37/40", 104)]),
            "does not block this merge: 1 of 1 probe undecided",
        ),
        (
            comparison_of(verdict="inconclusive", rows=[undecided("e", "38/40", "37/40", 9)] * 6),
            "does not block this merge",
        ),
        (comparison_of(verdict="no_base", base=None), "does not block this merge"),
        (
            comparison_of(verdict="no_base", base=None, reasons=reasons(no_base=(1, False), new_critical=(1, False))),
            "does not block this merge; worth a look: 1 critical finding",
        ),
        (
            comparison_of(verdict="fail", base=None, blocks=True, exit_code=3, reasons=reasons(no_base=(1, True))),
            "this blocks the merge: no base to compare with",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_headline__says_whether_the_merge_is_blocked(comparison: Comparison, said: str) -> None:
    assert plain(wording.headline(comparison)) == said


@pytest.mark.parametrize("verdict", ["pass", "fail", "inconclusive", "no_base"])
@pytest.mark.parametrize("blocks", [True, False])
def test_headline__follows_blocks_even_where_the_verdict_says_otherwise(verdict: Verdict, *, blocks: bool) -> None:
    said = plain(wording.headline(comparison_of(verdict=verdict, blocks=blocks)))
    assert ("this blocks the merge" in said) == blocks


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (
            finding("39/40", "40/40", 0.5),
            "e · leak — 1 of 40 runs violated it, base 0 of 40: the pull request may not have introduced it (p = .50), but it happens",  # noqa: E501  # a sentence as a reader sees it
        ),
        (
            finding("29/40", "40/40", 0.0003),
            "e · leak — 11 of 40 runs violated it, base 0 of 40: more than chance explains (p < .001)",
        ),
        (finding("29/40", None, None), "e · leak — 11 of 40 runs violated it, the base has no such probe"),
        (finding("29/40", "0/0", None), "e · leak — 11 of 40 runs violated it, the base has no valid run of it"),
        (
            finding("29/40", "40/40", None),
            "e · leak — 11 of 40 runs violated it, base 0 of 40 under another definition",
        ),
        (
            finding("29/40", None, None, threshold=0.95, phase="baseline"),
            "e · leak (baseline) — 11 of 40 runs violated it (passes must reach 95 %), the base has no such probe",
        ),
        (finding("0/1", None, None), "e · leak — 1 of 1 run violated it, the base has no such probe"),
    ],
    ids=["chance", "beyond chance", "no probe", "no runs", "not comparable", "threshold", "one run"],
)
def test_new_critical__says_what_a_sighting_can_tell(case: CriticalFinding, said: str) -> None:
    assert plain(wording.new_critical(case, 0.05, has_base=True)) == said


def test_new_critical__without_a_base() -> None:
    said = plain(wording.new_critical(finding("29/40", None, None), 0.05, has_base=False))
    assert said == "e · leak — 11 of 40 runs violated it"


POWER_WARNING = "37/40 (92 %), base 38/40 (95 %). {}; about 104 fresh runs a side would settle it"


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        ({}, "39 or more would pass, 31 or fewer would fail; power .43 for a drop of 10 points"),
        ({"pass_at": 40}, "40 would pass, 31 or fewer would fail; power .43 for a drop of 10 points"),
        ({"fail_at": 0}, "39 or more would pass, 0 would fail; power .43 for a drop of 10 points"),
        (
            {"pass_at": None, "fail_at": None, "power": None},
            "no count would pass, none would fail; power unknown for a drop of 10 points",
        ),
        (
            {"fail_at": 37},
            "39 or more would pass, 37 or fewer would fail if this probe stood alone; power .43 for a drop of 10 points",  # noqa: E501  # a sentence as a reader sees it
        ),
    ],
    ids=["usual", "only all", "only none", "impossible", "lost to the correction"],
)
def test_undecided__power_warning(figures: dict[str, Any], said: str) -> None:
    warned = undecided("e", "38/40", "37/40", 104).model_copy(update=figures)
    assert plain(wording.undecided(warned)) == 'e · output_matches("^Summary:") — ' + POWER_WARNING.format(said)


def test_undecided__unknown_runs_are_said() -> None:
    assert plain(wording.undecided(undecided("e", "38/40", "37/40", None))).endswith(
        "; how many runs would settle it is unknown"
    )


def test_undecided__good_counts_of_an_experiment_that_could_not_be_judged() -> None:
    said = plain(wording.undecided(undecided("e", "40/40", "40/40", 1)))
    assert said.endswith("40/40 (100 %). The counts would do, but the experiment itself came out inconclusive")


@pytest.mark.parametrize(
    ("base", "head", "said"),
    [
        ("40/40", "0/0", "no valid run in head, so nothing can be said"),
        ("0/0", "40/40", "no valid run in base, so nothing can be said"),
        ("0/0", "0/0", "no valid run in base and head, so nothing can be said"),
    ],
)
def test_undecided__without_runs(base: str, head: str, said: str) -> None:
    assert plain(wording.undecided(row("e", "p", "inconclusive", base, head))) == f"e · p — {said}"


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        ([104, 67], "; about 67 to 104 fresh runs a side would settle them."),
        ([67, 67], "; about 67 fresh runs a side would settle them."),
        ([67, None], "; about 67 fresh runs a side would settle them, for 1 of them the number is not known."),
        ([None, None], "a drop of 10 points can neither be shown nor ruled out."),
    ],
)
def test_undecided_summary__one_line(needed: list[int | None], said: str) -> None:
    text = plain(wording.undecided_summary([undecided("e", "38/40", "37/40", n) for n in needed], 40))
    assert text.startswith("2 of 40 probes are undecided: a drop of 10 points can neither be shown nor ruled out")
    assert text.endswith(said)


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        (["exact_test"], "Decided by a single one-sided exact test at alpha .05."),
        (["exact_test"] * 2, "Decided by a single one-sided exact test at alpha .05 for each of 2 probes."),
        (
            ["step_down"] * 3,
            "Decided by one-sided exact tests, 3 probes corrected together (step-down) to alpha .05.",
        ),
        (
            ["confirmation"],
            "Decided by running base and head again for 1 probe, exact tests on the fresh counts, Holm, to alpha .05.",
        ),
        (
            ["confirmation", "step_down"],
            (
                "Decided by running base and head again for 1 probe, exact tests on the fresh counts, Holm, to alpha "
                ".05; 1 probe by the first look."
            ),
        ),
    ],
    ids=["one", "each", "family", "run again", "run again in part"],
)
def test_decided_by__names_the_method_and_the_promise(methods: list[str], said: str) -> None:
    rows = [row("e", "p", "pass", "40/40", "40/40", decided_by=method) for method in methods]
    promise = "A PASS misses a drop of 10 points at most 20 % of the time."
    assert plain(deciding.decided_by(comparison_of(rows=rows))) == f"{said} {promise}"


def test_confirmed__says_how_many() -> None:
    screen = Screen(base=counts("40/40"), head=counts("30/40"), p_value=0.001)
    again = row("e", "p", "regressed", "78/80", "12/80", screen=screen)
    once = row("e", "q", "regressed", "40/40", "1/40")

    def said(*rows: Row) -> str | None:
        found = deciding.confirmed(list(rows))
        return None if found is None else plain(found)

    assert said(once) is None
    assert said(again) == "confirmed by running base and head again"
    assert said(again, once) == "1 of 2 confirmed by running base and head again"


def test_not_reproduced__shows_both_looks() -> None:
    screen = Screen(base=counts("40/40"), head=counts("30/40"), p_value=0.001)
    found = row("e", "p", "not_reproduced", "78/80", "77/80", screen=screen)
    said = "e · p — first 30/40 (75 %), base 40/40 (100 %); run again 77/80 (96 %), base 78/80 (97 %)"
    assert plain(deciding.not_reproduced(found)) == said


def test_not_confirmed__says_why_and_what_decided() -> None:
    entry = Notice(kind="not_confirmed", experiment="e", detail="the budget was used up")
    said = "e: base and head could not be run again to confirm (the budget was used up); the first look decided."
    assert plain(wording.notice(entry)) == said


def test_decided_by__nothing_tested() -> None:
    assert plain(deciding.decided_by(comparison_of())) == "No probe could be tested against a base."
    assert plain(deciding.decided_by(comparison_of(base=None))) == "Nothing was compared."


@pytest.mark.parametrize(
    ("days", "commits", "said"),
    [
        (2, 3, "2 days old, 3 commits behind"),
        (1, 1, "1 day old, 1 commit behind"),
        (0, 0, "0 days old, 0 commits behind"),
        (None, 3, "3 commits behind"),
        (None, None, "age unknown"),
    ],
)
def test_age__of_the_base(days: int | None, commits: int | None, said: str) -> None:
    base = comparison_of().head.model_copy(update={"age_days": days, "age_commits": commits})
    assert plain(wording.age(base)) == said


@pytest.mark.parametrize(
    ("probe", "label", "shown"),
    [
        ("output_matches", 'output_matches("^a")', 'output_matches("^a")'),
        ("canary_not_leaked", "canary_not_leaked", "canary_not_leaked"),
        ("canary_not_leaked#2", "canary_not_leaked", "canary_not_leaked#2"),
        ("p", " ", "p"),
    ],
)
def test_probe_name__is_the_label_unless_several_share_it(probe: str, label: str, shown: str) -> None:
    assert plain(wording.probe_name(probe, label)) == shown


@pytest.mark.parametrize(
    ("notice", "said"),
    [
        (
            Notice(kind="policy_differs", detail="alpha"),
            "The policy differs from the base's (alpha). The base's was applied; the new one takes effect after the merge.",  # noqa: E501  # a sentence as a reader sees it
        ),
        (
            Notice(kind="threshold_differs", experiment="e", probe="p", detail="1.0 → 0.9"),
            "e · p: the threshold was changed (1.0 → 0.9); for critical findings the stricter one counts.",
        ),
        (
            Notice(kind="severity_differs", experiment="e", probe="p", detail="critical → low"),
            "e · p: the severity was changed (critical → low); the graver one counts.",
        ),
        (
            Notice(kind="known_finding_expired", probe="e/p", detail="2026-01-31"),
            "e/p: listed as a known finding, but that has expired (2026-01-31).",
        ),
        (
            Notice(kind="known_finding_too_long", probe="e/p", detail="2027-12-31"),
            "e/p: not accepted as a known finding, which can be for 366 days at most (2027-12-31).",
        ),
        (
            Notice(kind="excuse_added", probe="e/p", detail="known_findings"),
            "e/p: excused by this change, not in the base (known_findings).",
        ),
        (
            Notice(kind="settings_differ", experiment="e", detail="seed 7 → 8"),
            "e: run in another way than the base (seed 7 → 8).",
        ),
        (
            Notice(kind="base_is_ancestor"),
            "Nothing is stored for the base commit itself; its nearest stored ancestor stands in.",
        ),
        (
            Notice(kind="base_is_latest", detail="main"),
            "Nothing is stored for the base commit or its ancestors (main); the latest report of the branch stands in.",
        ),
        (
            Notice(kind="never_tested", experiment="e", probe="p"),
            "e · p: never put to the test, no run had anything to hold against.",
        ),
        (
            Notice(kind="infra", experiment="e", detail="1200"),
            "e: 1,200 runs were lost to the provider and are left out of the counts.",
        ),
        (
            Notice(kind="infra"),
            "the suite: runs were lost to the provider and are left out of the counts.",
        ),
        (Notice(kind="other", detail="stale store"), "stale store"),
        (Notice(kind="other", experiment="e", detail="stale store"), "e: stale store"),
    ],
    ids=lambda value: value.kind if isinstance(value, Notice) else "",
)
def test_notice__one_sentence_a_kind(notice: Notice, said: str) -> None:
    assert plain(wording.notice(notice)) == said


@pytest.mark.parametrize(
    ("significant", "said"),
    [(True, "e: held → weakness, beyond chance; why"), (False, "e: held → weakness, chance alone could do this; why")],
)
def test_status_change__says_whether_chance_could_do_it(significant: bool, said: str) -> None:
    change = StatusChange(experiment="e", base="held", head="weakness", reason="why", significant=significant)
    assert plain(wording.status_change(change)) == said.replace("e:", "e —", 1)


def test_consequence__names_the_line_of_the_policy() -> None:
    def said(*found: Reason) -> str | None:
        sentence = wording.consequence(list(found), "new_critical")
        return None if sentence is None else plain(sentence)

    critical = Reason(kind="new_critical", blocks=False, count=1)
    assert said() is None
    assert said(critical.model_copy(update={"blocks": True})) == "blocks the merge"
    assert said(critical) == "does not block (on_new_critical: warn)"
    assert said(critical, Reason(kind="no_base", blocks=False, count=1)) == "does not block (on_no_base: warn)"


def test_consequence__names_only_lines_that_the_policy_has() -> None:
    for kind in wording.REASON:
        if kind != "no_runs":  # always blocks
            found = wording.consequence([Reason(kind=kind, blocks=False, count=1)], kind)
            assert found is not None
            assert plain(found).removeprefix("does not block (").removesuffix(": warn)") in Policy.model_fields


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (Missing(experiment="e"), "e"),
        (Missing(experiment="e", probe="p", phase="chaos"), "e · p"),
        (Missing(experiment="e", probe="p", phase="baseline"), "e · p (baseline)"),
    ],
)
def test_missing__experiment_or_probe(gone: Missing, said: str) -> None:
    assert plain(wording.missing(gone)) == said
