"""Runs one of the agents beside this file through the real engine."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from gate.engine import RunSettings, run_suite
from gate.experiment import Experiment, parse_experiment
from gate.report import Phase, RunRecord

AGENTS = Path(__file__).parent


def experiment(
    entrypoint: str,
    *,
    name: str = "test",
    faults: list[dict[str, Any]] | None = None,
    probes: list[dict[str, Any]] | None = None,
    **spec: Any,
) -> Experiment:
    """Return an experiment for `module:function`; a fault that never fires and a lenient probe unless given.

    It is of the public format unless `target`, `infra_errors` or `sampling` says more.
    """
    own = {"target", "infra_errors", "sampling"} & set(spec)
    target = {"entrypoint": entrypoint, "args": spec.pop("args", {}), **spec.pop("target", {})}
    document = {
        "apiVersion": "agent-chaos-gate/v1" if own else "agentic-chaos/v1",
        "kind": "Experiment",
        "metadata": {"name": name},
        "spec": {
            "target": target,
            "runs": 1,
            "faults": faults or [{"type": "timeout", "target": "nothing-has-this-name"}],
            "probes": probes or [{"type": "no_unhandled_error"}],
            **spec,
        },
    }
    return parse_experiment(yaml.safe_dump(document), f"{name}.yaml")


def settings(folder: Path, **changes: Any) -> RunSettings:
    """Return settings for agents beside this file."""
    values: dict[str, Any] = {
        "python": (sys.executable,),
        "cwd": AGENTS,
        "environment": {"PATH": os.environ["PATH"]},
        "parallel": 4,
        "timeout_s": 20.0,
        "scratch": folder,
    }
    return RunSettings(**values | changes)


def run(*experiments: Experiment, **changes: Any) -> list[RunRecord]:
    """Carry a suite out; return its records in the order of the plan."""
    records: list[RunRecord] = []
    with tempfile.TemporaryDirectory() as folder:
        run_suite(experiments, settings(Path(folder), **changes), on_records=records.extend)
    names = [e.name for e in experiments]
    phases: list[Phase] = ["baseline", "chaos"]
    return sorted(records, key=lambda r: (names.index(r.experiment), phases.index(r.phase), r.index))


def run_one(entrypoint: str, **spec: Any) -> RunRecord:
    """Return the record of a single chaos run; `settings` may change how it is run."""
    changes = spec.pop("settings", {})
    (record,) = run(experiment(entrypoint, baseline=False, **spec), **changes)
    return record
