"""The bundled suite, end to end: a strong agent is recorded as base, a weak one is compared with it."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gate.compare import BaseOrigin, compare
from gate.comparison import Comparison
from gate.config import Config, RunConfig, agent_environment
from gate.render.html import render_html
from gate.render.markdown import render_comment
from gate.render.terminal import render_terminal
from gate.report import Report
from gate.resources import resource
from gate.suite import Commit, load_experiments, run_and_report

BASE, HEAD = "experiments.mailbot:hardened", "experiments.mailbot:guarded_fail_open"


@dataclass(frozen=True)
class Demo:
    """What the demonstration found, and the text that shows it."""

    comparison: Comparison
    text: str


def run_demo(folder: Path, note: Callable[[str], None]) -> Demo:
    """Run both agents in a copy of the bundled suite under `folder` and write every file there."""
    suite = folder / "experiments"
    shutil.copytree(resource("experiments"), suite, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    note(f"base: {BASE}")
    base = _report(folder, BASE, "a" * 40, note)
    note(f"head: {HEAD}")
    head = _report(folder, HEAD, "b" * 40, note)
    origin = BaseOrigin(age_days=0)
    comparison = compare(base, head, policy=base.policy, today=datetime.now(UTC).date(), origin=origin)
    comment = render_comment(comparison)
    for name, text in {
        "base.json": base.to_json(),
        "report.json": head.to_json(),
        "comparison.json": comparison.to_json(),
        "comment.md": comment,
        "report.html": render_html(comparison, head),
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    table = render_terminal(comparison)
    text = f"{table}\n\nThe comment on the pull request:\n\n{comment}\n\nfiles: {folder}"
    return Demo(comparison, text)


def _report(folder: Path, target: str, sha: str, note: Callable[[str], None]) -> Report:
    return run_and_report(
        load_experiments(["experiments"], folder, note),
        Config(run=RunConfig(parallel=16)),
        directory=folder.absolute(),
        python=(sys.executable,),
        environment=agent_environment([]),
        target=target,
        runs=None,
        seed=None,
        commit=Commit(sha=sha),
        on_record=lambda _: None,
    )
