"""A folder of experiments to a report: find the files, run them, judge what was recorded."""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gate.config import Config, read_text
from gate.document import read_document
from gate.engine import RunSettings, plan, run_suite
from gate.errors import BrokenEnvironmentError, InvalidFileError, UsageError
from gate.experiment import Experiment, load_suite
from gate.judge import UNCOUNTED, judge_experiment
from gate.report import Report, RunRecord, Spend, Suite


@dataclass(frozen=True)
class Commit:
    """What was tested: the commit to speak of, its branch, and the tree that was checked out."""

    sha: str = ""
    ref: str = ""
    tree: str = ""


def find_files(patterns: Sequence[str], directory: Path) -> list[Path]:
    """Return the files of paths, folders and globs, each once, in order; folders and globs skip other kinds of file.

    Raises:
        UsageError: a path without a wildcard that is not there.
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
            root, rest = (Path(path.anchor), str(path.relative_to(path.anchor))) if path.anchor else (Path(), str(path))
            found.update((f, None) for f in sorted(root.glob(rest)) if f.is_file() and _may_be_experiment(f))
        else:
            raise UsageError("no such file or folder", where=str(path), fix="name a file or folder with experiments")
    return list(found)


def _may_be_experiment(path: Path) -> bool:
    """Return whether a file is an experiment, or too broken to say: then its problems are shown."""
    try:
        data = read_document(read_text(path), str(path)).data
    except InvalidFileError:
        return True
    return (
        isinstance(data, dict) and ("apiVersion" in data or "spec" in data) and data.get("kind") in (None, "Experiment")
    )


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
    return Commit(git("rev-parse", "--verify", "HEAD"), ref, git("rev-parse", "--verify", "HEAD^{tree}"))


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
) -> Report:
    """Run every experiment and return the report.

    Raises:
        BrokenEnvironmentError: the agent does not start, or an experiment ends without a valid run.
    """
    started = datetime.now(UTC)
    records: dict[str, list[RunRecord]] = {e.name: [] for e in experiments}

    def keep(record: RunRecord) -> None:
        records[record.experiment].append(record)
        on_record(record)

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
        )
        run_suite(experiments, settings, on_record=keep)
        planned = plan(experiments, settings)
    _require_valid_runs(records)
    reports = [
        judge_experiment(
            e,
            records[e.name],
            planned_runs=sum(p.experiment is e and p.phase == "chaos" for p in planned),
            seed=e.seed if seed is None else seed,
        )
        for e in experiments
    ]
    everything = [r for each in records.values() for r in each]
    return Report(
        commit=commit.sha,
        ref=commit.ref,
        tested_tree=commit.tree,
        started_at=_iso(started),
        ended_at=_iso(datetime.now(UTC)),
        suite=Suite(digest=hashlib.sha256("".join(e.digest for e in experiments).encode()).hexdigest()[:16]),
        spend=Spend(runs=len(everything), tokens=sum(r.tokens for r in everything)),
        policy=config.policy,
        experiments=reports,
    )


def _require_valid_runs(records: Mapping[str, Sequence[RunRecord]]) -> None:
    """A suite whose runs all died before the agent did anything is a broken set-up, not a finding."""
    for name, runs in records.items():
        if not any(r.outcome not in UNCOUNTED for r in runs):
            why = next((r.error for r in runs if r.error), "no run was started")
            raise BrokenEnvironmentError(f"no valid run: {why}", where=name, fix="run the experiment alone and look")


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
