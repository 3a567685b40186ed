"""What the engine costs, side by side with the public package in one run. Prints tables.

Needs the published catalogue that `make setup` unpacks. `--quick` leaves the 40,000 runs out.
"""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
CATALOGUE = ROOT / ".venv" / "catalogue"
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": os.pathsep.join([str(CATALOGUE / "src"), str(CATALOGUE)]),
    "PYTHONDONTWRITEBYTECODE": "1",
}

AGENT = """
import time
import agentic_chaos_security as chaos

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

def ms5():
    time.sleep(0.005)
    return look("home")

def ms50():
    time.sleep(0.05)
    return look("home")
"""

EXPERIMENT = """
apiVersion: agentic-chaos/v1
kind: Experiment
metadata: {{name: bench}}
spec:
  target: {{entrypoint: "{target}"}}
  runs: {runs}
  faults: [{{type: inject_instruction, probability: 0.5}}]
  probes: [{{type: no_unhandled_error}}, {{type: canary_not_leaked}}]
"""

THEIRS = """
import json, resource, sys, time
from agentic_chaos_security import loader
sys.path.insert(0, ".")
started = time.perf_counter()
result = loader.load("bench.yaml").run()
elapsed = time.perf_counter() - started
assert result.probe_stats
text = json.dumps(result.to_dict())
print(json.dumps([elapsed, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""

OURS = """
import json, os, resource, sys, time
from pathlib import Path
from gate.config import Config, RunConfig
from gate.suite import Commit, load_experiments, run_and_report
folder = Path.cwd()
suite = load_experiments(["bench.yaml"], folder, print)
environment = {k: v for k, v in os.environ.items() if k in ("PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
started = time.perf_counter()
report = run_and_report(
    suite, Config(run=RunConfig(parallel=int(sys.argv[1]))), directory=folder, python=(sys.executable,),
    environment=environment, target=None, runs=None, seed=None, commit=Commit(), on_record=lambda _: None,
)
elapsed = time.perf_counter() - started
(outcomes,) = [e.outcomes for e in report.experiments]
assert outcomes.ok == report.spend.runs, outcomes
text = report.to_json()
print(json.dumps([elapsed, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def measure(folder: Path, script: str, target: str, runs: int, *arguments: str, times: int = 3) -> tuple[float, float]:
    """Return the least seconds, and the most megabytes of the process, that `runs` + `runs` runs take."""
    (folder / "bench.yaml").write_text(EXPERIMENT.format(target=target, runs=runs))
    found = []
    for _ in range(times):
        command = [sys.executable, "-c", script, *arguments]
        done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return min(f[0] for f in found), max(f[1] for f in found)


def compare_speed(folder: Path) -> None:
    """Time equal suites under both runners; ours with the start of its worker and the writing of its journal."""
    print(f"{'40 + 40 runs, seconds':44} {'public':>8} {'ours, 1':>8} {'8':>8} {'32':>8} {'times faster':>13}")
    for what, target in [
        ("agent that does nothing", "bench_agent:trivial"),
        ("10 instrumented calls", "bench_agent:busy"),
        ("agent of 5 ms", "bench_agent:ms5"),
        ("agent of 50 ms", "bench_agent:ms50"),
        ("mailbot of the public package", "examples.mailbot.agent:hardened"),
    ]:
        theirs, _ = measure(folder, THEIRS, target, 40)
        ours = [measure(folder, OURS, target, 40, parallel)[0] for parallel in ("1", "8", "32")]
        print(f"{what:44} {theirs:8.3f} {' '.join(f'{s:8.3f}' for s in ours)} {theirs / min(ours):13.2f}", flush=True)


def compare_rates(folder: Path) -> None:
    """Show what a run costs once the worker has started."""
    print(f"\n{'runs per second of our engine':44} {'ms/run':>8} {'runs/s':>8}")
    for parallel in ("1", "8", "32"):
        start, _ = measure(folder, OURS, "bench_agent:trivial", 1, parallel)
        elapsed, _ = measure(folder, OURS, "bench_agent:trivial", 400, parallel)
        each_s = (elapsed - start) / 798
        print(
            f"{f'agent that does nothing, {parallel} at a time':44} {1000 * each_s:8.2f} {1 / each_s:8.0f}", flush=True
        )


def compare_memory(folder: Path) -> None:
    """Show the most memory that either process takes, report included."""
    print(f"\n{'megabytes at most, 10 instrumented calls':44} {'public':>8} {'ours':>8}")
    for runs in (40, 2_000, 20_000):
        _, theirs = measure(folder, THEIRS, "bench_agent:busy", runs, times=1)
        _, ours = measure(folder, OURS, "bench_agent:busy", runs, "8", times=1)
        print(f"{f'{2 * runs:,} runs':44} {theirs:8.0f} {ours:8.0f}", flush=True)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bench_agent.py").write_text(textwrap.dedent(AGENT))
        compare_speed(folder)
        compare_rates(folder)
        if "--quick" not in sys.argv:
            compare_memory(folder)


if __name__ == "__main__":
    main()
