"""What a suite will take and show. Runs and power for n = 40 and 100 from the tables of docs/statistics.md."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from scipy.stats import binom

from gate import stats
from gate.errors import UsageError
from gate.experiment import Experiment, parse_experiment
from gate.plan import Plan, PlannedProbe, parse_price, plan_suite
from gate.policy import ExperimentPolicy
from gate.prices import Price, Prices
from gate.render.plan import render_plan
from gate.render.terminal import cells
from gate.report import ExperimentReport, ModelUsage, Phase, PhaseReport, Report, RunSummary, Spend
from tests.builders import POLICY, experiment, parsed, probe, report

GPT = {"gpt-*": Price(input=2.0, output=10.0)}
NO_PRICES: Prices = {}
SILENT = """
apiVersion: agentic-chaos/v1
kind: Experiment
metadata: {name: silent}
spec: {faults: [{type: error}], probes: [{type: output_matches, params: {pattern: ok}}]}
"""


def planned(
    *experiments: Experiment, base: Report | None = None, runs: int | None = None, prices: Prices = NO_PRICES
) -> Plan:
    return plan_suite(
        experiments or [parsed()], policy=POLICY, default_runs=40, parallel=4, runs=runs, base=base, prices=prices
    )


def chaos_probe(plan: Plan) -> PlannedProbe:
    return next(p for p in plan.experiments[0].probes if p.phase == "chaos")


def phase(name: Phase, **spend: Any) -> PhaseReport:
    """Return a phase of ten runs."""
    summaries = [RunSummary(index=i, seed=i, outcome="ok", passed=(True,)) for i in range(10)]
    return PhaseReport(phase=name, planned_runs=10, runs=summaries, **spend)


def stored(*phases: PhaseReport, passes: int = 40, runs: int = 40) -> Report:
    """Return a base whose experiment is the one of `parsed`, with these phases."""
    probes = [probe(passes, runs, phase=name, threshold=1.0) for name in ("baseline", "chaos")]
    made = experiment("e", *probes, fingerprint=parsed().fingerprint)
    return report(made.model_copy(update={"phases": list(phases) or made.phases}), commit="a" * 40)


def usage(model: str, responses: int, entered: int, left: int) -> ModelUsage:
    return ModelUsage(model=model, responses=responses, input_tokens=entered, output_tokens=left)


def test_runs__of_the_option_then_the_file_then_the_default() -> None:
    own = parse_experiment(
        "apiVersion: agentic-chaos/v1\nkind: Experiment\nmetadata: {name: f}\n"
        "spec: {runs: 7, baseline: false, faults: [{type: error}], probes: [{type: output_matches, "
        "params: {pattern: ok}}]}",
        "f.yaml",
    )
    made = planned(parsed(), own)
    assert [e.runs for e in made.experiments] == [{"baseline": 40, "chaos": 40}, {"chaos": 7}]
    assert made.total.runs == 87
    assert planned(parsed(), own, runs=5).total.runs == 15


@pytest.mark.parametrize(
    ("threshold", "power", "wanted", "early"),
    [
        pytest.param(1.0, 0.777, 42, 40.0, id="must always hold"),
        pytest.param(0.95, 0.42, 111, 22.0, id="95 %"),
    ],
)
def test_without_base__the_threshold_is_expected(threshold: float, power: float, wanted: int, early: float) -> None:
    found = chaos_probe(planned(parsed(threshold)))
    assert (found.rate, found.rate_from, found.base_runs) == (threshold, "threshold", 40)
    assert found.power == pytest.approx(power, abs=5e-3)
    assert found.runs_wanted == wanted
    assert found.sequential_runs == pytest.approx(early, abs=4)


def test_with_base__its_counts_are_expected() -> None:
    found = chaos_probe(planned(base=stored(passes=95, runs=100), runs=25))
    assert (found.rate, found.rate_from, found.base_runs, found.runs) == (0.95, "base", 100, 25)
    assert found.power == stats.exact_power(100, 25, 0.95, 0.85)
    assert found.sequential_runs == pytest.approx((1 - 0.95**25) / 0.05)  # threshold 1: up to the first failure


def test_with_base__counts_of_another_definition_are_not() -> None:
    other = stored(passes=20).experiments[0].model_copy(update={"fingerprint": "other"})
    made = planned(base=report(other))
    assert chaos_probe(made).rate_from == "threshold"
    assert any("no counts for 2 of 2 probes" in note for note in made.notes)


def test_with_base__its_policy_and_own_claims_apply() -> None:
    strict = POLICY.model_copy(update={"alpha": 0.01})
    base = stored().model_copy(update={"policy": strict})
    assert chaos_probe(planned(base=base)).alpha == 0.01
    own = base.experiments[0].model_copy(update={"policy": ExperimentPolicy(min_effect=0.3, power=0.9)})
    found = chaos_probe(planned(base=base.model_copy(update={"experiments": [own]})))
    assert (found.alpha, found.min_effect, found.wanted_power) == (0.01, 0.3, 0.9)


UNTIL_THE_THIRD = float(sum(binom.cdf(2, runs, 0.1) for runs in range(40)))
"""Runs until the third failure, at most 40, at a pass rate of 90 %: the chance to be open is summed over all runs."""


@pytest.mark.parametrize(
    ("threshold", "unchanged", "dropped"),
    [
        # A base of 40/40 is regressed by the third failure, and 39 passes prove none; a must is open to the last.
        pytest.param(0.95, 39.0, UNTIL_THE_THIRD - 0.9**39, id="95 %"),
        pytest.param(1.0, 40.0, UNTIL_THE_THIRD, id="must always hold"),
    ],
)
def test_early_runs__until_the_comparison_is_decided(threshold: float, unchanged: float, dropped: float) -> None:
    stored = experiment("e", probe(40, 40, threshold=threshold), fingerprint=parsed(threshold).fingerprint)
    made = planned(parsed(threshold), base=report(stored, policy=POLICY.model_copy(update={"extend": "off"})))
    assert chaos_probe(made).early_runs == pytest.approx((unchanged, dropped))
    assert made.total.early_runs == pytest.approx((40 + unchanged, 40 + dropped))


def test_early_runs__need_a_base_of_this_definition_that_is_confirmed_against() -> None:
    assert chaos_probe(planned()).early_runs is None
    off = stored().model_copy(update={"policy": POLICY.model_copy(update={"confirm": "off"})})
    assert chaos_probe(planned(base=off)).early_runs is None
    other = stored().experiments[0].model_copy(update={"fingerprint": "other"})
    assert chaos_probe(planned(base=report(other))).early_runs is None


def test_early_costs__are_those_of_the_runs_on_average_and_of_the_baseline() -> None:
    base = stored(
        phase("baseline", seconds=20.0, model_calls=20, usage=[usage("gpt-4", 20, 10_000, 2_000)]),
        phase("chaos", seconds=40.0, model_calls=30, usage=[usage("gpt-4", 30, 20_000, 3_000)]),
        passes=38,
    )
    made = planned(base=base, prices=GPT)
    one = made.experiments[0]
    assert one.early_runs is not None
    assert one.max_runs == 100
    assert one.early_runs[0] > 40, "more where it stays open than is spared where it does not"
    for at, runs in enumerate(one.early_runs):
        assert one.early_costs["usd"][at] == pytest.approx(40 * 0.004 + runs * 0.007)
        assert one.early_costs["minutes"][at] == pytest.approx((40 * 2 + runs * 4) / 4 / 60)
    assert made.total.early_costs == one.early_costs
    shown = " ".join(render_plan(made, width=200).split())
    assert f"about {math.ceil(40 + one.early_runs[0])} runs (" in shown
    assert planned(base=base).experiments[0].early_costs.keys() == {"model_calls", "tokens", "minutes"}
    assert planned().experiments[0].early_costs == {}


def test_shared_baseline__is_counted_and_paid_for_once() -> None:
    base = stored(
        phase("baseline", seconds=10.0, model_calls=10, usage=[usage("gpt-4", 10, 10_000, 0)]),
        phase("chaos", seconds=10.0, model_calls=10, usage=[usage("gpt-4", 10, 10_000, 0)]),
    )
    made = planned(parsed(), replace(parsed(), name="f", runs=60), base=base, prices=GPT)
    assert [e.shared_runs for e in made.experiments] == [0, 40]
    assert (made.total.runs, made.total.shared_runs) == (60 + 40 + 60, 40)
    assert made.total.usd == pytest.approx(160 * 0.002)
    shown = " ".join(render_plan(made).split())
    assert "160 runs" in shown and "40 more if baselines were not shared" in shown


def test_rate__that_leaves_no_room_for_the_drop_has_no_power() -> None:
    made = planned(base=stored(passes=1))
    found = chaos_probe(made)
    assert (found.power, found.runs_wanted, made.experiments[0].power) == (None, None, None)


def test_spend__is_unknown_without_a_base() -> None:
    made = planned()
    one = made.experiments[0]
    assert (one.model_calls, one.tokens, one.usd, one.minutes) == (None, None, None, None)
    assert made.total.unknown == {"model_calls": 1, "tokens": 1, "usd": 1, "minutes": 1}


def test_spend__as_each_phase_of_the_base_took() -> None:
    base = stored(
        phase("baseline", seconds=20.0, model_calls=20, usage=[usage("gpt-4", 20, 10_000, 2_000)]),
        phase("chaos", seconds=40.0, model_calls=30, usage=[usage("gpt-4", 30, 20_000, 3_000)]),
    )
    one = planned(base=base, prices=GPT).experiments[0]
    assert one.model_calls == 40 * (2 + 3)
    assert one.tokens == 40 * (1_200 + 2_300)
    assert one.usd == pytest.approx(40 * (0.002 + 0.002 + 0.004 + 0.003))  # 2 and 10 USD for a million
    assert one.minutes == pytest.approx(40 * (2 + 4) / 4 / 60)


@pytest.mark.parametrize(
    ("spend", "lacking"),
    [
        pytest.param({"seconds": 1.0, "model_calls": 0, "usage": []}, {"model_calls", "tokens", "usd"}, id="none seen"),
        pytest.param({"seconds": 1.0, "model_calls": 9, "usage": []}, {"tokens", "usd"}, id="no usage told"),
        pytest.param(
            {"seconds": 1.0, "model_calls": 9, "usage": [usage("gpt-4", 8, 1, 1)]}, {"tokens", "usd"}, id="one silent"
        ),
        pytest.param({"seconds": 1.0, "model_calls": 9, "usage": [usage("x", 9, 1, 1)]}, {"usd"}, id="no price"),
        pytest.param({}, {"model_calls", "tokens", "usd", "minutes"}, id="older report"),
    ],
)
def test_spend__what_nobody_knows_is_absent(spend: dict[str, Any], lacking: set[str]) -> None:
    made = planned(base=stored(phase("baseline", **spend), phase("chaos", **spend)), prices=GPT)
    assert set(made.total.unknown) == lacking
    assert {c for c in ("model_calls", "tokens", "usd", "minutes") if getattr(made.total, c) is None} == lacking


def test_spend__of_a_new_experiment_is_the_suites_average() -> None:
    known: ExperimentReport = experiment("known", probe(40, 40))
    took = [phase("chaos", seconds=30.0, model_calls=10, usage=[usage("gpt-4", 10, 100, 100)])]
    one = planned(base=report(known.model_copy(update={"phases": took}))).experiments[0]
    assert (one.model_calls, one.tokens) == (80, 1_600)
    assert one.minutes == pytest.approx(80 * 3 / 4 / 60)


def test_spend__of_an_older_report_is_its_sum_over_its_runs() -> None:
    base = stored().model_copy(update={"spend": Spend(runs=80, tokens=8_000, usd=0.8)})
    one = planned(base=base).experiments[0]
    assert (one.tokens, one.model_calls) == (8_000, None)
    assert one.usd == pytest.approx(0.8)


def test_total__adds_what_is_known_and_counts_the_rest() -> None:
    other = parse_experiment(SILENT, "s.yaml")
    told = stored(phase("chaos", seconds=1.0, model_calls=5, usage=[usage("gpt-4", 5, 50, 50)])).experiments[0]
    silent = experiment("silent", probe(40, 40)).model_copy(
        update={"phases": [phase("chaos", seconds=1.0, model_calls=5, usage=[])]}
    )
    made = planned(parsed(), other, base=report(told, silent), prices=GPT)
    assert [e.tokens for e in made.experiments] == [800, None]
    assert (made.total.tokens, made.total.unknown) == (800, {"tokens": 1, "usd": 1})
    assert "at least 800 tokens (unknown for 1 of 2)" in " ".join(render_plan(made).split())


def test_note__a_price_of_no_model() -> None:
    base = stored(phase("chaos", seconds=1.0, model_calls=1, usage=[usage("claude", 1, 1, 1)]))
    assert any("gpt-*" in n and "claude" in n for n in planned(base=base, prices=GPT).notes)


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("gpt-4o=2.5/10", ("gpt-4o", Price(input=2.5, output=10.0))),
        ("a=b*=0/1", ("a=b*", Price(input=0.0, output=1.0))),
    ],
)
def test_parse_price__of_a_model(text: str, price: tuple[str, Price]) -> None:
    assert parse_price(text) == price


@pytest.mark.parametrize("text", ["", "gpt", "gpt=1", "=1/2", "gpt=1/x", "gpt=-1/2", "gpt=nan/1", "gpt=1/inf"])
def test_parse_price__of_another_form_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a price"):
        parse_price(text)


def test_plan__round_trips_through_json() -> None:
    made = planned(base=stored(phase("chaos", seconds=1.0, model_calls=1, usage=[usage("gpt-4", 1, 1, 1)])))
    assert Plan.model_validate_json(made.to_json()) == made
    assert json.loads(made.to_json())["experiments"][0]["usd"] is None


@pytest.mark.parametrize("width", [40, 80])
def test_render_plan__fits_and_escapes(width: int) -> None:
    long = replace(parsed(0.0), name="\x1b[31mevil " + "n" * 150)
    spend: dict[str, Any] = {"seconds": 1e7, "model_calls": 10**9, "usage": [usage("gpt-4", 10**9, 10**12, 10**12)]}
    base = stored(phase("baseline", **spend), phase("chaos", **spend))
    shown = render_plan(planned(parsed(), base=base, prices=GPT), width=width)
    shown += "\n" + render_plan(plan_suite([long], policy=POLICY, default_runs=1, parallel=1, runs=50), width=width)
    assert all(cells(line) <= width for line in shown.splitlines())
    assert "\x1b" not in shown


def test_render_plan__says_unknown_in_words() -> None:
    shown = " ".join(render_plan(planned()).split())
    assert "unknown: model calls, tokens, cost, minutes." in shown
    assert "repeats after infra errors." in shown  # notes are not cut
