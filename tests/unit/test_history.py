"""What a row looks back on: the stored reports of its branch in which the same was measured."""

from datetime import date

import pytest

from gate.compare import compare
from gate.history import SHOWN, ExperimentSummary, Summary
from tests import builders


def stored(
    number: int, passes: int, runs: int = 40, *, fingerprint: str = "f", name: str = "e", probe: str = "output_matches"
) -> Summary:
    counts = {f"chaos/{probe}": (passes, runs), "baseline/other": (1, 1)}
    return Summary(
        commit=f"{number:040x}",
        run_id=number,
        attempt=1,
        ended_at="2026-01-01T00:00:00Z",
        tool_version="1",
        experiments=[ExperimentSummary(name=name, status="held", counts=counts, fingerprint=fingerprint)],
    )


def looked_back(*history: Summary) -> list[tuple[int, int]]:
    base = builders.report(builders.experiment("e", builders.probe(40, 40)), commit="b" * 40)
    head = builders.report(builders.experiment("e", builders.probe(39, 40)), commit="a" * 40)
    [row] = compare(base, head, policy=builders.POLICY, today=date(2026, 1, 1), history=history).rows
    return [(c.passes, c.runs) for c in row.history]


def test_history__is_in_the_order_in_which_it_was_stored() -> None:
    assert looked_back(stored(1, 38), stored(2, 40), stored(3, 20, 21)) == [(38, 40), (40, 40), (20, 21)]


def test_history__leaves_out_heads_own_commit() -> None:
    assert looked_back(stored(1, 38), stored(0xA, 3).model_copy(update={"commit": "a" * 40})) == [(38, 40)]


@pytest.mark.parametrize(
    "other",
    [
        stored(2, 9, fingerprint="other"),
        stored(2, 9, name="another"),
        stored(2, 9, probe="another"),
        stored(2, 0, 0),
    ],
    ids=["another definition", "another experiment", "another probe", "without a run"],
)
def test_history__leaves_out_what_was_not_the_same(other: Summary) -> None:
    assert looked_back(stored(1, 38), other) == [(38, 40)]


def test_history__of_older_stores_says_nothing_of_the_definition() -> None:
    assert looked_back(stored(1, 38, fingerprint="")) == [(38, 40)]


def test_history__goes_back_so_far() -> None:
    found = looked_back(*(stored(n, n) for n in range(SHOWN + 5)))
    assert found == [(n, 40) for n in range(5, SHOWN + 5)]


def test_history__none_is_empty() -> None:
    assert looked_back() == []
