"""The demonstration agent gives the published table: 40 runs, seed 7."""

import os
import sys
from pathlib import Path

import pytest

from gate.engine import RunSettings, run_suite
from gate.experiment import load_suite
from gate.report import RunRecord

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("variant", "dos", "outage"),
    [
        ("guarded_fail_open", [40, 40], [0, 0, 40]),
        ("fail_closed", [40, 29], [40, 40, 40]),
        ("hardened", [40, 40], [40, 40, 40]),
    ],
)
def test_mailbot__passes_of_the_guardrail_experiments(
    variant: str, dos: list[int], outage: list[int], tmp_path: Path
) -> None:
    files = [ROOT / "experiments" / f"control-guardrail-{name}.yaml" for name in ("dos", "outage")]
    suite = load_suite([(str(f), f.read_text()) for f in files], print)
    records: list[RunRecord] = []
    settings = RunSettings(
        python=(sys.executable,),
        cwd=ROOT,
        environment={"PATH": os.environ["PATH"]},
        parallel=8,
        timeout_s=60,
        scratch=tmp_path,
        runs=40,
        seed=7,
        target=f"experiments.mailbot:{variant}",
    )
    run_suite(suite, settings, on_records=records.extend)

    def passes(name: str, phase: str) -> list[int]:
        runs = [r for r in records if (r.experiment, r.phase) == (name, phase)]
        assert len(runs) == 40
        return [sum(run.probes[i].passed for run in runs) for i in range(len(runs[0].probes))]

    assert passes("control-guardrail-dos", "chaos") == dos
    assert passes("control-guardrail-outage", "chaos") == outage
    assert passes("control-guardrail-dos", "baseline") == [40, 40]
    assert passes("control-guardrail-outage", "baseline") == [40, 40]
