"""A comparison, ready to be shown: every sentence and figure computed, in the order in which a reader wants them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from gate.comparison import Anchor, Comparison, ReasonKind, Row, RowVerdict, Side
from gate.render import deciding, drift, number, wording
from gate.render.escape import Own, Part, Sentence, join, say

SHOWN = 5
"""Items of a section that stand open; the rest is folded."""

TABLE_SHOWN = 10
MORE = Own("more")

CAPS = (500, 300, 200, 150, 100, 75, 50, 35, 20, 10, 5, 2, 0)
"""How many rows a section keeps, open and folded together, when even those do not fit; tried in turn."""


@dataclass(frozen=True)
class Item:
    """One bullet (a single cell) or one row of a table. `detail` is what goes first when room is short."""

    cells: tuple[Part, ...]
    detail: Part | None = None


@dataclass(frozen=True)
class Section:
    """Things of one kind: some open, the rest folded, `more` left out. With `columns` it is a table, else a list.

    The folded ones are announced by their number and `fold_name`.
    """

    title: Own
    items: tuple[Item, ...] = ()
    folded: tuple[Item, ...] = ()
    fold_name: Own = MORE
    more: int = 0
    note: Part | None = None
    columns: tuple[Own, ...] = ()

    @property
    def rule(self) -> tuple[Own, ...]:
        """Return the line between the head of a table and its rows."""
        return tuple(Own("---") for _ in self.columns)


@dataclass(frozen=True)
class SideView:
    """One of the two reports: the commit is foreign text, linked by the output that can."""

    commit: str
    text: Sentence


@dataclass(frozen=True)
class View:
    """All that is shown: `below` stands directly under the headline, `unchanged` is folded where that is possible."""

    icon: Own
    word: Own
    headline: Sentence
    below: tuple[Sentence, ...]
    sections: tuple[Section, ...]
    unchanged: Section
    base: SideView | None
    no_base: Sentence
    head: SideView
    decided_by: Sentence


def build_view(comparison: Comparison, *, folding: bool = True, figures: bool = False) -> View:
    """Return what is to be shown of a comparison.

    `folding=False` leaves everything open but the unchanged rows; `figures` puts all rows with all figures in their
    place.
    """
    sections = _sections(comparison)
    if not folding:
        sections = [replace(s, items=s.items + s.folded, folded=()) for s in sections]
    base, head = comparison.base, comparison.head
    return View(
        icon=wording.ICON[comparison.verdict],
        word=wording.WORD[comparison.verdict],
        headline=wording.headline(comparison),
        below=tuple(_below(comparison)),
        sections=tuple(s for s in sections if s.items or s.folded),
        unchanged=_figures(comparison.rows) if figures else _unchanged(comparison.rows),
        base=None if base is None else _base(base),
        no_base=wording.no_base(),
        head=SideView(head.commit, say("{}", wording.spend(head))),
        decided_by=deciding.decided_by(comparison),
    )


def _base(base: Side) -> SideView:
    of_ref = say("of {} ", base.ref) if base.ref.strip() else say("")
    return SideView(base.commit, say("{}({}), {}", of_ref, wording.age(base), number.many(base.runs, "run")))


def shorten(view: View) -> Iterable[View]:
    """Yield the view ever shorter: without details, without unchanged rows, with fewer and fewer rows.

    Verdict, headline and the lines below it are in all of them.
    """
    yield view
    view = replace(view, sections=tuple(_without_details(s) for s in view.sections))
    yield view
    view = replace(view, unchanged=_first(view.unchanged, 0))
    yield view
    for cap in CAPS:
        yield replace(view, sections=tuple(_first(s, cap) for s in view.sections))


def _without_details(section: Section) -> Section:
    return replace(section, items=tuple(replace(item, detail=None) for item in section.items))


def _first(section: Section, cap: int) -> Section:
    items, folded = section.items[:cap], section.folded[: max(0, cap - len(section.items))]
    left_out = len(section.items) - len(items) + len(section.folded) - len(folded)
    return replace(section, items=items, folded=folded, more=section.more + left_out)


def _below(comparison: Comparison) -> Iterable[Sentence]:
    undecided = _of(comparison.rows, "inconclusive")
    if len(undecided) > wording.FEW_UNDECIDED:
        yield wording.undecided_summary(undecided, len(comparison.rows))
    for why in comparison.reasons:
        if why.kind == "no_runs" and why.first.strip():
            yield say("Without a valid run: {}{}.", why.first, _and_more(why.count - 1))
        if why.kind == "infra" and why.first.strip() and all(n.kind != "infra" for n in comparison.warnings):
            yield say("Too many runs lost to the provider: {}{}.", why.first, _and_more(why.count - 1))


def _and_more(count: int) -> Sentence:
    return say(" and {} more", count) if count > 0 else say("")


def _sections(comparison: Comparison) -> list[Section]:
    rows, reasons = comparison.rows, comparison.reasons
    effect = number.points(comparison.policy.min_effect)

    def note(kind: ReasonKind) -> Sentence | None:
        return wording.consequence(reasons, kind)

    undecided = _list("Undecided", map(wording.undecided, _of(rows, "inconclusive")), note=note("inconclusive"))
    if len(undecided.items) + len(undecided.folded) > wording.FEW_UNDECIDED:
        everything = undecided.items + undecided.folded
        undecided = replace(undecided, items=(), folded=everything, fold_name=Own("undecided probes"))
    return [
        _critical(comparison, note("new_critical")),
        _table(
            "Regressed",
            _of(rows, "regressed"),
            note=_also(deciding.confirmed(_of(rows, "regressed")), note("regression")),
        ),
        _list(
            "Missing",
            (wording.missing(m) for m in comparison.missing if not m.allowed.strip()),
            note=_also(say("in the base, not here"), note("missing")),
        ),
        _table(
            "Small drops",
            _of(rows, "small_drop"),
            note=_also(say("real, but a drop of {} is ruled out", effect), note("small_drop")),
        ),
        _list(
            "Not reproduced",
            map(deciding.not_reproduced, _of(rows, "not_reproduced")),
            note=_also(say("chance, or the stored base is stale"), note("not_reproduced")),
        ),
        _list("Changed status", map(wording.status_change, comparison.status_changes)),
        undecided,
        _against_anchor(comparison.anchor),
        _list("Not comparable", map(wording.not_comparable, _of(rows, "not_comparable")), note=note("not_comparable")),
        _list("Improved", map(wording.improved, _of(rows, "improved"))),
        _list("New", map(wording.first_seen, _of(rows, "new")), note=say("nothing in the base to compare with")),
        _list("Notes", map(wording.notice, comparison.warnings)),
        _list("Accepted", _accepted(comparison), note=say("known, or removed on purpose; does not block")),
    ]


def _critical(comparison: Comparison, note: Part | None) -> Section:
    alpha, has_base = comparison.policy.alpha, comparison.base is not None
    items = [
        Item((wording.new_critical(f, alpha, has_base=has_base),), detail=f.detail if f.detail.strip() else None)
        for f in comparison.new_critical
    ]
    title = "New critical findings" if has_base else "Critical findings"
    return _section(title, items, note=note)


def _against_anchor(anchor: Anchor | None) -> Section:
    items, note = (drift.told(anchor), drift.named(anchor)) if anchor else ((), None)
    return _list("Against the anchor", items, note=note)


def _accepted(comparison: Comparison) -> Iterable[Sentence]:
    yield from map(wording.known_critical, comparison.known_critical)
    seen = {name for f in comparison.known_critical for name in (f.probe, f"{f.experiment}/{f.probe}")}
    for entry in comparison.known_findings:
        if entry.probe not in seen:
            yield wording.known_finding(entry)
    yield from map(wording.removed, comparison.removed)
    names = {entry.name for entry in comparison.removed}
    for gone in comparison.missing:
        if gone.allowed.strip() and gone.experiment not in names:
            yield wording.allowed(gone)


def _unchanged(rows: Sequence[Row]) -> Section:
    items = tuple(map(_row, _of(rows, "pass")))
    return Section(Own("unchanged"), folded=items, fold_name=Own("unchanged"), columns=_COLUMNS)


def _figures(rows: Sequence[Row]) -> Section:
    name = Own(f"{'probe' if len(rows) == 1 else 'probes'} with all figures")
    return Section(Own("probes"), folded=tuple(map(_all_of, rows)), fold_name=name, columns=_ALL_COLUMNS)


_ALL_COLUMNS = tuple(
    map(
        Own,
        (
            *("verdict", "experiment", "probe", "base", "95 % CI", "head", "95 % CI", "p", "p adjusted"),
            *("p non-inferiority", "power", "visible drop", "passes from", "fails up to", "runs to settle"),
        ),
    )
)


def _all_of(row: Row) -> Item:
    def known(value: int | float | None, show: Callable[[float], Own]) -> Own:
        return number.NONE if value is None else show(value)

    return Item(
        (
            Own(row.verdict.replace("_", " ")),
            row.experiment,
            wording.probe_name(row.probe, row.label, row.phase),
            number.counts(row.base),
            number.wilson(row.base),
            wording.of_head(row),
            number.wilson(row.head),
            number.p_cell(row.p_value),
            number.p_cell(row.adjusted_p_value),
            number.p_cell(row.noninferiority_p_value),
            known(row.power, number.power),
            known(row.smallest_visible_drop, number.points),
            number.NONE if row.pass_at is None else row.pass_at,
            number.NONE if row.fail_at is None else row.fail_at,
            number.NONE if row.runs_needed is None else row.runs_needed,
        )
    )


_COLUMNS = (Own("experiment"), Own("probe"), Own("base"), Own("head"), Own("p"))


def _row(row: Row) -> Item:
    p = row.p_value if row.adjusted_p_value is None else row.adjusted_p_value
    probe = wording.probe_name(row.probe, row.label, row.phase)
    return Item((row.experiment, probe, number.counts(row.base), number.counts(row.head), number.p_cell(p)))


def _table(title: str, rows: Iterable[Row], *, note: Part | None = None) -> Section:
    return replace(_section(title, map(_row, rows), note=note, shown=TABLE_SHOWN), columns=_COLUMNS)


def _list(title: str, sentences: Iterable[Part], *, note: Part | None = None) -> Section:
    return _section(title, (Item((sentence,)) for sentence in sentences), note=note)


def _section(title: str, items: Iterable[Item], *, note: Part | None, shown: int = SHOWN) -> Section:
    listed = tuple(items)
    if len(listed) == shown + 1:  # a fold for a single line would save nothing
        shown += 1
    return Section(Own(title), listed[:shown], listed[shown:], note=note)


def _also(first: Sentence | None, second: Part | None) -> Part | None:
    given = [part for part in (first, second) if part is not None]
    return join(given, "; ") if given else None


def _of(rows: Iterable[Row], verdict: RowVerdict) -> list[Row]:
    return [row for row in rows if row.verdict == verdict]
