"""What holds for every pair of reports: nothing changes, nothing regresses; worse is never better; order is nothing."""

import random
from datetime import date

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.anchor import with_anchor
from gate.compare import compare
from gate.comparison import Anchor, Comparison
from gate.policy import ExperimentPolicy, Policy, Severity
from gate.report import ExperimentReport, Phase, ProbeReport, Report, read_model
from gate.stats import step_down
from tests.builders import POLICY, experiment, probe, report

TODAY = date(2026, 1, 2)
RUNS = (1, 3, 10, 25, 40, 60)
SEVERITIES: tuple[Severity, ...] = ("critical", "high")
STRICT = POLICY.model_copy(
    update=dict.fromkeys(("on_inconclusive", "on_small_drop", "on_not_comparable", "on_missing", "on_no_base"), "fail")
)


RANK = {"regressed": 0, "small_drop": 1, "inconclusive": 1, "pass": 2, "improved": 3}


def compared(base: Report | None, head: Report, policy: Policy = POLICY) -> Comparison:
    return compare(base, head, policy=policy, today=TODAY)


@st.composite
def probes(draw: st.DrawFn, runs: int, count: int) -> list[ProbeReport]:
    made = []
    for number in range(count):
        phase: Phase = draw(st.sampled_from(("baseline", "chaos")))
        made.append(
            probe(
                draw(st.one_of(st.just(runs), st.integers(0, runs))),
                runs,
                id_=f"output_matches#{number}",
                phase=phase,
                severity=draw(st.sampled_from(SEVERITIES)),
                threshold=draw(st.sampled_from((0.0, 0.5, 0.9, 1.0))),
            )
        )
    return made


@st.composite
def reports(draw: st.DrawFn) -> Report:
    experiments = []
    for number in range(draw(st.integers(1, 4))):
        made = experiment(
            f"e{number}",
            *draw(probes(draw(st.sampled_from(RUNS)), draw(st.integers(1, 3)))),
            status=draw(st.sampled_from(("held", "weakness", "inconclusive"))),
            fired=draw(st.sampled_from((0, 1, 5))),
            fingerprint=draw(st.sampled_from(("f", "g"))),
        )
        own = draw(st.sampled_from((None, ExperimentPolicy(min_effect=0.2), ExperimentPolicy(alpha=0.01, power=0.9))))
        experiments.append(made.model_copy(update={"policy": own}))
    return report(*experiments)


@given(reports())
@settings(max_examples=60, deadline=None)
def test_same_report_twice__neither_regresses_nor_blocks(made: Report) -> None:
    found = compared(made, made)
    assert {r.verdict for r in found.rows} <= {"pass", "inconclusive"}
    assert (found.blocks, found.exit_code) == (False, 0)
    assert not found.new_critical
    assert not found.missing
    assert all(r.adjusted_p_value is None or r.adjusted_p_value > 0.5 for r in found.rows)


def worse(head: Report, passes: int) -> Report:
    """Return the report with fewer passes of the first probe."""
    first = head.experiments[0]
    changed = [first.probes[0].model_copy(update={"passes": passes}), *first.probes[1:]]
    return head.model_copy(
        update={"experiments": [first.model_copy(update={"probes": changed}), *head.experiments[1:]]}
    )


@given(st.data(), st.sampled_from((POLICY, STRICT)), st.integers(0, 3))
@settings(max_examples=25, deadline=None)
def test_fewer_passes__never_unblock(data: st.DataObject, policy: Policy, perfect: int) -> None:
    # Beside the probe that gets worse there are perfect ones only. In a family with other doubtful probes the discrete
    # step-down can charge a probe more once it fails more often: docs/statistics.md, "Step-down", says how rarely.
    runs = data.draw(st.sampled_from(RUNS))
    (base_probe,), (head_probe,) = data.draw(probes(runs, 1)), data.draw(probes(data.draw(st.sampled_from(RUNS)), 1))
    head_probe = base_probe.model_copy(update={"passes": head_probe.passes, "runs": head_probe.runs})
    others = [experiment(f"other{i}", probe(40, 40)) for i in range(perfect)]
    base, head = (report(experiment("e", p), *others) for p in (base_probe, head_probe))
    last = compared(base, head, policy)
    for passes in range(head_probe.passes - 1, -1, -1):
        following = compared(base, worse(head, passes), policy)
        assert following.blocks >= last.blocks
        assert (following.exit_code != 0) >= (last.exit_code != 0)
        assert RANK[following.rows[0].verdict] <= RANK[last.rows[0].verdict]
        last = following


@given(reports(), reports(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_order__of_experiments_and_probes_decides_nothing(base: Report, head: Report, chance: random.Random) -> None:
    def shuffled(made: Report) -> Report:
        experiments: list[ExperimentReport] = []
        for one in made.experiments:
            experiments.append(one.model_copy(update={"probes": chance.sample(one.probes, len(one.probes))}))
        return made.model_copy(update={"experiments": chance.sample(experiments, len(experiments))})

    straight, mixed = compared(base, head), compared(shuffled(base), shuffled(head))
    assert (straight.verdict, straight.blocks, straight.exit_code) == (mixed.verdict, mixed.blocks, mixed.exit_code)

    def told(made: Comparison) -> list[tuple[object, ...]]:
        rows = sorted(made.rows, key=lambda r: (r.experiment, r.probe, r.phase))
        return [(r.experiment, r.probe, r.phase, r.verdict, r.power, r.runs_needed) for r in rows]

    assert told(straight) == told(mixed)
    assert {(f.experiment, f.probe, f.known) for f in straight.new_critical} == {
        (f.experiment, f.probe, f.known) for f in mixed.new_critical
    }


@given(st.none() | reports(), reports())
@settings(max_examples=60, deadline=None)
def test_comparison__survives_json(base: Report | None, head: Report) -> None:
    made = compared(base, head)
    assert read_model(Comparison, made.to_json(), "comparison.json") == made


def test_unchanged_suite__is_blocked_no_more_often_than_alpha() -> None:
    """Twenty probes at 95 %, 40 runs. Blocking is allowed .05; of 2,000 draws three standard errors are .015."""
    draws, probes_in_suite = 2_000, 20
    passes = np.random.default_rng(7).binomial(40, 0.95, size=(draws, 2, probes_in_suite)).tolist()
    adjusted = [step_down([(x1, 40, x2, 40) for x1, x2 in zip(*sides, strict=True)]) for sides in passes]
    blocked = [min(values) <= POLICY.alpha for values in adjusted]
    assert sum(blocked) / draws <= 0.05 + 0.015
    # compare says the same: of all draws that block, and of as many others
    chosen = [i for i in range(draws) if blocked[i]][:20] + [i for i in range(draws) if not blocked[i]][:20]
    for at in chosen:
        base, head = (
            report(*(experiment(f"e{i}", probe(x, 40), outcomes=()) for i, x in enumerate(side))) for side in passes[at]
        )
        assert compared(base, head).blocks == blocked[at]


@settings(max_examples=40, deadline=None)
@given(base=reports(), head=reports(), pinned=reports())
def test_anchor__has_no_say_and_never_finds_a_report_worse_than_itself(
    base: Report, head: Report, pinned: Report
) -> None:
    alone = compared(base, head)
    beside = with_anchor(alone, Anchor(name="v1"), pinned, head)
    assert beside.model_copy(update={"anchor": None}) == alone
    same = with_anchor(alone, Anchor(name="v1"), head, head).anchor
    assert same is not None
    assert (same.worse, same.changed) == ([], [])
