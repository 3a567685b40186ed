"""What `run` writes: whole, readable, and without the values of --pass-env."""

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

from gate.report import read_report
from tests.e2e.engine_agents.harness import AGENTS

KEY = "a key/with odd+characters=="


def test_run__values_of_pass_env_are_in_nothing_it_writes(tmp_path: Path) -> None:
    document = {
        "apiVersion": "agentic-chaos/v1",
        "kind": "Experiment",
        "metadata": {"name": "secrets"},
        "spec": {
            "target": {"entrypoint": "judged:tells_secrets"},
            "faults": [{"type": "latency", "params": {"seconds": 0}}],
            "probes": [
                {"type": "no_unhandled_error"},
                {"type": "judge", "params": {"judge": "judged:raises", "criterion": "c"}},
            ],
        },
    }
    (tmp_path / "experiment.yaml").write_text(yaml.safe_dump(document))
    command = [sys.executable, "-m", "gate", "run", str(tmp_path / "experiment.yaml"), "--runs", "2"]
    command += ["--python", sys.executable, "--report", str(tmp_path / "report.json"), "--pass-env", "THE_KEY"]
    environment = {"PATH": os.environ["PATH"], "THE_KEY": KEY}
    done = subprocess.run(command, cwd=AGENTS, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written = [done.stdout, done.stderr, *(p.read_text() for p in tmp_path.iterdir())]
    assert len(written) == 5
    assert not any("odd" in text or KEY in json.dumps(text) for text in written)
    report = read_report((tmp_path / "report.json").read_text(), "report.json")
    assert report.experiments[0].target == "judged:tells_secrets"
    assert (report.removed, report.known_findings) == ([], [])
    failure = report.experiments[0].failures[0]
    assert failure.error == "ValueError('[redacted]')"
    assert "[redacted]" in failure.trace[0].data
