"""Hostile text in every foreign field stays text, judged by the parser that GitHub's Markdown is defined by."""

from collections.abc import Callable
from datetime import date
from functools import cache
from html.parser import HTMLParser
from typing import get_args

import cmarkgfm  # type: ignore[import-untyped]  # it ships no types
import pytest
from cmarkgfm.cmark import Options  # type: ignore[import-untyped]  # it ships no types
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gate.comparison import (
    Anchor,
    Comparison,
    Counts,
    CriticalFinding,
    Drop,
    Missing,
    Notice,
    Reason,
    Row,
    RowVerdict,
    Side,
    StatusChange,
    Verdict,
)
from gate.policy import KnownFinding, Policy, Removed
from gate.render.escape import MAX_BACKTICKS, clean, escape
from gate.render.markdown import Links, check_summary, check_title, render_comment, render_summary
from gate.render.marker import Marker, read_marker
from gate.render.terminal import cells, render_terminal

MARKER = Marker(key="default", head="b" * 40, run=17, attempt=1)
LINKS = Links(
    run="https://example.org/run", base_commits="https://example.org/b/", head_commits="https://example.org/h/"
)

SEEDS = [
    "[link](https://evil.example)",
    "![image](https://evil.example/a.png)",
    "[ref][1]\n\n[1]: https://evil.example",
    "<https://evil.example>",
    "https://evil.example www.evil.example mail@evil.example",
    "@org/team @someone please merge",
    "fixes #1, org/repo#2, GH-3, 4a44dc15364204a80fe80e9039455cc1608281820",
    "# heading",
    "heading\n===",
    "- item\n- [x] task",
    "> [!CAUTION]\n> quote",
    "a | b\n--- | ---\nc | d",
    "|",
    "\\|",
    "\\\\|",
    "x\\",
    "`",
    "``",
    "` `",
    "a`b``c```d",
    "`" * 79 + "x",
    "`" * 80,
    "`" * 81 + " <b> @org/team",
    "`" * 200,
    "```\nfence\n```",
    "~~~\nfence",
    "``` | `` | `",
    "\n\n\n",
    "\r\n\x0b\x0c\x85\u2028\u2029x",
    "<!-- agent-chaos-gate v1 key=default head=bbbbbbb run=18 attempt=1 -->",
    "-->\n<!-- agent-chaos-gate v1 key=default head=bbbbbbb run=18 attempt=1 -->",
    "<!\u200b-- agent-chaos-gate v1 key=default head=bbbbbbb run=18 attempt=1 --\u200b>",
    "</details></td></table><script>alert(1)</script><img src=x onerror=alert(1)>",
    "<details><summary>",
    "<![CDATA[ x ]]> <?php ?> <!DOCTYPE html>",
    "\u202egnp.exe\u202c \u2066x\u2069",
    "a\u200bb\u200dc\ufeffd\u00ade\u2060f",
    "\x00\x01\x7f\x9b31m",
    "\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x07",
    "::error::forged\n::add-mask::x",
    "$`x`$ $$x$$ $x$",
    "*a* _b_ **c** ~~d~~ [^1] :tada: &lt;b&gt; &#64;org",
    "{{ 7 * 7 }} {% raw %} {# #}",
    "Z\u0341\u0342\u0343\u0344\u0345\u0346\u0347\u0348" * 10,
    "\u3164",
    "漢字" * 100,
    "🏳️‍🌈 \U000e0041",
    "x" * 200,
]

PIECES = st.sampled_from([*SEEDS, *"`|\\<>[]()!@#*_~-=&:/\n \t$^", "<!--", "-->", "x", "9"])
HOSTILE = (
    st.one_of(st.lists(PIECES, min_size=1, max_size=6).map("".join), st.text(min_size=1, max_size=60))
    .map(lambda text: text[:200])
    .filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))
)


def comparison_of(text: Callable[[], str], *, verdict: Verdict = "fail", has_base: bool = True) -> Comparison:
    """Return a comparison with everything in it that can be, each foreign text drawn by `text`."""
    few, most = Counts(passes=29, runs=40), Counts(passes=39, runs=40)

    def finding(known: str) -> CriticalFinding:
        return CriticalFinding(
            experiment=text(), probe="p", label=text(), phase="baseline", threshold=1.0, head=few, base=most,
            p_value=0.5, detail=text(), known=known,
        )  # fmt: skip

    def row(verdict: RowVerdict) -> Row:
        return Row(
            experiment=text(), probe="p", label=text(), phase="chaos", severity="critical", verdict=verdict, base=most,
            head=few, min_effect=0.1, p_value=0.01, power=0.5, runs_needed=90, decided_by="exact_test",
        )  # fmt: skip

    def drop() -> Drop:
        return Drop(
            experiment=text(), probe="p", label=text(), phase="chaos", anchor=most, head=few, p_value=0.01
        )  # fmt: skip

    def side() -> Side:
        return Side(commit=text(), ref=text(), ended_at=text())

    kinds = get_args(Notice.model_fields["kind"].annotation)
    return Comparison(
        verdict=verdict,
        blocks=verdict == "fail",
        exit_code=1 if verdict == "fail" else 0,
        policy=Policy(),  # type: ignore[call-arg]  # the defaults stand in the model
        base=side() if has_base else None,
        head=side(),
        reasons=[Reason(kind="no_runs", blocks=True, count=2, first=text())],
        rows=[row(v) for v in get_args(RowVerdict) for _ in range(2)],
        status_changes=[
            StatusChange(experiment=text(), base="held", head="weakness", reason=text(), significant=False)
        ],
        new_critical=[finding(known="")],
        known_critical=[finding(known="known:" + text()[:190])],
        missing=[
            Missing(experiment="gone:" + text()[:190], probe=text(), phase="chaos"),
            Missing(experiment="gone:" + text()[:190], allowed=text()),
        ],
        removed=[Removed(name="away:" + text()[:190], reason=text())],
        known_findings=[KnownFinding(probe="known:" + text()[:190], reason=text(), expires=date(2030, 1, 1))],
        warnings=[Notice(kind=kind, experiment=text(), probe=text(), detail=text()) for kind in kinds],
        anchor=Anchor(name=text(), commit=text(), problem=text())
        if verdict == "pass"
        else Anchor(name=text(), commit=text(), probes=2, compared=1, worse=[drop(), drop()], changed=[text()]),
    )


class Skeleton(HTMLParser):
    """Everything in a page but what stands within `<code>`, and that apart."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.code: list[str] = []
        self._in_code = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append(f"<{tag} {attrs}>")
        if tag == "code":
            self._in_code = True
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(f"</{tag}>")
        self._in_code = self._in_code and tag != "code"

    def handle_data(self, data: str) -> None:
        if self._in_code:
            self.code[-1] += data
        else:
            self.parts.append(data)

    def handle_comment(self, data: str) -> None:
        self.parts.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.parts.append(f"<!{decl}>")

    def unknown_decl(self, data: str) -> None:
        self.parts.append(f"<![{data}]>")

    def handle_pi(self, data: str) -> None:
        self.parts.append(f"<?{data}>")


def parse(markdown: str) -> Skeleton:
    return Skeleton(cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE))


def shown(text: str) -> bool:
    """Return whether something is left of a text, so that it is not replaced by words of ours."""
    return bool(clean(text)) and not text.strip().isdecimal()


def cycle(texts: list[str]) -> Callable[[], str]:
    drawn = 0

    def next_text() -> str:
        nonlocal drawn
        drawn += 1
        return texts[drawn % len(texts)]

    return next_text


RENDERERS: tuple[Callable[[Comparison], str], ...] = (
    lambda c: render_comment(c, marker=MARKER, links=LINKS),
    lambda c: render_summary(c, links=LINKS),
    lambda c: check_summary(c, links=LINKS),
)


@cache
def harmless_parts(render: Callable[[Comparison], str], has_base: bool) -> list[str]:
    return parse(render(comparison_of(lambda: "harmless", has_base=has_base))).parts


def assert_inert(texts: list[str]) -> None:
    """Compare with the same comparison full of harmless words: only what stands in code spans may differ."""
    for has_base in (True, False):
        hostile = comparison_of(cycle(texts), has_base=has_base)
        for render in RENDERERS:
            markdown = render(hostile)
            assert parse(markdown).parts == harmless_parts(render, has_base)
            assert markdown.count("<!--") == markdown.count("-->") == ("attempt=1" in markdown.splitlines()[-1])
        assert read_marker(render_comment(hostile, marker=MARKER)) == MARKER


@pytest.mark.parametrize("render", RENDERERS, ids=["comment", "summary", "check"])
def test_harmless_text__has_only_our_own_markup(render: Callable[[Comparison], str]) -> None:
    tags = {part.split(" ")[0] for part in harmless_parts(render, True) if part.startswith("<") and part[1] not in "/!"}
    ours = "<a <code <details <li <p <strong <summary <table <tbody <td <th <thead <tr <ul"
    assert tags == set(ours.split())
    assert [p for p in harmless_parts(render, True) if p.startswith("<a ")] == [
        "<a [('href', 'https://example.org/run')]>"
    ]


@pytest.mark.parametrize("text", [t for t in SEEDS if shown(t)], ids=lambda t: repr(t)[:30])
def test_hostile_text__every_field_stays_inert(text: str) -> None:
    assert_inert([text])


@given(st.lists(HOSTILE.filter(shown), min_size=1, max_size=7))
@settings(max_examples=25, deadline=None)
def test_hostile_text__generated_stays_inert(texts: list[str]) -> None:
    assert_inert(texts)


@given(st.lists(HOSTILE, min_size=1, max_size=7), st.sampled_from(get_args(Verdict)))
@settings(max_examples=25, deadline=None)
def test_terminal__no_control_characters_and_within_the_width(texts: list[str], verdict: Verdict) -> None:
    comparison = comparison_of(cycle(texts), verdict=verdict)
    text = render_terminal(comparison)
    assert all(character.isprintable() for character in text.replace("\n", ""))
    assert max(cells(line) for line in text.split("\n")) <= 80
    assert "\n" not in check_title(comparison)


@given(st.lists(HOSTILE, min_size=1, max_size=7), st.integers(min_value=9_000, max_value=60_000))
@settings(max_examples=25, deadline=None)
def test_limit__never_exceeded_and_nothing_cut_within(texts: list[str], limit: int) -> None:
    one = comparison_of(cycle(texts))
    comparison = one.model_copy(update={"rows": one.rows * 12, "warnings": one.warnings * 12})
    comment = render_comment(comparison, marker=MARKER, limit=limit)
    summary = render_summary(comparison, limit_bytes=limit)
    assert len(comment) <= limit
    assert len(summary.encode()) <= limit
    assert read_marker(comment) == MARKER
    for markdown in (comment, summary):
        html = cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE)
        assert html.count("<details>") == html.count("</details>")
        assert "<strong>FAIL</strong> — this blocks the merge" in html


@given(HOSTILE)
@settings(max_examples=300, deadline=None)
def test_escape__shows_the_text_and_nothing_else(text: str) -> None:
    assume(shown(text) and "<!--" not in clean(text) and "-->" not in clean(text))
    assume("`" * (MAX_BACKTICKS + 1) not in text)
    page = parse(f"before {escape(text)} after")
    assert page.parts == ["<p []>", "before ", "<code []>", "</code>", " after", "</p>", "\n"]
    assert page.code == [clean(text)]
