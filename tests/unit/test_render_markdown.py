"""The comment, the job summary and the check run: what stands where, and what goes when room is short."""

import subprocess
import sys
from typing import Any

import pytest

from gate.policy import KnownFinding, Removed
from gate.render.markdown import Links, check_summary, check_title, render_comment, render_summary
from gate.render.marker import Marker, read_marker
from gate.render.view import SHOWN, build_view, shorten
from tests.golden.comparisons import (
    ALL,
    BASE,
    FAILED,
    MANY_UNDECIDED,
    NO_BASE,
    PASSED,
    QUIET,
    SETS_DIFFER,
    comparison,
    huge,
    row,
    unchanged,
    undecided,
)

MARKER = Marker(key="nightly", head="b" * 40, run=17, attempt=2)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("pass", "✅ **PASS** — nothing blocks this merge"),
        ("fail", "❌ **FAIL** — this blocks the merge: 1 new critical finding, 1 regression"),
        ("inconclusive-few", "⚠️ **INCONCLUSIVE** — does not block this merge: 3 of 7 probes undecided"),
        ("inconclusive-many", "⚠️ **INCONCLUSIVE** — does not block this merge"),
        ("no-base", "ℹ️ **NO BASE** — does not block this merge; worth a look: 1 critical finding"),
    ],
)
def test_comment__verdict_is_the_first_line(name: str, line: str) -> None:
    assert render_comment(ALL[name]).splitlines()[0] == line


def test_comment__marker_is_the_last_line() -> None:
    text = render_comment(PASSED, key="nightly", marker=MARKER)
    assert text.endswith(f"\n\n<!-- agent-chaos-gate v1 key=nightly head={'b' * 40} run=17 attempt=2 -->\n")
    assert read_marker(text) == MARKER


def test_comment__without_a_marker_has_none() -> None:
    assert "<!--" not in render_comment(PASSED)


def test_comment__is_short_when_little_changed() -> None:
    assert len(render_comment(PASSED, marker=MARKER).splitlines()) <= 25
    one = comparison(
        verdict="fail", blocks=True, exit_code=1, rows=[row("e", "p", "regressed", "40/40", "29/40"), *QUIET]
    )
    assert len(render_comment(one, marker=MARKER).splitlines()) <= 25


def test_comment__states_base_head_age_runs_and_cost() -> None:
    text = render_comment(PASSED, links=Links(base_commits="https://h/b/", head_commits="https://h/h/"))
    assert f"Base [`4a44dc1`](https://h/b/{BASE.commit}) of `main` (2 days old, 3 commits behind), 640 runs" in text
    assert f"head [`b7e23ec`](https://h/h/{PASSED.head.commit}), 640 runs, 1,234,567 tokens, 0.42 USD" in text


@pytest.mark.parametrize(
    ("commit", "shown"), [("", "(commit unknown)"), ("](https://evil.example)", "`](https://evil.example)`")]
)
def test_comment__links_nothing_but_a_commit(commit: str, shown: str) -> None:
    other = PASSED.model_copy(update={"base": BASE.model_copy(update={"commit": commit})})
    assert f"Base {shown} of" in render_comment(other, links=Links(base_commits="https://h/b/"))


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://h/a b", "https://h/a)b", 'https://h/"', "h/x"])
def test_links__refuse_what_is_not_an_address(url: str) -> None:
    with pytest.raises(ValueError, match="not a web address"):
        Links(run=url)


def test_comment__without_a_base_says_how_one_comes_to_be() -> None:
    text = render_comment(NO_BASE)
    assert "the first push to the default branch records one" in text
    assert text.index("Critical findings") < text.index("No base yet")
    assert "34 of 40 runs violated it" in text


def test_comment__accepted_things_are_shown_with_their_reasons() -> None:
    text = render_comment(SETS_DIFFER)
    assert "`accepted until 2026-03-31: waits for issue 12`" in text
    assert "`old-mailbox` — removed on purpose; `the mailbox tool is gone`" in text
    assert "`one sandboxed tool`" in text


def test_comment__a_known_finding_is_shown_even_if_its_reason_ends_like_another() -> None:
    accepted = KnownFinding(probe="elsewhere", reason="12", expires=SETS_DIFFER.known_findings[0].expires)
    assert "`elsewhere`" in render_comment(SETS_DIFFER.model_copy(update={"known_findings": [accepted]}))


def test_comment__few_undecided_have_a_line_each_and_many_are_folded() -> None:
    few = comparison(verdict="inconclusive", rows=[undecided(f"e{n}", "38/40", "37/40", 104) for n in range(5)])
    assert "<details><summary>0 undecided" not in render_comment(few)
    assert render_comment(few).count("would settle it") == 5
    many = render_comment(MANY_UNDECIDED)
    assert "8 of 12 probes are undecided: " in many.splitlines()[2]
    assert many.index("<details><summary>8 undecided probes") < many.index("would settle it\n")


def test_comment__long_sections_fold_their_rest() -> None:
    removed = [Removed(name=f"e{n}", reason="gone") for n in range(SHOWN + 4)]
    text = render_comment(comparison(removed=removed))
    assert "<details><summary>4 more</summary>" in text
    assert all(f"`e{n}`" in text for n in range(SHOWN + 4))


def test_comment__shortens_details_then_unchanged_then_rows() -> None:
    many = FAILED.model_copy(
        update={"rows": [*FAILED.rows, *(unchanged(f"quiet-{n}", "p") for n in range(40)),
                         *(row(f"worse-{n}", "p", "regressed", "40/40", "29/40") for n in range(40))]}
    )  # fmt: skip
    sizes = [len(render_comment(many, limit=0))]
    seen: list[dict[str, Any]] = []
    for view in shorten(build_view(many)):
        text = "".join(str(section) for section in view.sections)
        seen.append(
            {
                "details": "leaked via tool send_mail" in text,
                "unchanged": bool(view.unchanged.folded),
                "rows": text.count("worse-"),
            }
        )
    assert seen[:3] == [
        {"details": True, "unchanged": True, "rows": 40},
        {"details": False, "unchanged": True, "rows": 40},
        {"details": False, "unchanged": False, "rows": 40},
    ]
    assert [s["rows"] for s in seen] == sorted((s["rows"] for s in seen), reverse=True)
    assert seen[-1]["rows"] == 0
    assert sizes[0] < 3_000


def test_comment__over_the_limit_keeps_verdict_reasons_and_marker() -> None:
    text = render_comment(huge(), key="nightly", marker=MARKER, limit=3_000)
    assert len(text) <= 3_000
    assert text.startswith("❌ **FAIL** — this blocks the merge: 666 regressions\n")
    assert "666 more in the job summary." in text
    assert "667 unchanged, listed in the job summary." in text
    assert read_marker(text) == MARKER


def test_summary__has_every_figure_of_every_row() -> None:
    text = render_summary(FAILED)
    assert "<details><summary>7 probes with all figures</summary>" in text
    assert "| 40/40 (100 %) | 91–100 % | 29/40 (72 %) | 57–84 % | < .001 | .002 | .98 | .77 | – | 38 | 37 | – |" in text


def test_summary__limit_counts_bytes() -> None:
    text = render_summary(huge(), limit_bytes=200_000)
    assert 100_000 < len(text.encode()) <= 200_000
    assert "2,000 probes with all figures, listed in comparison.json." in text


def test_check_summary__limit_counts_bytes() -> None:
    assert len(check_summary(huge()).encode()) <= 65_000


def test_check_title__says_whether_it_blocks() -> None:
    assert check_title(PASSED) == "PASS — nothing blocks this merge"
    assert check_title(FAILED) == "FAIL — this blocks the merge: 1 new critical finding, 1 regression"


def test_import__loads_no_template_engine_and_no_scipy() -> None:
    code = (
        "import sys, gate.render.markdown, gate.render.terminal; print(sorted({'jinja2', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "fields",
    [{"key": "--> x"}, {"key": "UPPER"}, {"key": ""}, {"head": "main"}, {"head": "b" * 40 + "\n"}, {"run": -1}],
    ids=str,
)
def test_marker__refuses_what_could_end_it(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a marker"):
        Marker(**{"key": "default", "head": "b" * 40, "run": 1, "attempt": 1, **fields})


@pytest.mark.parametrize(
    "body",
    ["", "text", f"{MARKER}\nmore", f"> {MARKER}", f"`{MARKER}`", str(MARKER).replace("v1", "v2")],
)
def test_read_marker__only_on_the_last_line(body: str) -> None:
    assert read_marker(body) is None
    assert read_marker(f"{body}\n\n{MARKER}\n") == MARKER
