"""First step: what the event asks for, and the base report."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from gate.commit import fetch_commit, has_commit
from gate.comparison import Anchor, Comparison, Notice
from gate.config import CONFIG_NAME, load_config
from gate.errors import BrokenEnvironmentError, ExitCode, InvalidFileError, UsageError
from gate.event import Activity, decide
from gate.github import ApiError, Client
from gate.github.archive import read_member
from gate.history import History
from gate.pipeline.relevance import NOT_RELEVANT, is_relevant
from gate.pipeline.step import ARTIFACT, BASE_REPOSITORY, HANDOVER, State, Step, workflow_command, write_output
from gate.publish import Gap, complete_check, open_check
from gate.report import MAX_BYTES, read_model, read_report
from gate.store import Base, Store, choose_base, first_parents_in, is_ref_name, parents_in, parse_store


def prepare(step: Step) -> int:
    """Decide what the event asks for, fetch the base report, open the check; needs the token."""
    inputs, job = step.inputs, step.job
    config = load_config(Path(inputs.config) if inputs.config else None, inputs.directory)
    activity = decide(
        job.event,
        job.payload,
        repository=job.repository,
        sha=job.sha,
        ref=job.ref,
        tracked=config.tracked,
        tested_parents=parents_in(job.workspace, job.sha) or (),
        base_input=_base_input(job.payload),
        store={"auto": None, "record": True}.get(inputs.mode, False),
    )
    _check_mode(step, activity)
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
        elif activity.job == "gate" and not _is_relevant(step, client, activity, config.experiments):
            state = _tell_not_relevant(step, client, state)
        if state.job != "nothing" and inputs.mode != "run":
            base = _fetch_base(step, client, activity)
            anchor = _fetch_anchor(step, client)
            state = state.model_copy(update=_origin(base) | _base_code(step, activity, base) | {"anchor": anchor})
            if step.writes_check:
                _open_check(step, client, state)
    (step.state / "state.json").write_text(state.model_dump_json(), encoding="utf-8")
    step.say(f"{job.event}: {state.reason or state.job}, head {state.head_sha[:12] or 'none'}")
    return ExitCode.OK


def _open_check(step: Step, client: Client, state: State) -> None:
    """Open the check; its id goes to the step that completes it where nothing else did."""
    opened = open_check(client, step.check(state))
    if isinstance(opened, Gap):
        step.say(workflow_command("notice", opened.notice))
    else:
        write_output(step.job.output, "check", str(opened.id))


def _base_input(payload: Mapping[str, Any]) -> str:
    """Return the input `base` of a workflow that was started by hand."""
    inputs = payload.get("inputs")
    value = inputs.get("base") if isinstance(inputs, Mapping) else None
    return value if isinstance(value, str) else ""


def _check_mode(step: Step, activity: Activity) -> None:
    mode = step.inputs.mode
    if activity.job == "publish" and mode not in ("auto", "publish"):
        raise UsageError(f"mode {mode} has nothing to do on {activity.event}", fix="use mode auto or publish")
    if activity.job == "gate" and mode == "publish" and not step.inputs.reports:
        fix = "name them with `reports`, or start this workflow on workflow_run"
        raise UsageError("mode publish runs nothing and has no reports", where="input mode", fix=fix)
    if mode == "run" and step.inputs.reports:
        raise UsageError("mode run makes a report and takes none", where="input reports", fix="use mode gate or auto")


def _is_relevant(step: Step, client: Client, activity: Activity, experiments: Sequence[str]) -> bool:
    """Return whether the change touches `paths`, the experiments or the configuration; True where that is unknown."""
    inputs = step.inputs
    if not inputs.paths:
        return True
    try:
        if activity.pull_request is not None:
            changed = client.files_of_pull(activity.pull_request)
        elif activity.base is not None and activity.base.sha:
            changed = client.files_between(activity.base.sha, activity.head_sha)
        else:
            changed = None
    except ApiError as error:
        step.say(workflow_command("notice", f"the changed files are unknown, so the suite is run: {error.what}"))
        return True
    folder = PurePosixPath(os.path.relpath(inputs.directory, step.job.workspace))
    own = [str(folder / pattern) for pattern in (inputs.experiments or experiments)]
    config = inputs.config or str(folder / CONFIG_NAME)
    return changed is None or is_relevant(changed, [*inputs.paths, *own, config])


def _tell_not_relevant(step: Step, client: Client, state: State) -> State:
    """Complete the check with success; without it, a required check would wait forever."""
    if step.writes_check:
        summary = "The pull request changes nothing that the gate looks at; no experiment was run."
        done = complete_check(client, step.check(state), "success", NOT_RELEVANT, summary)
        if isinstance(done, Gap):
            step.say(workflow_command("notice", done.notice))
    return state.model_copy(update={"job": "nothing", "reason": NOT_RELEVANT, "relevant": False})


def _fetch_base(step: Step, client: Client, activity: Activity) -> Base | None:
    """Choose the base, keep it as state/base.json and return it."""
    wish = activity.base
    if wish is None:
        return None
    commit = wish.sha if activity.event in ("pull_request", "merge_group") else ""
    store = parse_store(_store(step, client, commit, "base-file.json"), key=step.inputs.key, client=client)
    ancestors: Sequence[str] | None = None
    if wish.sha:
        ancestors = first_parents_in(step.job.workspace, wish.sha)
    chain = ancestors if ancestors is not None else client.first_parents(wish.sha) if wish.sha else ()
    base = choose_base(store, chain, wish.ref, now=datetime.now(UTC), skip=wish.skip)
    if base is not None:
        (step.state / "base.json").write_text(base.report.to_json(), encoding="utf-8")
        _fetch_history(step, store, wish.ref)
    return base


def _fetch_history(step: Step, store: Store, ref: str) -> None:
    """Keep what is stored for a branch as state/history.json; it is only shown, so that the gate goes on without."""
    try:
        history = History(ref=ref, entries=store.history(ref))
    except InvalidFileError as error:
        step.say(workflow_command("notice", f"no history is shown: {error}"))
    else:
        (step.state / "history.json").write_text(history.model_dump_json(), encoding="utf-8")


def _fetch_anchor(step: Step, client: Client) -> Anchor | None:
    """Keep the report of the tag in the input `anchor` as state/anchor.json; without one the gate goes on and says so.

    The name of the tag goes to GitHub in one piece of an address, and never to git.
    """
    if not (tag := step.inputs.anchor.removeprefix("refs/tags/")):
        return None
    if not (is_ref_name(tag) and tag.isprintable() and len(tag) <= 200):
        raise UsageError(
            f"{tag!r:.120} is not the name of a tag", where="input anchor", fix="write it as `git tag` does"
        )
    commit = ""
    try:
        if not (commit := client.commit_of_tag(tag) or ""):
            return Anchor(name=tag, problem="there is no such tag")
        spec = _store(step, client, commit, "anchor-file.json")
        store = parse_store(spec, key=step.inputs.key, client=client)
        # a report that is committed is of an earlier commit than the one that has it
        pinned = store.load(commit) if spec == step.baseline else store.latest("")
    except (BrokenEnvironmentError, InvalidFileError) as error:
        return Anchor(name=tag, commit=commit, problem=error.what[:4_000])
    if pinned is None:
        return Anchor(name=tag, commit=commit, problem=f"no report is stored for its commit in {step.inputs.baseline}")
    (step.state / "anchor.json").write_text(pinned.to_json(), encoding="utf-8")
    return Anchor(name=tag, commit=commit)


def _store(step: Step, client: Client, commit: str, name: str) -> str:
    """Return the store; a file of the checkout, where a commit is given, as it is there (kept as `name`).

    Who writes a pull request writes its checkout, and is not to write its base.
    """
    kind, _, place = step.baseline.partition(":")
    path = PurePosixPath(os.path.relpath(place, step.job.workspace))
    if kind != "file" or path.parts[:1] == ("..",) or not commit:
        return step.baseline
    kept = step.state / name
    if (entry := client.entry(commit, str(path))) is not None and entry.type == "blob":
        kept.write_bytes(client.blob(entry.sha))
    return f"file:{kept}"


def _origin(base: Base | None) -> dict[str, object]:
    if base is None:
        return {}
    notices = []
    if base.how == "ancestor":
        notices.append(Notice(kind="base_is_ancestor", detail=str(base.age_commits)))
    if base.how == "latest":
        notices.append(Notice(kind="base_is_latest", detail=base.report.commit))
    return {"age_commits": base.age_commits, "age_days": base.age_days, "notices": notices}


def _base_code(step: Step, activity: Activity, base: Base | None) -> dict[str, object]:
    """See to it that the commit which head was built on can be run, without a token; return which it is, or why not."""
    if base is None or activity.job == "publish" or base.report.policy.confirm == "off":
        return {}
    asked = activity.base.sha if activity.base and activity.base.sha != activity.head_sha else ""
    commit = asked or base.report.commit
    if step.inputs.reports:
        return {"unconfirmable": "the runs were made by other jobs"}
    if commit in ("", activity.head_sha):
        return {"unconfirmable": "base has no other code than head" if commit else "the base report names no commit"}
    try:
        if not has_commit(step.inputs.directory, commit):
            url = f"{step.job.server_url}/{step.job.repository}"
            fetch_commit(step.state / BASE_REPOSITORY, url, commit, step.job.token)
    except BrokenEnvironmentError as error:
        return {"unconfirmable": error.what}
    return {"confirm_commit": commit}


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
    if archive is None and source.succeeded:
        reason = f"the run succeeded and left no artifact {name}: it had nothing to judge"
        return state.model_copy(update={"job": "nothing", "reason": reason}), activity
    if archive is None:
        fix = f"let the first workflow upload $RUNNER_TEMP/{HANDOVER} as `{name}`, also when it fails"
        raise BrokenEnvironmentError(f"the run has no artifact {name}", where="workflow_run", fix=fix)
    report = read_report(read_member(archive, "report.json", MAX_BYTES), "report.json of the artifact")
    told = read_model(Comparison, read_member(archive, "comparison.json", MAX_BYTES), "comparison.json of the artifact")
    report = report.model_copy(update={"commit": activity.head_sha})
    (step.state / "report.json").write_text(report.to_json(), encoding="utf-8")
    with contextlib.suppress(InvalidFileError):  # without it the first look decides
        (step.state / "confirmation.json").write_bytes(read_member(archive, "confirmation.json", MAX_BYTES))
    pull = pulls[0]
    update = {
        "pull_request": pull.number,
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
