"""Second step: the suite, or the reports that other jobs made of it."""

import re
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from gate.config import GitHubJob, agent_environment, agent_python, load_config
from gate.confirmation import Confirmation
from gate.errors import BrokenEnvironmentError, ExitCode, InvalidFileError
from gate.merge import merge_reports
from gate.pipeline.step import BASE_REPOSITORY, State, Step, clear_folder, is_plain_file
from gate.readers import read_file
from gate.report import DIRTY, Report, Tool, read_report
from gate.rerun import Again, look_and_confirm
from gate.suite import Commit, git_commit, load_experiments, match_files, run_and_report

T = TypeVar("T")

MAX_REPORTS = 256
"""As many as a matrix may have jobs."""


def run(step: Step) -> int:
    """Write report.json: run the suite, with no token in reach, or merge the reports of other jobs.

    What looks worse than the base is run again beside it, and confirmation.json has the counts of that.
    """
    state = step.read_state()
    if state.job != "gate":
        return ExitCode.OK
    confirmation = None
    if step.inputs.reports:
        report = _merge(step, state)
    else:
        report, confirmation = _guarded(step.job, lambda: _run_suite(step, state))
    # No process of the agent is left by now; what it may have put in the place of our files goes.
    clear_folder(step.results)
    (step.results / "report.json").write_text(report.to_json(), encoding="utf-8")
    if confirmation is not None:
        (step.results / "confirmation.json").write_text(confirmation.to_json(), encoding="utf-8")
    step.say(f"{report.spend.runs} runs of {len(report.experiments)} experiment(s)")
    return ExitCode.OK


def _run_suite(step: Step, state: State) -> tuple[Report, Confirmation | None]:
    inputs = step.inputs
    directory = inputs.directory.resolve()
    commit = _require_checkout(step, state)
    if not inputs.allow_persisted_credentials:
        refuse_persisted_credentials(step.job.workspace, inputs.directory)
    config = load_config(Path(inputs.config) if inputs.config else None, inputs.directory)
    config = config.model_copy(update={"policy": state.policy})
    experiments = load_experiments(inputs.experiments or config.experiments, inputs.directory, step.say)
    python, environment = agent_python(inputs.python, inputs.directory), agent_environment(inputs.pass_env)
    target = inputs.target or None
    with tempfile.TemporaryDirectory(prefix="chaos-gate-journal-") as folder:
        first_look = partial(
            run_and_report,
            experiments,
            config,
            directory=directory,
            python=python,
            environment=environment,
            target=target,
            runs=inputs.runs,
            seed=None,
            commit=commit,
            on_record=lambda _: None,
            journal=Path(folder, "journal.jsonl"),
        )
        if not state.confirm_commit:
            return first_look(base=None, resume=False), None
        base_path, fetched = step.state / "base.json", step.state / BASE_REPOSITORY
        base = read_report(base_path.read_bytes(), str(base_path))
        again = Again(
            repository=fetched if fetched.exists() else directory,
            commit=state.confirm_commit,
            directory=directory,
            python=python,
            environment=environment,
            target=target,
            say=step.say,
        )
        # what becomes a base itself has all its runs
        return look_and_confirm(first_look, base, experiments, config, again, spare=not state.record_ref)


def _merge(step: Step, state: State) -> Report:
    """Read and merge what the input `reports` names; other jobs made it, so it is read as hostile.

    Files of other tools name no commit: that they are of the one that is judged is the workflow's word.
    """
    root = step.job.workspace
    found = sorted({p for pattern in step.inputs.reports for p in match_files(pattern, root) if is_plain_file(p)})
    if not found:
        fix = "download the artifacts of the other jobs before; a job that failed leaves none"
        raise BrokenEnvironmentError("no file matches", where="input reports", fix=fix)
    if len(found) > MAX_REPORTS:
        raise InvalidFileError([f"input reports: {len(found)} files match, more than {MAX_REPORTS}"])
    report = merge_reports([(str(path), read_file(path, state.policy)) for path in found])
    if report.tool.name == Tool().name:
        return report
    return report.model_copy(update={"commit": state.head_sha, "ref": state.record_ref})


def _guarded(job: GitHubJob, work: Callable[[], T]) -> T:
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
                if not is_plain_file(path):
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
    return {name: path.read_bytes() if is_plain_file(path) else None for name, path in job.runner_files.items()}


_CREDENTIAL = re.compile(
    r"http\..*\.extraheader\n|core\.sshcommand\n|remote\..*url\n\w+://[^/\s]*@|url\.\w+://[^/\s]*@.*\.(push)?insteadof\n",
    re.I,
)
"""An entry of `git config --list --null` that lets its reader write to the remote: header, key, token in a URL."""


def refuse_persisted_credentials(*directories: Path) -> None:
    """Stop where a checkout left a token in its git configuration, since the agent could read it there.

    Looked at are the repositories that the folders belong to, and those up to three levels below them.

    Raises:
        BrokenEnvironmentError: credentials were found.
    """
    below = (found.parent for d in directories for depth in (1, 2, 3) for found in d.glob("*/" * depth + ".git"))
    for directory in dict.fromkeys((*directories, *below)):
        command = ["git", "-C", str(directory), "config", "--local", "--includes", "--list", "--null"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if any(_CREDENTIAL.match(entry) for entry in done.stdout.split("\0")):
            raise BrokenEnvironmentError(
                "the checkout left git credentials where the agent can read them",
                where=str(directory),
                fix="set `persist-credentials: false` on actions/checkout, or `allow-persisted-credentials: true` here",
            )


def _require_checkout(step: Step, state: State) -> Commit:
    """Return what is tested, under the name of head.

    Raises:
        BrokenEnvironmentError: another commit is checked out than the event is about.
    """
    commit = git_commit(step.job.workspace)
    if commit.sha and commit.sha not in (step.job.sha, state.head_sha):
        raise BrokenEnvironmentError(
            f"{commit.sha[:12]} is checked out, and the event is about {state.head_sha[:12]}",
            where=str(step.job.workspace),
            fix="let actions/checkout take its default `ref`",
        )
    # Steps before this one may write to files that git knows: the workflow's business, and alike in every leg.
    return Commit(state.head_sha, state.record_ref, commit.tree.removesuffix(DIRTY))
