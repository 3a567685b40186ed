"""Plain text for a terminal."""

import pytest

from gate.policy import Policy
from gate.render.terminal import cells, fit, pad, render_report_terminal, render_terminal, squeeze, wrap
from gate.report import ExperimentReport, Outcomes, ProbeReport, Report, Spend, Suite
from tests.golden.comparisons import FAILED, QUIET, comparison, huge, unchanged


def report(name: str = "control-guardrail-dos", label: str = 'output_matches("^Summary:")') -> Report:
    def probe(
        id_: str, label: str, passes: int, runs: int, interval: tuple[float, float] | None, threshold: float
    ) -> ProbeReport:
        return ProbeReport(
            id=id_, type=id_, label=label, category="availability", severity="high", phase="chaos",
            threshold=threshold, passes=passes, runs=runs, interval=interval,
        )  # fmt: skip

    experiment = ExperimentReport(
        name=name,
        status="weakness",
        reason=f"{label} 29/40 (needs 95%)",
        fingerprint="f",
        seed=7,
        confidence=0.95,
        probes=[
            probe("output_matches", label, 29, 40, (0.5716, 0.8389), 0.95),
            probe("fails_closed", "fails_closed(guardrail*, send_*)", 40, 40, (0.9124, 1.0), 1.0),
            probe("finishes", "finishes", 0, 0, None, 0.5),
        ],
        faults=[],
        outcomes=Outcomes(ok=40),
        phases=[],
    )
    return Report(
        started_at="2026-01-31T08:00:00Z",
        ended_at="2026-01-31T08:01:00Z",
        suite=Suite(digest="d"),
        spend=Spend(runs=40, tokens=1200),
        policy=Policy(),  # type: ignore[call-arg]  # the defaults stand in the model
        experiments=[experiment],
    )


def test_terminal__verdict_first() -> None:
    assert render_terminal(FAILED).startswith("FAIL — this blocks the merge: 1 new critical finding, 1 regression\n")


def test_terminal__colour_only_when_asked_and_only_ours() -> None:
    assert "\x1b" not in render_terminal(FAILED)
    assert render_terminal(FAILED, colour=True).startswith("\x1b[31mFAIL\x1b[0m — ")
    hostile = comparison(rows=[unchanged("\x1b[31mred\x1b]0;title\x07", "p\x9b2J")])
    assert render_terminal(hostile, colour=True).count("\x1b") == 2
    assert "red " in render_terminal(hostile)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_terminal__no_line_is_wider_than_asked(width: int) -> None:
    for text in (
        render_terminal(FAILED, width=width),
        render_terminal(huge(60), width=width),
        render_report_terminal(report("漢字" * 60, "漢字" * 60), width=width),
    ):
        assert max(cells(line) for line in text.splitlines()) <= width


def test_terminal__many_unchanged_rows_are_a_number() -> None:
    assert "\nUnchanged\n" in render_terminal(comparison(rows=QUIET))
    assert "\n1,200 unchanged\n" in render_terminal(comparison(rows=QUIET * 300))


def test_report_terminal__status_counts_and_intervals() -> None:
    assert render_report_terminal(report()).splitlines() == [
        "control-guardrail-dos weakness",
        '  output_matches("^Summary:") 29/40 (needs 95%)',
        "  probe                             phase  passes         95 % CI   needs",
        '  output_matches("^Summary:")       chaos  29/40 (72 %)   57–84 %   95 %',
        "  fails_closed(guardrail*, send_*)  chaos  40/40 (100 %)  91–100 %  100 %",
        "  finishes                          chaos  no runs        –         50 %",
        "",
        "1 weakness: 40 runs, 1,200 tokens, cost unknown",
        "40 of 40 passes prove a failure rate below 7.3 %, not zero (95 % confidence).",
    ]


def test_report_terminal__without_experiments_says_so() -> None:
    empty = report().model_copy(update={"experiments": []})
    assert render_report_terminal(empty) == "no experiments: 40 runs, 1,200 tokens, cost unknown"


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("漢字漢", 5, "漢字…"), ("漢字", 4, "漢字"), ("e\u0301x", 2, "e\u0301x")],
)
def test_fit__counts_columns(text: str, width: int, shown: str) -> None:
    assert fit(text, width) == shown
    assert cells(pad(text, width)) == width


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("control-guardrail-dos", 21, "control-guardrail-dos"),
        ("control-guardrail-outage", 20, "control-gu…il-outage"),
        ("fails_closed(guardrail*, send_*) (baseline)", 24, "fails_closed… (baseline)"),
        ("漢字漢字漢字漢字", 9, "漢字漢…字"),
        ("abcdef", 4, "abc…"),
    ],
)
def test_squeeze__cuts_in_the_middle(text: str, width: int, shown: str) -> None:
    assert squeeze(text, width) == shown
    assert cells(shown) <= width


def test_wrap__breaks_words_that_are_too_long() -> None:
    assert wrap("ab cd efghij", 5) == ["ab cd", "efghi", "j"]
    assert wrap("漢字漢字", 5) == ["漢字", "漢字"]
    assert wrap("", 5) == [""]
