"""The forest plot: well-formed, within its frame, inert, and readable on light and dark."""

from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from gate.comparison import Comparison, Counts
from gate.render.svg import DARK, LIGHT, MAX_ROWS, PlotRow, plot, plot_rows, render_svg
from tests.golden.comparisons import ALL, FAILED, NO_BASE, huge
from tests.golden.reports import FAILED_REPORT
from tests.hostile import TEXTS, comparison_of, report_of, with_surrogates

SPACE = "{http://www.w3.org/2000/svg}"
SHAPES = {SPACE + name for name in ("svg", "title", "desc", "style", "rect", "text", "g", "path", "circle")}


def read(text: str) -> ET.Element:
    """Return the root of a drawing, after it was seen to hold nothing but plain shapes."""
    root = ET.fromstring(text.encode())
    assert {e.tag for e in root.iter()} <= SHAPES
    allowed = {"class", "d", "x", "y", "cx", "cy", "r", "width", "height", "fill", "text-anchor", "id"}
    for element in root.iter():
        assert element is root or set(element.attrib) <= allowed
    return root


@pytest.mark.parametrize(("name", "made"), ALL.items(), ids=ALL)
def test_svg__golden(name: str, made: Comparison, golden: Callable[[str, str], None]) -> None:
    head = FAILED_REPORT if made is FAILED else None
    read(render_svg(made, head))
    golden(f"{name}.svg", render_svg(made, head))


def test_rows__what_changed_comes_first() -> None:
    verdicts = [row.verdict for row in plot_rows(FAILED)]
    assert verdicts[:3] == ["regressed", "small_drop", "improved"] and set(verdicts[3:]) == {"pass"}


def test_rows__without_a_base_are_those_of_the_report() -> None:
    assert plot_rows(NO_BASE) == []
    assert len(plot_rows(NO_BASE, FAILED_REPORT)) == 6


def test_threshold__comes_from_the_report() -> None:
    assert next(row.threshold for row in plot_rows(FAILED, FAILED_REPORT)) == 0.95
    assert 'class="needs" d="M' in plot(plot_rows(FAILED, FAILED_REPORT)[0], 0, 100, 14)
    assert "needs" not in plot(plot_rows(FAILED)[0], 0, 100, 14)


def test_plot__places_interval_point_and_margin() -> None:
    # Wilson intervals of 40/40 and 29/40 at 95 % by scipy.stats.binomtest: 0.9124 to 1 and 0.5717 to 0.8389
    row = PlotRow("e", "p", "regressed", Counts(passes=40, runs=40), Counts(passes=29, runs=40), 0.95, 0.10)
    drawn = plot(row, 0, 1000, 14)
    assert 'class="ci" d="M912.4 7H1000"' in drawn
    assert 'class="ci" d="M571.7 21H838.9"' in drawn
    assert 'cx="1000.0"' in drawn and 'd="M720.5 21l' in drawn
    assert 'class="zone" x="900" y="1" width="100.0"' in drawn
    assert 'class="needs" d="M950 10V18"' in drawn


@pytest.mark.parametrize(("passes", "runs"), [(0, 0), (5, 3)], ids=["no runs", "impossible"])
def test_plot__draws_nothing_where_there_is_no_rate(passes: int, runs: int) -> None:
    nothing = Counts(passes=passes, runs=runs)
    assert 'class="ci"' not in plot(PlotRow("e", "p", "new", nothing, nothing, None, 0.1), 0, 100, 14)


def test_many__are_capped_and_counted() -> None:
    text = render_svg(huge())
    assert text.count('class="head"') == MAX_ROWS + 1  # and the legend
    assert "1,940 more probes" in text
    assert len(text) < 100_000


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_hostile_text__stays_text(text: str) -> None:
    root = read(render_svg(with_surrogates(comparison_of(text)), report_of(text)))
    harmless = read(render_svg(with_surrogates(comparison_of("harmless")), report_of("harmless")))
    assert [e.tag for e in root.iter()] == [e.tag for e in harmless.iter()]
    assert all((e.text or "").isprintable() for e in root.iter(f"{SPACE}text"))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_colours__stand_out_from_their_ground(theme: str) -> None:
    colours = dict(pair.removeprefix("--").split(":") for pair in theme.split(";"))
    for name in ("text", "muted", "info", "bad", "doubt", "good"):
        assert contrast(colours[name], colours["ground"]) >= 4.5, name


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours by WCAG 2.2."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(d * 2 for d in digits) if len(digits) == 3 else digits
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
