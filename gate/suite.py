"""A folder of experiments to a report: find the files, run them, judge what was recorded."""

import hashlib
import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gate.config import Budget, Config, agent_secrets, read_text
from gate.document import read_document
from gate.engine import RunSettings, plan, run_suite
from gate.engine.budget import usd_of
from gate.engine.journal import Header, Journal, read_header, read_records
from gate.engine.redact import Redactor
from gate.errors import BrokenEnvironmentError, InvalidFileError, UsageError
from gate.experiment import Experiment, load_suite
from gate.judge import Tally
from gate.prices import Prices, UnpricedError
from gate.report import BUDGET_STOP, DIRTY, PHASES, Phase, Report, RunRecord, Spend, Suite
from gate.room import refuse_too_many, with_room
from gate.sharing import baseline_groups
from gate.stopping import Watches, watch_suite

FORMATS = ("agentic-chaos/", "agent-chaos-gate/")
"""How `apiVersion` begins in a file of ours, whatever else is wrong with it."""


@dataclass(frozen=True)
class Commit:
    """What was tested: the commit to speak of, its branch, and the tree that was checked out.

    `tree` ends in `DIRTY` where files that git knows have changes that are not committed.
    """

    sha: str = ""
    ref: str = ""
    tree: str = ""


def find_files(patterns: Sequence[str], directory: Path) -> list[Path]:
    """Return the files of paths, folders and globs, each once, in order; folders and globs skip other kinds of file.

    Raises:
        UsageError: a path without a wildcard that is not there, or a glob that is none.
    """
    found: dict[Path, None] = {}
    for pattern in patterns:
        path = directory / pattern
        if path.is_file():
            found[path] = None
        elif path.is_dir():
            files = sorted([*path.rglob("*.yaml"), *path.rglob("*.yml")])
            found.update((f, None) for f in files if _may_be_experiment(f))
        elif any(c in pattern for c in "*?["):
            found.update((f, None) for f in match_files(pattern, directory) if _may_be_experiment(f))
        else:
            raise UsageError("no such file or folder", where=str(path), fix="name a file or folder with experiments")
    return list(found)


def match_files(pattern: str, directory: Path) -> list[Path]:
    """Return the files that a glob matches, in order; an absolute one does not depend on the directory.

    Raises:
        UsageError: not a glob.
    """
    anchor = Path(pattern).anchor
    try:
        return sorted(p for p in Path(anchor or directory).glob(pattern.removeprefix(anchor)) if p.is_file())
    except ValueError as error:
        raise UsageError(
            f"not a glob: {error}", where=pattern, fix="write ** between slashes, as in a/**/*.yaml"
        ) from None


def _may_be_experiment(path: Path) -> bool:
    """Return whether a file is an experiment, or too broken to say: then its problems are shown."""
    try:
        data = read_document(read_text(path), str(path)).data
    except InvalidFileError:
        return True
    if not isinstance(data, dict) or data.get("kind") == "McpProxy":
        return False
    return data.get("kind") == "Experiment" or str(data.get("apiVersion")).startswith(tuple(FORMATS))


def load_experiments(patterns: Sequence[str], directory: Path, warn: Callable[[str], None]) -> list[Experiment]:
    """Parse the experiments that patterns name; paths are shown relative to the folder.

    Raises:
        UsageError: a path that is not there.
        InvalidFileError: with every problem of every file, or an empty suite.
    """
    files: list[tuple[str, str]] = []
    problems: list[str] = []
    for path in find_files(patterns, directory):
        try:
            files.append((os.path.relpath(path, directory), read_text(path)))
        except InvalidFileError as error:
            problems += error.problems
    if problems:
        raise InvalidFileError(problems)
    if not files:
        shown = ", ".join(patterns)
        raise InvalidFileError([f"no experiment found in {shown}"], fix="name a file or a folder with experiments")
    return load_suite(files, warn)


def git_commit(directory: Path) -> Commit:
    """Return the commit that is checked out, empty outside a repository."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(directory), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    ref = git("symbolic-ref", "--quiet", "--short", "HEAD")
    tree = git("rev-parse", "--verify", "HEAD^{tree}")
    if tree and git("status", "--porcelain", "--untracked-files=no"):
        tree += DIRTY
    return Commit(git("rev-parse", "--verify", "HEAD"), ref, tree)


def run_and_report(
    experiments: Sequence[Experiment],
    config: Config,
    *,
    directory: Path,
    python: tuple[str, ...],
    environment: Mapping[str, str],
    target: str | None,
    runs: int | None,
    seed: int | None,
    commit: Commit,
    on_record: Callable[[RunRecord], None],
    journal: Path | None = None,
    resume: bool = False,
    limit_s: float | None = None,
    base: Report | None = None,
    whole: bool = False,
    on_plan: Callable[[Mapping[tuple[str, Phase], int], Mapping[tuple[str, Phase], int]], None] | None = None,
    on_limit: Callable[[str, Phase, int], None] = lambda _name, _phase, _runs: None,
) -> Report:
    """Run every experiment, keep a journal, and return the report that the journal makes.

    `journal` is where it stays (default: nowhere); `resume` goes on with the one that is there. `limit_s` is how long
    a run may take whatever the files say. With a `base` whose policy has regressions confirmed, phases stop once their
    comparison with it is decided, with `whole` not before their planned runs, and have more where it is not. `on_plan`
    gets the number of runs per experiment and phase, planned and done before, `on_limit` the phases that turn out to
    need fewer or more, with how many.

    Raises:
        UsageError: more runs than a report can hold, or the journal to go on with belongs to another suite or commit,
            or to other settings.
        BrokenEnvironmentError: the agent does not start, or an experiment ends without a valid run.
    """
    digest = suite_digest(experiments)
    with tempfile.TemporaryDirectory(prefix="chaos-gate-") as scratch:
        settings = RunSettings(
            python=python,
            cwd=directory,
            environment=environment,
            parallel=config.run.parallel,
            timeout_s=config.run.timeout_s,
            runs=runs,
            default_runs=config.run.runs,
            seed=seed,
            target=target,
            scratch=Path(scratch),
            isolation=config.run.isolation,
            max_runs=config.run.max_runs,
            limit_s=limit_s,
            redactor=Redactor(agent_secrets(environment)),
            budget=config.run.budget,
            prices=config.run.prices,
        )
        watches = watch_suite(
            experiments, settings.runs_of, config.policy, base, max_runs=settings.max_runs, whole=whole
        )
        refuse_too_many(experiments, [watches[e.name, "chaos"].most_runs for e in experiments])
        path = journal or Path(scratch, "journal.jsonl")
        header = Header.of(digest, settings, commit=commit.sha, started_at=_now())
        opened, done = Journal.resume(path, header) if resume else (Journal.create(path, header), frozenset())
        if on_plan is not None:
            had = Counter((name, phase) for name, phase, _ in done)
            on_plan({p.key: max(p.runs, had[p.key]) for p in plan(experiments, settings)}, had)
        with opened:

            def keep(records: Sequence[RunRecord]) -> None:
                opened.append(*records)
                for record in records:
                    watch = watches[record.experiment, record.phase]
                    if watch.counted is None and record.index >= watch.planned_runs:
                        on_limit(record.experiment, record.phase, watch.limit)
                    on_record(record)
                    if watch.counted is not None:
                        on_limit(record.experiment, record.phase, watch.counted)

            earlier = read_records(path) if done else ()
            run_suite(experiments, settings, on_records=keep, watches=watches, earlier=earlier)
        tallies = {e.name: Tally(e) for e in experiments}
        started_at = read_header(path).started_at
        spend = tally_records(read_records(path), tallies, config.run.prices, watches)
    _require_runs(tallies.values(), config.run.budget)
    groups = baseline_groups(experiments, target=target, seed=seed)
    report = Report(
        commit=commit.sha,
        ref=commit.ref,
        tested_tree=commit.tree,
        started_at=started_at,
        ended_at=_now(),
        suite=Suite(digest=digest),
        spend=spend,
        policy=config.policy,
        removed=config.removed,
        known_findings=config.known_findings,
        experiments=[
            tally.report(
                planned_runs=settings.runs_of(tally.experiment),
                seed=tally.experiment.seed if seed is None else seed,
                target=target or tally.experiment.entrypoint or "",
                group=groups.get(name, ""),
                stops={phase: watches[name, phase] for phase in PHASES if (name, phase) in watches},
            )
            for name, tally in tallies.items()
        ],
    )
    return with_room(report)


def _require_runs(tallies: Iterable[Tally], budget: Budget) -> None:
    """Stop where there is nothing to report.

    Raises:
        BrokenEnvironmentError: the budget was used up before the first run, or an experiment has no valid one.
    """
    begun = [tally for tally in tallies if tally.runs]
    if not begun:
        where = f"run.budget: {budget.model_dump_json(exclude_none=True)}"
        fix = "allow more, or take the budget away"
        raise BrokenEnvironmentError(f"no run was started: {BUDGET_STOP}", where=where, fix=fix)
    for tally in begun:
        if (why := tally.why_invalid) is not None:
            fix = "run the experiment alone and look"
            raise BrokenEnvironmentError(f"no valid run: {why}", where=tally.experiment.name, fix=fix)


def tally_records(
    records: Iterable[RunRecord], tallies: Mapping[str, Tally], prices: Prices, watches: Watches | None = None
) -> Spend:
    """Hand every record that counts to the tally of its experiment, one at a time; return what all of them took.

    Runs that were under way when a watch had seen enough do not count; without `watches` all do.
    """
    runs, tokens, model_calls, seconds = 0, 0, 0, 0.0
    usd: float | None = 0.0 if prices else None
    for record in records:
        if watches is None or watches[record.experiment, record.phase].needs(record.index):
            tallies[record.experiment].add(record)
        if record.shared_with:
            continue
        runs += 1
        tokens += record.tokens
        model_calls += record.model_calls
        seconds += record.duration_s
        try:
            usd = None if usd is None else usd + usd_of(record, prices)
        except UnpricedError:
            usd = None
    seen = usd if model_calls else None  # no model call seen means that nobody looked, not that nothing was spent
    return Spend(runs=runs, tokens=tokens, usd=seen, seconds=seconds, model_calls=model_calls)


def suite_digest(experiments: Sequence[Experiment]) -> str:
    """Return a digest of the texts of a suite's files."""
    return hashlib.sha256("".join(e.digest for e in experiments).encode()).hexdigest()[:16]


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
