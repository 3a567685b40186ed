"""A comparison as one HTML file: nothing is loaded, no text of others is code, and a strict policy sees to both."""

import base64
import functools
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from gate.comparison import Comparison, Counts, Row
from gate.render import number, svg, wording
from gate.render.escape import Own, Part, Sentence, clean, fill, plain, say
from gate.render.experiment_view import build_experiment
from gate.render.svg import PlotRow
from gate.render.view import Section, build_view
from gate.report import ExperimentReport, Report, Status

if TYPE_CHECKING:
    from jinja2 import Environment, Template

SECTION_ITEMS = 100
"""Most things listed of a kind; all probes are in the table below."""

OPEN = 5
"""Most weak experiments that stand open."""

MAX_PROBES, MAX_FAILURES = 2_000, 5
"""Most probes of the table, and failing runs of one experiment, however much room there is."""

PROBE_SHARE = 0.7
"""The part of the room that the table of probes may take; the experiments have the rest."""

ROOM_FOR_FRAMES = 8_000
"""Bytes kept for what stands around probes and experiments: headings, controls, what was left out."""

COLUMNS = tuple(map(Own, ("probe", "passes", "interval", "needs", "severity")))
SIGN = {"pass": "M7 12.5l3.5 3.5 6.5-7.5", "fail": "M8 8l8 8M16 8l-8 8", "inconclusive": "M12 6v8M12 17v1"}
"""What is drawn beside the verdict: fonts with coloured signs are not everywhere."""

_OPEN, _CLOSE = "\x02", "\x03"  # stand around foreign text until all is escaped; `clean` lets neither through
_ORDER: tuple[Status, ...] = ("weakness", "inconclusive", "held")


@dataclass(frozen=True)
class Figure:
    """One cell of the table; `label` stands before it where there is no room for columns."""

    label: Own
    value: Part
    style: Own


@dataclass(frozen=True)
class ProbeView:
    """One row of the big table; the keys are what it is sorted by."""

    plot: PlotRow
    picture: Markup
    base: Markup
    head: Markup
    figures: tuple[Figure, ...]
    past: Markup | None
    past_range: Sentence
    drop_key: str
    p_key: str


def render_html(comparison: Comparison, head: Report | None = None, *, limit_bytes: int = 3_000_000) -> str:
    """Return the text of an HTML file of at most `limit_bytes` bytes, ending in a line feed.

    `head` is the report that was compared; it adds thresholds, faults, failing runs. What does not fit is counted.
    """
    view = build_view(comparison)
    style, script = _asset("report.css"), _asset("report.js")
    style = f":root{{{svg.LIGHT}}}\n@media(prefers-color-scheme:dark){{:root{{{svg.DARK}}}}}\n{svg.STYLE}{style}"
    probes = _probes(comparison, head)[:MAX_PROBES]
    experiments = sorted(head.experiments if head else [], key=lambda e: _ORDER.index(e.status))
    remembered = any(p.past for p in probes)
    total = len(comparison.rows) if comparison.base else sum(len(e.probes) for e in experiments)

    def page(rows: list[Markup], shown: list[Markup]) -> str:
        return _template(
            "report"
        ).render(
            policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
            "base-uri 'none'; form-action 'none'",
            style=Markup(style),  # noqa: S704  # ours, from the package
            script=Markup(script),  # noqa: S704  # ours, from the package
            title=f"{view.word} — {plain(view.headline)}",
            tone={"pass": "good", "fail": "bad", "inconclusive": "doubt"}.get(comparison.verdict, "neutral"),
            sign=SIGN.get(comparison.verdict, SIGN["inconclusive"]),
            view=view,
            sections=[_first(section, SECTION_ITEMS) for section in view.sections],
            base=_commit(view.base.commit) if view.base else None,
            head=_commit(view.head.commit),
            rows=rows,
            more_probes=total - len(rows),
            verdicts=[v for v in (*svg.GRAVITY, *_ORDER) if any(p.plot.verdict == v for p in probes[: len(rows)])],
            compared=comparison.base is not None,
            remembered=remembered,
            experiments=shown,
            more_experiments=len(experiments) - len(shown),
            settings=[(Own(name), Own(value)) for name, value in comparison.policy.model_dump().items()],
            tool=say("{} {}", comparison.tool.name, comparison.tool.version),
        )

    room = limit_bytes - len(page([], []).encode()) - ROOM_FOR_FRAMES
    rows = _fitting(
        (_row(p, compared=comparison.base is not None, remembered=remembered) for p in probes),
        int(room * (PROBE_SHARE if experiments else 1)),
    )
    room -= sum(len(row.encode()) + 1 for row in rows)
    shown = _fitting((_experiment(e, opened=at < OPEN) for at, e in enumerate(experiments)), room)
    return page(rows, shown).rstrip("\n") + "\n"


def _fitting(pieces: Iterable[Sequence[Callable[[], Markup]]], room: int) -> list[Markup]:
    """Return the pieces, in order, as long as they fit into `room` bytes.

    Each can be made in several forms, the longest first; once a form was too long, no later piece has it.
    """
    kept: list[Markup] = []
    form = 0
    for forms in pieces:
        while form < len(forms) and len((made := forms[form]()).encode()) >= room:
            form += 1
        if form == len(forms):
            break
        kept.append(made)
        room -= len(made.encode()) + 1
    return kept


def _experiment(experiment: ExperimentReport, *, opened: bool) -> Sequence[Callable[[], Markup]]:
    """Return how an experiment is written with its failing runs, and without."""

    def written(failures: int) -> Markup:
        view = build_experiment(experiment, failures, opened=opened and experiment.status == "weakness")
        text = _template("experiment").render(experiment=view, columns=COLUMNS)
        return Markup(text.strip())  # noqa: S704  # from the template, escaped there

    return (lambda: written(MAX_FAILURES), lambda: written(0))


def _row(probe: ProbeView, *, compared: bool, remembered: bool) -> Sequence[Callable[[], Markup]]:
    row = _template("probe")
    shown = {"compared": compared, "remembered": remembered}
    return (lambda: Markup(row.render(probe=probe, **shown).strip()),)  # noqa: S704  # escaped there


def show(part: Part | Markup | None) -> Markup:
    """Return a part as HTML: foreign text inert, on one line and set apart, so that it cannot turn our own around."""
    if isinstance(part, Markup):
        return part
    if part is None:
        return Markup("")
    text = fill(part, lambda foreign: f"{_OPEN}{clean(foreign) or '(empty)'}{_CLOSE}")
    return Markup(str(escape(text)).replace(_OPEN, "<bdi>").replace(_CLOSE, "</bdi>"))  # noqa: S704  # escaped


def _template(name: str) -> "Template":
    return _environment().get_template(f"{name}.html.j2")


@functools.cache
def _environment() -> "Environment":
    import jinja2

    from gate.resources import resource

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(resource("templates")),
        autoescape=True,
        finalize=show,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["spaced"] = lambda name: Own(name.replace("_", " "))
    environment.filters["own"] = Own
    return environment


@functools.cache
def _asset(name: str) -> str:
    from gate.resources import resource

    return (resource("templates") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _commit(sha: str) -> Part:
    return Own(short) if (short := wording.short_commit(sha)) else sha if sha.strip() else Own("(commit unknown)")


def _first(section: Section, cap: int) -> Section:
    items, folded = section.items[:cap], section.folded[: max(0, cap - len(section.items))]
    left_out = len(section.items) + len(section.folded) - len(items) - len(folded)
    return replace(section, items=items, folded=folded, more=section.more + left_out)


# --- the table of probes --------------------------------------------------------------------------------------------


def _probes(comparison: Comparison, head: Report | None) -> list[ProbeView]:
    rows: list[Row | None] = [*svg.in_order(comparison.rows)]
    drawn = svg.plot_rows(comparison, head)
    if comparison.base is None:
        rows = [None] * len(drawn)
    return [_probe(row, plotted) for row, plotted in zip(rows, drawn, strict=True)]


def _probe(row: Row | None, plotted: PlotRow) -> ProbeView:
    p = None if row is None else row.p_value if row.adjusted_p_value is None else row.adjusted_p_value
    drop = _rate(plotted.base) - _rate(plotted.head) if plotted.base and plotted.head else None
    return ProbeView(
        plot=plotted,
        picture=Markup(svg.plot(plotted, 6, 208, 14)),  # noqa: S704  # figures and class names of ours only
        base=_counts(plotted.base),
        head=_counts(plotted.head),
        figures=(
            _figure("p", number.p_cell(p)),
            _figure("power", number.NONE if row is None or row.power is None else number.power(row.power)),
            _figure("runs to settle", number.NONE if row is None or row.runs_needed is None else row.runs_needed),
        ),
        past=Markup(svg.sparkline(row.history, row.head)) if row and row.history else None,  # noqa: S704  # as above
        past_range=_past(row.history if row else []),
        drop_key="" if drop is None else f"{drop:.4f}",
        p_key="" if p is None else f"{p:.3g}",
    )


def _past(history: Sequence[Counts]) -> Sentence:
    valid = [c for c in history if 0 <= c.passes <= c.runs and c.runs]
    return say("{} in {}", number.range_of(valid), number.many(len(valid), "report")) if valid else say("")


def _figure(label: str, value: Part) -> Figure:
    return Figure(Own(label), value, Own("n fig none" if value == number.NONE else "n fig"))


def _counts(value: Counts | None) -> Markup:
    interval = number.wilson(value)
    shown = escape(number.counts(value))
    return shown if interval == number.NONE else shown + Markup('<span class="ci-text">{}</span>').format(interval)


def _rate(value: Counts) -> float:
    return value.passes / value.runs if value.runs else 0.0
