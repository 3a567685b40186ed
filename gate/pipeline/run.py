"""Second step: the suite."""

import subprocess
from pathlib import Path

from gate.config import GitHubJob, agent_environment, agent_python, load_config
from gate.errors import BrokenEnvironmentError, ExitCode
from gate.pipeline.step import Step
from gate.suite import Commit, git_commit, load_experiments, run_and_report


def run(step: Step) -> int:
    """Run the suite and write report.json; no token is in reach."""
    state = step.read_state()
    if state.job != "gate":
        return ExitCode.OK
    inputs, job = step.inputs, step.job
    if not inputs.allow_persisted_credentials:
        refuse_persisted_credentials(job.workspace)
    config = load_config(Path(inputs.config) if inputs.config else None, inputs.directory)
    config = config.model_copy(update={"policy": state.policy})
    experiments = load_experiments(inputs.experiments or config.experiments, inputs.directory, step.say)
    before = _runner_files(job)
    report = run_and_report(
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
    step.results.mkdir(parents=True, exist_ok=True)
    (step.results / "report.json").write_text(report.to_json(), encoding="utf-8")
    if changed := [name for name, text in _runner_files(job).items() if text != before[name]]:
        for name in changed:
            job.runner_files[name].write_bytes(before[name])
        raise BrokenEnvironmentError(
            f"the agent wrote to {', '.join(changed)}, by which it could steer later steps; the change was taken back",
            where="run",
            fix="look at what the pull request does with these files",
        )
    step.say(f"{report.spend.runs} runs of {len(report.experiments)} experiment(s)")
    return ExitCode.OK


def _runner_files(job: GitHubJob) -> dict[str, bytes]:
    """Return the contents of the files by which a step speaks to the runner."""
    return {name: path.read_bytes() if path.is_file() else b"" for name, path in job.runner_files.items()}


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
