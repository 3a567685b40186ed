"""A comparison or a report as plain text for a terminal: no line is wider than asked, nothing foreign steers it."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

from gate.comparison import Comparison, Counts, Verdict
from gate.render import number, wording
from gate.render.escape import Own, Part, plain, say
from gate.render.view import Section, build_view
from gate.report import ExperimentReport, ProbeReport, Report, Status

UNCHANGED_SHOWN = 20
ZERO_FAILURES_SHOWN = 3
GAP = 2
Colour = Literal["red", "green", "yellow", "cyan"]
_CODE: dict[Colour, int] = {"red": 31, "green": 32, "yellow": 33, "cyan": 36}
_VERDICT: dict[Verdict, Colour] = {"pass": "green", "fail": "red", "inconclusive": "yellow", "no_base": "cyan"}
_STATUS: dict[Status, Colour] = {"held": "green", "weakness": "red", "inconclusive": "yellow"}


def render_terminal(comparison: Comparison, *, width: int = 80, colour: bool = False) -> str:
    """Return the verdict, what changed and why, at most `width` columns wide, without a line feed at the end."""
    view = build_view(comparison, folding=False)
    lines = wrap(f"{view.word} — {plain(view.headline)}", width)
    lines[0] = lines[0].replace(view.word, _paint(view.word, _VERDICT[comparison.verdict], colour), 1)
    for sentence in view.below:
        lines += ["", *wrap(plain(sentence), width)]
    for section in view.sections:
        lines += ["", *_section(section, width)]
    unchanged = view.unchanged
    if len(unchanged.folded) > UNCHANGED_SHOWN:
        lines += ["", f"{len(unchanged.folded):,} {unchanged.fold_name}"]
    elif unchanged.folded:
        lines += ["", "Unchanged", *table(unchanged.columns, [i.cells for i in unchanged.folded], width)]
    lines.append("")
    if view.base:
        lines += wrap(f"Base {_commit(view.base.commit)} {plain(view.base.text)}", width)
    else:
        lines += wrap(plain(view.no_base), width)
    lines += wrap(f"Head {_commit(view.head.commit)}, {plain(view.head.text)}", width)
    return "\n".join([*lines, *wrap(plain(view.decided_by), width)])


def render_report_terminal(report: Report, *, width: int = 80, colour: bool = False) -> str:
    """Return the status of every experiment, with the counts and the Wilson interval of every probe."""
    lines: list[str] = []
    for experiment in report.experiments:
        lines += [*_experiment(experiment, width, colour), ""]
    counted = [(s, sum(e.status == s for e in report.experiments)) for s in ("held", "weakness", "inconclusive")]
    total = ", ".join(f"{count:,} {status}" for status, count in counted if count) or "no experiments"
    spend = report.spend
    cost = f"{number.many(spend.runs, 'run')}, {number.many(spend.tokens, 'token')}, {number.money(spend.usd)}"
    return "\n".join([*lines, *wrap(f"{total}: {cost}", width), *_zero_failures(report, width)])


def _zero_failures(report: Report, width: int) -> list[str]:
    """Return what passes without a failure show, for probes that must always hold."""
    from gate.stats import zero_failure_bound

    probes = [p for e in report.experiments for p in e.probes if p.threshold >= 1]
    perfect = sorted({p.runs for p in probes if p.runs and p.passes == p.runs})
    said = "{:,} of {:,} passes prove a failure rate below {}, not zero (95 % confidence)."
    return [
        line
        for runs in perfect[:ZERO_FAILURES_SHOWN]
        for line in wrap(said.format(runs, runs, number.bound(zero_failure_bound(runs))), width)
    ]


def _experiment(experiment: ExperimentReport, width: int, colour: bool) -> list[str]:
    status = experiment.status
    name = fit(plain(experiment.name), width - len(status) - 1)
    lines = [f"{name} {_paint(status, _STATUS[status], colour)}"]
    lines += ["  " + line for line in wrap(plain(experiment.reason), width - 2)] if experiment.reason.strip() else []
    columns = [Own(c) for c in ("probe", "phase", "passes", number.share(experiment.confidence) + " CI", "needs")]
    rows = [_probe(probe) for probe in experiment.probes]
    return lines + ["  " + line for line in table(columns, rows, width - 2)] if rows else lines


def _probe(probe: ProbeReport) -> list[Part]:
    perfect = probe.passes == probe.runs
    interval = number.interval(*probe.interval, perfect=perfect) if probe.interval else number.NONE
    return [
        wording.probe_name(probe.id, probe.label),
        Own(probe.phase),
        number.counts(Counts(passes=probe.passes, runs=probe.runs)),
        interval,
        number.share(probe.threshold),
    ]


def _section(section: Section, width: int) -> list[str]:
    title = say("{}", section.title) if section.note is None else say("{} — {}", section.title, section.note)
    lines = wrap(plain(title), width)
    if section.columns:
        return lines + table(section.columns, [item.cells for item in section.items], width)
    for item in section.items:
        lines += _bullet(plain(item.cells[0]), width)
        if item.detail is not None:
            lines += ["  " + line for line in wrap(plain(item.detail), width - 2)]
    return lines


def _bullet(text: str, width: int) -> list[str]:
    first, *rest = wrap(text, width - 2)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def table(columns: Sequence[Part], rows: Iterable[Sequence[Part]], width: int) -> list[str]:
    """Return aligned lines; the columns of names share what the figures leave."""
    texts = [[plain(cell) for cell in row] for row in [columns, *rows]]
    widths = [max(cells(row[at]) for row in texts) for at in range(len(columns))]
    named = [at for at, name in enumerate(columns) if name in ("experiment", "probe")]
    room = width - GAP * (len(columns) - 1) - sum(w for at, w in enumerate(widths) if at not in named)
    for at, each in zip(named, _shares([widths[at] for at in named], max(room, 4 * len(named))), strict=True):
        widths[at] = each
    return [
        fit((" " * GAP).join(pad(squeeze(text, widths[at]), widths[at]) for at, text in enumerate(row)).rstrip(), width)
        for row in texts
    ]


def _shares(wanted: list[int], room: int) -> list[int]:
    """Return the room each gets: what it wants, or an equal share of what the modest leave."""
    left, given = room, [0] * len(wanted)
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    for place, at in enumerate(order):
        given[at] = min(wanted[at], left // (len(order) - place))
        left -= given[at]
    return given


def cells(text: str) -> int:
    """Return how many columns a text takes: wide characters two, combining ones none."""
    return sum(map(_cells, text))


def _cells(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fit(text: str, width: int) -> str:
    """Return the text, cut with an ellipsis where it is wider than `width` columns."""
    if cells(text) <= width:
        return text
    kept, used = "", 0
    for character in text:
        used += _cells(character)
        if used > width - 1:
            break
        kept += character
    return kept + "…"


def squeeze(text: str, width: int) -> str:
    """Return the text, cut in the middle where it is wider than `width` columns: names often differ at their ends."""
    if cells(text) <= width or width < 5:
        return fit(text, width)
    tail = fit(text[::-1], width // 2)[::-1].removeprefix("…")
    return fit(text, width - cells(tail)) + tail


def pad(text: str, width: int) -> str:
    """Return the text in exactly `width` columns."""
    text = fit(text, width)
    return text + " " * (width - cells(text))


def wrap(text: str, width: int) -> list[str]:
    """Return at least one line, none wider than `width` columns; a word that is too long is broken."""
    lines = [""]
    for word in text.split():
        if lines[-1] and cells(lines[-1]) + 1 + cells(word) <= width:
            lines[-1] += " " + word
            continue
        if lines[-1]:
            lines.append("")
        for character in word:
            if cells(lines[-1]) + _cells(character) > width:
                lines.append("")
            lines[-1] += character
    return lines


def _commit(sha: str) -> str:
    return wording.short_commit(sha) or plain(sha) or "(commit unknown)"


def _paint(text: str, colour: Colour, wanted: bool) -> str:
    return f"\x1b[{_CODE[colour]}m{text}\x1b[0m" if wanted else text
