"""A suite and, where there is one, its base to a plan."""

import fnmatch
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

from gate.bars import bars_of
from gate.counting import applicable
from gate.experiment import Experiment, ProbeSpec
from gate.plan.early import expected_runs
from gate.plan.model import COSTS, Cost, Plan, PlannedExperiment, PlannedProbe, PlanTotal
from gate.plan.spending import Spending
from gate.policy import Policy
from gate.prices import Prices
from gate.report import PHASES, ExperimentReport, Phase, ProbeReport, Report
from gate.rows import MAX_PLANNED_RUNS, Claims
from gate.sharing import baseline_groups
from gate.stats import about_runs_for_power, exact_power, pass_probability, sprt_characteristics

MAX_EARLY_RUNS = 2_000
"""No early end of a comparison is worked out beyond so many runs."""
MAX_SEQUENTIAL_RUNS = 2_000
"""No sequential test is worked out beyond so many runs."""

N = TypeVar("N", int, float)


def plan_suite(
    experiments: Sequence[Experiment],
    *,
    policy: Policy,
    default_runs: int,
    parallel: int,
    runs: int | None = None,
    max_runs: int | None = None,
    base: Report | None = None,
    prices: Prices = MappingProxyType({}),
) -> Plan:
    """Return the plan of a suite; `runs` overrides the files, `default_runs` holds where they say nothing.

    `max_runs`: how many a phase has with a second look, None for the default.
    With a base its policy applies, as in the comparison, and its counts and usage are what is expected.
    """
    policy = base.policy if base else policy
    known = {e.name: e for e in base.experiments} if base else {}
    groups, carried_out = baseline_groups(experiments), dict[str, int]()
    planned = []
    for experiment in experiments:
        wanted, group = experiment.planned_runs(default_runs, runs), groups.get(experiment.name, "")
        planned.append(
            _experiment(
                experiment,
                known.get(experiment.name),
                policy=policy,
                runs=wanted,
                max_runs=max_runs,
                shared_runs=min(wanted, carried_out.get(group, 0)),
                spend=Spending(known.get(experiment.name), base, prices, parallel),
            )
        )
        if group:
            carried_out[group] = max(wanted, carried_out.get(group, 0))
    return Plan(
        policy=policy,
        parallel=parallel,
        base=base.commit if base else None,
        experiments=planned,
        total=_total(planned),
        notes=[*_notes(planned, has_base=base is not None), *_price_notes(prices, base)],
    )


def _experiment(
    experiment: Experiment,
    base: ExperimentReport | None,
    *,
    policy: Policy,
    runs: int,
    max_runs: int | None,
    shared_runs: int,
    spend: Spending,
) -> PlannedExperiment:
    phases: list[Phase] = [phase for phase in PHASES if phase == "chaos" or experiment.baseline]
    own = base.policy if base else experiment.policy
    comparable = base is not None and base.fingerprint == experiment.fingerprint
    acted = base is not None and any(f.fired for f in base.faults)
    counted = {(p.id, p.phase): p for p in base.probes} if base else {}
    stops = base is not None and comparable and policy.confirm == "auto"
    most = experiment.most_runs(runs, max_runs) if stops and policy.extend == "auto" else None
    probes = []
    for phase in phases:
        bars = bars_of(experiment, phase, base, policy, runs, most)
        usable = comparable and (acted or phase == "baseline")  # without a fault, chaos counts are no yardstick
        for spec, bar in zip(applicable(experiment, phase), bars, strict=True):
            stored = counted.get((spec.id, phase))
            claims = Claims.of(policy, own, stored or spec)
            probe = _probe(spec, phase, stored if usable else None, claims, runs)
            if stops and (most or runs) <= MAX_EARLY_RUNS:
                rates = probe.rate, max(0.0, probe.rate - claims.min_effect)
                early = tuple(expected_runs(bar, runs, rate, most) for rate in rates)
                probe = probe.model_copy(update={"early_runs": early})
            probes.append(probe)
    visible = [p for p in probes if p.power is not None]
    chaos = [p for p in probes if p.phase == "chaos"]
    early_runs = _later([p.early_runs for p in chaos])
    own_baseline: dict[Phase, float] = {"baseline": runs - shared_runs} if experiment.baseline else {}
    early_costs = [spend.of({**own_baseline, "chaos": n}) for n in early_runs or ()]
    return PlannedExperiment(
        name=experiment.name,
        path=experiment.path[:4000],
        runs=dict.fromkeys(phases, runs),
        shared_runs=shared_runs,
        probes=probes,
        power=min((p.power for p in visible if p.power is not None), default=None),
        runs_wanted=_largest([p.runs_wanted for p in visible]),
        sequential_runs=_largest([p.sequential_runs for p in chaos]),
        max_runs=most,
        early_runs=early_runs,
        early_costs=_pairs(early_costs),
        **spend.of({**own_baseline, "chaos": runs}),
    )


def _probe(spec: ProbeSpec, phase: Phase, stored: ProbeReport | None, claims: Claims, runs: int) -> PlannedProbe:
    rate, base_runs = spec.threshold, runs
    if stored is not None and stored.runs:
        rate, base_runs = stored.passes / stored.runs, stored.runs
    dropped = rate - claims.min_effect
    power = wanted = None
    if dropped >= 0:
        power = exact_power(base_runs, runs, rate, dropped, alpha=claims.alpha)
        wanted = about_runs_for_power(
            rate, claims.min_effect, alpha=claims.alpha, power=claims.power, max_runs=MAX_PLANNED_RUNS
        )
    passes = pass_probability(
        base_runs, runs, rate, rate, alpha=claims.alpha, min_effect=claims.min_effect, beta=1 - claims.power
    )
    return PlannedProbe(
        probe=spec.id,
        phase=phase,
        rate=rate,
        rate_from="base" if stored is not None and stored.runs else "threshold",
        base_runs=base_runs,
        runs=runs,
        alpha=claims.alpha,
        min_effect=claims.min_effect,
        wanted_power=claims.power,
        power=power,
        pass_chance=passes,
        runs_wanted=wanted,
        sequential_runs=_sequential_runs(spec.threshold, claims, rate, runs),
        early_runs=None,
    )


@lru_cache(maxsize=4096)
def _sequential_runs(threshold: float, claims: Claims, rate: float, runs: int) -> float | None:
    """Return the runs that a sequential test of a threshold takes on average; at 1 the first failure ends it."""
    if threshold == 1:
        return float(runs) if rate == 1 else (1 - rate**runs) / (1 - rate)
    beta = 1 - claims.power
    if claims.min_effect > threshold or claims.alpha + beta >= 1 or runs > MAX_SEQUENTIAL_RUNS:
        return None
    found = sprt_characteristics(threshold, claims.min_effect, alpha=claims.alpha, beta=beta, max_runs=runs, rate=rate)
    return found[3]


def _largest(values: Sequence[N | None]) -> N | None:
    """Return the largest; None if one is absent, or all are."""
    known = [v for v in values if v is not None]
    return max(known) if known and len(known) == len(values) else None


def _later(pairs: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    """Return the larger of each column; None if a pair is absent."""
    known = [pair for pair in pairs if pair is not None]
    return (max(a for a, _ in known), max(b for _, b in known)) if known and len(known) == len(pairs) else None


def _pairs(costs: Sequence[Mapping[Cost, Any]]) -> dict[Cost, tuple[float, float]]:
    """Return what both of two plans say of costs, as far as it is known."""
    if not costs:
        return {}
    one, other = costs
    return {cost: (one[cost], other[cost]) for cost in COSTS if None not in (one[cost], other[cost])}


def _total(planned: Sequence[PlannedExperiment]) -> PlanTotal:
    sums: dict[Cost, Any] = {}
    unknown: dict[Cost, int] = {}
    for cost in COSTS:
        known = [value for e in planned if (value := getattr(e, cost)) is not None]
        sums[cost] = sum(known) if known else None
        if len(known) < len(planned):
            unknown[cost] = len(planned) - len(known)
    runs, shared = sum(sum(e.runs.values()) for e in planned), sum(e.shared_runs for e in planned)
    early = [e.early_runs for e in planned if e.early_runs is not None]
    baseline = sum(e.runs.get("baseline", 0) for e in planned) - shared
    both = (baseline + sum(a for a, _ in early), baseline + sum(b for _, b in early))
    return PlanTotal(
        experiments=len(planned),
        runs=runs - shared,
        shared_runs=shared,
        early_runs=both if len(early) == len(planned) else None,
        early_costs={
            cost: (sum(e.early_costs[cost][0] for e in planned), sum(e.early_costs[cost][1] for e in planned))
            for cost in COSTS
            if all(cost in e.early_costs for e in planned)
        },
        unknown=unknown,
        **sums,
    )


def _notes(planned: Sequence[PlannedExperiment], *, has_base: bool) -> list[str]:
    probes = [p for e in planned for p in e.probes]
    notes = []
    if not has_base:
        notes.append(
            "No stored report was given (--base): the thresholds stand in for the pass rates to expect, both arms have "
            "the planned runs, and what a run takes is unknown."
        )
    elif guessed := sum(p.rate_from == "threshold" for p in probes):
        notes.append(f"The base has no counts for {guessed} of {len(probes)} probes: their thresholds stand in.")
    if len(probes) > 1:
        notes.append(
            f"Power is that of a probe compared alone. The {len(probes)} comparisons of this suite are corrected for "
            "one another, and each sees less."
        )
    if shared := sum(e.shared_runs for e in planned):
        notes.append(f"{shared:,} baseline runs serve several experiments at once: they are counted and paid for once.")
    notes.append(
        "Costs are those of every planned run, with `--base` also of what is run on average: without the runs that can "
        "change no verdict, with a second look where it may decide, without confirmation. Minutes are run time over "
        "runs at a time, without the start of workers and repeats after infra errors."
    )
    return notes


def _price_notes(prices: Prices, base: Report | None) -> list[str]:
    """Return a note for every price that no model of the base has."""
    if base is None:
        return []
    models = {one.model for e in base.experiments for phase in e.phases for one in phase.usage or []}
    named = ", ".join(sorted(m or "(unnamed)" for m in models)[:10]) or "none"
    return [
        f"The price of {glob[:200]} is that of no model in the base report, which names: {named}."[:4000]
        for glob in prices
        if not any(fnmatch.fnmatchcase(model, glob) for model in models)
    ]
