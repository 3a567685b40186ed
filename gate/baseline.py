"""The commands about stored reports: record, merge and the group `baseline`."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gate.command import FILE, Output, output_options, write
from gate.errors import UsageError

if TYPE_CHECKING:
    from gate.report import Report
    from gate.store import Store

STORE = click.option(
    "--store", default="branch:agent-chaos-baseline", show_default=True, help="branch:NAME, file:PATH."
)
KEY = click.option("--key", default="default", show_default=True, help="The id of this gate.")
REF = click.option("--ref", default="main", show_default=True, help="The branch whose reports are meant.")


@contextmanager
def _opened(spec: str, key: str) -> "Iterator[Store]":
    """Open a store, with a client of the repository that the environment names where it needs one."""
    from gate.store import parse_store

    if not spec.startswith("branch:"):
        yield parse_store(spec, key=key)
        return
    from gate.config import read_remote
    from gate.github import Client

    remote = read_remote()
    with Client(remote.repository, remote.token, base_url=remote.api_url) as client:
        yield parse_store(spec, key=key, client=client)


def _find(store: "Store", commit: str, ref: str) -> "Report":
    """Return the report of a commit, given as a sha or its beginning, or the latest of a branch."""
    if not commit:
        found = store.latest(ref)
        where = f"branch {ref}"
    else:
        known = [c for c in store.commits() if c.startswith(commit)]
        if len(known) > 1:
            raise UsageError(f"{commit} is the beginning of {len(known)} commits", fix="write more of it")
        found = store.load(known[0]) if known else None
        where = f"commit {commit}"
    if found is None:
        raise UsageError("no report is stored", where=where, fix="see what there is with `baseline list`")
    return found


@click.command()
@click.argument("report", type=FILE)
@click.option("--store", default="file:chaos-base.json", show_default=True, help="file:PATH or branch:NAME.")
@KEY
@output_options
def record(report: Path, store: str, key: str, output: Output) -> None:
    """Store a report as the base of later comparisons."""
    from gate.completion import why_no_base
    from gate.config import read_run
    from gate.readers import read_file
    from gate.report import DIRTY

    made = read_file(report)
    if made.tested_tree.endswith(DIRTY):
        fix = "commit them and run again; `compare` takes the report as it is"
        raise UsageError("made with changes that the commit does not have", where=str(report), fix=fix)
    if why := why_no_base(made):
        raise UsageError(why, where=str(report), fix="run the suite without --base")
    run_id, attempt = read_run()
    with _opened(store, key) as opened:
        new = opened.save(made, ref=made.ref, run_id=run_id, attempt=attempt)
    what = f"{made.commit or report} in {store.partition(':')[2]}"
    output.result(
        f"stored {what}" if new else f"already stored: {what}",
        json.dumps({"commit": made.commit, "store": store, "new": new}),
    )


@click.command()
@click.argument("reports", nargs=-1, required=True, type=FILE)
@click.option("--output", "target", type=FILE, default="report.json", show_default=True, help="Where to write.")
@output_options
def merge(reports: tuple[Path, ...], target: Path, output: Output) -> None:
    """Join the reports of one commit that several jobs made, each of other experiments."""
    from gate.merge import merge_reports
    from gate.readers import read_file

    made = merge_reports([(str(path), read_file(path)) for path in reports])
    write(target, made.to_json())
    output.result(f"{len(made.experiments)} experiment(s) of {len(reports)} report(s): {target}", made.to_json())


@click.group()
def baseline() -> None:
    """Look at, fetch and tidy the stored base reports (GITHUB_REPOSITORY and GITHUB_TOKEN say where)."""


@baseline.command("list")
@STORE
@KEY
@REF
@output_options
def list_(store: str, key: str, ref: str, output: Output) -> None:
    """List the reports that are stored for a branch, the newest first."""
    with _opened(store, key) as opened:
        history = opened.history(ref)[::-1]
    lines = []
    for entry in history:
        held = sum(e.status == "held" for e in entry.experiments)
        lines.append(f"{entry.commit[:12]}  {entry.ended_at}  {held} of {len(entry.experiments)} held")
    text = "\n".join(lines) or f"nothing is stored for {ref}"
    output.result(text, json.dumps([entry.model_dump(mode="json") for entry in history], indent=1))


@baseline.command()
@click.argument("commit", default="")
@STORE
@KEY
@REF
@output_options
def show(commit: str, store: str, key: str, ref: str, output: Output) -> None:
    """Show the report of a commit, or the latest of a branch."""
    from gate.render.terminal import render_report_terminal

    with _opened(store, key) as opened:
        found = _find(opened, commit, ref)
    output.result(f"commit {found.commit}\n{render_report_terminal(found)}", found.to_json())


@baseline.command()
@click.argument("commit", default="")
@click.option("--output", "target", type=FILE, default="base.json", show_default=True, help="Where to write.")
@STORE
@KEY
@REF
@output_options
def fetch(commit: str, target: Path, store: str, key: str, ref: str, output: Output) -> None:
    """Write the report of a commit, or the latest of a branch, to a file."""
    with _opened(store, key) as opened:
        found = _find(opened, commit, ref)
    write(target, found.to_json())
    output.result(f"{found.commit}: {target}", json.dumps({"commit": found.commit, "path": str(target)}))


@baseline.command()
@click.option("--keep", type=click.IntRange(min=1), default=500, show_default=True, help="How many commits stay.")
@STORE
@KEY
@output_options
def prune(keep: int, store: str, key: str, output: Output) -> None:
    """Take away the reports of all but the newest commits; the latest of a branch always stays."""
    with _opened(store, key) as opened:
        gone = opened.prune(keep)
    output.result(f"{gone} report(s) taken away", json.dumps({"removed": gone, "at": datetime.now(UTC).isoformat()}))
