"""Screen and confirm: what is due, what the fresh counts decide, and what happens where there are none.

Counts are of the specification: of 40 runs against 40 of 40, 37 fail alone (p = .046) and 38 do not (p = .10).
"""

from collections.abc import Mapping
from datetime import date

import pytest

from gate.compare import compare
from gate.comparison import Comparison, Row
from gate.confirm import Rerun, plan_reruns
from gate.confirmation import Confirmation, read_confirmation
from gate.errors import InvalidFileError
from gate.policy import Policy
from gate.report import PhaseReport, Report, RunSummary
from gate.trace import Outcome
from tests.builders import POLICY, experiment, probe, report

RUNS = 20
OK: tuple[Outcome, ...] = ("ok",)
OFF = POLICY.model_copy(update={"confirm": "off"})


def suite(counts: Mapping[str, int], runs: int = RUNS, *, fingerprint: str = "f", fired: int = 1) -> Report:
    """Return a report of experiments by their passes, all with the same number of runs."""
    outcomes = OK * runs
    made = (
        experiment(name, probe(passes, runs), fingerprint=fingerprint, outcomes=outcomes, fired=fired)
        for name, passes in counts.items()
    )
    return report(*made)


def confirmed(base: Mapping[str, int], head: Mapping[str, int], runs: int = 2 * RUNS) -> Confirmation:
    """Return a confirmation with these passes, of twice the runs unless said otherwise."""
    return Confirmation(base=suite(base, runs), head=suite(head, runs))


def decide(
    base: Report, head: Report, confirmation: Confirmation | None, policy: Policy = POLICY
) -> tuple[Comparison, dict[str, Row]]:
    made = compare(base, head, policy=policy, today=date(2026, 1, 2), confirmation=confirmation)
    return made, {row.experiment: row for row in made.rows}


def test_due__is_what_looks_worse_alone_and_what_was_edited() -> None:
    base = suite({"drops": 20, "steady": 20, "edited": 20, "gone": 20})
    edited = experiment("edited", probe(20, 20), fingerprint="g", outcomes=OK * RUNS)
    head = suite({"drops": 14, "steady": 20, "new": 3})
    head = head.model_copy(update={"experiments": [*head.experiments, edited]})
    assert [rerun.experiment for rerun in plan_reruns(base, head, POLICY)] == ["drops", "edited"]
    assert plan_reruns(base, head, OFF) == []
    assert plan_reruns(base, base, POLICY) == []


def test_reruns__have_twice_the_runs_and_seeds_that_no_run_had() -> None:
    # Both reports have run seeds 0 to 19; only the phase that looks worse is needed.
    assert plan_reruns(suite({"e": 20}), suite({"e": 10}), POLICY) == [Rerun("e", 40, 20, baseline=False)]


def test_reruns__of_a_base_with_more_runs_start_behind_its_seeds() -> None:
    assert plan_reruns(suite({"e": 100}, 100), suite({"e": 10}), POLICY) == [Rerun("e", 40, 100, baseline=False)]


def test_reruns__of_an_unseeded_experiment_are_unseeded() -> None:
    base, head = suite({"e": 20}), suite({"e": 10})
    unseeded = head.experiments[0].model_copy(update={"seed": None})
    assert plan_reruns(base, head.model_copy(update={"experiments": [unseeded]}), POLICY)[0].seed is None


def test_reruns__take_the_baseline_in_where_it_looks_worse() -> None:
    def side(passes: int) -> Report:
        probes = probe(passes, RUNS, phase="baseline"), probe(RUNS, RUNS)
        return report(experiment("e", *probes, outcomes=OK * RUNS))

    assert [rerun.baseline for rerun in plan_reruns(side(20), side(10), POLICY)] == [True]


def test_drop__that_is_seen_again_is_regressed_and_blocks() -> None:
    made, rows = decide(suite({"e": 20}), suite({"e": 10}), confirmed({"e": 39}, {"e": 6}))
    assert (rows["e"].verdict, rows["e"].decided_by) == ("regressed", "confirmation")
    assert (made.verdict, made.blocks, made.exit_code) == ("fail", True, 1)


def test_drop__that_is_not_seen_again_does_not_block_and_is_no_pass_either() -> None:
    made, rows = decide(suite({"e": 20}), suite({"e": 10}), confirmed({"e": 40}, {"e": 40}))
    assert (rows["e"].verdict, rows["e"].decided_by) == ("not_reproduced", "confirmation")
    assert (made.verdict, made.blocks, made.exit_code) == ("inconclusive", False, 0)


def test_drop__not_seen_again_blocks_where_the_policy_wants_proof() -> None:
    strict = POLICY.model_copy(update={"on_inconclusive": "fail"})
    made, _ = decide(suite({"e": 20}), suite({"e": 10}), confirmed({"e": 40}, {"e": 40}), strict)
    assert (made.blocks, made.exit_code) == (True, 3)


def test_counts__of_both_looks_stay_apart() -> None:
    _, rows = decide(suite({"e": 20}), suite({"e": 10}), confirmed({"e": 39}, {"e": 6}))
    row = rows["e"]
    assert row.base is not None
    assert row.head is not None
    assert row.screen is not None
    assert row.screen.base is not None
    assert (row.base.passes, row.base.runs, row.head.passes, row.head.runs) == (39, 40, 6, 40)
    assert (row.screen.base.passes, row.screen.head.passes, row.screen.head.runs) == (20, 10, 20)


@pytest.mark.parametrize(
    ("flagged", "verdict"), [(1, "regressed"), (2, "not_reproduced")], ids=["p .046 alone", "Holm 2 x .046"]
)
def test_family__is_all_that_was_run_again(flagged: int, verdict: str) -> None:
    names = [f"e{i}" for i in range(flagged)]
    head = suite(dict.fromkeys(names, 10) | {"steady": 20})
    base = suite(dict.fromkeys(names, 20) | {"steady": 20})
    _, rows = decide(base, head, confirmed(dict.fromkeys(names, 40), dict.fromkeys(names, 37)))
    assert {rows[name].verdict for name in names} == {verdict}
    assert rows["steady"].decided_by == "step_down"


def test_small_drop__is_a_drop_seen_again_that_is_too_small_to_matter() -> None:
    # 2000 of 2000 against 1990 of 2000: certainly lower, and certainly by less than ten points.
    fresh = confirmed({"e": 2000}, {"e": 1990}, 2000)
    _, rows = decide(suite({"e": 1000}, 1000), suite({"e": 900}, 1000), fresh)
    assert (rows["e"].verdict, rows["e"].small_drop) == ("small_drop", True)


def test_edited__experiment_is_decided_by_its_fresh_counts() -> None:
    base = suite({"same": 20, "worse": 20})
    head = suite({"same": 20, "worse": 20}, fingerprint="g")
    _, plain = decide(base, head, None)
    assert {row.verdict for row in plain.values()} == {"not_comparable"}
    fresh = Confirmation(
        base=suite({"same": 40, "worse": 40}, 40, fingerprint="g"),
        head=suite({"same": 40, "worse": 10}, 40, fingerprint="g"),
    )
    made, rows = decide(base, head, fresh)
    assert {name: row.verdict for name, row in rows.items()} == {"same": "pass", "worse": "regressed"}
    assert {reason.kind for reason in made.reasons} == {"regression"}


def test_edited__probe_that_base_did_not_have_is_decided_too() -> None:
    base = report(experiment("e", probe(20, 20), outcomes=OK * 20))
    probes = [probe(20, 20), probe(20, 20, id_="added")]
    head = report(experiment("e", *probes, fingerprint="g", outcomes=OK * 20))
    fresh = [probe(40, 40), probe(40, 40, id_="added")]
    again = report(experiment("e", *fresh, fingerprint="g", outcomes=OK * 40))
    made, _ = decide(base, head, Confirmation(base=again, head=again))
    assert [(row.probe, row.verdict) for row in made.rows] == [("output_matches", "pass"), ("added", "pass")]


def test_impossible__the_first_look_decides_and_the_row_says_why() -> None:
    base, head = suite({"e": 20, "f": 20}), suite({"e": 4, "f": 20})
    _, plain = decide(base, head, None)
    made, rows = decide(base, head, Confirmation(reason="the base commit is gone"))
    assert (rows["e"].verdict, rows["e"].decided_by, rows["e"].screen) == ("regressed", "step_down", None)
    assert rows["e"].unconfirmed == "the base commit is gone"
    assert rows["e"].adjusted_p_value == plain["e"].adjusted_p_value
    assert rows["f"].unconfirmed == ""
    assert [(n.experiment, n.detail) for n in made.warnings if n.kind == "not_confirmed"] == [
        ("e", "the base commit is gone")
    ]
    assert made.blocks


def test_impossible__for_a_part_halves_alpha_for_both_parts() -> None:
    base, head = suite({"e": 20, "f": 20}), suite({"e": 10, "f": 10})
    fresh = confirmed({"e": 40}, {"e": 37}).model_copy(update={"impossible": {"f": "the budget was used up"}})
    _, plain = decide(base, head, None)
    _, rows = decide(base, head, fresh)
    assert rows["e"].verdict == "not_reproduced"  # 2 x .046
    assert plain["f"].adjusted_p_value is not None
    assert rows["f"].adjusted_p_value == pytest.approx(2 * plain["f"].adjusted_p_value)
    assert (rows["f"].verdict, rows["f"].unconfirmed) == ("regressed", "the budget was used up")


def unfit(**changes: object) -> Report:
    fresh = suite({"e": 40}, 40)
    return fresh.model_copy(update={"experiments": [fresh.experiments[0].model_copy(update=changes)]})


def summaries(runs: int, lost: int = 0) -> list[PhaseReport]:
    made = [RunSummary(index=i, seed=i, outcome="infra" if i < lost else "ok", passed=()) for i in range(runs)]
    return [PhaseReport(phase="chaos", planned_runs=runs, runs=made)]


@pytest.mark.parametrize(
    ("fresh", "why"),
    [
        (unfit(phases=summaries(39)), "39 of 40"),
        (unfit(phases=summaries(40, lost=5)), "5 were lost"),
        (unfit(fingerprint="other"), "another definition"),
        (unfit(faults=[]), "no fault acted"),
        (unfit(probes=[]), "no counts of output_matches"),
        (unfit(name="other"), "not run again"),
    ],
    ids=["stopped", "lost", "other definition", "nothing injected", "no probe", "not there"],
)
@pytest.mark.parametrize("arm", ["base", "head"])
def test_unfit__fresh_counts_of_either_commit_acquit_nobody(fresh: Report, why: str, arm: str) -> None:
    whole = {"base": suite({"e": 40}, 40), "head": suite({"e": 40}, 40)}
    made, rows = decide(suite({"e": 20}), suite({"e": 4}), Confirmation().model_copy(update=whole | {arm: fresh}))
    assert rows["e"].verdict == "regressed"
    assert why in rows["e"].unconfirmed
    assert made.blocks


def test_confirmation__touches_nothing_that_is_no_estimate() -> None:
    base = report(experiment("e", probe(20, 20, severity="critical", threshold=1.0)), experiment("gone", probe(20, 20)))
    head = report(experiment("e", probe(4, 20, severity="critical", threshold=1.0), outcomes=OK * 20))
    made, rows = decide(base, head, confirmed({"e": 40}, {"e": 40}))
    assert rows["e"].verdict == "not_reproduced"
    assert [finding.experiment for finding in made.new_critical] == ["e"]
    assert [gone.experiment for gone in made.missing] == ["gone"]
    assert (made.verdict, made.exit_code) == ("fail", 1)


def test_cost__of_both_commits_is_told() -> None:
    made, _ = decide(suite({"e": 20}), suite({"e": 10}), confirmed({"e": 39}, {"e": 6}))
    assert made.confirmed_with is not None
    assert made.confirmed_with.runs == 40 + 40
    assert made.head.runs == 20


@pytest.mark.parametrize(
    ("trees", "told"), [(("t", "t"), True), (("t", "u"), False), (("", ""), False), (("t-dirty", "t-dirty"), False)]
)
def test_same_code__is_told_where_something_changed(trees: tuple[str, str], told: bool) -> None:
    base, head = suite({"e": 20}), suite({"e": 4})
    base, head = (r.model_copy(update={"tested_tree": t}) for r, t in zip((base, head), trees, strict=True))
    made, _ = decide(base, head, None)
    assert any(n.kind == "same_code" for n in made.warnings) == told
    unchanged, _ = decide(base, base, None)
    assert not any(n.kind == "same_code" for n in unchanged.warnings)


def test_policy__off_leaves_the_first_look() -> None:
    made, rows = decide(suite({"e": 20}), suite({"e": 4}), confirmed({"e": 40}, {"e": 40}), OFF)
    assert rows["e"].verdict == "regressed"
    assert rows["e"].unconfirmed == ""
    assert made.blocks


def test_file__survives_json_and_is_read_strictly() -> None:
    made = confirmed({"e": 39}, {"e": 6}).model_copy(update={"impossible": {"f": "why"}})
    assert read_confirmation(made.to_json(), "confirmation.json") == made
    twice = made.base.model_copy(update={"experiments": made.base.experiments * 2}) if made.base else None
    with pytest.raises(InvalidFileError, match="stands twice"):
        read_confirmation(made.model_copy(update={"base": twice}).to_json(), "confirmation.json")
