"""How often the gate blocks, whom it blocks, and what that costs in runs. Prints the tables of docs/statistics.md.

Simulated agents, one probe to an experiment, 40 runs: base counts as they were stored, head counts, with and without a
second look, and fresh counts of both for what looked worse, through the gate's own screen, confirmation and comparison.
The other rules are worked out exactly, by enumerating both arms.

Usage: python benchmarks/operating_characteristics.py [SUITES]
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from statistics import NormalDist

import numpy as np
from scipy.stats import binom, hypergeom

from gate.compare import compare
from gate.comparison import Comparison
from gate.confirm import plan_reruns
from gate.confirmation import Confirmation
from gate.engine import RunSettings, plan
from gate.engine.scheduler import Scheduler
from gate.experiment import Experiment, parse_experiment
from gate.judge import Tally
from gate.policy import Policy
from gate.report import FaultCount, ProbeOutcome, Report, RunRecord, Spend, Suite
from gate.stats import rejection_boundary, wilson_interval
from gate.stopping import watch_suite

TODAY = date(2026, 1, 2)
RUNS = 40
ALPHA = 0.05
POLICY = Policy(extend="off")  # type: ignore[call-arg]  # the defaults stand in the model
POLICIES = (POLICY, POLICY.model_copy(update={"extend": "auto"}))
SETTINGS = RunSettings(python=(), cwd=Path(), environment={}, parallel=1, timeout_s=1, scratch=Path())
Region = np.ndarray
"""Whether a rule blocks one probe, by base passes and head passes."""


@dataclass(frozen=True)
class Story:
    """Pass rates of every probe of a suite: when the base was stored, and now, of base and of head."""

    name: str
    stored: tuple[float, ...]
    base: tuple[float, ...]
    head: tuple[float, ...]


def unchanged(probes: int, rate: float) -> Story:
    """A suite to which nothing happened."""
    return Story(f"{probes} unchanged at {rate:g}", *[(rate,) * probes] * 3)


def one_drop(probes: int, before: float, after: float) -> Story:
    """A suite in which one probe got worse, and the others stand at .99."""
    rest = (0.99,) * (probes - 1)
    return Story(f"one of {probes}: {before:g} to {after:g}", (before, *rest), (before, *rest), (after, *rest))


def drifted(probes: int, before: float, after: float) -> Story:
    """The model provider changed for everyone since the base was stored; the pull request did nothing."""
    return Story(f"provider moved {probes} from {before:g} to {after:g}", (before,) * probes, *[(after,) * probes] * 2)


# --- the gate itself, simulated ---------------------------------------------------------------------------------------

EXPERIMENT = """
apiVersion: agent-chaos-gate/v1
kind: Experiment
metadata: {{name: {name}}}
spec:
  target: {{entrypoint: "simulated:agent"}}
  runs: {runs}
  seed: 0
  baseline: false
  faults: [{{type: error}}]
  probes: [{{type: output_matches, params: {{pattern: answer}}, min_pass_rate: {threshold}, severity: {severity}}}]
"""


@cache
def suite(probes: int, runs: int, *, critical: bool = False) -> list[Experiment]:
    """Return experiments of one probe each: one that must hold always if critical, else one that half the time may."""
    threshold, severity = (1.0, "critical") if critical else (0.5, "high")
    texts = [
        EXPERIMENT.format(name=f"e{at}", runs=runs, threshold=threshold, severity=severity) for at in range(probes)
    ]
    return [parse_experiment(text, "simulated") for text in texts]


@cache
def finished(name: str, index: int, seed: int, passed: bool) -> RunRecord:
    """Return the record of one chaos run."""
    return RunRecord(
        experiment=name,
        phase="chaos",
        index=index,
        seed=seed,
        outcome="ok",
        duration_s=0.0,
        probes=[ProbeOutcome(passed=passed)],
        faults=[FaultCount(fired=1)],
    )


def run(
    experiments: Sequence[Experiment],
    rates: Sequence[float],
    chance: np.random.Generator,
    base: Report | None = None,
    policy: Policy = POLICY,
) -> Report:
    """Return the report of simulated agents with these pass rates, scheduled as the engine schedules real ones."""
    rate = dict(zip((e.name for e in experiments), rates, strict=True))
    watches = watch_suite(experiments, SETTINGS.runs_of, policy, base)
    scheduler = Scheduler(plan(experiments, SETTINGS), watches)
    tallies = {e.name: Tally(e) for e in experiments}
    for second in (False, True):
        for turn in scheduler.turns(second=second):
            for planned in turn:
                name = planned.experiment.name
                record = finished(name, planned.index, planned.seed, bool(chance.random() < rate[name]))
                watches[name, "chaos"].add(record)
                tallies[name].add(record)
    return Report(
        policy=policy,
        started_at="2026-01-01T00:00:00Z",
        ended_at="2026-01-01T00:00:00Z",
        suite=Suite(digest="simulated"),
        spend=Spend(runs=sum(tally.runs for tally in tallies.values())),
        experiments=[
            tally.report(
                planned_runs=SETTINGS.runs_of(tally.experiment),
                seed=tally.experiment.seed,
                stops={"chaos": watches[name, "chaos"]},
            )
            for name, tally in tallies.items()
        ],
    )


def gate(
    story: Story, chance: np.random.Generator, *, confirm: bool, critical: bool = False, policy: Policy = POLICY
) -> tuple[Comparison, int]:
    """Return what the gate says of one pull request, and the runs it took beside those that were stored."""
    experiments = suite(len(story.head), RUNS, critical=critical)
    base = run(experiments, story.stored, chance, policy=policy)
    head = run(experiments, story.head, chance, base if confirm else None)
    taken, confirmation = head.spend.runs, None
    if confirm and (reruns := plan_reruns(base, head, policy)):
        names = [e.name for e in experiments]
        again = [names.index(rerun.experiment) for rerun in reruns]
        wanted = [replace(experiments[at], runs=r.runs, seed=r.seed) for at, r in zip(again, reruns, strict=True)]
        arms = [run(wanted, [rates[at] for at in again], chance) for rates in (story.base, story.head)]
        taken += sum(arm.spend.runs for arm in arms)
        confirmation = Confirmation(base=arms[0], head=arms[1])
    return compare(base, head, policy=policy, today=TODAY, confirmation=confirmation), taken


# --- other rules, exactly ---------------------------------------------------------------------------------------------


def region(rule: Callable[[int, int], bool]) -> Region:
    """Return where a rule for one probe blocks."""
    return np.array([[rule(x1, x2) for x2 in range(RUNS + 1)] for x1 in range(RUNS + 1)])


def rejected(alpha: float) -> Region:
    """Return where the exact test rejects at a level."""
    return np.arange(RUNS + 1) <= np.array(rejection_boundary(RUNS, RUNS, alpha=alpha))[:, None]


def below_threshold(_base: int, head: int) -> bool:
    """Block below a pass rate of 90 %, whatever the base did: the rule of agentic-chaos-security 1.0.0."""
    return head < 0.9 * RUNS


def agentassay(base: int, head: int) -> bool:
    """Block by Fisher's test at .05, or where power at the observed effect reaches .8 and the rate fell by over 5 %.

    AgentAssay 0.2.3, the defaults of its verdict and its deployment gate.
    """
    p_value = hypergeom.cdf(head, 2 * RUNS, base + head, RUNS)
    effect = abs(2 * math.asin(math.sqrt(base / RUNS)) - 2 * math.asin(math.sqrt(head / RUNS)))
    power = NormalDist().cdf(effect * math.sqrt(RUNS) - NormalDist().inv_cdf(1 - ALPHA)) if effect else 0.0
    fell = base > 0 and (base - head) / base > 0.05
    return bool((p_value < ALPHA and head < base) or (power >= 0.8 and fell))


def blocks(where: Region, story: Story) -> float:
    """Return the chance that a rule blocks a suite, exactly: its probes are independent."""
    passes = np.arange(RUNS + 1)
    quiet = 1.0
    for stored, head in zip(story.stored, story.head, strict=True):
        both = np.outer(binom.pmf(passes, RUNS, stored), binom.pmf(passes, RUNS, head))
        quiet *= 1 - float(both[where].sum())
    return 1 - quiet


def main() -> None:
    """Simulate, enumerate, and print."""
    suites = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    rules = {
        "uncorrected": lambda probes: rejected(ALPHA),  # noqa: ARG005 (every rule is asked alike)
        "Holm": lambda probes: rejected(ALPHA / probes),
        "AgentAssay": lambda probes: region(agentassay),  # noqa: ARG005
        "below 90 %": lambda probes: region(below_threshold),  # noqa: ARG005
    }
    stories = [
        *(unchanged(20, rate) for rate in (1.0, 0.99, 0.95, 0.9)),
        *(unchanged(100, rate) for rate in (0.99, 0.95)),
        *(one_drop(20, before, after) for before, after in ((1.0, 0.9), (0.95, 0.75), (1.0, 0.8), (1.0, 0.5))),
        drifted(20, 0.95, 0.85),
    ]
    print(f"Share of pull requests that are blocked; {suites} simulated for each that has an interval\n")
    more = ["with a second look", "runs", "all proven"]
    columns = ["the gate", "reports only", *rules, f"runs, of {RUNS} a probe", "all proven", *more]
    print(f"| {'what happened':34} | {' | '.join(columns)} |")
    print("| --- |" + " --- |" * len(columns))
    for story in stories:
        chance = np.random.default_rng(7)
        confirmed, extended = ([gate(story, chance, confirm=True, policy=p) for _ in range(suites)] for p in POLICIES)
        alone = [gate(story, chance, confirm=False)[0].blocks for _ in range(suites)]
        exact = [f"{blocks(rule(len(story.head)), story):.3f}" for rule in rules.values()]
        cells = [shares([c.blocks for c, _ in confirmed]), shares(alone), *exact, *costs(confirmed, story)]
        cells += [shares([c.blocks for c, _ in extended]), *costs(extended, story)]
        print(f"| {story.name:34} | {' | '.join(cells)} |", flush=True)
    print_first_sightings(suites)


def costs(found: Sequence[tuple[Comparison, int]], story: Story) -> tuple[str, str]:
    """Return the runs a probe, and the share of suites of which everything is proven."""
    runs = sum(taken for _, taken in found) / len(found) / len(story.head)
    return f"{runs:.1f}", f"{sum(c.verdict == 'pass' for c, _ in found) / len(found):.2f}"


def shares(found: Sequence[bool]) -> str:
    """Return a share with its interval."""
    low, high = wilson_interval(sum(found), len(found))
    return f"{sum(found) / len(found):.3f} ({low:.3f}–{high:.3f})"


def print_first_sightings(suites: int) -> None:
    """Show how often a rare old violation of a must is first seen on a pull request that did nothing."""
    print(f"\nFirst sightings of old violations of a critical probe, {RUNS} runs; in brackets {suites} simulated\n")
    print("| true rate | 1 such probe | 5 | 20 |\n| --- | --- | --- | --- |")
    for rate in (0.999, 0.995, 0.99):
        clean = rate**RUNS
        cells = []
        for probes in (1, 5, 20):
            story = unchanged(probes, rate)
            chance = np.random.default_rng(7)
            seen = [gate(story, chance, confirm=True, critical=True)[0].blocks for _ in range(suites)]
            cells.append(f"{1 - (1 - clean * (1 - clean)) ** probes:.3f} ({sum(seen) / suites:.2f})")
        print(f"| {rate:g} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
