"""When a phase has had enough runs. Pure: the same runs give the same answer in whatever order they finish."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from gate import stats
from gate.bars import bars_of
from gate.counting import UNCOUNTED, applicable
from gate.errors import UsageError
from gate.experiment import Experiment
from gate.judge import MAX_INFRA, is_below
from gate.policy import Policy
from gate.report import (
    DECIDED_STOP,
    PHASES,
    SEQUENTIAL_STOP,
    Decision,
    ExperimentReport,
    Phase,
    Report,
    RunRecord,
)
from gate.rows import Claims

Key = tuple[str, Phase]
"""Name of an experiment, and its phase."""


class Rule(Protocol):
    """Looks at the runs of one phase in the order of their index. `decisions`: by probe, where it takes some itself."""

    @property
    def decisions(self) -> Mapping[str, Decision]: ...
    @property
    def max_runs(self) -> int | None:
        """Return how many runs there are with a second look, None if none is planned."""

    @property
    def wants_more(self) -> bool:
        """Return whether a second look may decide what the runs so far, all that were planned, do not."""

    @property
    def looks_worse(self) -> bool:
        """Return whether the runs so far are to be confirmed, whatever is still to come."""

    @property
    def is_broken(self) -> bool:
        """Return whether the planned runs are below a threshold, whatever is still to come of them."""

    def add(self, record: RunRecord) -> str:
        """Take the next run; return why no further one is needed, empty while some are."""


class Watch:
    """Follows one phase. `counted`: how many runs count, from the first on, once that is decided.

    `max_runs`: how many there are with a second look, None where none is planned. There is none of a chaos phase whose
    `baseline` is broken: its counts will prove nothing.
    """

    def __init__(self, planned_runs: int, rule: Rule | None = None, baseline: "Watch | None" = None) -> None:
        self.planned_runs, self._rule, self._baseline = planned_runs, rule, baseline
        self.max_runs = rule.max_runs if rule else None
        self._wants_more = False
        self.counted: int | None = None
        self.stop_reason = ""
        self._taken = 0
        self._early: dict[int, RunRecord] = {}

    def add(self, record: RunRecord) -> None:
        """Take a run; the rule sees it once all before it are there."""
        if self._rule is None or self.counted is not None:
            return
        self._early[record.index] = record
        while self.counted is None and (following := self._early.pop(self._taken, None)) is not None:
            self._taken += 1
            reason = self._rule.add(following)
            if self._taken == self.planned_runs:
                self._wants_more = self._rule.wants_more
            elif reason and self._taken < self.limit:
                self.counted, self.stop_reason = self._taken, reason
                self._early.clear()

    @property
    def limit(self) -> int:
        """Return how many runs it may come to; with a second look once the first has ended and wants it."""
        pointless = self._baseline is not None and self._baseline.is_broken
        return self.most_runs if self._wants_more and not pointless else self.planned_runs

    @property
    def is_broken(self) -> bool:
        """Return whether the first look is below a threshold, whatever is still to come of it."""
        return self._rule is not None and self._rule.is_broken

    @property
    def most_runs(self) -> int:
        """Return how many runs the phase has at most."""
        return self.max_runs or self.planned_runs

    @property
    def decisions(self) -> Mapping[str, Decision]:
        """Return what the rule has decided itself, by probe."""
        return self._rule.decisions if self._rule else {}

    @property
    def looks_worse(self) -> bool:
        """Return whether base and head are to be run again for this phase, whatever is still to come."""
        return self._rule is not None and self._rule.looks_worse

    def needs(self, index: int) -> bool:
        """Return whether a run is to be carried out, or counts."""
        return index < (self.limit if self.counted is None else self.counted)


Watches = Mapping[Key, Watch]


def watch_suite(
    experiments: Sequence[Experiment],
    runs_of: Callable[[Experiment], int],
    policy: Policy,
    base: Report | None = None,
    *,
    max_runs: int | None = None,
    whole: bool = False,
) -> Watches:
    """Return what follows every phase. Sequential ones stop when their thresholds are decided, by claims of `policy`.

    With a base the others stop once their comparison with it is decided, and have a second look, of `max_runs` in all
    (default: a multiple of the planned), where it is not and base's policy has it. That is for a base whose policy has
    what looks worse confirmed by fresh runs; without it every run is needed, as it is with `whole` in the first look.

    Raises:
        UsageError: a threshold that a sequential test cannot have.
    """
    stored = {e.name: e for e in base.experiments} if base else {}
    watches: dict[Key, Watch] = {}
    for experiment in experiments:
        runs, known = runs_of(experiment), stored.get(experiment.name)
        # an edited experiment is compared with a base that has still to be run
        comparable = known is None or known.fingerprint == experiment.fingerprint
        most = None
        if known is not None and comparable and base is not None and base.policy.extend == "auto":
            most = experiment.most_runs(runs, max_runs)
        for phase in PHASES:
            if phase == "chaos" or experiment.baseline:
                rule: Rule | None = None
                if experiment.sequential:
                    rule = Sequential(experiment, phase, policy, runs)
                elif base is not None and base.policy.confirm == "auto" and comparable:
                    rule = Curtailment(experiment, phase, known, base.policy, runs, most, whole=whole)
                baseline = watches.get((experiment.name, "baseline"))
                watches[experiment.name, phase] = Watch(runs, rule, baseline)
    return watches


class Sequential:
    """Follows one phase by a sequential test of the threshold of each of its probes."""

    def __init__(self, experiment: Experiment, phase: Phase, policy: Policy, planned_runs: int) -> None:
        self._tests: dict[str, stats.Sprt] = {}
        for spec in applicable(experiment, phase):
            claims = Claims.of(policy, experiment.policy, spec)
            try:
                self._tests[spec.id] = stats.Sprt(
                    spec.threshold, claims.min_effect, alpha=claims.alpha, beta=1 - claims.power, max_runs=planned_runs
                )
            except ValueError as error:
                where = f"{experiment.path}: {spec.id}"
                fix = "raise min_pass_rate, lower min_effect, or take a fixed number of runs"
                raise UsageError(f"no sequential test of its threshold: {error}", where=where, fix=fix) from None
        self._open, self._fired = dict.fromkeys(self._tests, True), phase == "baseline"
        self.decisions: dict[str, Decision] = dict.fromkeys(self._tests, "inconclusive")
        self.wants_more = self.looks_worse = self.is_broken = False
        self.max_runs = None

    def add(self, record: RunRecord) -> str:
        """Take the next run; return why no further one is needed, empty while some are."""
        if record.outcome in UNCOUNTED:
            return ""
        self._fired |= any(fault.fired for fault in record.faults)
        for (name, test), probe in zip(self._tests.items(), record.probes, strict=True):
            decision = test.update(probe.passed)
            if decision != "continue":
                self.decisions[name], self._open[name] = decision, False
        return SEQUENTIAL_STOP if self._fired and not any(self._open.values()) else ""


class Curtailment:
    """Follows one phase of head in the order of its runs, against what the base had.

    `most_runs`: how many with a second look, None if there is to be none. With `whole` the first is not ended early.
    """

    decisions: Mapping[str, Decision] = MappingProxyType({})

    def __init__(
        self,
        experiment: Experiment,
        phase: Phase,
        base: ExperimentReport | None,
        policy: Policy,
        planned_runs: int,
        most_runs: int | None = None,
        *,
        whole: bool = False,
    ) -> None:
        specs = applicable(experiment, phase)
        self._bars = bars_of(experiment, phase, base, policy, planned_runs, most_runs)
        self._later = [bar.second_look for bar in self._bars]
        self.max_runs = most_runs if any(bar.claims.looks > 1 for bar in self._bars) else None
        self._planned, self._chaos, self._whole = planned_runs, phase == "chaos", whole
        self._runs = self._lost = 0
        self._passes = [0] * len(specs)
        self._tested = [not (self._chaos and spec.severity == "critical") for spec in specs]
        self._silent = {at for at, fault in enumerate(base.faults) if fault.runs_fired} if base else set()
        self._fired = self.is_broken = False

    def add(self, record: RunRecord) -> str:
        """Take the next run; return why no further one is needed, empty while some are."""
        self._runs += 1
        lost = record.outcome in UNCOUNTED
        if lost:
            self._lost += 1
        else:
            self._count(record)
        if self._runs <= self._planned:
            runs, rest = self._planned - self._lost, self._planned - self._runs
            self.is_broken = any(
                is_below(k + rest, runs, bar.threshold) for bar, k in zip(self._bars, self._passes, strict=True)
            )
        return DECIDED_STOP if not lost and self._is_decided() else ""

    def _count(self, record: RunRecord) -> None:
        for at, probe in enumerate(record.probes):
            self._passes[at] += probe.passed
            self._tested[at] |= not probe.vacuous
        fired = {at for at, fault in enumerate(record.faults) if fault.fired}
        self._silent -= fired
        self._fired |= bool(fired)

    @property
    def wants_more(self) -> bool:
        """Return whether a second look may decide what the runs so far, all that were planned, do not."""
        return self._measures and self._any_wants_more(0)

    @property
    def looks_worse(self) -> bool:
        """Return whether a probe looks worse if all runs that are still planned pass, and is to be run again."""
        if self._whole:
            return False
        runs, rest = self._target - self._lost, self._target - self._runs
        return any(bar.looks_worse(k + rest, runs) for bar, k in zip(self._bars, self._passes, strict=True))

    @property
    def _target(self) -> int:
        """Return how many runs the present look is to have."""
        return self._planned if self.max_runs is None or self._runs <= self._planned else self.max_runs

    @property
    def _measures(self) -> bool:
        """Return whether the runs so far are a yardstick."""
        if self._lost > MAX_INFRA * self._runs or not all(self._tested):
            return False
        return not self._chaos or (self._fired and not self._silent)

    def _any_wants_more(self, rest: int) -> bool:
        """Return whether a probe wants a second look if the `rest` of the first all pass."""
        runs, more = self._planned - self._lost, (self.max_runs or self._planned) - self._planned
        return any(bar.wants_more(k + rest, runs, more) for bar, k in zip(self._bars, self._passes, strict=True))

    def _is_decided(self) -> bool:
        first = self._runs <= self._planned
        if not self._measures or (first and self._whole):
            return False
        runs, rest = self._target - self._lost, self._target - self._runs
        bars = self._bars if first else self._later
        if not all(bar.decided(passes, rest, runs) for bar, passes in zip(bars, self._passes, strict=True)):
            return False
        return not (first and self._any_wants_more(rest))
