"""A suite that has used up its budget begins no further run, and judges what has run."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from gate.config import Budget, Config, RunConfig
from gate.errors import BrokenEnvironmentError, UsageError
from gate.prices import Price
from gate.report import Report
from gate.suite import Commit, run_and_report
from tests.e2e.engine_agents.harness import AGENTS, experiment

PRICES = {"script*": Price(input=100.0, output=1000.0)}
USD = (80 * 100 + 4 * 1000) / 1e6
"""What a run of `polite:thinks` costs: 2 responses, 40 tokens in and 2 out each."""
BUDGET_STOP = "the budget was used up"


def report(
    budget: Budget, entrypoint: str = "polite:thinks", *, prices: dict[str, Price] | None = None, **changes: Any
) -> Report:
    suite = [experiment(entrypoint, name=name, runs=5, seed=seed) for seed, name in enumerate(("one", "two"))]
    return run_and_report(
        suite,
        Config(run=RunConfig(parallel=1, budget=budget, prices=PRICES if prices is None else prices)),
        directory=AGENTS,
        python=(sys.executable,),
        environment={"PATH": os.environ["PATH"]},
        target=None,
        runs=None,
        seed=None,
        commit=Commit(),
        on_record=lambda _: None,
        **changes,
    )


@pytest.mark.parametrize("budget", [Budget(tokens=84 * 7), Budget(usd=USD * 6.5)], ids=["tokens", "usd"])
def test_budget__is_checked_between_runs_and_ends_one_experiment_before_the_next(budget: Budget) -> None:
    made = report(budget)
    assert (made.spend.runs, made.spend.tokens) == (7, 84 * 7)
    assert made.spend.usd == pytest.approx(USD * 7)
    one, two = made.experiments
    assert [(len(p.runs), p.planned_runs, p.stop_reason) for p in one.phases] == [
        (4, 5, BUDGET_STOP),
        (3, 5, BUDGET_STOP),
    ]
    assert [len(p.runs) for p in two.phases] == [0, 0]
    assert two.status == "inconclusive"


def test_budget__that_is_not_used_up_changes_nothing() -> None:
    made = report(Budget(usd=10.0, tokens=10**6, minutes=5))
    assert made.spend.runs == 20
    assert {p.stop_reason for e in made.experiments for p in e.phases} == {""}


@pytest.mark.parametrize(
    ("first", "second"),
    [(Budget(tokens=84 * 3), Budget(tokens=84 * 4)), (Budget(usd=USD * 2.5), Budget(usd=USD * 3.5))],
    ids=["tokens", "usd"],
)
def test_budget__counts_what_ran_before_it_was_resumed(first: Budget, second: Budget, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    assert report(first, journal=journal).spend.runs == 3
    assert report(second, journal=journal, resume=True).spend.runs == 4


@pytest.mark.parametrize(
    "budget", [Budget(usd=0), Budget(tokens=0), Budget(minutes=0)], ids=["usd", "tokens", "minutes"]
)
def test_budget__of_nothing_is_no_verdict(budget: Budget) -> None:
    with pytest.raises(BrokenEnvironmentError, match="no run was started: the budget was used up") as caught:
        report(budget)
    assert budget.model_dump_json(exclude_none=True) in str(caught.value)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("prices", "entrypoint", "said"),
    [
        ({}, "polite:thinks", "no price for model 'scripted'"),
        ({"claude*": Price()}, "polite:thinks", "no price for model 'scripted'"),
        (PRICES, "polite:thinks_silently", "1 model response.s. do not say what they took"),
    ],
    ids=["no prices", "other model", "no usage"],
)
def test_budget_in_usd__without_a_price_stops_and_keeps_what_ran(
    prices: dict[str, Price], entrypoint: str, said: str, tmp_path: Path
) -> None:
    journal = tmp_path / "journal.jsonl"
    with pytest.raises(UsageError, match=said) as caught:
        report(Budget(usd=10.0), entrypoint, prices=prices, journal=journal)
    assert "run.prices" in str(caught.value) and caught.value.exit_code == 2
    assert journal.read_bytes().count(b"\n") == 1 + 1, "a run more would cost what nobody knows"


def test_budget_in_usd__goes_on_once_the_price_is_there(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    with pytest.raises(UsageError):
        report(Budget(usd=10.0), prices={}, journal=journal)
    made = report(Budget(usd=10.0), journal=journal, resume=True)
    assert made.spend.runs == 20
    assert made.spend.usd == pytest.approx(USD * 20)


def test_spend__without_prices_is_unknown_and_not_nothing() -> None:
    assert report(Budget(), prices={}).spend.usd is None


def test_spend__where_no_model_is_seen_is_unknown() -> None:
    assert report(Budget(usd=1.0), "polite:echo").spend.usd is None
