"""Times reading and comparing reports of 2,000 rows with 100 runs each. Prints the table of docs/readers.md.

Usage: python benchmarks/readers.py
"""

import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

from gate.compare import compare
from gate.readers import read_any, read_file

ROWS, RUNS = 2_000, 100
TODAY = date(2026, 1, 2)


def junit(rows: int, runs: int, chance: random.Random) -> str:
    cases = []
    for row in range(rows):
        for run in range(1, runs + 1):
            inner = "" if chance.random() < 0.97 else "<failure message='no'>a long text</failure>"
            cases.append(f'<testcase classname="m" name="t[p{row}-{run}-{runs}]" time="0.1">{inner}</testcase>')
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


def promptfoo(rows: int, runs: int, chance: random.Random) -> str:
    results = []
    for row in range(rows):
        for _ in range(runs):
            ok = chance.random() < 0.97
            results.append(
                {
                    "success": ok,
                    "failureReason": 0 if ok else 1,
                    "prompt": {"raw": "r", "label": "l"},
                    "promptId": "p",
                    "provider": {"id": "a"},
                    "testCase": {"description": f"t{row}", "vars": {"q": str(row)}, "assert": [{"type": "equals"}]},
                    "response": {"output": "an answer of some length " * 4},
                    "cost": 0.001,
                }
            )
    good = sum(r["success"] is True for r in results)
    stats = {"successes": good, "failures": len(results) - good, "errors": 0}
    return json.dumps({"evalId": "e", "results": {"version": 3, "results": results, "stats": stats}})


def agentassay(rows: int, runs: int, chance: random.Random) -> str:
    trials = [{"scenario_id": f"t{r}", "passed": chance.random() < 0.97} for r in range(rows) for _ in range(runs)]
    return json.dumps({"trials": trials})


def inspect(rows: int, runs: int, chance: random.Random) -> str:
    samples = [
        {
            "id": row,
            "epoch": run,
            "input": f"q{row}",
            "target": "t",
            "messages": [{"role": "user", "content": "text " * 20}],
            "scores": {"includes": {"value": "C" if chance.random() < 0.97 else "I"}},
        }
        for run in range(1, runs + 1)
        for row in range(rows)
    ]
    return json.dumps({"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples})


def agentic_chaos_security(rows: int, runs: int, chance: random.Random) -> str:
    experiments = []
    for row in range(rows):
        passed = [chance.random() < 0.97 for _ in range(runs)]
        experiments.append(
            {
                "name": f"e{row}",
                "hypothesis": "it holds",
                "verdict": "hypothesis-held",
                "reason": "",
                "faults": [{"type": "error", "target": "*"}],
                "probes": [
                    {"name": "finishes", "phase": "chaos", "passes": sum(passed), "runs": runs, "threshold": 0.9}
                ],
                "runs": [
                    {
                        "phase": "chaos",
                        "run": run,
                        "passed": ok,
                        "faults_fired": 1,
                        "probes": [{"name": "finishes", "passed": ok, "detail": "" if ok else "it did not " * 9}],
                    }
                    for run, ok in enumerate(passed)
                ],
            }
        )
    return json.dumps(experiments)


def own(rows: int, runs: int, chance: random.Random) -> str:
    """The report that the JUnit file of this size is converted to."""
    return read_any(junit(rows, runs, chance).encode(), "x").to_json()


FORMATS: dict[str, Callable[[int, int, random.Random], str]] = {
    "JUnit XML": junit,
    "promptfoo": promptfoo,
    "Inspect": inspect,
    "AgentAssay": agentassay,
    "agentic-chaos-security": agentic_chaos_security,
    "report.json": own,
}


def measure(path: Path) -> str:
    """Cells of one row; meant for a fresh process, whose peak of memory is that of one comparison."""
    before = peak_kilobytes()
    start = time.process_time()
    report = read_file(path)
    read = time.process_time() - start
    made = compare(report, report, policy=report.policy, today=TODAY)
    taken = time.process_time() - start - read
    peak = peak_kilobytes()
    megabytes = path.stat().st_size / 1e6
    return f"{megabytes:.1f} MB | {len(made.rows):,} | {read:.1f} s | {taken:.1f} s | {(peak - before) / 1024:.0f} MB"


def peak_kilobytes() -> int:
    """Return the peak of this process's own memory; getrusage would count the parent's as well."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1])


def main() -> None:
    print("| format | file | rows | read | compare with itself | memory on top |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, write in FORMATS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "report")
            path.write_text(write(ROWS, RUNS, random.Random(0)), encoding="utf-8")
            done = subprocess.run([sys.executable, __file__, str(path)], capture_output=True, text=True, check=True)
        print(f"| {name} | {done.stdout.strip()} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(measure(Path(sys.argv[1])))
    else:
        main()
