"""Which runs there are, and how they are to be run."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gate.config import Budget
from gate.engine.redact import Redactor
from gate.errors import UsageError
from gate.experiment import Experiment
from gate.format import Isolation
from gate.prices import Prices
from gate.report import PHASES, Phase
from gate.sharing import baseline_groups

Trees = tuple[Path, Path]
"""The root of a tree, and that of the one that takes its place."""


@dataclass(frozen=True)
class RunSettings:
    """How the agent is started; `environment` is all it gets.

    `runs`, `seed`, `target` and `limit_s` override the files; `default_runs`, `timeout_s` and `isolation` hold where a
    file says nothing. `max_runs`: how many a phase has with a second look, None for the default. Once the budget is
    used up no further run begins. `trees`: experiments, by name, whose agent is that of another tree than the
    checkout's, as (the checkout's root, the other one's).
    """

    python: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    parallel: int
    timeout_s: float
    scratch: Path
    runs: int | None = None
    default_runs: int = 40
    max_runs: int | None = None
    seed: int | None = None
    target: str | None = None
    isolation: Isolation = "fork"
    limit_s: float | None = None
    redactor: Redactor = field(default_factory=Redactor)
    budget: Budget = field(default_factory=Budget)
    prices: Prices = field(default_factory=dict)
    trees: Mapping[str, Trees] = field(default_factory=dict)

    def runs_of(self, experiment: Experiment) -> int:
        """Return how many runs each phase of an experiment is to have."""
        return experiment.planned_runs(self.default_runs, self.runs)


@dataclass(frozen=True)
class Start:
    """How a worker starts the agent; runs with an equal one share it. `instrument` is JSON, empty for nothing."""

    entrypoint: str
    isolation: Isolation = "fork"
    instrument: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    trees: Trees | None = None

    def folder(self, cwd: Path) -> Path:
        """Return where the agent is started: `cwd`, or what is there in the other tree."""
        return self.trees[1] / cwd.relative_to(self.trees[0]) if self.trees else cwd


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run to come. `seed` is the run's own; None: unseeded."""

    experiment: Experiment
    phase: Phase
    index: int
    seed: int | None
    start: Start
    timeout_s: float


@dataclass(frozen=True, slots=True)
class PlannedPhase:
    """The runs to come of one phase; equal indices of one `group` are the same run. `seed`: of the first run."""

    experiment: Experiment
    phase: Phase
    runs: int
    seed: int | None
    start: Start
    timeout_s: float
    group: str = ""

    @property
    def key(self) -> tuple[str, Phase]:
        """Return what names this phase in a suite."""
        return self.experiment.name, self.phase

    def run(self, index: int) -> PlannedRun:
        """Return one of its runs."""
        seed = None if self.seed is None else self.seed + index
        return PlannedRun(self.experiment, self.phase, index, seed, self.start, self.timeout_s)


def plan(experiments: Sequence[Experiment], settings: RunSettings) -> list[PlannedPhase]:
    """Return every phase of a suite: experiment by experiment, the baseline first where there is one.

    Raises:
        UsageError: an experiment that names no entry point, when none is given for all.
    """
    planned = []
    groups = baseline_groups(experiments, target=settings.target, seed=settings.seed)
    for experiment in experiments:
        entrypoint = settings.target or experiment.entrypoint
        if entrypoint is None:
            raise UsageError(
                "no entry point", where=experiment.path, fix="add spec.target.entrypoint: module:callable, or --target"
            )
        start = Start(
            entrypoint,
            experiment.isolation or settings.isolation,
            _instrument(experiment, entrypoint),
            tuple(experiment.environment.items()),
            settings.trees.get(experiment.name),
        )
        timeout_s = settings.limit_s or experiment.timeout_s or settings.timeout_s
        seed = experiment.seed if settings.seed is None else settings.seed
        runs = settings.runs_of(experiment)
        for phase in PHASES:
            if phase == "baseline" and not experiment.baseline:
                continue
            group = f"{groups[experiment.name]} {start.trees}" if phase == "baseline" else ""
            planned.append(PlannedPhase(experiment, phase, runs, seed, start, timeout_s, group))
    return planned


def _instrument(experiment: Experiment, entrypoint: str) -> str:
    """Return what `gate.chaos.instrument` reads, empty if there is nothing to instrument."""
    if not experiment.instrument:
        return ""
    return json.dumps({"entrypoint": entrypoint, "places": experiment.instrument})
