"""The command line: reads options, calls the parts, prints, exits. No logic of its own."""

import json
import sys
import traceback
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import click

from gate import __version__
from gate.baseline import baseline, merge, record
from gate.command import FILE, FOLDER, Output, output_options, write
from gate.errors import ExitCode, GateError
from gate.trace import MAX_RUNS

if TYPE_CHECKING:
    from gate.policy import Policy
    from gate.report import Report


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="agent-chaos-gate")
def cli() -> None:
    """A merge gate for AI agents: chaos experiments, exact statistics, one comment, one check."""


@cli.command()
@click.argument("paths", nargs=-1)
@click.option("--config", type=FILE, help="chaos-gate.yaml to read (default: the one in this folder).")
@output_options
def validate(paths: tuple[str, ...], config: Path | None, output: Output) -> None:
    """Check experiment files and chaos-gate.yaml; show every problem at once."""
    from gate.config import load_config
    from gate.suite import load_experiments

    here = Path.cwd()
    settings = load_config(config, here)
    experiments = load_experiments(paths or settings.experiments, here, output.note)
    rows = [{"name": e.name, "path": e.path, "faults": len(e.faults), "probes": len(e.probes)} for e in experiments]
    text = "\n".join(f"{r['path']}: {r['name']}: {r['faults']} fault(s), {r['probes']} probe(s)" for r in rows)
    output.result(f"{text}\n{len(rows)} experiment(s) valid", json.dumps(rows, indent=1))


@cli.command()
@click.argument("paths", nargs=-1)
@click.option("--base", type=FILE, help="A stored report: the pass rates and the usage to expect.")
@click.option("--runs", type=click.IntRange(1, MAX_RUNS), help="Runs per phase, instead of the files' own.")
@click.option("--parallel", type=click.IntRange(1, 512), help="Runs at a time.")
@click.option("--price", "prices", multiple=True, metavar="MODEL=IN/OUT", help="USD for a million tokens; repeatable.")
@click.option("--config", type=FILE, help="chaos-gate.yaml to read (default: the one in this folder).")
@output_options
def plan(
    paths: tuple[str, ...],
    base: Path | None,
    runs: int | None,
    parallel: int | None,
    prices: tuple[str, ...],
    config: Path | None,
    output: Output,
) -> None:
    """Say what a suite will take and what it will show, before anything is spent."""
    from gate.config import load_config
    from gate.plan import parse_price, plan_suite
    from gate.render.plan import render_plan
    from gate.suite import load_experiments

    settings = load_config(config, Path.cwd())
    made = plan_suite(
        load_experiments(paths or settings.experiments, Path.cwd(), output.note),
        policy=settings.policy,
        default_runs=settings.run.runs,
        max_runs=settings.run.max_runs,
        parallel=parallel or settings.run.parallel,
        runs=runs,
        base=load_report(base) if base else None,
        prices=dict(parse_price(price) for price in prices) | settings.run.prices,
    )
    output.result(render_plan(made), made.to_json())


@cli.command()
@click.argument("paths", nargs=-1)
@click.option("--target", metavar="MODULE:CALLABLE", help="The agent's entry point, instead of the files' own.")
@click.option("--runs", type=click.IntRange(1, MAX_RUNS), help="Runs per phase, instead of the files' own.")
@click.option("--seed", type=int, help="Seed of the first run, instead of the files' own.")
@click.option("--parallel", type=click.IntRange(1, 512), help="Runs at a time.")
@click.option("--timeout-s", type=click.FloatRange(min=0, min_open=True), help="Seconds that one run may take.")
@click.option("--python", default="", help="The agent's interpreter, a path or a command.")
@click.option("--pass-env", multiple=True, metavar="NAME", help="A variable that the agent may see; repeatable.")
@click.option("--config", type=FILE, help="chaos-gate.yaml to read (default: the one in this folder).")
@click.option("--report", type=FILE, default="report.json", show_default=True, help="Where the report is written.")
@click.option("--journal", type=FILE, help="Where runs are noted (default: journal.jsonl by the report).")
@click.option("--resume", is_flag=True, help="Go on with the journal of a run that was stopped or killed.")
@click.option(
    "--base",
    type=FILE,
    help="The report to compare with: runs that can change no verdict are spared, and base and head are run again for "
    "what looks worse (confirmation.json by the report).",
)
@output_options
def run(
    paths: tuple[str, ...],
    target: str | None,
    runs: int | None,
    seed: int | None,
    parallel: int | None,
    timeout_s: float | None,
    python: str,
    pass_env: tuple[str, ...],
    config: Path | None,
    report: Path,
    journal: Path | None,
    resume: bool,
    base: Path | None,
    output: Output,
) -> None:
    """Run the experiments of files, folders or globs and write report.json."""
    from gate.config import agent_environment, agent_python, load_config
    from gate.render.terminal import render_report_terminal
    from gate.report import DIRTY
    from gate.suite import git_commit, load_experiments, run_and_report

    here = Path.cwd()
    settings = load_config(config, here)
    wanted = {"parallel": parallel}
    settings = settings.model_copy(
        update={"run": settings.run.model_copy(update={k: v for k, v in wanted.items() if v is not None})}
    )
    experiments = load_experiments(paths or settings.experiments, here, output.note)
    commit = git_commit(here)
    if commit.tree.endswith(DIRTY):
        output.note(f"the report is not that of commit {commit.sha[:12]}: files have changes that are not committed")
    shown = output.progress()
    interpreter, environment = agent_python(python, here), agent_environment(list(pass_env))
    first_look = partial(
        run_and_report,
        experiments,
        settings,
        directory=here,
        python=interpreter,
        environment=environment,
        target=target,
        runs=runs,
        seed=seed,
        commit=commit,
        on_record=shown.add,
        on_plan=shown.plan,
        on_limit=shown.limit,
        journal=journal or report.with_name("journal.jsonl"),
        limit_s=timeout_s,
    )
    if base is None:
        made = first_look(base=None, resume=resume)
    else:
        from gate.rerun import Again, look_and_confirm

        stored = load_report(base)
        again = Again(here, stored.commit, here, interpreter, environment, target, output.note, timeout_s)
        made, found = look_and_confirm(first_look, stored, experiments, settings, again, spare=True, resume=resume)
        confirmation = report.with_name("confirmation.json")
        confirmation.unlink(missing_ok=True)  # one of an earlier run would speak of other counts
        if found is not None:
            write(confirmation, found.to_json())
            output.note(f"what was run again: {confirmation} (compare --confirmation)")
    write(report, made.to_json())
    output.result(render_report_terminal(made), made.to_json())
    output.note(f"report: {report}")


@cli.command()
@click.argument("base", type=FILE)
@click.argument("head", type=FILE)
@click.option("--config", type=FILE, help="chaos-gate.yaml with `removed` and `known_findings`.")
@click.option("--history", type=FILE, help="The stored summaries of a branch: v1/KEY/history/BRANCH.json of the store.")
@click.option("--confirmation", type=FILE, help="What `run --base` has run again: confirmation.json.")
@click.option("--anchor", type=FILE, help="A pinned report: what is worse than it is shown, and blocks nothing.")
@click.option("--output", "target", type=FILE, default="comparison.json", show_default=True)
@output_options
def compare(
    base: Path,
    head: Path,
    config: Path | None,
    history: Path | None,
    confirmation: Path | None,
    anchor: Path | None,
    target: Path,
    output: Output,
) -> None:
    """Compare two reports under the base's policy; exit with the gate's code."""
    from gate.anchor import with_anchor
    from gate.compare import compare as compare_reports
    from gate.comparison import Anchor
    from gate.config import load_config, read_text
    from gate.confirmation import read_confirmation
    from gate.history import History
    from gate.render.terminal import render_terminal
    from gate.report import read_model

    settings = load_config(config, Path.cwd())
    of_base, of_head = load_report(base, settings.policy), load_report(head, settings.policy)
    again = read_confirmation(read_text(confirmation), str(confirmation)) if confirmation else None
    made = compare_reports(
        of_base,
        of_head,
        policy=of_base.policy,
        today=datetime.now(UTC).date(),
        removed=settings.removed,
        known_findings=settings.known_findings,
        history=read_model(History, read_text(history), str(history)).entries if history else (),
        confirmation=again,
    )
    if anchor is not None:
        made = with_anchor(made, Anchor(name=anchor.name[:200]), load_report(anchor, settings.policy), of_head, again)
    write(target, made.to_json())
    output.result(render_terminal(made, colour=output.colour), made.to_json())
    sys.exit(made.exit_code)


@cli.command()
@click.argument("file", type=FILE)
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "summary", "html", "sarif", "junit", "svg"]),
    default="markdown",
    show_default=True,
)
@click.option("--report", type=FILE, help="The head report that was compared: files, thresholds, failing runs.")
@click.option("--output", "target", type=FILE, help="Where to write (default: standard output).")
@output_options
def render(file: Path, form: str, report: Path | None, target: Path | None, output: Output) -> None:
    """Turn comparison.json, or a report.json alone, into what people or other tools read."""
    from gate.readers import read_any, read_bytes
    from gate.render.source import read_source, render_as

    head = None if report is None else load_report(report)
    source = read_source(read_bytes(file), str(file), head, datetime.now(UTC).date(), read_any)
    text = render_as(form, source)
    if target is None:
        output.result(text, json.dumps({"text": text}))
    else:
        write(target, text)


@cli.command()
@click.option("--step", type=click.Choice(["prepare", "run", "publish"]), required=True, help="Which part to do.")
@click.option("--state", type=FOLDER, required=True, help="What prepare leaves to the later steps.")
@click.option("--results", type=FOLDER, required=True, help="Where run and publish write.")
def gate(step: Literal["prepare", "run", "publish"], state: Path, results: Path) -> None:
    """One step of the GitHub action, for the event of this job; the action calls all three."""
    from gate.pipeline import perform

    sys.exit(perform(step, state, results, click.echo))


@cli.command()
@click.option(
    "--output", "folder", type=click.Path(path_type=Path, file_okay=False), default="demo-output", show_default=True
)
@output_options
def demo(folder: Path, output: Output) -> None:
    """Show the whole gate on the bundled suite: no network, no token, a weak agent against a stronger base."""
    from gate.demo import run_demo

    result = run_demo(folder, output.note)
    output.result(result.text, result.comparison.to_json())


@cli.command("list")
@click.argument("what", type=click.Choice(["faults", "probes", "points"]))
@output_options
def list_(what: str, output: Output) -> None:
    """List what an experiment file can use."""
    from gate.faults import FAULTS
    from gate.probes import PROBES
    from gate.trace import POINT_TEXTS

    if what == "points":
        names = POINT_TEXTS
    else:
        registry: Any = FAULTS if what == "faults" else PROBES
        names = {type_: (registry[type_].__doc__ or "").splitlines()[0] for type_ in registry}
    output.result("\n".join(f"{n:24} {d}".rstrip() for n, d in names.items()), json.dumps(names, indent=1))


@cli.command()
@click.argument("what", type=click.Choice(["experiment", "config", "report", "comparison"]), default="experiment")
@output_options
def schema(what: str, output: Output) -> None:
    """Print the JSON Schema of a kind of file, for editors."""
    from gate.schema import schema_text

    text = schema_text(what).rstrip("\n")
    output.result(text, text)


def load_report(path: Path, policy: "Policy | None" = None) -> "Report":
    """Read a report file of any known format; `policy` is for those that state none."""
    from gate.readers import read_file

    return read_file(path, policy)


for command in (record, merge, baseline):
    cli.add_command(command)


def main() -> NoReturn:
    """Run the command and exit with the gate's code; a fault of the gate leaves a crash file."""
    try:
        sys.exit(cli(standalone_mode=False) or ExitCode.OK)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        click.echo("stopped", err=True)
        sys.exit(ExitCode.ENVIRONMENT)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except GateError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:  # a full disk, a name too long: no fault of ours, and said by the system in its own words
        click.echo(f"error: {error}", err=True)
        sys.exit(ExitCode.ENVIRONMENT)
    except Exception:  # noqa: BLE001 (the top of the command line: a bug becomes a file to attach)
        crash = Path("agent-chaos-gate-crash.txt")
        text = f"agent-chaos-gate {__version__} {sys.argv[1:]}\n{traceback.format_exc()}"
        try:
            crash.write_text(text, encoding="utf-8")
            click.echo(f"bug: please report it with the file {crash}", err=True)
        except OSError:
            click.echo(text, err=True)
        sys.exit(ExitCode.BUG)


if __name__ == "__main__":
    main()
