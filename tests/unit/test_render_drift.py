"""The sentences about a pinned report: a line in any case, and one for the log where something was not compared."""

from typing import Any

import pytest

from gate.comparison import Anchor
from gate.render.drift import drift_warning, named, told
from gate.render.escape import plain

WHOLE: dict[str, Any] = {"probes": 3, "compared": 3}


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        (WHOLE, ["nothing is worse: 3 of its 3 probes compared"]),
        ({"problem": "there is no such tag"}, ["nothing is compared with it: there is no such tag"]),
        ({"probes": 3}, ["none of its probes can be compared"]),
        (
            {"probes": 3, "compared": 1, "changed": ["e"]},
            ["nothing is worse: 1 of its 3 probes compared", "e is not compared: its definition is another one now"],
        ),
    ],
    ids=["whole", "problem", "none", "changed"],
)
def test_told__is_never_empty(fields: dict[str, Any], lines: list[str]) -> None:
    assert [plain(line) for line in told(Anchor(name="v1", **fields))] == lines


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (WHOLE, None),
        ({"problem": "there is no such tag"}, "anchor v1: nothing is compared with it: there is no such tag"),
        (
            {"probes": 3, "changed": ["e", "f"]},
            "anchor v1: none of its probes can be compared (and 2 more)",
        ),
    ],
    ids=["whole", "problem", "changed"],
)
def test_warning__is_one_line_for_all_that_was_not_compared(fields: dict[str, Any], line: str | None) -> None:
    warning = drift_warning(Anchor(name="v1", **fields))
    assert (warning and plain(warning)) == line


@pytest.mark.parametrize(("commit", "at"), [("c" * 40, " at ccccccc"), ("", ""), ("a word", "")])
def test_named__with_a_commit_where_it_is_one(commit: str, at: str) -> None:
    assert plain(named(Anchor(name="v1", commit=commit))) == f"v1{at}; only shown, blocks nothing"
