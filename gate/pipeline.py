"""The three steps of the GitHub action: prepare (token), run (no token), publish (token). Files pass between them.

`state/` is written by prepare and sealed by the action before the agent runs; `results/` is written by run, so that
everything in it is hostile input to publish.
"""

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from gate.compare import BaseOrigin, compare
from gate.comparison import Comparison, Notice
from gate.config import (
    GitHubJob,
    Inputs,
    agent_environment,
    agent_python,
    load_config,
    read_inputs,
    read_job,
    read_text,
)
from gate.errors import BrokenEnvironmentError, ExitCode, GateError, UsageError
from gate.event import Activity, decide
from gate.github import Client
from gate.github.archive import read_member
from gate.policy import KnownFinding, Model, Policy, Removed
from gate.publish import Check, Gap, Texts, complete_check, open_check
from gate.publish import publish as publish_texts
from gate.render.markdown import Links, check_summary, check_title, render_comment, render_summary
from gate.render.marker import Marker
from gate.report import MAX_BYTES, Report, read_model, read_report
from gate.store import Base, choose_base, first_parents_in, parents_in, parse_store

Say = Callable[[str], None]

HANDOVER = "agent-chaos-gate-handover"
ARTIFACT = "agent-chaos-gate-{key}"


class State(Model):
    """What prepare found out, for the later steps."""

    job: Literal["gate", "publish", "nothing"]
    reason: str = ""
    head_sha: str = ""
    pull_request: int | None = None
    record_ref: str = ""
    policy: Policy
    removed: list[Removed] = []
    known_findings: list[KnownFinding] = []
    age_commits: int | None = None
    age_days: int | None = None
    notices: list[Notice] = []


class Failure(Model):
    """Why the run step made no report."""

    exit_code: int
    message: str


@dataclass(frozen=True)
class Step:
    """Where a step runs, what it was asked for, and where it speaks."""

    state: Path
    results: Path
    say: Say
    inputs: Inputs
    job: GitHubJob

    def client(self) -> Client:
        """Return a client of the job's repository."""
        return Client(self.job.repository, self.job.token, base_url=self.job.api_url)

    def read_state(self) -> State:
        """Return what prepare wrote."""
        path = self.state / "state.json"
        return read_model(State, read_text(path), str(path))


def perform(name: Literal["prepare", "run", "publish"], state: Path, results: Path, say: Say) -> int:
    """Do one step of the action and return its exit code.

    Raises:
        GateError: the step cannot be done; a reason that the check run shows is kept for publish.
    """
    step = Step(state, results, say, read_inputs(), read_job())
    if name == "prepare":
        return _prepare(step)
    if name == "publish":
        return _publish(step)
    try:
        return _run(step)
    except GateError as error:
        results.mkdir(parents=True, exist_ok=True)
        failure = Failure(exit_code=error.exit_code, message=str(error)[:4_000])
        (results / "failure.json").write_text(failure.model_dump_json(), encoding="utf-8")
        raise


# --- prepare --------------------------------------------------------------------------------------------------------


def _prepare(step: Step) -> int:
    inputs, job = step.inputs, step.job
    activity = decide(
        job.event,
        job.payload,
        repository=job.repository,
        sha=job.sha,
        ref=job.ref,
        tested_parents=parents_in(job.workspace, job.sha) or (),
    )
    config = load_config(Path(inputs.config) if inputs.config else None, inputs.directory)
    state = State(
        job=activity.job,
        reason=activity.reason,
        head_sha=activity.head_sha,
        pull_request=activity.pull_request,
        record_ref=activity.record_ref,
        policy=config.policy.model_copy(update=inputs.policy),
        removed=config.removed,
        known_findings=config.known_findings,
    )
    step.state.mkdir(parents=True, exist_ok=True)
    with step.client() as client:
        if activity.job == "publish":
            state, activity = _fetch_handover(step, client, state, activity)
        if state.job != "nothing":
            base = _fetch_base(step, client, activity)
            state = state.model_copy(update=_origin(base))
            if inputs.check_run and isinstance(gap := open_check(client, _check(step, state)), Gap):
                step.say(workflow_command("notice", gap.notice))
    (step.state / "state.json").write_text(state.model_dump_json(), encoding="utf-8")
    step.say(f"{job.event}: {state.reason or state.job}, head {state.head_sha[:12] or 'none'}")
    return ExitCode.OK


def _fetch_base(step: Step, client: Client, activity: Activity) -> Base | None:
    """Choose the base, keep it as state/base.json and return it."""
    wish = activity.base
    if wish is None:
        return None
    store = parse_store(_located(step.inputs), key=step.inputs.key, client=client)
    ancestors: Sequence[str] | None = None
    if wish.sha:
        ancestors = first_parents_in(step.job.workspace, wish.sha)
    chain = ancestors if ancestors is not None else client.first_parents(wish.sha) if wish.sha else ()
    base = choose_base(store, chain, wish.ref, now=datetime.now(UTC), skip=wish.skip)
    if base is not None:
        (step.state / "base.json").write_text(base.report.to_json(), encoding="utf-8")
    return base


def _located(inputs: Inputs) -> str:
    """Return the store with a relative path taken from the agent's folder."""
    kind, _, place = inputs.baseline.partition(":")
    return f"file:{inputs.directory / place}" if kind == "file" else inputs.baseline


def _origin(base: Base | None) -> dict[str, object]:
    if base is None:
        return {}
    notices = []
    if base.how == "ancestor":
        notices.append(Notice(kind="base_is_ancestor", detail=str(base.age_commits)))
    if base.how == "latest":
        notices.append(Notice(kind="base_is_latest", detail=base.report.commit))
    return {"age_commits": base.age_commits, "age_days": base.age_days, "notices": notices}


def _fetch_handover(step: Step, client: Client, state: State, activity: Activity) -> tuple[State, Activity]:
    """Take the report of a fork's run as data; its pull request is found by branch and head sha, never by its word."""
    source = activity.source
    assert source is not None  # noqa: S101 (a publish activity has one)
    pulls = client.pull_requests_of(source.owner, source.branch, activity.head_sha)
    if not pulls:
        reason = "no open pull request has this head any more"
        return state.model_copy(update={"job": "nothing", "reason": reason}), activity
    name = ARTIFACT.format(key=step.inputs.key)
    archive = client.artifact(source.run_id, name)
    if archive is None:
        fix = f"let the first workflow upload $RUNNER_TEMP/{HANDOVER} as `{name}`, also when it fails"
        raise BrokenEnvironmentError(f"the run has no artifact {name}", where="workflow_run", fix=fix)
    report = read_report(read_member(archive, "report.json", MAX_BYTES), "report.json of the artifact")
    told = read_model(Comparison, read_member(archive, "comparison.json", MAX_BYTES), "comparison.json of the artifact")
    report = report.model_copy(update={"commit": activity.head_sha})
    (step.state / "report.json").write_text(report.to_json(), encoding="utf-8")
    pull = pulls[0]
    update = {
        "pull_request": pull.number,
        "policy": report.policy,
        "removed": told.removed,
        "known_findings": told.known_findings,
    }
    wish = decide(
        "pull_request",
        {"pull_request": {"number": pull.number, "head": pull.head.model_dump(), "base": pull.base.model_dump()}},
        repository=step.job.repository,
        sha=step.job.sha,
        ref=step.job.ref,
    )
    return state.model_copy(update=update), wish


def _check(step: Step, state: State) -> Check:
    return Check(key=step.inputs.key, head_sha=state.head_sha, details_url=step.job.run_url)


# --- run ------------------------------------------------------------------------------------------------------------


def _run(step: Step) -> int:
    from gate.suite import Commit, git_commit, load_experiments, run_and_report

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
            Path(os.fspath(job.runner_files[name])).write_bytes(before[name])
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


# --- publish --------------------------------------------------------------------------------------------------------


def _publish(step: Step) -> int:
    state = step.read_state()
    if state.job == "nothing":
        step.say(f"nothing to publish: {state.reason}")
        return ExitCode.OK
    report_path = (step.state if state.job == "publish" else step.results) / "report.json"
    failed = step.results / "failure.json"
    if failed.exists() or not report_path.exists():
        return _publish_failure(step, state, failed)
    try:
        report = read_report(report_path.read_bytes(), str(report_path))
        if report.commit != state.head_sha:
            raise UsageError("the report is of another commit", where=str(report_path))
        base_path = step.state / "base.json"
        base = read_report(base_path.read_bytes(), str(base_path)) if base_path.exists() else None
        comparison = compare(
            base,
            report,
            policy=base.policy if base else state.policy,
            today=datetime.now(UTC).date(),
            removed=state.removed,
            known_findings=state.known_findings,
            origin=BaseOrigin(state.age_commits, state.age_days, tuple(state.notices)),
        )
    except GateError as error:
        _tell_failure(step, state, str(error))
        raise
    return _publish_comparison(step, state, report, comparison)


def _publish_comparison(step: Step, state: State, report: Report, comparison: Comparison) -> int:
    job, inputs = step.job, step.inputs
    site = f"{job.server_url}/{job.repository}"
    links = Links(run=job.run_url, base_commits=f"{site}/commit/", head_commits=f"{site}/commit/")
    marker = Marker(key=inputs.key, head=state.head_sha, run=job.run_id, attempt=job.attempt)
    comment = render_comment(comparison, key=inputs.key, marker=marker, links=links)
    step.results.mkdir(parents=True, exist_ok=True)
    (step.results / "comparison.json").write_text(comparison.to_json(), encoding="utf-8")
    (step.results / "comment.md").write_text(comment, encoding="utf-8")
    _append(job.summary, render_summary(comparison, key=inputs.key, links=links))
    _write_outputs(step, comparison)
    texts = Texts(comment, check_title(comparison), check_summary(comparison, key=inputs.key, links=links))
    with step.client() as client:
        _hand_over(step, report, comparison)
        published = publish_texts(
            client,
            comparison,
            texts,
            _check(step, state) if inputs.check_run else None,
            head_sha=state.head_sha,
            pull_request=state.pull_request,
            mode=inputs.comment,
            required=inputs.publish_required,
        )
        for gap in published.gaps:
            step.say(workflow_command("notice", gap.notice))
        if published.superseded:
            step.say("the pull request has a newer head: its own run comments")
        if published.comment_url:
            _output(job.output, "comment-url", published.comment_url)
        if state.record_ref:
            _record(step, state, client, report)
    step.say(check_title(comparison))
    return comparison.exit_code


def _record(step: Step, state: State, client: Client, report: Report) -> None:
    """Store the report as a base; also when the gate failed, since that is what later commits are built on."""
    store = parse_store(_located(step.inputs), key=step.inputs.key, client=client)
    store.save(report, ref=state.record_ref, run_id=step.job.run_id, attempt=step.job.attempt)
    step.say(f"stored as base of {state.record_ref} in {step.inputs.baseline}")


def _hand_over(step: Step, report: Report, comparison: Comparison) -> None:
    """Leave both files where a second workflow with a write token can pick them up, without transcripts."""
    folder = step.job.temp / HANDOVER
    folder.mkdir(parents=True, exist_ok=True)
    bare = [e.model_copy(update={"failures": []}) for e in report.experiments]
    (folder / "report.json").write_text(report.model_copy(update={"experiments": bare}).to_json(), encoding="utf-8")
    (folder / "comparison.json").write_text(comparison.to_json(), encoding="utf-8")


def _publish_failure(step: Step, state: State, failed: Path) -> int:
    """Say that there is no verdict, on the check too, and return why as an exit code."""
    failure = Failure(exit_code=ExitCode.ENVIRONMENT, message="the run ended before it wrote a report")
    if failed.exists():
        failure = read_model(Failure, failed.read_bytes(), str(failed))
    _tell_failure(step, state, failure.message, cancelled=step.inputs.job_status == "cancelled")
    step.say(f"error: no verdict: {failure.message}")
    # The file is hostile input: whatever code stands in it, this is not green.
    return failure.exit_code if failure.exit_code in (ExitCode.USAGE, ExitCode.BUG) else ExitCode.ENVIRONMENT


def _tell_failure(step: Step, state: State, message: str, *, cancelled: bool = False) -> None:
    text = f"No verdict: the gate could not judge this commit.\n\n```text\n{_inert(message)}\n```\n"
    _append(step.job.summary, text)
    if not step.inputs.check_run:
        return
    conclusion: Literal["cancelled", "failure"] = "cancelled" if cancelled else "failure"
    title = "Cancelled: no verdict" if cancelled else "No verdict: this blocks the merge"
    with step.client() as client:
        done = complete_check(client, _check(step, state), conclusion, title, text)
    if isinstance(done, Gap):
        step.say(workflow_command("notice", done.notice))


def _inert(text: str) -> str:
    """Return text that cannot leave the fence around it."""
    return "".join(c for c in text if c.isprintable() or c == "\n").replace("```", "'''")[:8_000]


# --- the runner's files ---------------------------------------------------------------------------------------------


def _write_outputs(step: Step, comparison: Comparison) -> None:
    """Write the action's outputs: enums, numbers, shas and our own paths, so that none can hold a line feed."""
    counts = {v: sum(r.verdict == v for r in comparison.rows) for v in ("regressed", "inconclusive")}
    outputs = {
        "verdict": comparison.verdict,
        "blocks": str(comparison.blocks).lower(),
        "regressions": counts["regressed"],
        "new-critical": len(comparison.new_critical),
        "inconclusive": counts["inconclusive"],
        "missing": sum(not m.allowed for m in comparison.missing),
        "base-sha": comparison.base.commit if comparison.base else "",
        "report-path": step.results / "report.json",
        "comparison-path": step.results / "comparison.json",
    }
    for name, value in outputs.items():
        _output(step.job.output, name, str(value))


def _output(path: Path | None, name: str, value: str) -> None:
    if "\n" in value or "\r" in value:
        raise BrokenEnvironmentError(f"the output {name} would span lines", where="publish")
    _append(path, f"{name}={value}\n")


def _append(path: Path | None, text: str) -> None:
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)


def workflow_command(kind: Literal["notice", "warning", "error"], text: str) -> str:
    """Return a line that the runner shows as an annotation; the text cannot start another command."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return f"::{kind} title=agent-chaos-gate::{escaped}"
