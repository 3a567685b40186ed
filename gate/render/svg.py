"""The forest plot: what base and head show of each probe, drawn with plain shapes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from gate.comparison import Comparison, Counts, Row, RowVerdict
from gate.render import number, wording
from gate.render.escape import Own, Part, plain
from gate.render.terminal import squeeze
from gate.report import Report
from gate.stats import wilson_interval

MAX_ROWS = 60
"""Most probes of a drawing; what changed comes first, so that the unchanged ones are left out."""

GRAVITY: tuple[RowVerdict, ...] = (
    *("regressed", "missing", "inconclusive", "not_comparable", "small_drop", "not_reproduced"),
    *("improved", "new", "pass"),
)
"""The order in which a reader wants the rows."""

TONE: dict[str, str] = {
    **dict.fromkeys(("regressed", "missing", "violated"), "bad"),
    **dict.fromkeys(("inconclusive", "not_comparable", "small_drop", "not_reproduced", "weakness"), "doubt"),
    **dict.fromkeys(("pass", "improved", "held"), "good"),
}

STYLE = """\
.ci{fill:none;stroke-width:2}.pt{stroke-width:1.5}.base .ci,.base .pt{stroke:var(--muted)}.base .pt{fill:var(--ground)}
.head .ci,.head .pt{stroke:var(--info)}.head .pt{fill:var(--info)}
.bad .head .ci,.bad .head .pt{stroke:var(--bad)}.bad .head .pt{fill:var(--bad)}
.doubt .head .ci,.doubt .head .pt{stroke:var(--doubt)}.doubt .head .pt{fill:var(--doubt)}
.good .head .ci,.good .head .pt{stroke:var(--good)}.good .head .pt{fill:var(--good)}
.zone{fill:var(--muted);opacity:.16}.edge{stroke:var(--muted);stroke-width:1.5;stroke-dasharray:3 2}
.past{fill:none;stroke:var(--muted);stroke-width:1.5;stroke-linecap:round;stroke-linejoin:round}
.needs{stroke:currentColor;stroke-width:2.5}.grid{stroke:var(--line);stroke-width:1}
"""
"""How the shapes of `plot` look; the colours are variables of the page."""

LIGHT = (
    "--ground:#fff;--text:#1f2328;--muted:#59636e;--line:#d1d9e0;"
    "--info:#0b5cad;--bad:#b3261e;--doubt:#855200;--good:#116329"
)
DARK = (
    "--ground:#0d1117;--text:#e6edf3;--muted:#9aa4af;--line:#3d444d;"
    "--info:#79c0ff;--bad:#ff8f8a;--doubt:#e3b341;--good:#56d364"
)
"""Every text colour stands out from its ground by 4.5 to 1 or more."""

_WIDTH, _LEFT, _PLOT, _RIGHT, _ROW, _TOP = 1000, 350, 360, 735, 42, 96


@dataclass(frozen=True)
class PlotRow:
    """One probe in one phase. `threshold` is absent where it is not known, `margin` where nothing was compared."""

    experiment: str
    probe: Part
    verdict: str
    base: Counts | None
    head: Counts | None
    threshold: float | None = None
    margin: float | None = None

    @property
    def tone(self) -> str:
        """Return the class by which the row is coloured; empty for a neutral one."""
        return TONE.get(self.verdict, "")


def plot_rows(comparison: Comparison, head: Report | None = None) -> list[PlotRow]:
    """Return all rows, what changed first; without a base those of the report, if it is given."""
    thresholds = {(f.experiment, f.probe, f.phase): f.threshold for f in comparison.new_critical}
    for experiment in head.experiments if head else []:
        thresholds |= {(experiment.name, p.id, p.phase): p.threshold for p in experiment.probes}
    if comparison.base is None and head is not None:
        return [
            PlotRow(
                e.name,
                wording.probe_name(p.id, p.label, p.phase),
                e.status if p.phase == "chaos" and p.passes < p.runs else "new",
                None,
                Counts(passes=p.passes, runs=p.runs),
                p.threshold,
            )
            for e in head.experiments
            for p in e.probes
        ]
    return [
        PlotRow(
            r.experiment,
            wording.probe_name(r.probe, r.label, r.phase),
            r.verdict,
            r.base,
            r.head,
            thresholds.get((r.experiment, r.probe, r.phase)),
            r.min_effect if r.verdict not in ("new", "not_comparable") else None,
        )
        for r in in_order(comparison.rows)
    ]


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return the rows, what changed first."""
    return sorted(rows, key=lambda row: GRAVITY.index(row.verdict))


def plot(row: PlotRow, left: float, width: float, middle: float) -> str:
    """Return the shapes of one row: grid, margin, threshold, base above, head below; no text, so nothing foreign."""
    top, bottom = middle - 13, middle + 13

    def at(rate: float) -> str:
        return f"{left + width * rate:.1f}".removesuffix(".0")

    shapes = [f'<path class="grid" d="{"".join(f"M{at(r)} {top:g}V{bottom:g}" for r in (0, 0.5, 1))}"/>']
    if _has_runs(row.base) and row.base and row.margin is not None:
        rate = row.base.passes / row.base.runs
        edge = max(0.0, rate - row.margin)
        wide = f"{width * (rate - edge):.1f}"
        shapes.append(f'<rect class="zone" x="{at(edge)}" y="{top:g}" width="{wide}" height="26"/>')
        shapes.append(f'<path class="edge" d="M{at(edge)} {top:g}V{bottom:g}"/>')
    if row.threshold is not None:
        shapes.append(f'<path class="needs" d="M{at(row.threshold)} {middle - 4:g}V{middle + 4:g}"/>')
    for side, value, y in (("base", row.base, middle - 7), ("head", row.head, middle + 7)):
        if value is None or not _has_runs(value):
            continue
        low, high = wilson_interval(value.passes, value.runs)
        x = left + width * value.passes / value.runs
        mark = (
            f'<circle class="pt" cx="{x:.1f}" cy="{y:g}" r="3.5"/>'
            if side == "base"
            else f'<path class="pt" d="M{x - 4.5:.1f} {y:g}l4.5-4.5 4.5 4.5-4.5 4.5z"/>'
        )
        shapes.append(f'<g class="{side}"><path class="ci" d="M{at(low)} {y:g}H{at(high)}"/>{mark}</g>')
    return "".join(shapes)


def sparkline(past: Sequence[Counts], now: Counts | None) -> str:
    """Return pass rates, 0 to 100 %, from left to right in a frame of 104 by 28; head is the diamond at the end."""
    rates = [c.passes / c.runs for c in past if _has_runs(c)]
    if now is not None and _has_runs(now):
        rates.append(now.passes / now.runs)
    step = 92 / max(1, len(rates) - 1)
    points = [f"{6 + step * at:.1f} {24 - 20 * rate:.1f}" for at, rate in enumerate(rates)]
    mark = f'<path class="pt" d="M{points[-1]}m-4 0l4-4 4 4-4 4z"/>' if now and len(rates) > len(past) else ""
    return f'<path class="past" d="M{"L".join(points)}h0"/><g class="head">{mark}</g>' if points else ""


def render_svg(comparison: Comparison, head: Report | None = None) -> str:
    """Return an SVG document with at most 60 probes, ending in a line feed; `head` adds the thresholds.

    Neither script nor anything from outside is in it; it follows the light or dark setting of its reader.
    """
    rows = plot_rows(comparison, head)
    shown = rows[:MAX_ROWS]
    bottom = _TOP + _ROW * len(shown)
    height = bottom + (84 if len(rows) > len(shown) else 58)
    title = f"{wording.WORD[comparison.verdict]} — {plain(wording.headline(comparison))}"
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
            f'height="{height}" role="img" aria-labelledby="t d">'
        ),
        f'<title id="t">{escape(title)}</title>',
        '<desc id="d">Pass rates of base and head with 95 % Wilson intervals, one row a probe.</desc>',
        f"<style>svg{{{LIGHT};color:var(--text);font:14px system-ui,sans-serif}}",
        f"@media(prefers-color-scheme:dark){{svg{{{DARK}}}}}",
        "text{fill:currentColor}.muted{fill:var(--muted);font-size:12px}.name{font-weight:600}",
        f".t-bad{{fill:var(--bad)}}.t-doubt{{fill:var(--doubt)}}.t-good{{fill:var(--good)}}\n{STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{height}" fill="var(--ground)"/>',
        _text(16, 32, Own(squeeze(title, 118)), "name"),
        *_scale(),
    ]
    for at, row in enumerate(shown):
        lines += _row(row, _TOP + _ROW * at + _ROW // 2)
    if not shown:
        lines.append(_text(16, bottom, Own("No probe to draw."), "muted"))
    if len(rows) > len(shown):
        lines.append(_text(16, bottom + 24, Own(f"{number.many(len(rows) - len(shown), 'more probe')}"), "muted"))
    return "\n".join([*lines, *_legend(height - 24), "</svg>"]) + "\n"


def _row(row: PlotRow, middle: int) -> list[str]:
    counts = f"{number.counts(row.base)} → {number.counts(row.head)}" if row.base else number.counts(row.head)
    tone = f"name t-{row.tone}" if row.tone else "name"
    return [
        f'<g class="{row.tone}">' if row.tone else "<g>",
        _text(16, middle - 3, Own(squeeze(plain(row.probe), 40)), "name"),
        _text(16, middle + 13, Own(squeeze(plain(row.experiment), 50)), "muted"),
        plot(row, _LEFT, _PLOT, middle),
        _text(_RIGHT, middle - 3, Own(row.verdict.replace("_", " ")), tone),
        _text(_RIGHT, middle + 13, Own(counts), "muted"),
        "</g>",
    ]


def _scale() -> list[str]:
    labels = [(0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")]
    return [
        f'<text class="muted" text-anchor="middle" x="{_LEFT + _PLOT * rate:g}" y="{_TOP - 10}">{label}</text>'
        for rate, label in labels
    ] + [_text(16, 54, Own("Pass rate of base (above) and head (below), with 95 % intervals"), "muted")]


def _legend(y: int) -> list[str]:
    return [
        f'<g class="base"><path class="ci" d="M16 {y - 4}H46"/><circle class="pt" cx="31" cy="{y - 4}" r="3.5"/></g>',
        _text(54, y, Own("base"), "muted"),
        (
            f'<g class="head"><path class="ci" d="M106 {y - 4}H136"/>'
            f'<path class="pt" d="M116.5 {y - 4}l4.5-4.5 4.5 4.5-4.5 4.5z"/></g>'
        ),
        _text(144, y, Own("head"), "muted"),
        f'<path class="needs" d="M200 {y - 8}V{y}"/>',
        _text(210, y, Own("threshold"), "muted"),
        (
            f'<rect class="zone" x="294" y="{y - 13}" width="24" height="18"/>'
            f'<path class="edge" d="M294 {y - 13}V{y + 5}"/>'
        ),
        _text(326, y, Own("a drop smaller than what matters; its edge is the non-inferiority margin"), "muted"),
    ]


def _text(x: int, y: int, text: Own, style: str) -> str:
    return f'<text class="{style}" x="{x}" y="{y}">{escape(text)}</text>'


def _has_runs(value: Counts | None) -> bool:
    return value is not None and 0 <= value.passes <= value.runs and value.runs > 0
