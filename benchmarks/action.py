"""What the action costs a job, step by step: its very text under `act`, against a local GitHub.

The agent does nothing and there are ten runs, so that all of it is the gate. `--pip` installs with pip as well.
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.double import GitHubDouble  # noqa: E402  (found once the root is on the path)
from tests.double.events import Events  # noqa: E402
from tests.e2e.action import BIN, Outcome, UserRepository, readme_workflow  # noqa: E402

STEPS = ("Install", "Prepare", "Run", "Publish", "Clean up")
AGENT = "def run():\n    return 'done'\n"
EXPERIMENT = """
apiVersion: agentic-chaos/v1
kind: Experiment
metadata: {name: nothing}
spec:
  runs: 5
  faults: [{type: error, target: search}]
  probes: [{type: no_unhandled_error}]
"""
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "µs": 1e-6}


def seconds(outcome: Outcome, step: str) -> float:
    """Return how long a step took by act's own words: `Success - Main Install [1m2.5s]`."""
    found = re.search(rf"(?:Success|Failure) - Main {step} \[([^\]]+)\]", outcome.log)
    if not found:
        raise SystemExit(f"no step {step} in:\n{outcome.log}")
    return sum(float(n) * UNITS[unit] for n, unit in re.findall(r"([\d.]+)(ms|µs|s|m)", found[1]))


def job(folder: Path, double: GitHubDouble, environment: dict[str, str]) -> tuple[Outcome, int, float]:
    """Store a base, then judge a pull request one commit above it.

    Returns its job, its API calls, and the processor seconds that it took with all of act.
    """
    user = UserRepository(folder / "repo", double, environment)
    first = user.create("hardened", (), readme_workflow("plain"))
    first = user.commit({"my_agent.py": AGENT, "experiments/nothing.yaml": EXPERIMENT}, "an agent")
    stored = user.run("push", Events(double.repository).push(created=True, after=first))
    base = user.commit({"notes.md": "1"}, "main goes on")
    user.switch("feature")
    head = user.commit({"notes.md": "2"}, "a change")
    double.open_pull(7, "main", base, "feature", head)
    double.requests.clear()
    used = processor_s()
    outcome = user.run("pull_request", Events(double.repository).pull_request(base_sha=base, head_sha=head))
    used = processor_s() - used
    if "stored as base" not in stored.log or "nothing is compared" in outcome.log:
        raise SystemExit(stored.log + outcome.log)
    return outcome, len(double.requests), used


def processor_s() -> float:
    """Return the processor seconds of all processes that this one has waited for."""
    times = os.times()
    return times.children_user + times.children_system


def without_uv() -> dict[str, str]:
    """Return an environment in which uv is not on the path."""
    places = os.environ["PATH"].split(os.pathsep)
    return {"PATH": os.pathsep.join(p for p in places if p != str(BIN) and not shutil.which("uv", path=p))}


def main() -> None:
    """Print a row for each way to install."""
    ways: list[tuple[str, dict[str, str]]] = [("uv, packages in its cache", {})]
    if "--pip" in sys.argv:
        ways.append(("pip", without_uv()))
    print(f"Load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; processor seconds with all of act.\n")
    print("| " + " | ".join(["installed by", *STEPS, "all steps", "API calls", "processor"]) + " |")
    print("| --- " * (len(STEPS) + 4) + "|")
    for name, environment in ways:
        with tempfile.TemporaryDirectory() as folder, GitHubDouble() as double:
            outcome, calls, used = job(Path(folder), double, environment)
        times = [seconds(outcome, step) for step in STEPS]
        shown = [f"{t:.1f} s" for t in (*times, sum(times))]
        print("| " + " | ".join([name, *shown, str(calls), f"{used:.1f} s"]) + " |", flush=True)


if __name__ == "__main__":
    main()
