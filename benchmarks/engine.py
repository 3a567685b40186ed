"""What the engine costs, side by side with the public package in one run. Prints tables.

Needs the published catalogue that `make setup` unpacks. `--quick` leaves the memory over 40,000 runs out.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CATALOGUE = ROOT / ".venv" / "catalogue"
EXAMPLES = str(CATALOGUE)
PACKAGE = os.pathsep.join([str(CATALOGUE / "src"), EXAMPLES])
PARALLEL = (1, 8, 32)

PLAIN_AGENT = """
def trivial():
    return "done"
"""

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
metadata: {{name: "bench {seed}"}}
spec:
  target: {{entrypoint: "{target}"}}
  runs: {runs}
  seed: {seed}
  faults: [{{type: inject_instruction, probability: 0.5}}]
  probes: [{{type: no_unhandled_error}}, {{type: canary_not_leaked}}]
"""

THEIRS = """
import json, resource, sys, time
from agentic_chaos_security import loader
sys.path.insert(0, ".")
started = time.perf_counter()
results = [loader.load(file).run() for file in sys.argv[1:]]
elapsed = time.perf_counter() - started
assert all(r.probe_stats for r in results)
text = json.dumps([r.to_dict() for r in results])
print(json.dumps([elapsed, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""

OURS = """
import json, os, resource, sys, time
from pathlib import Path
from gate.config import Config, RunConfig
from gate.suite import Commit, load_experiments, run_and_report
isolation, parallel, *files = sys.argv[1:]
folder = Path.cwd()
suite = load_experiments(files, folder, print)
environment = {k: v for k, v in os.environ.items() if k in ("PATH", "PYTHONPATH", "PYTHONPYCACHEPREFIX")}
started = time.perf_counter()
report = run_and_report(
    suite, Config(run=RunConfig(parallel=int(parallel), isolation=isolation)), directory=folder,
    python=(sys.executable,), environment=environment, target=None, runs=None, seed=None, commit=Commit(),
    on_record=lambda _: None,
)
elapsed = time.perf_counter() - started
assert sum(e.outcomes.ok for e in report.experiments) == report.spend.runs
text = report.to_json()
print(json.dumps([elapsed, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""
MOST_RUNS = 10_000
"""As many as a phase may have."""


def measure(
    folder: Path, script: str, target: str, runs: int, *how: str, path: str, times: int = 3
) -> tuple[float, float]:
    """Return the least seconds, and the most megabytes of the process, that `runs` + `runs` runs take."""
    files = []
    for seed in range(0, runs, MOST_RUNS):
        files.append(f"bench{seed}.yaml")
        part = min(MOST_RUNS, runs - seed)
        (folder / files[-1]).write_text(EXPERIMENT.format(target=target, runs=part, seed=seed))
    # what is installed is compiled, so the first time does not count
    environment = {"PATH": os.environ["PATH"], "PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONPATH": path}
    found = []
    for _ in range(times):
        command = [sys.executable, "-c", script, *how, *files]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return min(f[0] for f in found), max(f[1] for f in found)


def theirs(folder: Path, target: str, runs: int, times: int = 3) -> tuple[float, float]:
    """Measure the public package's runner."""
    return measure(folder, THEIRS, target, runs, path=PACKAGE, times=times)


def ours(
    folder: Path,
    target: str,
    runs: int,
    parallel: int,
    *,
    path: str = EXAMPLES,
    isolation: str = "fork",
    times: int = 3,
) -> tuple[float, float]:
    """Measure our engine; the agent's decorators are our stand-ins for the package's unless it is on the path."""
    return measure(folder, OURS, target, runs, isolation, str(parallel), path=path, times=times)


def compare_speed(folder: Path) -> None:
    """Time equal suites under both runners; ours with the start of its worker and the writing of its journal."""
    print(f"{'40 + 40 runs, seconds':32} {'public':>8} {'ours, 1':>8} {'8':>8} {'32':>8} {'times faster':>13}")
    for what, target in [
        ("agent that does nothing", "bench_agent:trivial"),
        ("10 instrumented calls", "bench_agent:busy"),
        ("agent of 5 ms", "bench_agent:ms5"),
        ("agent of 50 ms", "bench_agent:ms50"),
        ("mailbot of the public package", "examples.mailbot.agent:hardened"),
    ]:
        public_s, _ = theirs(folder, target, 40)
        ours_s = [ours(folder, target, 40, parallel)[0] for parallel in PARALLEL]
        print(f"{what:32} {public_s:8.3f} {' '.join(f'{s:8.3f}' for s in ours_s)} {public_s / min(ours_s):13.2f}")


def show_overhead(folder: Path) -> None:
    """Show what a run costs once the worker has started: more, the more the agent has imported."""
    print(f"\n{'agent that does nothing':32} {'at once':>8} {'ms/run':>8} {'runs/s':>8} {'start, s':>9}")
    for what, path in [("imports nothing", ""), ("imports the public package", PACKAGE)]:
        target = "bench_agent:trivial" if path else "plain_agent:trivial"
        for parallel in PARALLEL:
            start_s, _ = ours(folder, target, 1, parallel, path=path)
            elapsed_s, _ = ours(folder, target, 150, parallel, path=path)
            each_s = (elapsed_s - start_s) / 298
            print(f"{what:32} {parallel:8} {1000 * each_s:8.2f} {1 / each_s:8.0f} {start_s:9.2f}")


def compare_memory(folder: Path) -> None:
    """Show the most memory that either process takes, report included; that of the gate, in any isolation."""
    print(f"\n{'megabytes at most':32} {'public':>8} {'ours':>8}")
    for runs in (200, 2_000, 20_000):
        _, public_mb = theirs(folder, "bench_agent:trivial", runs, times=1)
        _, ours_mb = ours(folder, "bench_agent:trivial", runs, 1, isolation="none", times=1)
        print(f"{f'{2 * runs:,} runs':32} {public_mb:8.0f} {ours_mb:8.0f}")


def main() -> None:
    """Measure and print."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bench_agent.py").write_text(AGENT)
        (folder / "plain_agent.py").write_text(PLAIN_AGENT)
        compare_speed(folder)
        show_overhead(folder)
        if "--quick" not in sys.argv:
            compare_memory(folder)


if __name__ == "__main__":
    main()
