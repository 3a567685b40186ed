"""Shards of a suite to one report, and what does not belong together."""

from typing import Any

import pytest

from gate.errors import InvalidFileError
from gate.merge import merge_reports
from gate.policy import Policy
from gate.report import Report
from tests import builders

SHA = "a" * 40


def shard(*names: str, **changes: Any) -> Report:
    experiments = [builders.experiment(name, builders.probe(40, 40)) for name in names]
    return builders.report(*experiments, commit=SHA).model_copy(update=changes)


def test_merge__joins_experiments_times_and_spend() -> None:
    late = {"started_at": "2025-12-31T23:00:00Z", "ended_at": "2026-01-01T09:00:00Z"}
    made = merge_reports([("b", shard("z", "a")), ("a", shard("m", **late))])
    assert [e.name for e in made.experiments] == ["a", "m", "z"]
    assert (made.started_at, made.ended_at, made.commit) == (*late.values(), SHA)
    assert made.spend.runs == 120
    assert made.spend.usd is None


def test_merge__of_one_is_itself_sorted() -> None:
    report = shard("a", "b")
    assert merge_reports([("x", report)]) == report


def test_merge__does_not_depend_on_the_order() -> None:
    one, two = ("1", shard("a", limits=["no seeds"])), ("2", shard("b", limits=["no seeds", "no commit"]))
    assert merge_reports([one, two]).limits == ["no commit", "no seeds"]
    assert merge_reports([one, two]) == merge_reports([two, one])


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        (shard("a"), "has experiment 'a', as one has"),
        (shard("b", commit="b" * 40), "another commit"),
        (shard("b", tested_tree="t"), "another tested tree"),
        (shard("b", policy=Policy(alpha=0.01)), "another policy"),  # type: ignore[call-arg]
        (shard("b", tool=shard().tool.model_copy(update={"version": "9"})), "another version of the tool"),
        (shard("b", tool=shard().tool.model_copy(update={"name": "JUnit XML"})), "another tool than"),
    ],
    ids=["experiment", "commit", "tree", "policy", "version", "tool"],
)
def test_merge__refuses_what_does_not_belong_together(other: Report, problem: str) -> None:
    with pytest.raises(InvalidFileError, match=problem):
        merge_reports([("one", shard("a")), ("two", other)])


def test_merge__of_nothing_is_refused() -> None:
    with pytest.raises(InvalidFileError, match="no report to merge"):
        merge_reports([])


def test_merge__the_same_file_twice_is_refused() -> None:
    with pytest.raises(InvalidFileError, match="given twice"):
        merge_reports([("one", shard("a")), ("one", shard("b"))])
