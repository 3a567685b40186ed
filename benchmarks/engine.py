"""What the engine itself costs: per run, for a short agent, and at several degrees of parallelism. Prints a table."""

import os
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from gate.engine import RunSettings, run_suite
from gate.experiment import Experiment, load_suite
from gate.report import RunRecord

AGENT = """
import time
from gate import chaos

@chaos.tool
def look(place):
    return f"nothing at {place}"

@chaos.llm
def think(text):
    return text.upper()

def trivial():
    return "done"

def busy():
    for step in range(5):
        think(look(step))
    return "done"

def sleeper():
    time.sleep(0.05)
    return look("home")
"""

EXPERIMENT = """
apiVersion: agentic-chaos/v1
kind: Experiment
metadata: {{name: bench}}
spec:
  target: {{entrypoint: "bench_agent:{function}"}}
  runs: {runs}
  faults: [{{type: inject_instruction, probability: 0.5}}]
  probes: [{{type: no_unhandled_error}}, {{type: canary_not_leaked}}]
"""


def measure(folder: Path, function: str, runs: int, parallel: int) -> float:
    """Return the seconds that `runs` baseline and `runs` chaos runs take, start and end of the worker included."""
    suite: list[Experiment] = load_suite([("bench.yaml", EXPERIMENT.format(function=function, runs=runs))], print)
    settings = RunSettings(
        python=(sys.executable,),
        cwd=folder,
        environment={"PATH": os.environ["PATH"]},
        parallel=parallel,
        timeout_s=60,
        scratch=folder / "scratch",
    )
    records: list[RunRecord] = []
    started = time.perf_counter()
    run_suite(suite, settings, on_record=records.append)
    elapsed = time.perf_counter() - started
    assert len(records) == 2 * runs
    assert all(r.outcome == "ok" for r in records), records[0]
    return elapsed


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bench_agent.py").write_text(textwrap.dedent(AGENT))
        start = min(measure(folder, "trivial", 1, 1) for _ in range(3))
        print(f"{'what':54} {'runs':>6} {'seconds':>8} {'ms/run':>7} {'runs/s':>7}")
        print(f"{'start and end of one worker, 2 runs':54} {2:6} {start:8.3f}")
        rows = [
            ("trivial agent, 1 at a time (goal: 5 ms a run)", "trivial", 200, 1),
            ("trivial agent, 8 at a time", "trivial", 400, 8),
            ("trivial agent, 32 at a time", "trivial", 400, 32),
            ("10 instrumented calls, 1 at a time", "busy", 100, 1),
            ("10 instrumented calls, 8 at a time", "busy", 200, 8),
            ("agent of 50 ms, 16 at a time (goal: 0.8 s in all)", "sleeper", 40, 16),
        ]
        for what, function, runs, parallel in rows:
            elapsed = min(measure(folder, function, runs, parallel) for _ in range(3))
            each = (elapsed - start) / (2 * runs)
            print(f"{what:54} {2 * runs:6} {elapsed:8.3f} {1000 * each:7.2f} {2 * runs / elapsed:7.0f}")


if __name__ == "__main__":
    main()
