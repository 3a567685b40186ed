"""Rows: one probe in one phase, head against base, by exact tests. Pure."""

from dataclasses import asdict, dataclass, replace
from functools import lru_cache

from gate import stats
from gate.comparison import Counts, DecidedBy, Row, RowVerdict
from gate.completion import Table, at_best, at_worst, runs_spared, swapped
from gate.experiment import ProbeSpec
from gate.findings import Key, Pair, counts, measured, stricter_severity
from gate.policy import ExperimentPolicy, Policy
from gate.report import BUDGET_STOP, ExperimentReport, Phase, ProbeReport

MAX_PLANNED_RUNS = 2_000
"""No more runs than this are suggested to settle a row."""


@dataclass(frozen=True)
class Claims:
    """What one probe is held to: the suite's claims, an experiment's own and a probe's own before them."""

    alpha: float
    min_effect: float
    power: float
    looks: int = 1

    @property
    def beta(self) -> float:
        """Return the chance of a wrong PASS that each look may have."""
        return (1 - self.power) / self.looks

    def with_looks(self, base: tuple[int, int] | None, planned: int, most: int | None) -> "Claims":
        """Return the claims with their error split over two looks, at so many runs, where a second is of use.

        That is settled before head has run: against these passes and runs of base a second look could prove that there
        is no drop, and the first can do so at its part of the error if it could at all.
        """
        if base is None or most is None:
            return self
        x1, n1 = base

        def provable(runs: int, beta: float) -> bool:
            found = stats.noninferiority_boundary(n1, runs, min_effect=self.min_effect, beta=beta)
            return bool(found[x1] <= runs)

        split = replace(self, looks=2)
        useful = provable(most, split.beta) and (provable(planned, split.beta) or not provable(planned, self.beta))
        return split if useful else self

    @classmethod
    def of(cls, policy: Policy, experiment: ExperimentPolicy | None, probe: ProbeReport | ProbeSpec | None) -> "Claims":
        """Return the claims that apply."""
        own = experiment or ExperimentPolicy()
        return cls(
            # An experiment may ask for a stricter level; a laxer one would break what alpha promises for the suite.
            alpha=min(own.alpha or policy.alpha, policy.alpha),
            min_effect=(probe.min_effect if probe else None) or own.min_effect or policy.min_effect,
            power=own.power or policy.power,
        )


@dataclass(frozen=True)
class Draft:
    """A row before it is decided; `table` is absent where nothing can be tested.

    `spared`: runs of head that were not carried out since none could change a verdict. `first`: the table of the first
    look where a second was taken. That only adds a chance to PASS: what is tested at `alpha` is the first.
    """

    pair: Pair
    key: Key
    base: ProbeReport | None
    head: ProbeReport | None
    claims: Claims
    table: Table | None
    spared: int = 0
    first: Table | None = None

    @property
    def tables(self) -> list[tuple[Table, int]]:
        """Return what each look has counted and was spared, the first look before the second."""
        looks = [] if self.first is None else [(self.first, 0)]
        return looks if self.table is None else [*looks, (self.table, self.spared)]

    @property
    def hypothesis(self) -> tuple[object, ...]:
        """Return what the row tests: probes of the same kind on baseline runs that experiments share test the same."""
        sides = self.pair.base, self.pair.head
        groups = [phase.group for side in sides if side for phase in side.phases if phase.phase == self.key[1]]
        if self.head is None or len(groups) < len(sides) or not all(groups):
            return self.pair.name, *self.key
        return *groups, self.head.type, self.head.label, *self.tables[:1]

    def untested(self) -> Row:
        """Return the row of what cannot be tested; a sequential test of head's threshold then stands for itself."""
        row = _row(self, _untested(self))
        if row.verdict == "inconclusive" and self._is_sequential:
            proven = self.head is not None and self.head.decision == "pass" and not _undecided(self.pair, self.key[1])
            row = row.model_copy(update={"verdict": "pass" if proven else row.verdict, "decided_by": "sequential"})
        return row

    @property
    def _is_sequential(self) -> bool:
        return is_sequential(self.base) or is_sequential(self.head)

    def tested(self, table: Table, dropped: float, rose: float, decided_by: DecidedBy, *, spared: int = 0) -> Row:
        """Return the row that counts decide; `dropped` and `rose` are p-values adjusted for the family.

        The `spared` runs of head count as failures where the absence of a drop is to be proven.
        """
        x1, n1, x2, n2 = table
        worst = at_worst(table, spared)
        first = None if decided_by == "confirmation" else self.first
        proven = _is_proven(worst, self.claims) or (first is not None and _is_proven(first, self.claims))
        figures, verdict = _figures(worst, self.claims), _tested(self, dropped, rose, proven=proven)
        planned = _planned(worst, self.claims) if verdict == "inconclusive" else _Planned()
        update = {**asdict(figures), **asdict(planned), "adjusted_p_value": dropped, "decided_by": decided_by}
        update |= {"p_value": stats.exact_test(*at_best(table, spared)), "spared": spared}
        update |= {"base": Counts(passes=x1, runs=n1), "head": Counts(passes=x2, runs=n2)}
        if first:
            update["first_look"] = Counts(passes=first[2], runs=first[3])
        return _row(self, verdict).model_copy(update={**update, "small_drop": verdict == "small_drop"})


def draft_rows(pairs: list[Pair], policy: Policy) -> list[Draft]:
    """Return a draft for every probe in every phase, in the order of head."""
    return [_draft(pair, *probe, policy) for pair in pairs for probe in pair.probes()]


def compare_rows(drafts: list[Draft]) -> list[Row]:
    """Return the row of every draft, decided by the counts of the two reports."""
    hypotheses = {d.hypothesis: d.tables[0] for d in drafts if d.tables}
    # what was spared counts the way that speaks against what is to be shown: for no drop, and for no rise
    worse = _family([at_best(*counted) for counted in hypotheses.values()])
    better = _family([swapped(at_worst(*counted)) for counted in hypotheses.values()])
    level = dict(zip(hypotheses, zip(worse, better, strict=True), strict=True))
    decided_by: DecidedBy = "exact_test" if len(hypotheses) == 1 else "step_down"
    return [
        d.tested(d.table, *level[d.hypothesis], decided_by, spared=d.spared) if d.table else d.untested()
        for d in drafts
    ]


def _draft(pair: Pair, key: Key, base: ProbeReport | None, head: ProbeReport | None, policy: Policy) -> Draft:
    claims = Claims.of(policy, pair.own_policy, base or head)
    yardstick = key[1] == "baseline" or pair.base is None or acted(pair.base)
    fixed = not (is_sequential(base) or is_sequential(head))  # else the counts ended because of what they were
    phase = next((p for p in pair.head.phases if p.phase == key[1]), None) if pair.head else None
    if not (fixed and pair.comparable and yardstick and base and head and base.runs and head.runs):
        return Draft(pair, key, base, head, claims, None)
    if head.first_look and not head.first_look[1]:  # no valid run in what is to be tested
        return Draft(pair, key, base, head, claims, None)
    of_base = base.passes, base.runs
    if phase is None:
        return Draft(pair, key, base, head, claims, (*of_base, head.passes, head.runs))
    claims = claims.with_looks(of_base, phase.planned_runs, phase.max_runs)
    first = (*of_base, *head.first_look) if head.first_look else None
    # that the budget cut a second look short, or that it is only for the sake of other probes, leaves the first
    if first and (claims.looks == 1 or phase.stop_reason == BUDGET_STOP):
        return Draft(pair, key, base, head, claims, first)
    return Draft(pair, key, base, head, claims, (*of_base, head.passes, head.runs), runs_spared(phase), first)


def is_sequential(probe: ProbeReport | None) -> bool:
    """Return whether a probe's runs ended with a sequential test: their counts are in no test of two rates."""
    return probe is not None and probe.decision is not None


def acted(experiment: ExperimentReport) -> bool:
    """Return whether the agent was put to the test: chaos counts without a fault that acted are no yardstick."""
    return any(f.fired for f in experiment.faults)


def _family(tables: list[Table]) -> list[float]:
    """Return p-values adjusted for the family: a family of one is tested alone, which is the more powerful test."""
    if len(tables) == 1:
        return [stats.exact_test(*tables[0])]
    return stats.step_down(tables)


def _untested(draft: Draft) -> RowVerdict:
    if draft.head is None:
        return "missing"
    if draft.base is None:
        return "new"
    return "inconclusive" if draft.pair.comparable else "not_comparable"


def _is_proven(table: Table, claims: Claims) -> bool:
    pass_at = _figures(table, claims).pass_at
    return pass_at is not None and table[2] >= pass_at


def _tested(draft: Draft, dropped: float, rose: float, *, proven: bool) -> RowVerdict:
    alpha = draft.claims.alpha
    if dropped <= alpha:
        return "small_drop" if proven else "regressed"
    if _undecided(draft.pair, draft.key[1]):
        return "inconclusive"
    if rose <= alpha:
        return "improved"
    return "pass" if proven else "inconclusive"


def _row(draft: Draft, verdict: RowVerdict) -> Row:
    probe = draft.head or draft.base
    assert probe is not None  # noqa: S101 (a key stems from one of the two)
    return Row(
        experiment=draft.pair.name,
        probe=draft.key[0],
        label=probe.label,
        phase=draft.key[1],
        severity=stricter_severity(draft.base, draft.head),
        verdict=verdict,
        base=counts(draft.base),
        head=counts(draft.head),
        min_effect=draft.claims.min_effect,
    )


@dataclass(frozen=True)
class _Figures:
    """What every tested row carries; the names are those of `Row`."""

    p_value: float
    noninferiority_p_value: float
    power: float | None
    pass_at: int | None
    fail_at: int | None


@lru_cache(maxsize=65536)
def _figures(table: Table, claims: Claims) -> _Figures:
    x1, n1, _, n2 = table
    pass_at = stats.noninferiority_boundary(n1, n2, min_effect=claims.min_effect, beta=claims.beta)[x1]
    fail_at = stats.rejection_boundary(n1, n2, alpha=claims.alpha)[x1]
    rate = x1 / n1
    seen = stats.exact_power(n1, n2, rate, max(0.0, rate - claims.min_effect), alpha=claims.alpha) if x1 else None
    return _Figures(
        p_value=stats.exact_test(*table),
        noninferiority_p_value=stats.noninferiority_test(*table, min_effect=claims.min_effect),
        power=seen,
        pass_at=pass_at if pass_at <= n2 else None,
        fail_at=fail_at if fail_at >= 0 else None,
    )


@dataclass(frozen=True)
class _Planned:
    """What an inconclusive row carries beside; the names are those of `Row`."""

    smallest_visible_drop: float | None = None
    runs_needed: int | None = None


@lru_cache(maxsize=65536)
def _planned(table: Table, claims: Claims) -> _Planned:
    x1, n1, _, n2 = table
    return _Planned(
        smallest_visible_drop=stats.smallest_visible_drop(x1, n1, n2, alpha=claims.alpha, power=claims.power),
        runs_needed=stats.runs_to_settle(
            *table,
            alpha=claims.alpha,
            min_effect=claims.min_effect,
            power=1 - claims.beta,
            max_runs=MAX_PLANNED_RUNS,
        ),
    )


def _undecided(pair: Pair, phase: Phase) -> bool:
    """Return whether head's chaos counts prove nothing, since the experiment itself could not be judged."""
    return phase == "chaos" and pair.head is not None and not measured(pair.head)
