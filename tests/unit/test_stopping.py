"""A phase stops once no possible rest of its runs can change a verdict, and not before."""

import random
from collections.abc import Sequence
from datetime import date
from functools import partial

import pytest
from scipy.stats import binom

from gate.bars import bars_of
from gate.compare import compare
from gate.comparison import Comparison
from gate.completion import why_no_base
from gate.experiment import Experiment
from gate.judge import Tally, judge_experiment
from gate.plan.early import expected_runs
from gate.report import DECIDED_STOP, ExperimentReport, RunRecord
from gate.stats import noninferiority_boundary, rejection_boundary
from gate.stopping import Watch, watch_suite
from tests import builders
from tests.builders import parsed, records

POLICY = builders.POLICY.model_copy(update={"extend": "off"})

RUNS = 40
report = partial(builders.report, policy=POLICY)
ALWAYS = [True] * RUNS


def draws(rate: float, seed: int, runs: int = RUNS) -> list[bool]:
    draw = random.Random(seed)
    return [draw.random() < rate for _ in range(runs)]


def base_of(experiment: Experiment, chaos: Sequence[bool] = ALWAYS) -> ExperimentReport:
    runs = records("baseline", [True] * len(chaos)) + records("chaos", chaos)
    return judge_experiment(experiment, runs, planned_runs=len(chaos), seed=0)


def watched(experiment: Experiment, base: ExperimentReport | None, runs: int = RUNS) -> Watch:
    known = report(base) if base else report(base_of(parsed()).model_copy(update={"name": "another"}))
    return watch_suite([experiment], lambda _: runs, POLICY, known)["e", "chaos"]


def stopped_after(experiment: Experiment, base: ExperimentReport | None, chaos: Sequence[RunRecord]) -> int:
    watch = watched(experiment, base, len(chaos))
    for record in chaos:
        watch.add(record)
    return len(chaos) if watch.counted is None else watch.counted


def test_boundaries__are_those_of_the_figures_below() -> None:
    # docs/statistics.md: against 40/40 a head of 37 or fewer FAILs; 39 or more PASS, at power .80 as at .90
    assert rejection_boundary(40, 40, alpha=0.05)[40] == 37
    assert noninferiority_boundary(40, 40, min_effect=0.10, beta=0.20)[40] == 39


@pytest.mark.parametrize(
    ("passed", "threshold", "after"),
    [
        pytest.param([False] * RUNS, 0.95, 3, id="three failures are a regression"),
        pytest.param([True] * 20 + [False] * 20, 0.95, 23, id="whenever they come"),
        pytest.param([False, False, *[True] * 38], 0.95, 40, id="38 passes: neither, and open to the last"),
        pytest.param([False, *[True] * 39], 0.95, 40, id="39 passes: proven by the last"),
        pytest.param(ALWAYS, 0.95, 39, id="an unchanged agent saves one run"),
        pytest.param([False] * RUNS, 0.5, 21, id="which side of its threshold a rate is on must be known too"),
        pytest.param([False] * RUNS, 1.0, 3, id="a must is broken by the first, the comparison decided by the third"),
        pytest.param(ALWAYS, 1.0, 40, id="a must may break to the last"),
    ],
)
def test_stop__once_everything_is_decided(passed: list[bool], threshold: float, after: int) -> None:
    experiment = parsed(threshold)
    assert stopped_after(experiment, base_of(experiment), records("chaos", passed)) == after


@pytest.mark.parametrize(("rate", "mean"), [(0.8, 15.0), (0.5, 6.0)], ids=["1 to .8", "1 to .5"])
def test_stop__a_real_drop_ends_early(rate: float, mean: float) -> None:
    # three failures at a rate of 1 - p take 3 / (1 - p) runs on average
    experiment = parsed(0.95)
    base = base_of(experiment)
    taken = [stopped_after(experiment, base, records("chaos", draws(rate, seed))) for seed in range(600)]
    assert sum(taken) / len(taken) == pytest.approx(mean, abs=0.6)


def test_stop__of_a_new_experiment_with_the_first_failure_of_a_must() -> None:
    assert stopped_after(parsed(1.0), None, records("chaos", [True, False, *[True] * 38])) == 2


@pytest.mark.parametrize(
    ("chaos", "why"),
    [
        (records("chaos", [False] * RUNS, fired=0), "no fault fired"),
        ([r.model_copy(update={"outcome": "infra"}) for r in records("chaos", [False] * RUNS)], "all are lost"),
        (
            [r.model_copy(update={"outcome": "infra"} if r.index < 4 else {}) for r in records("chaos", ALWAYS)],
            "more than a tenth is lost",
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_stop__never_where_the_runs_measure_nothing(chaos: list[RunRecord], why: str) -> None:
    experiment = parsed(0.5)
    assert stopped_after(experiment, base_of(experiment), chaos) == RUNS, why


def test_stop__never_for_an_edited_experiment_or_without_confirmation() -> None:
    experiment = parsed(0.5)
    edited = base_of(experiment).model_copy(update={"fingerprint": "other"})
    assert stopped_after(experiment, edited, records("chaos", [False] * RUNS)) == RUNS
    unconfirmed = report(base_of(experiment), policy=POLICY.model_copy(update={"confirm": "off"}))
    for known in (unconfirmed, None):
        watch = watch_suite([experiment], lambda _: RUNS, POLICY, known)["e", "chaos"]
        for record in records("chaos", [False] * RUNS):
            watch.add(record)
        assert watch.counted is None


def stopped_report(experiment: Experiment, base: ExperimentReport, runs: Sequence[RunRecord]) -> ExperimentReport:
    watches = watch_suite([experiment], lambda _: RUNS, POLICY, report(base))
    for record in runs:
        watches[record.experiment, record.phase].add(record)
    tally = Tally(experiment)
    for record in runs:
        if watches[record.experiment, record.phase].needs(record.index):
            tally.add(record)
    return tally.report(planned_runs=RUNS, seed=0, stops={phase: watch for (_, phase), watch in watches.items()})


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("extra", ["", "  require_confidence: true\n"], ids=["", "require_confidence"])
def test_stop__changes_no_verdict_and_no_order_of_completion_changes_the_report(threshold: float, extra: str) -> None:
    experiment = parsed(threshold, extra)
    draw, spared = random.Random(6), 0
    for seed in range(60):
        base = base_of(experiment, draws(draw.choice([1.0, 0.95, 0.8]), 1000 + seed))
        rates = draw.choice([(1.0, 1.0), (1.0, 0.95), (1.0, 0.7), (0.8, 0.3), (1.0, 0.1)])
        runs = records("baseline", draws(rates[0], seed)) + records("chaos", draws(rates[1], 500 + seed))
        whole = judge_experiment(experiment, runs, planned_runs=RUNS, seed=0)
        stopped = stopped_report(experiment, base, runs)
        draw.shuffle(runs)
        assert stopped_report(experiment, base, runs) == stopped
        assert stopped.status == whole.status
        made, full = compared(base, stopped), compared(base, whole)
        for phase in ("baseline", "chaos"):  # each alone: a family may be corrected for more than was planned
            assert verdicts(made, phase) == verdicts(full, phase)
        spared += sum(row.spared for row in made.rows)
        assert bool(why_no_base(report(stopped))) == any(row.spared for row in made.rows)
    assert spared > 0


def compared(base: ExperimentReport, head: ExperimentReport) -> Comparison:
    return compare(report(base), report(head), policy=POLICY, today=date(2026, 1, 1))


def verdicts(comparison: Comparison, phase: str) -> list[tuple[bool, bool]]:
    """Return what the rows of a phase say alone: looks worse, proven."""
    return [
        (
            row.p_value is not None and row.p_value <= POLICY.alpha,
            row.noninferiority_p_value is not None and row.noninferiority_p_value <= POLICY.beta,
        )
        for row in comparison.rows
        if row.phase == phase
    ]


def test_report__says_why_a_phase_has_fewer_runs() -> None:
    experiment = parsed(0.95)
    runs = records("baseline", ALWAYS) + records("chaos", [False] * RUNS)
    stopped = stopped_report(experiment, base_of(experiment), runs)
    assert [(p.planned_runs, len(p.runs), p.stop_reason) for p in stopped.phases] == [
        (40, 39, DECIDED_STOP),
        (40, 3, DECIDED_STOP),
    ]
    (baseline, chaos) = compared(base_of(experiment), stopped).rows
    assert (baseline.verdict, baseline.spared) == ("pass", 1)
    assert (chaos.verdict, chaos.spared) == ("inconclusive", 37)
    assert chaos.unconfirmed == "the fresh runs of base and head are not at hand"
    assert chaos.head and (chaos.head.passes, chaos.head.runs) == (0, 3)
    assert (chaos.pass_at, chaos.fail_at) == (39, 37), "of the 40 that were planned"


@pytest.mark.parametrize(
    ("rate", "figures"),
    [
        (1.0, (39.0, 40.0)),
        (0.99, (39.3, 39.9)),
        (0.95, (35.8, 35.9)),
        (0.9, (26.8, 26.8)),
        (0.8, (15.0, 15.0)),
        (0.5, (6.0, 6.0)),
    ],
)
def test_expected_runs__of_the_documented_table(rate: float, figures: tuple[float, float]) -> None:
    # open until the third failure (its chance summed over all runs); below a must, 39 passes are the end as well
    until_the_third = float(sum(binom.cdf(2, runs, 1 - rate) for runs in range(RUNS)))
    for threshold, figure, exact in zip(
        (0.95, 1.0), figures, (until_the_third - rate**39, until_the_third), strict=True
    ):
        experiment = parsed(threshold)
        base = base_of(experiment)
        [bar] = bars_of(experiment, "chaos", base, POLICY, RUNS)
        found = expected_runs(bar, RUNS, rate)
        assert found == pytest.approx(exact, abs=1e-9)
        assert round(found, 1) == figure
