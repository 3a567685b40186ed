"""Base against head: rows, findings, what blocks, exit codes. Boundaries for n = 40 from the statistics tables."""

from datetime import date, timedelta
from typing import Any

import pytest

from gate import stats
from gate.compare import compare
from gate.comparison import Comparison
from gate.errors import InvalidFileError
from gate.policy import ExperimentPolicy, KnownFinding, Policy, Removed
from gate.report import PHASES, ExperimentReport, FaultReport, PhaseReport, Report
from tests.builders import POLICY, experiment, probe, report

TODAY = date(2026, 1, 2)


def against(base: Report | None, head: Report, policy: Policy = POLICY, **more: Any) -> Comparison:
    return compare(base, head, policy=policy, today=TODAY, **more)


def one(passes: int, runs: int = 40, **more: Any) -> ExperimentReport:
    return experiment("e", probe(passes, runs, **more))


@pytest.mark.parametrize(
    ("passes", "verdict"),
    [
        # alpha .05: a base of 40/40 fails at 37 or fewer; beta .20, delta .10: it passes from 39 on.
        pytest.param(40, "pass", id="unchanged"),
        pytest.param(39, "pass", id="39"),
        pytest.param(38, "inconclusive", id="38"),
        pytest.param(37, "regressed", id="37"),
        pytest.param(0, "regressed", id="0"),
    ],
)
def test_single_row__against_40_of_40(passes: int, verdict: str) -> None:
    made = against(report(one(40)), report(one(passes)))
    assert [r.verdict for r in made.rows] == [verdict]
    row = made.rows[0]
    assert (row.pass_at, row.fail_at, row.decided_by) == (39, 37, "exact_test")
    assert made.blocks == (verdict == "regressed")
    assert made.exit_code == (1 if verdict == "regressed" else 0)


def test_single_row__improved() -> None:
    assert against(report(one(20)), report(one(40))).rows[0].verdict == "improved"


def test_inconclusive__says_what_would_settle_it() -> None:
    row = against(report(one(40)), report(one(38))).rows[0]
    assert row.power is not None
    assert 0.7 < row.power < 0.8  # the table's .777 for 1 -> .90
    assert row.runs_needed is not None
    assert row.smallest_visible_drop is not None


def test_inconclusive__blocks_with_exit_3_when_the_policy_says_so() -> None:
    policy = POLICY.model_copy(update={"on_inconclusive": "fail"})
    made = against(report(one(40)), report(one(38)), policy)
    assert (made.verdict, made.blocks, made.exit_code) == ("fail", True, 3)


def test_family__twenty_probes_are_corrected() -> None:
    names = [f"e{i}" for i in range(20)]
    base = report(*(experiment(n, probe(38, 40)) for n in names))
    head = report(*(experiment(n, probe(33 if n == "e0" else 38, 40)) for n in names))
    made = against(base, head)
    assert made.rows[0].decided_by == "step_down"
    assert made.rows[0].verdict == "inconclusive"  # alone, 38 -> 33 would be no regression for 20 tests
    assert made.rows[0].adjusted_p_value is not None
    assert made.rows[0].p_value is not None
    assert made.rows[0].adjusted_p_value > made.rows[0].p_value


def test_baseline_phase__is_compared_too() -> None:
    base = report(experiment("e", probe(40, 40, phase="baseline"), probe(40, 40)))
    head = report(experiment("e", probe(20, 40, phase="baseline"), probe(40, 40)))
    verdicts = {r.phase: r.verdict for r in against(base, head).rows}
    assert verdicts == {"baseline": "regressed", "chaos": "pass"}


def test_missing_experiment__blocks_unless_removed_with_a_reason() -> None:
    base, head = report(one(40), experiment("gone", probe(40, 40))), report(one(40))
    made = against(base, head)
    assert (made.verdict, made.exit_code) == ("fail", 1)
    assert [m.experiment for m in made.missing] == ["gone"]
    allowed = against(base, head, removed=[Removed(name="gone", reason="feature deleted")])
    assert (allowed.verdict, allowed.exit_code) == ("pass", 0)
    assert allowed.missing[0].allowed == "feature deleted"


def test_missing_probe__blocks_though_the_definition_changed() -> None:
    base = report(experiment("e", probe(40, 40), probe(40, 40, id_="canary_not_leaked")))
    head = report(experiment("e", probe(40, 40), fingerprint="other"))
    made = against(base, head)
    assert made.exit_code == 1
    assert [(m.experiment, m.probe) for m in made.missing] == [("e", "canary_not_leaked")]


def test_not_comparable__when_the_definition_changed() -> None:
    made = against(report(one(40)), report(experiment("e", probe(0, 40), fingerprint="other")))
    assert [r.verdict for r in made.rows] == ["not_comparable"]
    assert made.exit_code == 0
    strict = POLICY.model_copy(update={"on_not_comparable": "fail"})
    assert against(report(one(40)), report(experiment("e", probe(0, 40), fingerprint="o")), strict).exit_code == 1


def test_new_experiment__is_no_regression() -> None:
    made = against(report(one(40)), report(one(40), experiment("fresh", probe(0, 40))))
    assert [r.verdict for r in made.rows] == ["pass", "new"]
    assert made.exit_code == 0


CRITICAL: dict[str, Any] = {"severity": "critical", "threshold": 1.0}


def test_critical__one_new_violation_blocks() -> None:
    made = against(report(one(40, **CRITICAL)), report(one(39, **CRITICAL)))
    assert (made.verdict, made.exit_code) == ("fail", 1)
    finding = made.new_critical[0]
    assert (finding.head.passes, finding.head.runs) == (39, 40)
    assert finding.p_value == pytest.approx(0.5)  # the one failure of 80 runs fell on one of two equal sides


def test_critical__violated_in_base_is_known() -> None:
    made = against(report(one(39, **CRITICAL)), report(one(39, **CRITICAL)))
    assert made.exit_code == 0
    assert [f.known for f in made.known_critical] == ["also violated in base"]


@pytest.mark.parametrize(("expires", "code"), [(date(2026, 1, 2), 0), (date(2026, 1, 1), 1)], ids=["today", "over"])
def test_critical__known_finding_until_it_expires(expires: date, code: int) -> None:
    known = [KnownFinding(probe="e/output_matches", reason="fix is under way", expires=expires)]
    made = against(report(one(40, **CRITICAL)), report(one(39, **CRITICAL)), known_findings=known)
    assert made.exit_code == code
    assert bool([w for w in made.warnings if w.kind == "known_finding_expired"]) == bool(code)


@pytest.mark.parametrize(("days", "code"), [(366, 0), (367, 1)])
def test_critical__known_finding_for_a_year_at_most(days: int, code: int) -> None:
    known = [KnownFinding(probe="e/output_matches", reason="later", expires=TODAY + timedelta(days))]
    made = against(report(one(40, **CRITICAL)), report(one(39, **CRITICAL)), known_findings=known)
    assert made.exit_code == code
    assert bool([w for w in made.warnings if w.kind == "known_finding_too_long"]) == bool(code)


def test_excuses__that_the_base_does_not_have_are_told() -> None:
    gone, new = Removed(name="a", reason="old"), Removed(name="b", reason="new")
    known = KnownFinding(probe="e/p", reason="r", expires=date(2026, 2, 1))
    longer = known.model_copy(update={"expires": date(2026, 3, 1)})
    base = report(one(40)).model_copy(update={"removed": [gone], "known_findings": [known]})
    made = against(base, report(one(40)), removed=[gone, new], known_findings=[longer])
    assert [(w.kind, w.experiment, w.probe, w.detail) for w in made.warnings] == [
        ("excuse_added", "b", "", "removed"),
        ("excuse_added", "", "e/p", "known_findings"),
    ]
    assert not against(report(one(40)), report(one(40)), removed=[gone]).warnings, "a base that does not say"


def test_settings__that_differ_from_the_base_are_told_once() -> None:
    names = ("e1", "e2", "e3")
    base = report(*(experiment(n, probe(40, 40)).model_copy(update={"target": "a:run"}) for n in names))
    changes: dict[str, Any] = {"target": "b:run", "seed": 8, "confidence": 0.9}
    heads = [experiment(n, probe(20, 20), outcomes=("ok",) * 20).model_copy(update=changes) for n in names]
    [notice] = [w for w in against(base, report(*heads)).warnings if w.kind == "settings_differ"]
    assert notice.experiment == "e1"
    assert notice.detail == (
        "target a:run → b:run, seed 0 → 8, chaos runs 40 → 20, confidence 0.95 → 0.9; the same in 2 more"
    )


def test_settings__that_an_older_base_does_not_have_are_no_difference() -> None:
    head = one(40).model_copy(update={"target": "a:run"})
    assert not against(report(one(40)), report(head)).warnings


@pytest.mark.parametrize("milder", [{"severity": "low"}, {"threshold": 0.1}], ids=["severity", "threshold"])
def test_critical__a_pull_request_cannot_make_a_probe_milder(milder: dict[str, Any]) -> None:
    made = against(report(one(40, **CRITICAL)), report(one(39, **{**CRITICAL, **milder})))
    assert made.exit_code == 1
    assert {w.kind for w in made.warnings} == {f"{next(iter(milder))}_differs"}


def test_critical__below_a_lower_threshold_needs_proof() -> None:
    lower: dict[str, Any] = {"severity": "critical", "threshold": 0.9}
    assert not against(report(one(40, **lower)), report(one(35, **lower))).new_critical  # 35/40 could still be .9
    assert against(report(one(40, **lower)), report(one(28, **lower))).new_critical


def test_no_base__is_a_state_of_its_own() -> None:
    made = against(None, report(one(40)))
    assert (made.verdict, made.blocks, made.exit_code, made.rows) == ("no_base", False, 0, [])
    strict = POLICY.model_copy(update={"on_no_base": "fail"})
    assert against(None, report(one(40)), strict).exit_code == 3


def test_no_base__critical_findings_are_shown_and_do_not_block_by_default() -> None:
    made = against(None, report(one(39, **CRITICAL)))
    assert (made.verdict, made.exit_code) == ("no_base", 0)
    assert len(made.new_critical) == 1


def test_silent_bypass__faults_that_no_longer_fire_count_as_missing() -> None:
    base = report(experiment("e", probe(40, 40), fired=40))
    head = report(experiment("e", probe(40, 40), fired=0, status="inconclusive"))
    made = against(base, head)
    assert made.exit_code == 1
    assert [m.experiment for m in made.missing] == ["e"]


def test_silent_bypass__counts_of_an_undecided_experiment_prove_nothing() -> None:
    made = against(report(one(40)), report(experiment("e", probe(40, 40), status="inconclusive", fired=0)))
    assert made.verdict == "inconclusive"


def test_silent_bypass__one_silenced_fault_beside_another_counts_as_missing() -> None:
    both = [FaultReport(type=t, target="*", fired=40, runs_fired=40) for t in ("error", "timeout")]
    silent = [both[0], FaultReport(type="timeout", target="*")]
    rare = [both[0], FaultReport(type="timeout", target="*", fired=1, runs_fired=1)]

    def of(faults: list[FaultReport]) -> Report:
        return report(one(40).model_copy(update={"faults": faults}))

    assert [m.experiment for m in against(of(both), of(silent)).missing] == ["e"]
    fewer = against(of(both), of(rare))
    assert not fewer.missing
    assert [w.detail for w in fewer.warnings if w.kind == "never_tested"] == [
        "timeout on *: acted in 1 runs, base 40",
    ]
    assert not against(of(both), of(both)).warnings


def test_removed__excuses_what_is_gone_and_nothing_else() -> None:
    base = report(experiment("e", probe(40, 40), fired=40))
    silenced = report(experiment("e", probe(40, 40), fired=0, status="inconclusive"))
    assert against(base, silenced, removed=[Removed(name="e", reason="r")]).exit_code == 1
    edited = report(experiment("e", probe(40, 40, id_="other"), fingerprint="other"))
    assert against(base, edited, removed=[Removed(name="e", reason="r")]).exit_code == 1
    assert against(base, edited, removed=[Removed(name="e/output_matches", reason="r")]).exit_code == 0


def test_pass__is_never_said_of_what_was_not_tested() -> None:
    base = report(one(40))
    edited = against(base, report(experiment("e", probe(0, 40), fingerprint="other")))
    renamed = against(base, report(experiment("f", probe(1, 1))), removed=[Removed(name="e", reason="r")])
    broken = against(base, report(one(40), experiment("f", probe(0, 40), fired=0, status="inconclusive")))
    warned = against(base, report(one(0)), POLICY.model_copy(update={"on_regression": "warn"}))
    assert [m.verdict for m in (edited, renamed, broken, warned)] == ["inconclusive"] * 4


def test_base__in_which_no_fault_acted_is_no_yardstick() -> None:
    base = report(experiment("e", probe(40, 40), fired=0, status="inconclusive"))
    made = against(base, report(experiment("e", probe(20, 40), fired=40, status="weakness")))
    assert [r.verdict for r in made.rows] == ["inconclusive"]
    assert made.exit_code == 0


def test_undecided_by_confidence__still_passes_against_base() -> None:
    made = against(report(one(40)), report(experiment("e", probe(40, 40), status="inconclusive", fired=40)))
    assert made.verdict == "pass"


def test_critical__raising_the_threshold_does_not_make_a_finding_old() -> None:
    lower: dict[str, Any] = {"severity": "critical", "threshold": 0.9}
    made = against(report(one(39, **lower)), report(one(20, **CRITICAL)))
    assert [f.known for f in made.new_critical] == [""]


def test_critical__an_edited_experiment_makes_no_finding_old() -> None:
    head = report(experiment("e", probe(0, 40, **CRITICAL), fingerprint="other"))
    assert against(report(one(39, **CRITICAL)), head).exit_code == 1


def test_no_valid_runs__is_never_green() -> None:
    made = against(report(one(40)), report(experiment("e", probe(0, 0), outcomes=["gate_error"] * 40)))
    assert (made.blocks, made.exit_code) == (True, 4)


def test_empty_report__is_an_error() -> None:
    with pytest.raises(InvalidFileError, match="head report has no experiments"):
        against(report(one(40)), report())
    with pytest.raises(InvalidFileError, match="base report has no experiments"):
        against(report(), report(one(40)))


def test_policy__of_head_that_differs_is_said() -> None:
    relaxed = POLICY.model_copy(update={"on_regression": "warn", "alpha": 0.5})
    made = against(report(one(40)), report(one(30), policy=relaxed))
    assert made.exit_code == 1
    assert [w.detail for w in made.warnings if w.kind == "policy_differs"] == ["alpha, on_regression"]


def test_status_change__significant_only_when_the_test_says_so() -> None:
    rose = [probe(20, 40, id_="alert_raised"), probe(40, 40, id_="alert_raised")]
    base = report(one(40), experiment("f", probe(40, 40), rose[0]))
    head = report(
        experiment("e", probe(20, 40), status="weakness"), experiment("f", probe(39, 40), rose[1], status="weakness")
    )
    changes = {c.experiment: c.significant for c in against(base, head).status_changes}
    assert changes == {"e": True, "f": False}  # that another probe of f improved does not explain its weakness


def test_small_drop__significant_but_too_small_to_matter() -> None:
    made = against(report(one(400, 400)), report(one(386, 400)))
    assert made.rows[0].verdict == "small_drop"
    assert made.exit_code == 0


def test_own_claims__of_the_bases_experiment_and_probe_apply() -> None:
    lenient = ExperimentPolicy(alpha=0.2, min_effect=0.2, power=0.9)
    made = against(report(with_policy(one(40), lenient)), report(with_policy(one(38), lenient)))
    # p = .10: no regression at the suite's .05, which an experiment cannot make laxer; a drop of .20 is ruled out.
    assert [(r.verdict, r.min_effect) for r in made.rows] == [("pass", 0.2)]
    strict = with_policy(one(40), ExperimentPolicy(alpha=0.01))
    assert [r.fail_at for r in against(report(strict), report(one(40))).rows] != [37]
    probe_ = probe(40, 40).model_copy(update={"min_effect": 0.3})
    made = against(report(with_policy(experiment("e", probe_), lenient)), report(one(40)))
    assert made.rows[0].min_effect == 0.3


def test_own_claims__that_head_changes_are_said_and_do_not_apply() -> None:
    made = against(report(one(40)), report(with_policy(one(36), ExperimentPolicy(alpha=1e-6, min_effect=0.5))))
    assert [(r.verdict, r.min_effect) for r in made.rows] == [("regressed", 0.1)]
    assert [w.detail for w in made.warnings if w.kind == "policy_differs"] == ["e: alpha, min_effect"]


def test_row__every_tested_one_says_what_would_pass_and_fail_and_its_power() -> None:
    phases = [probe(passes, 40, phase=phase) for phase in PHASES for passes in (40,)]
    base = report(*(experiment(f"e{i}", *phases) for i in range(3)))
    head = report(
        *(
            experiment(f"e{i}", *(p.model_copy(update={"passes": x}) for p in phases))
            for i, x in enumerate((40, 38, 20))
        )
    )
    rows = against(base, head).rows
    assert {r.verdict for r in rows} == {"pass", "inconclusive", "regressed"}
    for row in rows:
        assert None not in (row.p_value, row.adjusted_p_value, row.noninferiority_p_value, row.power)
        assert (row.pass_at, row.fail_at) == (39, 37)
        undecided = row.verdict == "inconclusive"
        assert (row.runs_needed is not None) == (row.smallest_visible_drop is not None) == undecided


def with_policy(made: ExperimentReport, policy: ExperimentPolicy) -> ExperimentReport:
    return made.model_copy(update={"policy": policy})


def in_group(group: str, made: ExperimentReport) -> ExperimentReport:
    """Return an experiment whose baseline runs have this mark."""
    phase = PhaseReport(phase="baseline", planned_runs=40, runs=[], group=group)
    return made.model_copy(update={"phases": [*made.phases, phase]})


@pytest.mark.parametrize(("groups", "hypotheses"), [(("g", "g", "g"), 1), (("g", "g", "h"), 2), (("", "", ""), 3)])
def test_family__a_baseline_that_experiments_share_is_one_hypothesis(groups: tuple[str, ...], hypotheses: int) -> None:
    def side(passes: int) -> Report:
        made = [experiment(f"e{i}", probe(passes, 40, phase="baseline")) for i in range(len(groups))]
        return report(*(in_group(group, one) for group, one in zip(groups, made, strict=True)))

    rows = compare(side(38), side(31), policy=POLICY, today=TODAY).rows
    alone = stats.exact_test(38, 40, 31, 40)
    expected = alone if hypotheses == 1 else stats.step_down([(38, 40, 31, 40)] * hypotheses)[0]
    assert [row.adjusted_p_value for row in rows] == [expected] * len(groups)


def test_family__probes_that_differ_on_shared_runs_are_hypotheses_of_their_own() -> None:
    def side(passes: int) -> Report:
        made = [experiment(f"e{i}", probe(passes, 40, phase="baseline", id_=f"probe{i}")) for i in range(2)]
        return report(*(in_group("g", one) for one in made))

    rows = compare(side(38), side(31), policy=POLICY, today=TODAY).rows
    assert rows[0].adjusted_p_value == stats.step_down([(38, 40, 31, 40)] * 2)[0]
