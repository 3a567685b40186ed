"""Second step: the suite, or the reports that other jobs made of it."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from gate.config import GitHubJob, agent_environment, agent_python, load_config
from gate.errors import BrokenEnvironmentError, ExitCode, InvalidFileError
from gate.merge import merge_reports
from gate.pipeline.step import State, Step
from gate.report import MAX_BYTES, Report, read_report
from gate.suite import Commit, git_commit, load_experiments, run_and_report

MAX_REPORTS = 256
"""As many as a matrix may have jobs."""


def run(step: Step) -> int:
    """Write report.json: run the suite, with no token in reach, or merge the reports of other jobs."""
    state = step.read_state()
    if state.job != "gate":
        return ExitCode.OK
    report = _merge(step) if step.inputs.reports else _guarded(step.job, lambda: _run_suite(step, state))
    # No process of the agent is left by now; what it may have put in the place of our files goes.
    clear_folder(step.results)
    (step.results / "report.json").write_text(report.to_json(), encoding="utf-8")
    step.say(f"{report.spend.runs} runs of {len(report.experiments)} experiment(s)")
    return ExitCode.OK


def clear_folder(path: Path) -> None:
    """Leave an empty folder, whatever is there."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    path.mkdir(parents=True)


def _run_suite(step: Step, state: State) -> Report:
    inputs, job = step.inputs, step.job
    if not inputs.allow_persisted_credentials:
        refuse_persisted_credentials(job.workspace)
    config = load_config(Path(inputs.config) if inputs.config else None, inputs.directory)
    config = config.model_copy(update={"policy": state.policy})
    experiments = load_experiments(inputs.experiments or config.experiments, inputs.directory, step.say)
    return run_and_report(
        experiments,
        config,
        directory=inputs.directory.resolve(),
        python=agent_python(inputs.python, inputs.directory),
        environment=agent_environment(inputs.pass_env),
        target=inputs.target or None,
        runs=inputs.runs,
        seed=None,
        commit=Commit(state.head_sha, state.record_ref, git_commit(job.workspace).tree),
        on_record=lambda _: None,
    )


def _merge(step: Step) -> Report:
    """Read and merge what the input `reports` names; other jobs made it, so it is read as hostile."""
    root = step.job.workspace
    found = sorted({p for pattern in step.inputs.reports for p in _files(root, pattern)})
    if not found:
        fix = "download the artifacts of the other jobs before; a job that failed leaves none"
        raise BrokenEnvironmentError("no file matches", where="input reports", fix=fix)
    if len(found) > MAX_REPORTS:
        raise InvalidFileError([f"input reports: {len(found)} files match, more than {MAX_REPORTS}"])
    reports = []
    for path in found:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidFileError([f"{path}: larger than {MAX_BYTES // 1_000_000} MB"])
        reports.append((str(path), read_report(path.read_bytes(), str(path))))
    return merge_reports(reports)


def _files(root: Path, pattern: str) -> list[Path]:
    path = root / pattern  # an absolute pattern stays as it is
    anchor = Path(path.anchor)
    return [p for p in anchor.glob(str(path.relative_to(anchor))) if p.is_file()]


def _guarded(job: GitHubJob, work: Callable[[], Report]) -> Report:
    """Do work that starts the agent; what it did to the runner's files is taken back, also when the work fails.

    Raises:
        BrokenEnvironmentError: it wrote there.
    """
    before = _runner_files(job)
    try:
        return work()
    finally:
        if changed := [name for name, text in _runner_files(job).items() if text != before[name]]:
            for name in changed:
                path = job.runner_files[name]
                if path.is_symlink() or not path.is_file():
                    clear_folder(path)
                    path.rmdir()
                path.write_bytes(before[name] or b"")
            raise BrokenEnvironmentError(
                f"the agent wrote to {', '.join(changed)}, by which it could steer later steps; it was taken back",
                where="run",
                fix="look at what the pull request does with these files",
            )


def _runner_files(job: GitHubJob) -> dict[str, bytes | None]:
    """Return the contents of the files by which a step speaks to the runner; None for one that is no file."""
    return {
        name: path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for name, path in job.runner_files.items()
    }


def refuse_persisted_credentials(directory: Path) -> None:
    """Stop where the checkout left a token in the git configuration, since the agent could read it there.

    Raises:
        BrokenEnvironmentError: credentials were found.
    """
    command = ["git", "-C", str(directory), "config", "--includes", "--get-regexp", r"^http\..*\.extraheader$"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0 and done.stdout.strip():
        raise BrokenEnvironmentError(
            "the checkout left git credentials where the agent can read them",
            where=str(directory),
            fix="set `persist-credentials: false` on actions/checkout, or `allow-persisted-credentials: true` here",
        )
