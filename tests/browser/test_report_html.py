"""The HTML report in a real Chromium: quiet, alone, usable without a server, readable on any screen."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gate.comparison import Comparison
from gate.render.html import render_html
from gate.render.svg import render_svg
from gate.report import Report
from tests.browser.chromium import Chromium
from tests.golden.comparisons import ALL, FAILED, MANY_UNDECIDED, NO_BASE, huge
from tests.golden.reports import FAILED_REPORT
from tests.hostile import TEXTS, comparison_of, report_of, with_surrogates

pytestmark = pytest.mark.browser
AUDIT = (Path(__file__).parent / "audit.js").read_text(encoding="utf-8")
Address = Callable[[str], str]

SHOWN = "Array.from(document.querySelectorAll('#probe-table tbody tr:not([hidden]) .name')).map(n => n.innerText)"
VERDICTS = "Array.from(document.querySelectorAll('#probe-table tbody tr:not([hidden])')).map(r => r.dataset.verdict)"


FOCUS = "[document.activeElement].map(e => [e.id || e.tagName, getComputedStyle(e).outlineWidth])[0]"


def show(browser: Chromium, page: Address, made: Comparison, head: Report | None = None, **screen: Any) -> None:
    """Open a report and see that it says nothing and asks for nothing."""
    address = page(render_html(made, head))
    browser.open(address, **screen)
    assert browser.logs == []
    assert browser.requests == [address]


def choose(browser: Chromium, control: str, value: str) -> None:
    """Set a control as a user would."""
    browser.run(
        f"(() => {{ const c = document.getElementById('{control}'); c.value = {value!r};"
        "for (const kind of ['input', 'change']) c.dispatchEvent(new Event(kind, {bubbles: true})) })()"
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [320, 768, 1200])
@pytest.mark.parametrize("name", ["fail", "no-base", "sets-differ", "inconclusive-many"])
def test_report__quiet_alone_and_accessible(
    browser: Chromium, page: Address, name: str, width: int, dark: bool
) -> None:
    show(browser, page, ALL[name], FAILED_REPORT, width=width, dark=dark)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert browser.run(AUDIT) == []
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_audit__sees_what_is_wrong(browser: Chromium, page: Address) -> None:
    browser.open(
        page(
            "<body style='background:#fff'><h1>a</h1><h3>b</h3><input id=i><a href='#nowhere'>x</a>"
            "<p style='color:#999'>pale</p><div style='width:9000px'>wide</div><svg></svg>"
            "<p id=i style='font-size:9px'>s"
        )
    )
    found = " ".join(browser.run(AUDIT))
    for sign in ("jumps from 1 to 3", "no label", "leads nowhere", "contrast 2.8", "too wide", "id stands twice",
                 "small: s", "read out", "no language"):  # fmt: skip
        assert sign in found


def test_policy__stops_a_script_that_is_not_ours(browser: Chromium, page: Address) -> None:
    html = render_html(FAILED).replace(
        "<main>", "<main><script>document.title='owned'</script><img src='x.png' onerror='document.title=1'>"
    )
    browser.open(page(html))
    assert browser.run("document.title").startswith("FAIL")
    assert any("Content Security Policy" in entry or "contentSecurityPolicy" in entry for entry in browser.logs)


def test_filter__by_name_and_verdict(browser: Chromium, page: Address) -> None:
    show(browser, page, FAILED, FAILED_REPORT)
    assert len(browser.run(SHOWN)) == 7
    choose(browser, "filter-text", "GUARDRAIL-DOS")
    assert [text.split("\n")[-1] for text in browser.run(SHOWN)] == ["control-guardrail-dos"] * 3
    choose(browser, "filter-verdict", "regressed")
    assert browser.run(VERDICTS) == ["regressed"]
    assert browser.run("document.getElementById('count').textContent") == "1 of 7 shown"
    choose(browser, "filter-text", "no such probe")
    assert browser.run(SHOWN) == []
    choose(browser, "filter-text", "")
    choose(browser, "filter-verdict", "")
    assert len(browser.run(SHOWN)) == 7


def test_sort__by_drop_by_p_by_name_and_back(browser: Chromium, page: Address) -> None:
    show(browser, page, FAILED, FAILED_REPORT)
    before = browser.run(SHOWN)
    choose(browser, "sort", "drop")
    assert browser.run(VERDICTS)[:2] == ["regressed", "small_drop"]
    assert browser.run(VERDICTS)[-1] == "improved"
    choose(browser, "sort", "p")
    assert browser.run(VERDICTS)[:2] == ["small_drop", "regressed"]
    choose(browser, "sort", "name")
    names = browser.run(SHOWN)
    assert names[0].startswith("alert_raised") and names[-1].startswith('output_matches("^Summary:|')
    choose(browser, "sort", "changed")
    assert browser.run(SHOWN) == before


def test_without_script__everything_is_there_and_no_dead_control(browser: Chromium, page: Address) -> None:
    html = render_html(FAILED, FAILED_REPORT)
    start, end = html.index("<script>"), html.index("</script>")
    browser.open(page(html[:start] + html[end:]))
    assert len(browser.run(SHOWN)) == 7
    assert browser.run("document.getElementById('controls').checkVisibility()") is False


def test_failing_run__opens_to_a_timeline(browser: Chromium, page: Address) -> None:
    show(browser, page, FAILED, FAILED_REPORT)
    browser.run("document.querySelectorAll('details.run summary').forEach(s => s.click())")
    assert "eve@example.com" in browser.run("document.querySelector('#experiments').innerText")


def test_keyboard__reaches_every_control_with_a_visible_focus(browser: Chromium, page: Address) -> None:
    show(browser, page, NO_BASE, FAILED_REPORT)
    reached = []
    for _ in range(40):
        for kind in ("keyDown", "keyUp"):
            browser.send(
                "Input.dispatchKeyEvent", {"type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
            )
        reached.append(browser.run(FOCUS))
    assert {"filter-text", "filter-verdict", "sort", "SUMMARY", "A"} <= {name for name, _ in reached}
    assert {width for name, width in reached if name != "BODY"} == {"3px"}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_text__runs_nothing_and_loads_nothing(browser: Chromium, page: Address, text: str) -> None:
    show(browser, page, with_surrogates(comparison_of(text)), report_of(text), width=320)
    browser.run("document.querySelectorAll('details').forEach(d => { d.open = true })")
    assert browser.run("document.documentElement.scrollWidth") <= 320
    assert browser.run("document.querySelectorAll('script').length") == 1


def test_2000_probes__filter_and_sort_answer_quickly(browser: Chromium, page: Address) -> None:
    show(browser, page, huge(), width=1200)
    took_ms = browser.run(
        "(() => { const t = performance.now(); const s = document.getElementById('sort'); s.value = 'name';"
        "s.dispatchEvent(new Event('change')); const f = document.getElementById('filter-text'); f.value = '19';"
        "f.dispatchEvent(new Event('input')); document.body.offsetHeight; return performance.now() - t })()"
    )
    assert took_ms < 5_000
    assert 20 < len(browser.run(VERDICTS)) < 500


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_svg__follows_the_scheme_and_fits_its_frame(browser: Chromium, tmp_path: Path, dark: bool) -> None:
    path = tmp_path / "plot.svg"
    path.write_text(render_svg(MANY_UNDECIDED, FAILED_REPORT), encoding="utf-8")
    browser.open(path.as_uri(), dark=dark)
    assert browser.logs == []
    assert browser.run("getComputedStyle(document.querySelector('rect')).fill") == (
        "rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)"
    )
    inside = "Array.from(document.querySelectorAll('text')).every(t => t.getBBox().x + t.getBBox().width <= 1000)"
    assert browser.run(inside) is True
