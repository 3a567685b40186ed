"""Every rendered output of every kind of comparison, against the files in tests/golden."""

from collections.abc import Callable

import pytest

from gate.comparison import Comparison
from gate.render.markdown import Links, check_summary, check_title, render_comment, render_summary
from gate.render.marker import Marker
from gate.render.terminal import cells, render_terminal
from tests.golden.comparisons import ALL, HEAD_SHA, huge

Check = Callable[[str, str], None]
COMMITS = "https://github.com/org/repo/commit/"
LINKS = Links(run="https://github.com/org/repo/actions/runs/17", base_commits=COMMITS, head_commits=COMMITS)
MARKER = Marker(key="default", head=HEAD_SHA, run=17, attempt=1)

each = pytest.mark.parametrize(("name", "comparison"), ALL.items(), ids=ALL)


@each
def test_comment__golden(name: str, comparison: Comparison, golden: Check) -> None:
    golden(f"{name}.comment.md", render_comment(comparison, marker=MARKER, links=LINKS))


@each
def test_summary__golden(name: str, comparison: Comparison, golden: Check) -> None:
    golden(f"{name}.summary.md", render_summary(comparison, links=LINKS))


@each
def test_terminal__golden(name: str, comparison: Comparison, golden: Check) -> None:
    text = render_terminal(comparison)
    assert max(cells(line) for line in text.splitlines()) <= 80
    golden(f"{name}.terminal.txt", text + "\n")


def test_check_title__golden(golden: Check) -> None:
    golden("check-titles.txt", "".join(f"{name}: {check_title(c)}\n" for name, c in ALL.items()))


def test_comment__2000_rows_of_wide_text(golden: Check) -> None:
    text = render_comment(huge(), marker=MARKER, links=LINKS)
    assert len(text) <= 60_000
    golden("huge.comment.md", text)


def test_check_summary__2000_rows_of_wide_text(golden: Check) -> None:
    text = check_summary(huge())
    assert len(text.encode()) <= 65_000
    golden("huge.check.md", text)
