"""The one function through which foreign text passes; how it looks as HTML is tested in tests/property."""

import pytest

from gate.render.escape import Markdown, Own, clean, escape, finalize, join, plain, say, table_row


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("  two\n\tlines\r\n ", "two lines"),
        ("a\u2028b\x85c\xa0d", "a b c d"),
        ("nul\x00 and bell\x07", "nul and bell"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x9b31mred", "red"),
        ("\x1b]8;;https://evil.example\x07click\x1b]8;;\x1b\\", "click"),
        ("safe\u202egnp.exe\u2066\u2069", "safegnp.exe"),
        ("z\u200bw\u200cj\u200d\ufeff\u00ad\u2060", "zwj"),
        ("filler\u3164\u115f\uffa0\u2800", "filler"),
        ("flag\U000e0041\ufe0f", "flag"),
        ("e\u0301", "e\u0301"),
        ("z" + "\u0301" * 50, "z" + "\u0301" * 3),
        ("private\ue000 lone\ud800", "private\ufffd lone\ufffd"),
        ("漢字 ünïcödé", "漢字 ünïcödé"),
        ("", ""),
    ],
)
def test_clean__one_visible_line(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_clean__cuts_with_an_ellipsis() -> None:
    assert clean("x" * 200) == "x" * 200
    assert clean("x" * 201) == "x" * 199 + "…"
    assert clean("ab cd", 4) == "ab…"


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("name", "`name`"),
        ("a`b", "``a`b``"),
        ("a``b`c", "```a``b`c```"),
        ("`", "`` ` ``"),
        ("`a", "`` `a ``"),
        ("a`", "`` a` ``"),
        ("a\\", "`a\\`"),
        ("a|b", "`a|b`"),
        ("  spaced  ", "`spaced`"),
        ("@org/team #1", "`@org/team #1`"),
        ("<!-- x -->", "`<!- - x - ->`"),
        ("<!\u200b-- x -\u200b->", "`<!- - x - ->`"),
        ("", "(empty)"),
        ("\u200b", "(empty)"),
    ],
)
def test_escape__is_a_code_span(text: str, span: str) -> None:
    assert escape(text) == span
    assert isinstance(escape(text), Markdown)


def test_escape__fence_stays_within_what_the_parser_knows() -> None:
    assert escape("x" + "`" * 100 + "x") == "`" * 17 + "x" + "`" * 16 + "x" + "`" * 17


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Markdown("**bold**"), "**bold**"),
        (Own("29/40 (72 %)"), "29/40 (72 %)"),
        ("**foreign**", "`**foreign**`"),
        (1234567, "1,234,567"),
        (say("{} of {}: {}", 1, 40, "x*y"), "1 of 40: `x*y`"),
        (say("{}", say("<{}>", "a")), "<`a`>"),
        (say("{}", "{} {0} {x}"), "`{} {0} {x}`"),
        (join(["a", Own("b"), 3], ", "), "`a`, b, 3"),
    ],
    ids=str,
)
def test_finalize__by_type(value: Markdown | Own | str | int, written: str) -> None:
    assert finalize(value) == written


@pytest.mark.parametrize("value", [None, 1.5, True, b"x", ["x"]], ids=repr)
def test_finalize__refuses_what_has_no_rule(value: object) -> None:
    with pytest.raises(TypeError, match="no rule"):
        finalize(value)  # type: ignore[arg-type]  # that is the point


def test_table_row__escapes_pipes_in_every_cell() -> None:
    assert table_row(["a|b", Own("c"), say("{} (baseline)", "\\|")]) == r"| `a\|b` | c | `\\|` (baseline) |"


def test_plain__has_no_markup() -> None:
    assert plain(say("{} · {}", "a`b\n", 1000)) == "a`b · 1,000"
