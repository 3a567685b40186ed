"""The figures of docs/statistics.md that no other test holds, read from the page and computed again."""

import itertools
from pathlib import Path

import pytest
from scipy.stats import binom

from gate import stats
from gate.stats import Test

PAGE = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")


def _table(first_cell: str, columns: int) -> list[list[str]]:
    """The body of the table whose header starts with `first_cell` and has this many columns."""
    lines = PAGE.splitlines()
    for number, line in enumerate(lines):
        if line.startswith(f"| {first_cell} |") and line.count("|") == columns + 1:
            body = []
            for row in lines[number + 2 :]:
                if not row.startswith("|"):
                    break
                body.append([cell.strip() for cell in row.strip("|").split("|")])
            return body
    raise AssertionError(f"no table starts with {first_cell!r}")


@pytest.mark.parametrize("row", _table("runs per arm", 7), ids=lambda row: row[0])
def test_page__what_a_number_of_runs_buys(row: list[str]) -> None:
    n = int(row[0])
    figures = [stats.exact_power(n, n, base, head) for base, head in ((1.0, 0.9), (0.95, 0.85), (0.95, 0.75))]
    figures += [stats.pass_probability(n, n, r, r, alpha=0.05, min_effect=0.1, beta=0.2) for r in (0.99, 0.95, 0.9)]
    assert [float(cell) for cell in row[1:]] == pytest.approx(figures, abs=5.01e-3)


@pytest.mark.parametrize("row", _table("base rate", 5), ids=lambda row: row[0])
def test_page__runs_for_power(row: list[str]) -> None:
    rate = int(row[0].removesuffix(" %")) / 100
    assert [int(cell) for cell in row[1:]] == [stats.runs_for_power(rate, drop) for drop in (0.05, 0.1, 0.2, 0.3)]


@pytest.mark.parametrize(("test", "power"), [("unconditional", 0.10), ("fisher", 0.015)])
def test_page__holm_over_twenty_probes(test: Test, power: float) -> None:
    assert stats.exact_power(40, 40, 1.0, 0.9, alpha=0.05 / 20, test=test) == pytest.approx(power, rel=0.04)


@pytest.mark.parametrize(
    ("before", "after", "seen", "runs"),
    [(1.0, 0.9, 0.813, 91), (0.95, 0.75, 0.907, 102), (1.0, 0.8, 0.99, 69), (1.0, 0.5, 0.99, 25)],
)
def test_page__fixed_runs_with_holm_for_as_much(before: float, after: float, seen: float, runs: int) -> None:
    power = {n: stats.exact_power(n, n, before, after, alpha=0.05 / 20) for n in (runs - 1, runs)}
    assert power[runs] >= seen > power[runs - 1]


@pytest.mark.parametrize(("rate", "runs"), [(0.99, 17), (0.95, 26), (0.70, 13)])
def test_page__runs_a_sequential_test_takes(rate: float, runs: int) -> None:
    found = stats.sprt_characteristics(0.95, 0.10, alpha=0.05, beta=0.2, max_runs=52, rate=rate)
    assert round(found[3]) == runs


@pytest.mark.parametrize("row", _table("unchanged pass rate", 6), ids=lambda row: row[0])
def test_page__a_second_look(row: list[str]) -> None:
    rate = int(row[0].removesuffix(" %")) / 100
    unchanged, dropped = (_looks(rate, now) for now in (rate, rate - 0.1))
    figures = [unchanged[0], dropped[0], unchanged[1], dropped[1], unchanged[2]]
    assert [float(cell) for cell in row[1:]] == pytest.approx(figures, abs=5.01e-4)


def _looks(before: float, now: float, runs: int = 40, most: int = 100) -> list[float]:
    """Return how often one look passes, two do, and the second is taken; over all counts of base, head and the rest."""
    first, then, one = (
        stats.noninferiority_boundary(runs, n, min_effect=0.1, beta=beta)
        for n, beta in ((runs, 0.1), (most, 0.1), (runs, 0.2))
    )
    worse, worse_then = (stats.rejection_boundary(runs, n, alpha=0.05) for n in (runs, most))
    found = [0.0, 0.0, 0.0]
    for x1, x2 in itertools.product(range(runs + 1), range(runs + 1)):
        chance = binom.pmf(x1, runs, before) * binom.pmf(x2, runs, now)
        if x2 <= worse[x1]:
            continue
        found[0] += chance * (x2 >= one[x1])
        if x2 >= first[x1]:
            found[1] += chance
        elif x2 + most - runs >= then[x1]:
            found[1] += chance * binom.sf(max(then[x1], worse_then[x1] + 1) - x2 - 1, most - runs, now)
            found[2] += chance
    return found


def test_page__single_figures() -> None:
    assert round(stats.exact_test(40, 40, 37, 40), 3) == 0.046
    assert round(stats.exact_test(40, 40, 38, 40), 2) == 0.10
    assert round(stats.smallest_visible_drop(40, 40, 40, alpha=0.05, power=0.8) or 0, 3) == 0.104
    unchanged = stats.pass_probability(40, 40, 0.95, 0.95, alpha=0.05, min_effect=0.05, beta=0.2)
    assert round(unchanged, 2) == 0.48


def test_page__a_larger_base() -> None:
    arms: list[tuple[int | None, Test]] = [(100, "unconditional"), (None, "unconditional"), (100, "boschloo")]
    wanted = [
        stats.runs_for_power(rate, drop, base_runs=base, test=test)
        for rate, drop in ((1.0, 0.10), (0.95, 0.20))
        for base, test in arms
    ]
    assert wanted == [29, 42, 29, 25, 38, 23]


@pytest.mark.parametrize(("passes", "level"), [(32, 0.043), (31, 0.053)])
def test_page__step_down_charges_a_probe_that_fails_more(passes: int, level: float) -> None:
    tables = [(33, 40, 24, 40), (40, 40, 40, 40), (38, 40, 36, 40), (30, 40, passes, 40)]
    assert round(stats.step_down(tables)[0], 3) == level


@pytest.mark.parametrize("figure", ["power", "size"])
def test_page__shows_its_figures(figure: str) -> None:
    assert f"(figures/{figure}.svg)" in PAGE
    assert (Path(__file__).parents[2] / "docs" / "figures" / f"{figure}.svg").is_file()
