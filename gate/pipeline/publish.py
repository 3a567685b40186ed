"""Third step: the comparison, the comment, the check, the stored base."""

import contextlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from gate.anchor import with_anchor
from gate.compare import BaseOrigin, compare
from gate.comparison import Comparison
from gate.completion import why_no_base
from gate.confirmation import Confirmation, read_confirmation
from gate.errors import ExitCode, GateError, InvalidFileError, UsageError
from gate.github import Client
from gate.history import History, Summary
from gate.pipeline.step import (
    HANDOVER,
    Failure,
    State,
    Step,
    append,
    clear_folder,
    is_plain_file,
    workflow_command,
    write_output,
)
from gate.publish import Gap, Texts, complete_check
from gate.publish import publish as publish_texts
from gate.render.drift import drift_warning
from gate.render.escape import plain
from gate.render.html import render_html
from gate.render.markdown import Links, check_summary, check_title, render_comment, render_summary
from gate.render.marker import Marker
from gate.report import Report, read_model, read_report
from gate.store import parse_store, without_transcripts


def publish(step: Step) -> int:
    """Compare, comment, set the check, store the base; needs the token and trusts nothing that run wrote."""
    state = step.read_state()
    if state.job == "nothing":
        step.say(f"nothing to publish: {state.reason}")
        if not state.relevant:
            write_output(step.job.output, "verdict", "not_relevant")
            write_output(step.job.output, "blocks", "false")
        return ExitCode.OK
    report_path = (step.state if state.job == "publish" else step.results) / "report.json"
    failed = step.results / "failure.json"
    if failed.exists() or not is_plain_file(report_path):
        return _publish_failure(step, state, failed)
    try:
        report = read_report(report_path.read_bytes(), str(report_path))
        if report.commit != state.head_sha:
            raise UsageError("the report is of another commit", where=str(report_path))
        if step.inputs.mode == "run":
            return _leave_report(step, report)
        base = _read_base(step, state, report)
        confirmation = _read_confirmation(state, report_path.with_name("confirmation.json"))
        comparison = compare(
            base,
            report,
            policy=base.policy if base else state.policy,
            today=datetime.now(UTC).date(),
            removed=state.removed,
            known_findings=state.known_findings,
            origin=BaseOrigin(state.age_commits, state.age_days, tuple(state.notices)),
            history=_read_history(step),
            confirmation=confirmation,
        )
        if state.anchor is not None:
            pinned = _read_stored(step.state / "anchor.json")
            comparison = with_anchor(comparison, state.anchor, pinned, report, confirmation)
    except GateError as error:
        _tell_failure(step, state, str(error))
        raise
    return _publish_comparison(step, state, report, comparison, confirmation)


def _read_base(step: Step, state: State, head: Report) -> Report | None:
    """Return the base, if there is one; a branch whose suite moved to another tool starts anew."""
    base = _read_stored(step.state / "base.json")
    if base and state.record_ref and base.tool.name != head.tool.name:
        text = f"the stored base was written by {base.tool.name}, this report by {head.tool.name}: nothing is compared"
        step.say(workflow_command("warning", text))
        return None
    return base


def _read_stored(path: Path) -> Report | None:
    """Return a report that prepare has fetched, if there was one."""
    return read_report(path.read_bytes(), str(path)) if path.exists() else None


def _read_history(step: Step) -> list[Summary]:
    path = step.state / "history.json"
    return read_model(History, path.read_bytes(), str(path)).entries if path.exists() else []


def _read_confirmation(state: State, path: Path) -> Confirmation:
    """Return what was run again for the two commits that are compared, or why nothing was."""
    if not is_plain_file(path):
        return Confirmation(reason=state.unconfirmable or "nothing was run again")
    found = read_confirmation(path.read_bytes(), str(path))
    # a fork's run says itself which base it was; its counts are its word as well
    base = found.base.commit if found.base and state.confirm_commit else state.confirm_commit
    head = found.head.commit if found.head else state.head_sha
    if (base, head) != (state.confirm_commit, state.head_sha):
        return Confirmation(reason="what was run again are other commits")
    return found


def _leave_report(step: Step, report: Report) -> int:
    """Hand the report over to the job that gates; nothing is compared here."""
    write_output(step.job.output, "report-path", str(step.results / "report.json"))
    _hand_over(step, report)
    return ExitCode.OK


def _publish_comparison(
    step: Step, state: State, report: Report, comparison: Comparison, confirmation: Confirmation
) -> int:
    job, inputs = step.job, step.inputs
    site = f"{job.server_url}/{job.repository}"
    links = Links(run=job.run_url, base_commits=f"{site}/commit/", head_commits=f"{site}/commit/")
    marker = Marker(key=inputs.key, head=state.head_sha, run=job.run_id, attempt=job.attempt)
    comment = render_comment(comparison, key=inputs.key, marker=marker, links=links)
    clear_folder(step.results)
    (step.results / "report.json").write_text(report.to_json(), encoding="utf-8")
    (step.results / "comparison.json").write_text(comparison.to_json(), encoding="utf-8")
    (step.results / "confirmation.json").write_text(confirmation.to_json(), encoding="utf-8")
    (step.results / "comment.md").write_text(comment, encoding="utf-8")
    (step.results / "report.html").write_text(render_html(comparison, report), encoding="utf-8")
    append(job.summary, render_summary(comparison, key=inputs.key, links=links))
    if comparison.anchor and (warning := drift_warning(comparison.anchor)):
        step.say(workflow_command("warning", plain(warning)))
    _write_outputs(step, comparison)
    _hand_over(step, report, comparison, confirmation)
    if inputs.mode == "gate":
        step.say(check_title(comparison))
        return comparison.exit_code
    texts = Texts(comment, check_title(comparison), check_summary(comparison, key=inputs.key, links=links))
    with step.client() as client:
        published = publish_texts(
            client,
            comparison,
            texts,
            step.check(state) if step.writes_check else None,
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
            write_output(job.output, "comment-url", published.comment_url)
        if state.record_ref:
            _record(step, state, client, report, comparison)
    step.say(check_title(comparison))
    return comparison.exit_code


def _record(step: Step, state: State, client: Client, report: Report, comparison: Comparison) -> None:
    """Store the report as a base; also when the gate failed, since that is what later commits are built on.

    Not one that lost its runs: later pull requests would be compared with nothing, and the earlier base is better.
    """
    if {reason.kind for reason in comparison.reasons} & {"no_runs", "infra"}:
        step.say(workflow_command("warning", "not stored as a base: too many runs were lost; the earlier one stays"))
        return
    if why := why_no_base(report):
        step.say(workflow_command("warning", f"not stored as a base: {why}"))
        return
    store = parse_store(step.baseline, key=step.inputs.key, client=client)
    store.save(report, ref=state.record_ref, run_id=step.job.run_id, attempt=step.job.attempt)
    step.say(f"stored as base of {state.record_ref} in {step.inputs.baseline}")


def _hand_over(
    step: Step, report: Report, comparison: Comparison | None = None, confirmation: Confirmation | None = None
) -> None:
    """Leave the files where a job or workflow with a write token can pick them up, without transcripts."""
    folder = step.job.temp / HANDOVER
    clear_folder(folder)
    (folder / "report.json").write_text(without_transcripts(report).to_json(), encoding="utf-8")
    if comparison is not None:
        (folder / "comparison.json").write_text(comparison.to_json(), encoding="utf-8")
    if confirmation is not None:
        (folder / "confirmation.json").write_text(confirmation.to_json(), encoding="utf-8")


def _publish_failure(step: Step, state: State, failed: Path) -> int:
    """Say that there is no verdict, on the check too, and return why as an exit code."""
    failure = Failure(exit_code=ExitCode.ENVIRONMENT, message="the run ended before it wrote a report")
    if is_plain_file(failed):
        with contextlib.suppress(InvalidFileError):
            failure = read_model(Failure, failed.read_bytes(), str(failed))
    _tell_failure(step, state, failure.message, cancelled=step.inputs.job_status == "cancelled")
    step.say(f"error: no verdict: {failure.message}")
    # The file is hostile input: whatever code stands in it, this is not green.
    return failure.exit_code if failure.exit_code in (ExitCode.USAGE, ExitCode.BUG) else ExitCode.ENVIRONMENT


def _tell_failure(step: Step, state: State, message: str, *, cancelled: bool = False) -> None:
    text = f"No verdict: the gate could not judge this commit.\n\n```text\n{_inert(message)}\n```\n"
    append(step.job.summary, text)
    if not step.writes_check:
        return
    conclusion: Literal["cancelled", "failure"] = "cancelled" if cancelled else "failure"
    title = "Cancelled: no verdict" if cancelled else "No verdict: this blocks the merge"
    with step.client() as client:
        done = complete_check(client, step.check(state), conclusion, title, text)
    if isinstance(done, Gap):
        step.say(workflow_command("notice", done.notice))


def _inert(text: str) -> str:
    """Return text that cannot leave the fence around it."""
    return "".join(c for c in text if c.isprintable() or c == "\n").replace("```", "'''")[:8_000]


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
        "html-path": step.results / "report.html",
    }
    for name, value in outputs.items():
        write_output(step.job.output, name, str(value))
