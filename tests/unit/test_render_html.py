"""The HTML report: one file that loads nothing, in which foreign text stays text, whatever it says."""

import base64
import hashlib
import itertools
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from gate.comparison import Comparison
from gate.render.experiment_view import EVENTS
from gate.render.html import render_html
from gate.report import Failure, Report, TraceEvent
from tests.golden.comparisons import ALL, FAILED, FEW_UNDECIDED, NO_BASE, huge
from tests.golden.reports import FAILED_REPORT, experiment, probe
from tests.hostile import SURROGATE, TEXTS, comparison_of, report_of, with_surrogates

LIMIT = 3_000_000


class Page(HTMLParser):
    """Tags with their attributes, the text apart, and what stands in style and script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.raw: dict[str, str] = {}
        self._within = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self._within = tag

    def handle_endtag(self, tag: str) -> None:
        self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within in ("style", "script"):
            self.raw[self._within] = self.raw.get(self._within, "") + data
        else:
            self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(tag, tuple(sorted(attributes))) for tag, attributes in self.tags]


@pytest.mark.parametrize(("name", "made"), ALL.items(), ids=ALL)
def test_html__golden(name: str, made: Comparison, golden: Callable[[str, str], None]) -> None:
    html = render_html(made, FAILED_REPORT if made in (FAILED, NO_BASE) else None)
    if made is FAILED:
        golden("fail.html", html)
    else:  # style and script are the same in all of them
        golden(f"{name}.body.html", html[html.index("<header>") : html.index("<footer>")])


def test_policy__allows_exactly_our_style_and_script() -> None:
    page = Page(render_html(FAILED, FAILED_REPORT))
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.raw[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_page__loads_nothing_and_has_no_inline_code() -> None:
    page = Page(render_html(FAILED, FAILED_REPORT))
    for tag, attributes in page.tags:
        assert tag not in {"img", "link", "iframe", "object", "embed", "base", "use", "image"}
        assert not {"src", "srcset", "style", "action", "xlink:href"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "#").startswith("#")
    assert "url(" not in page.raw["style"] and "@import" not in page.raw["style"]


def test_headings__descend_one_level_at_a_time() -> None:
    for made in ALL.values():
        levels = [int(tag[1]) for tag, _ in Page(render_html(made, FAILED_REPORT)).tags if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_verdict__stands_on_top_with_what_blocks() -> None:
    text = " ".join(" ".join(Page(render_html(FAILED)).text).split())
    assert text.index("FAIL this blocks the merge: 1 new critical finding, 1 regression") < text.index("Regressed")


def test_undecided__says_what_would_settle_it() -> None:
    text = "".join(Page(render_html(FEW_UNDECIDED)).text)
    assert "about 104 fresh runs a side would settle it" in text
    assert "power .43 for a drop of 10 points" in text


def test_report__adds_fire_rates_failing_runs_and_their_events() -> None:
    text = "".join(Page(render_html(FAILED, FAILED_REPORT)).text)
    assert "control_outage on guardrail* — fired 11 times, in 11/40 (27 %) runs" in text
    assert "inject_instruction on tool.result — never fired, met 4 values that it could not change" in text
    assert "chaos run 12, seed 19: ok, violated canary_not_leaked" in text
    assert "tool.call send_mail" in text
    assert "control_outage" not in "".join(Page(render_html(FAILED)).text)


def test_history__is_drawn_with_head_at_its_end() -> None:
    page = Page(render_html(FAILED))
    text = "".join(page.text)
    assert "92–100 % in 4 reports" in text  # 37, 39, 38 and 40 of 40; 92.5 % is floored
    path = next(a["d"] for tag, a in page.tags if tag == "path" and a.get("class") == "past" and "h0" in a["d"])
    # Five points from 6 to 98, four of which are stored; a rate of 29/40 lies at 24 - 20 * .725 = 9.5.
    across = [point.split()[0] for point in path.removeprefix("M").split("L")]
    assert across == ["6.0", "29.0", "52.0", "75.0", "98.0"]
    assert path.endswith("98.0 9.5h0")
    assert "Before" in text and "Before" not in "".join(Page(render_html(FEW_UNDECIDED)).text)


def test_no_base__shows_the_probes_of_the_report() -> None:
    page = Page(render_html(NO_BASE, FAILED_REPORT))
    assert sum(tag == "tr" and "data-verdict" in attributes for tag, attributes in page.tags) == 6
    assert "Runs to settle" not in "".join(page.text)


def test_size__2000_probes_stay_under_the_limit() -> None:
    trace = [TraceEvent(kind="tool.call", name="漢" * 200, data="漢" * 2_000)] * 200
    failure = Failure(
        phase="chaos",
        index=1,
        seed=1,
        outcome="ok",
        probes=["p"],
        detail="漢" * 4_000,
        output="漢" * 4_000,
        trace=trace,
    )
    many = [experiment(f"e{n}", "weakness", "r", [probe("p", 3, 4)], [], [failure] * 20) for n in range(500)]
    head = FAILED_REPORT.model_copy(update={"experiments": many})
    text = render_html(huge(), head)
    assert 500_000 < len(text.encode()) <= LIMIT
    assert "more experiments in report.json" in text


def test_trace__is_cut_and_the_rest_counted() -> None:
    one = FAILED_REPORT.experiments[1]
    event = TraceEvent(kind="tool.call", name="t", data="{}")
    failure = one.failures[0].model_copy(update={"trace": [event] * (EVENTS + 7)})
    head = FAILED_REPORT.model_copy(update={"experiments": [one.model_copy(update={"failures": [failure]})]})
    assert "7 more events in report.json" in render_html(FAILED, head)


def hostile_page(text: str) -> Page:
    return Page(render_html(with_surrogates(comparison_of(text)), report_of(text)))


@pytest.mark.parametrize("text", [t for name, t in TEXTS.items() if name != "blank"], ids=list(TEXTS)[:-1])
def test_hostile_text__changes_no_tag_and_no_attribute(text: str) -> None:
    page, harmless = hostile_page(text), hostile_page("harmless")
    assert page.shape == harmless.shape
    assert page.raw == harmless.raw


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_text__nothing_invisible_is_left(text: str) -> None:
    page = hostile_page(text)
    for shown in [*page.text, *(value for _, attributes in page.tags for value in attributes.values())]:
        assert shown.replace("\n", "").isprintable()


def test_surrogate__is_written_as_valid_utf8() -> None:
    made: Report = report_of("x")
    one = made.experiments[0].model_copy(update={"name": SURROGATE, "hypothesis": SURROGATE})
    text = render_html(with_surrogates(comparison_of("x")), made.model_copy(update={"experiments": [one]}))
    assert "a\ufffdb" in text.encode().decode()
