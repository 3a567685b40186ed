"""Figures: counts first, rounded once and towards the worse."""

import pytest

from gate.comparison import Counts
from gate.render import number


@pytest.mark.parametrize(
    ("passes", "runs", "shown"),
    [
        (29, 40, "29/40 (72 %)"),  # 72.5 %
        (40, 40, "40/40 (100 %)"),
        (0, 40, "0/40 (0 %)"),
        (9_999, 10_000, "9,999/10,000 (99 %)"),  # never 100 % for less than all
        (57, 100, "57/100 (57 %)"),  # 100 * .57 is 56.99… in binary
        (0, 0, "no runs"),
        (41, 40, "41/40 (impossible)"),
    ],
)
def test_counts__with_a_floored_rate(passes: int, runs: int, shown: str) -> None:
    assert number.counts(Counts(passes=passes, runs=runs)) == shown


def test_counts__none() -> None:
    assert number.counts(None) == "no data"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.5, "= .50"),
        (0.501, "= .51"),
        (0.1, "= .10"),
        (0.07, "= .070"),  # 100 * .07 is 7.0…01 in binary
        (0.0121, "= .013"),
        (0.05, "= .050"),
        (0.001, "= .001"),
        (0.0009999, "< .001"),
        (1e-300, "< .001"),
        (0.0, "< .001"),
        (0.9999, "= 1"),
        (1.0, "= 1"),
        (None, "–"),
    ],
)
def test_p_value__rounded_up(value: float | None, shown: str) -> None:
    assert number.p_value(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.639, ".63"), (0.9999, ".99"), (1.0, "1"), (0.0, ".00")])
def test_power__rounded_down(value: float, shown: str) -> None:
    assert number.power(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.05, ".05"), (0.1, ".1"), (0.025, ".025")])
def test_level__as_it_was_set(value: float, shown: str) -> None:
    assert number.level(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.1, "10 points"), (0.01, "1 point"), (0.2049, "20.5 points"), (0.125, "12.5 points")]
)
def test_points__rounded_up(value: float, shown: str) -> None:
    assert number.points(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0.95, "95 %"), (1.0, "100 %"), (0.995, "99.5 %"), (1 - 0.8, "20 %"), (0.0, "0 %")]
)
def test_share__of_a_threshold(value: float, shown: str) -> None:
    assert number.share(value) == shown


@pytest.mark.parametrize(
    ("passes", "runs", "shown"),
    [  # Wilson intervals as given in docs/statistics.md, rounded outwards
        (29, 40, "57–84 %"),
        (40, 40, "91–100 %"),
        (15, 30, "33–67 %"),
        (39, 40, "87–99.6 %"),
        (0, 40, "0–9 %"),
        (0, 0, "–"),
        (41, 40, "–"),
    ],
)
def test_wilson__rounded_outwards(passes: int, runs: int, shown: str) -> None:
    assert number.wilson(Counts(passes=passes, runs=runs)) == shown


def test_interval__never_ends_at_100_for_less_than_all() -> None:
    assert number.interval(0.98, 0.99999, perfect=False) == "98–99.9 %"


@pytest.mark.parametrize(
    ("usd", "shown"),
    [(0.4101, "0.42 USD"), (0.0, "0.00 USD"), (1234.5, "1,234.50 USD"), (0.0001, "0.01 USD"), (None, "cost unknown")],
)
def test_money__rounded_up_and_without_a_dollar_sign(usd: float | None, shown: str) -> None:
    assert number.money(usd) == shown


@pytest.mark.parametrize(("count", "shown"), [(0, "0 runs"), (1, "1 run"), (1200, "1,200 runs")])
def test_many__says_one_or_more(count: int, shown: str) -> None:
    assert number.many(count, "run") == shown
