"""The verdict of one experiment, in the published order (statistics, section 1)."""

import random

import pytest

from gate.judge import MAX_FAILURES, Tally, judge_experiment
from gate.report import ExperimentReport, RunRecord
from tests.builders import EXPERIMENT, parsed, records


def judged(
    chaos: int, of: int = 40, *, baseline: int | None = None, threshold: float = 1.0, extra: str = "", fired: int = 1
) -> ExperimentReport:
    held = of if baseline is None else baseline
    runs = records("baseline", [i < held for i in range(of)]) + records(
        "chaos", [i < chaos for i in range(of)], fired=fired
    )
    return judge_experiment(parsed(threshold, extra), runs, planned_runs=of, seed=0)


@pytest.mark.parametrize(
    ("passes", "threshold", "status"),
    [
        pytest.param(40, 1.0, "held", id="all of them"),
        pytest.param(39, 1.0, "weakness", id="one failure breaks a must"),
        pytest.param(38, 0.95, "held", id="38/40 meets 95 %"),
        pytest.param(37, 0.95, "weakness", id="37/40 does not"),
        pytest.param(29, 0.95, "weakness", id="as published"),
    ],
)
def test_status__by_chaos_pass_rate(passes: int, threshold: float, status: str) -> None:
    assert judged(passes, threshold=threshold).status == status


def test_status__broken_baseline_comes_first() -> None:
    report = judged(0, baseline=39)
    assert report.status == "inconclusive"
    assert "fix the baseline first" in report.reason


def test_status__no_fault_fired_is_inconclusive() -> None:
    report = judged(40, fired=0)
    assert report.status == "inconclusive"
    assert "no fault fired" in report.reason


@pytest.mark.parametrize(
    ("passes", "runs", "threshold", "status"),
    [
        # Wilson, 95 %: 28/30 is 78.7-98.2 %, 29/30 is 83.3-99.4 %; corrected figures of the published text.
        pytest.param(28, 30, 0.8, "inconclusive", id="28/30 against 80 %"),
        pytest.param(29, 30, 0.8, "held", id="29/30 against 80 %"),
        pytest.param(10, 30, 0.8, "weakness", id="interval wholly below"),
    ],
)
def test_require_confidence__by_interval(passes: int, runs: int, threshold: float, status: str) -> None:
    report = judged(passes, runs, threshold=threshold, extra="  require_confidence: true\n")
    assert report.status == status
    if status == "inconclusive":
        assert "about 16 runs would" in report.reason  # 16 all-pass runs have a lower bound of 80.6 %, 15 one of 79.6 %


def test_status__no_valid_run_is_never_a_pass() -> None:
    runs = records("baseline", [True] * 3) + records("chaos", [True] * 3, outcome="gate_error")
    report = judge_experiment(parsed(), runs, planned_runs=3, seed=0)
    assert report.status == "inconclusive"
    assert next(p for p in report.probes if p.phase == "chaos").interval is None


def test_status__too_many_runs_lost_to_the_provider() -> None:
    def lost(count: int) -> ExperimentReport:
        chaos = records("chaos", [True] * 40)
        chaos = [r.model_copy(update={"outcome": "infra"}) if i < count else r for i, r in enumerate(chaos)]
        return judge_experiment(parsed(), records("baseline", [True] * 40) + chaos, planned_runs=40, seed=0)

    assert lost(4).status == "held"
    assert lost(4).probes[1].runs == 36
    assert lost(5).status == "inconclusive"


def test_status__a_critical_probe_that_was_never_tested_is_not_held() -> None:
    text = (
        "apiVersion: agentic-chaos/v1\nkind: Experiment\nmetadata: {name: e}\n"
        "spec: {target: {entrypoint: 'a:b'}, faults: [{type: error}], probes: [{type: fails_closed}]}\n"
    )
    from gate.experiment import parse_experiment

    runs = records("baseline", [True] * 4, vacuous=True) + records("chaos", [True] * 4, vacuous=True)
    report = judge_experiment(parse_experiment(text, "e.yaml"), runs, planned_runs=4, seed=0)
    assert report.status == "inconclusive"
    assert "never put to the test" in report.reason


def test_report__does_not_depend_on_the_order_of_runs() -> None:
    runs: list[RunRecord] = records("baseline", [True] * 5) + records("chaos", [True, False, True, True, False])
    forward = judge_experiment(parsed(), runs, planned_runs=5, seed=0)
    backward = judge_experiment(parsed(), runs[::-1], planned_runs=5, seed=0)
    assert forward == backward


def test_report__names_the_line_of_each_probe() -> None:
    report = judge_experiment(parsed(), records("chaos", [True]), planned_runs=1, seed=0)
    assert [p.line for p in report.probes] == [EXPERIMENT.count("\n")]  # the last line


def test_tally__any_order_gives_the_same_report() -> None:
    runs = records("baseline", [True] * 30) + records("chaos", [i % 3 > 0 for i in range(30)])
    runs = [r.model_copy(update={"error": f"run {r.index}"}) for r in runs]
    shuffled = random.Random(1).sample(runs, len(runs))
    reports = [judge_experiment(parsed(), order, planned_runs=30, seed=0) for order in (runs, shuffled)]
    assert reports[0] == reports[1]
    assert [f.index for f in reports[0].failures] == list(range(0, 30, 3))


def test_tally__keeps_no_more_failures_than_it_shows() -> None:
    tally = Tally(parsed())
    for record in reversed(records("chaos", [False] * 500)):
        tally.add(record)
    assert len(tally._failures) == MAX_FAILURES
    failures = tally.report(planned_runs=500, seed=0).failures
    assert [f.index for f in failures] == list(range(MAX_FAILURES))
