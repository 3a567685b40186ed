"""Base and head run again, side by side, for what looks worse: the counts that confirm it or do not."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Protocol

from gate.commit import differing_dependencies, top_level, write_tree
from gate.completion import stopped
from gate.config import Budget, Config, agent_secrets
from gate.confirm import Rerun, plan_reruns
from gate.confirmation import Confirmation
from gate.engine import RunSettings, run_suite
from gate.engine.redact import Redactor
from gate.engine.schedule import Trees
from gate.errors import BrokenEnvironmentError, GateError
from gate.experiment import Experiment
from gate.judge import Tally
from gate.report import BUDGET_STOP, ExperimentReport, Report, RunRecord, Spend, Suite
from gate.store import without_transcripts
from gate.suite import tally_records

ARMS = ("base", "head")


@dataclass(frozen=True)
class Again:
    """What a confirmation runs: `commit` of `repository` in place of the checkout that `directory` belongs to.

    The rest is what the first look was run with; `say` is told what is going on.
    """

    repository: Path
    commit: str
    directory: Path
    python: tuple[str, ...]
    environment: Mapping[str, str]
    target: str | None
    say: Callable[[str], None]
    limit_s: float | None = None


class FirstLook(Protocol):
    """Runs the suite: with `base`, without the runs that its comparison does not need; `resume` goes on.

    With `whole` the runs that were planned are not among those.
    """

    def __call__(self, *, base: Report | None, resume: bool, whole: bool = False) -> Report:
        """Return the report of head."""


def look_and_confirm(
    first_look: FirstLook,
    base: Report,
    experiments: Sequence[Experiment],
    config: Config,
    again: Again,
    *,
    spare: bool,
    resume: bool = False,
) -> tuple[Report, Confirmation | None]:
    """Run the suite, and base and head again for what looks worse; return the report and what came of the second.

    With `spare`, runs that can change no verdict are left out, since fresh ones are to confirm what looks worse, and
    others added where that may decide. Where there are no fresh ones, those that were left out of the first look are
    made up for, so that it decides on all runs.
    """
    head = first_look(base=base if spare else None, resume=resume)
    confirmation = confirm(base, head, experiments, config, again)
    if confirmation is not None and stopped(head) and _wants_full_counts(confirmation):
        again.say("what was stopped early is run to its end, since not all of it can be confirmed")
        head = first_look(base=base, resume=True, whole=True)
    return head, confirmation


def _wants_full_counts(confirmation: Confirmation) -> bool:
    """Return whether the first look has to decide, and can still be completed: not once the budget is used up."""
    failed = bool(confirmation.reason or confirmation.impossible)
    return failed and BUDGET_STOP not in confirmation.impossible.values()


def confirm(
    base: Report, head: Report, experiments: Sequence[Experiment], config: Config, again: Again
) -> Confirmation | None:
    """Run base and head again for what looks worse under the base's policy; None where nothing does.

    Whatever stands in the way ends up as a reason in what is returned.
    """
    reruns = plan_reruns(base, head, base.policy)
    if not reruns:
        return None
    names = ", ".join(rerun.experiment for rerun in reruns)
    again.say(f"base {again.commit[:12]} and head are run again side by side for {names}")
    with tempfile.TemporaryDirectory(prefix="chaos-gate-base-") as folder:
        try:
            root = _prepare_tree(again, Path(folder))
        except GateError as error:
            again.say(f"not possible: {error.what}")
            return Confirmation(reason=error.what[:4_000])
        confirming = _Confirming(config, again, (root, Path(folder).resolve()))
        return confirming.run(reruns, head, {e.name: e for e in experiments})


def _prepare_tree(again: Again, folder: Path) -> Path:
    """Write base's tree into a folder; return the root of the one that it takes the place of."""
    if not again.commit:
        raise BrokenEnvironmentError("the base report names no commit")
    root = top_level(again.directory)
    directory = PurePosixPath(again.directory.relative_to(root))
    sides = (again.repository, again.commit), (root, "HEAD")
    if differing := differing_dependencies(*sides, directory):
        raise BrokenEnvironmentError(f"base may need other packages than head: {', '.join(differing)} differ")
    write_tree(again.repository, again.commit, folder)
    if not (folder / directory).is_dir():
        raise BrokenEnvironmentError(f"base has no folder {directory}")
    return root


class _Confirming:
    def __init__(self, config: Config, again: Again, trees: Trees) -> None:
        self.config, self.again, self.trees = config, again, trees
        self.impossible: dict[str, str] = {}
        self.fresh: dict[str, list[ExperimentReport]] = {arm: [] for arm in ARMS}
        self.spent: dict[str, list[Spend]] = {arm: [] for arm in ARMS}
        self.started = datetime.now(UTC)

    def run(self, reruns: Sequence[Rerun], head: Report, experiments: Mapping[str, Experiment]) -> Confirmation:
        """Run one experiment after the other, so that a budget that ends leaves as many as possible whole."""
        for rerun in reruns:
            budget = self._left(head)
            if budget is None:
                self.impossible[rerun.experiment] = BUDGET_STOP
            else:
                self._run(rerun, experiments[rerun.experiment], budget)
        base, fresh_head = (self._report(arm, head) for arm in ARMS)
        return Confirmation(base=base, head=fresh_head, impossible=self.impossible)

    def _left(self, head: Report) -> Budget | None:
        """Return what is left of the suite's budget, None if that is nothing."""
        spent = [head.spend, *(spend for arm in ARMS for spend in self.spent[arm])]
        used = {
            "usd": sum(spend.usd or 0.0 for spend in spent),
            "tokens": sum(spend.tokens for spend in spent),
            "minutes": (datetime.now(UTC) - datetime.fromisoformat(head.started_at)).total_seconds() / 60,
        }
        limits = self.config.run.budget.model_dump(exclude_none=True)
        left = {name: limit - used[name] for name, limit in limits.items()}
        return None if any(rest <= 0 for rest in left.values()) else Budget(**left)

    def _run(self, rerun: Rerun, experiment: Experiment, budget: Budget) -> None:
        baseline = rerun.baseline and experiment.baseline
        wanted = replace(experiment, runs=rerun.runs, seed=rerun.seed, baseline=baseline)
        arms = {"base": replace(wanted, name=f"{experiment.name} (base)"), "head": wanted}
        records: list[RunRecord] = []
        try:
            with tempfile.TemporaryDirectory(prefix="chaos-gate-") as scratch:
                settings = self._settings(Path(scratch), budget, arms["base"].name)
                run_suite(list(arms.values()), settings, on_records=records.extend)
        except GateError as error:
            self.impossible[experiment.name] = f"it could not be run again: {_in_short(error)}"
        for arm, defined in arms.items():
            tally = Tally(defined)
            own = [record for record in records if record.experiment == defined.name]
            self.spent[arm].append(tally_records(own, {defined.name: tally}, self.config.run.prices))
            if tally.runs < rerun.runs * (1 + baseline):
                self.impossible.setdefault(experiment.name, BUDGET_STOP)
            if tally.runs:
                target = self.again.target or experiment.entrypoint or ""
                report = tally.report(planned_runs=rerun.runs, seed=rerun.seed, target=target)
                self.fresh[arm].append(report.model_copy(update={"name": experiment.name}))

    def _settings(self, scratch: Path, budget: Budget, base: str) -> RunSettings:
        run, again = self.config.run, self.again
        return RunSettings(
            python=again.python,
            cwd=again.directory,
            environment=again.environment,
            parallel=run.parallel,
            timeout_s=run.timeout_s,
            target=again.target,
            scratch=scratch,
            isolation=run.isolation,
            limit_s=again.limit_s,
            redactor=Redactor(agent_secrets(again.environment)),
            budget=budget,
            prices=run.prices,
            trees={base: self.trees},
        )

    def _report(self, arm: str, head: Report) -> Report | None:
        if not self.fresh[arm]:
            return None
        spent = self.spent[arm]
        known = [spend.usd for spend in spent if spend.usd is not None]
        report = Report(
            commit=self.again.commit if arm == "base" else head.commit,
            started_at=_iso(self.started),
            ended_at=_iso(datetime.now(UTC)),
            suite=Suite(digest="confirmation"),
            spend=Spend(
                runs=sum(spend.runs for spend in spent),
                tokens=sum(spend.tokens for spend in spent),
                usd=sum(known) if len(known) == len(spent) else None,
            ),
            policy=head.policy,
            experiments=self.fresh[arm],
        )
        return without_transcripts(report)


def _in_short(error: GateError) -> str:
    """Return the first and the last line of what happened."""
    lines = [line.strip() for line in error.what.splitlines() if line.strip()]
    return ": ".join(dict.fromkeys((lines[0], lines[-1])))[:1_000]


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
