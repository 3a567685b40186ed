"""A plan as plain text for a terminal, at most so many columns wide."""

import math
from decimal import ROUND_CEILING, Decimal

from gate.plan import COSTS, Cost, Plan, PlannedExperiment, PlanTotal
from gate.render import number
from gate.render.escape import Own, Part, clean
from gate.render.terminal import table, wrap
from gate.rows import MAX_PLANNED_RUNS

UNKNOWN = Own("?")
NOTE_LIMIT = 1_000
HEADS: dict[Cost, str] = {"model_calls": "calls", "tokens": "tokens", "usd": "USD", "minutes": "min"}
WORDS: dict[Cost, str] = {"model_calls": "model calls", "tokens": "tokens", "usd": "cost", "minutes": "minutes"}
LEGEND = (
    "power: chance to see the drop that matters, of the probe where it is least. want: runs per phase for the wanted "
    "power. early: chaos runs on average, at least, until the comparison is decided, with a second look where it is "
    "open, unchanged / after that drop."
)


def render_plan(plan: Plan, *, width: int = 80) -> str:
    """Return a line for every experiment, the totals and what the figures leave out."""
    shown = [cost for cost in COSTS if getattr(plan.total, cost) is not None]
    columns = [Own(c) for c in ("experiment", "runs", "power", "want", "early", *(HEADS[c] for c in shown))]
    lines = table(columns, [_row(e, shown) for e in plan.experiments], width)
    lines += ["", *wrap(_total(plan), width), "", *wrap(LEGEND, width)]
    if any(_cell(e, cost) is UNKNOWN for e in plan.experiments for cost in shown):
        lines += wrap("?: unknown.", width)
    for note in plan.notes:
        lines += wrap(clean(note, NOTE_LIMIT), width)
    return "\n".join(lines)


def _row(experiment: PlannedExperiment, shown: list[Cost]) -> list[Part]:
    return [
        experiment.name,
        Own("+".join(f"{runs:,}" for runs in experiment.runs.values())),
        number.NONE if experiment.power is None else number.power(experiment.power),
        number.NONE if experiment.power is None else _wanted(experiment.runs_wanted),
        number.NONE
        if experiment.early_runs is None
        else Own("/".join(f"{math.ceil(n):,}" for n in experiment.early_runs)),
        *(_cell(experiment, cost) for cost in shown),
    ]


def _wanted(runs: int | None) -> Own:
    return Own(f">{MAX_PLANNED_RUNS:,}") if runs is None else Own(f"{runs:,}")


def _cell(experiment: PlannedExperiment, cost: Cost) -> Own:
    value = getattr(experiment, cost)
    return UNKNOWN if value is None else _amount(cost, value)


def _amount(cost: Cost, value: float) -> Own:
    """Return an amount rounded up, short: `1.3M` tokens, `0.42` USD, `1.5` minutes."""
    if cost in ("usd", "minutes"):
        return Own(f"{Decimal(repr(value)).quantize(Decimal('0.01' if cost == 'usd' else '0.1'), ROUND_CEILING):,f}")
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if value >= size:
            unit = 1_000 if letter == "k" else size
            return Own(f"{math.ceil(value / unit * 10) / 10:,.1f}".removesuffix(".0") + letter)
    return Own(f"{math.ceil(value):,}")


def _early(total: PlanTotal, at: int) -> str:
    """Return the runs that a suite takes on average, and what they cost as far as that is known."""
    runs = math.ceil(total.early_runs[at]) if total.early_runs else 0
    costs = [f"{_amount(c, both[at])} {'USD' if c == 'usd' else WORDS[c]}" for c, both in total.early_costs.items()]
    return f"{runs:,} runs ({', '.join(costs)})" if costs else f"{runs:,} runs"


def _total(plan: Plan) -> str:
    """Return the sums in a sentence; one that lacks a part is said to be a least."""
    total, parts, missing = plan.total, [], []
    for cost in COSTS:
        value, lacking = getattr(total, cost), total.unknown.get(cost, 0)
        if value is None:
            missing.append(WORDS[cost])
            continue
        text = f"{_amount(cost, value)} {'USD' if cost == 'usd' else WORDS[cost]}"
        parts.append(f"at least {text} (unknown for {lacking:,} of {total.experiments:,})" if lacking else text)
    known = ", ".join([str(number.many(total.runs, "run")), *parts])
    unknown = f"; unknown: {', '.join(missing)}" if missing else ""
    if total.shared_runs:
        known = f"{known}, {total.shared_runs:,} more if baselines were not shared"
    if total.early_runs is not None:
        unchanged, dropped = (_early(total, at) for at in (0, 1))
        known = f"{known}; with --base about {unchanged} if nothing changed, {dropped} if every rate dropped"
    at_a_time = f", {plan.parallel:,} at a time"
    return f"Total: {number.many(total.experiments, 'experiment')}, {known}{at_a_time}{unknown}."
