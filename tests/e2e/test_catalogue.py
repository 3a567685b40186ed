"""The published catalogue runs here unchanged: same files, same agents, same counts as with that package's own runner.

Where we differ on purpose, DIFFERENCES names the probe and says why; a difference that is gone fails as well.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gate.engine import RunSettings, run_suite
from gate.experiment import Experiment, load_suite
from gate.judge import Tally
from gate.report import ExperimentReport, RunRecord
from tests.catalogue import CATALOGUE, SOURCE

RUNS = {"mcp": 3}
"""Runs per phase, 8 unless given: every run of the MCP demonstration starts a server."""
SUITES = {
    "mailbot": (".", "examples.mailbot.agent", ("naive", "guarded_fail_open", "fail_closed", "hardened")),
    "shopper": ("ap2", "examples.shopper.agent", ("naive", "hardened")),
    "shopper-agents": ("multi-agent", "examples.shopper.agent", ("naive", "hardened")),
    "mcp": ("mcp", "examples.mcp_demo.host", ("naive", "hardened")),
}
CASES = [(suite, variant) for suite, (_, _, variants) in SUITES.items() for variant in variants]
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1"}

DIFFERENCES: dict[tuple[str, str, str, str], str] = {}
"""(suite, variant, experiment, probe) to the reason why the counts are not equal."""

PUBLIC_RUNNER = """
import json, logging, sys
from agentic_chaos_security import loader
logging.disable(logging.NOTSET)
target, runs, *files = sys.argv[1:]
found = {}
for file in files:
    result = loader.load(file, entrypoint=target, runs=int(runs)).run()
    found[result.experiment.name] = {
        "verdict": result.verdict.value,
        "probes": [[s.phase, s.name, s.passes, s.runs] for s in result.probe_stats],
        "fired": sum(r.faults_fired for r in result.chaos),
    }
print("\\n" + json.dumps(found))
"""
STATUS = {"hypothesis-held": "held", "weakness-found": "weakness", "inconclusive": "inconclusive"}


def files_of(suite: str) -> list[Path]:
    return sorted((CATALOGUE / "experiments" / SUITES[suite][0]).glob("*.yaml"))


def by_public_runner(target: str, files: list[Path], runs: int) -> dict[str, Any]:
    command = [sys.executable, "-c", PUBLIC_RUNNER, target, str(runs), *map(str, files)]
    done = subprocess.run(command, cwd=CATALOGUE, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def by_our_engine(target: str, files: list[Path], runs: int) -> dict[str, ExperimentReport]:
    experiments: list[Experiment] = load_suite([(str(f), f.read_text(encoding="utf-8")) for f in files], print)
    tallies = {e.name: Tally(e) for e in experiments}

    def add(records: Sequence[RunRecord]) -> None:
        for record in records:
            tallies[record.experiment].add(record)

    with tempfile.TemporaryDirectory() as scratch:
        settings = RunSettings(
            python=(sys.executable,),
            cwd=CATALOGUE,
            environment=ENVIRONMENT,
            parallel=4,
            timeout_s=60,
            scratch=Path(scratch),
            runs=runs,
            target=target,
        )
        run_suite(experiments, settings, on_records=add)
    return {name: t.report(planned_runs=runs, seed=t.experiment.seed) for name, t in tallies.items()}


@pytest.mark.parametrize(("suite", "variant"), CASES, ids=[f"{s}-{v}" for s, v in CASES])
def test_catalogue__counts_are_those_of_the_public_runner(suite: str, variant: str) -> None:
    files, target, runs = files_of(suite), f"{SUITES[suite][1]}:{variant}", RUNS.get(suite, 8)
    theirs, ours = by_public_runner(target, files, runs), by_our_engine(target, files, runs)
    assert set(theirs) == set(ours) and len(ours) == len(files)
    different = set()
    for name, report in ours.items():
        assert set(report.outcomes.model_dump(exclude_defaults=True)) <= {"ok", "error"}, (name, report.outcomes)
        expected = [tuple(probe) for probe in theirs[name]["probes"]]
        assert [(p.phase, p.label, p.runs) for p in report.probes] == [(p, n, r) for p, n, _, r in expected]
        for probe, (_, label, passes, _) in zip(report.probes, expected, strict=True):
            if probe.passes != passes:
                different.add((suite, variant, name, label))
        if not any(d[2] == name for d in different):
            assert report.status == STATUS[theirs[name]["verdict"]], (name, report.reason)
            assert sum(f.fired + f.no_op for f in report.faults) == theirs[name]["fired"], name
    assert different == {d for d in DIFFERENCES if d[:2] == (suite, variant)}


def test_catalogue__is_all_there() -> None:
    names = Counter(suite for suite in SUITES for _ in files_of(suite))
    assert names == {"mailbot": 11, "shopper": 6, "shopper-agents": 4, "mcp": 7}
