"""Times a whole comparison of two reports and prints the table that docs/statistics.md shows.

Usage: python benchmarks/compare.py
"""

import random
import subprocess
import sys
import time
import tracemalloc
from datetime import date

from gate.compare import compare
from gate.comparison import Comparison
from gate.policy import Policy
from gate.report import ExperimentReport, FaultReport, Outcomes, PhaseReport, ProbeReport, Report, Spend, Suite

TODAY = date(2026, 1, 2)
PAIRS = [(40, 40), (100, 40), (40, 80), (60, 60)]
RATES = [1.0, 1.0, 1.0, 0.99, 0.95]
Table = tuple[int, int, int, int]


def drawn(count: int, pairs: list[tuple[int, int]], rates: list[float]) -> list[Table]:
    """Tables of unchanged probes: both arms at one rate."""
    chance = random.Random(7)
    tables = []
    for _ in range(count):
        n1, n2 = chance.choice(pairs)
        rate = chance.choice(rates)
        x1, x2 = (sum(chance.random() < rate for _ in range(n)) for n in (n1, n2))
        tables.append((x1, n1, x2, n2))
    return tables


def undecided(count: int, runs: int) -> list[Table]:
    """Distinct tables between PASS and FAIL."""
    found = []
    for x1 in range(runs, 0, -1):
        for x2 in range(x1, -1, -1):
            made = compared([(x1, runs, x2, runs)])
            if made.rows[0].verdict == "inconclusive":
                found.append((x1, runs, x2, runs))
            elif made.rows[0].verdict == "regressed":
                break
            if len(found) == count:
                return found
    return found


def reports(tables: list[Table]) -> tuple[Report, Report]:
    """Base and head with these counts, four probes to an experiment."""
    base, head = [], []
    for start in range(0, len(tables), 4):
        name = f"e{start}"
        base.append(experiment(name, [(x1, n1) for x1, n1, _, _ in tables[start : start + 4]]))
        head.append(experiment(name, [(x2, n2) for _, _, x2, n2 in tables[start : start + 4]]))
    return report(base), report(head)


def experiment(name: str, counts: list[tuple[int, int]]) -> ExperimentReport:
    probes = [
        ProbeReport(
            id=f"output_matches#{i}",
            type="output_matches",
            label="output_matches()",
            category="availability",
            severity="high",
            phase="chaos",
            threshold=0.9,
            passes=passes,
            runs=runs,
        )
        for i, (passes, runs) in enumerate(counts)
    ]
    return ExperimentReport(
        name=name,
        status="held",
        reason="drawn",
        fingerprint="f",
        seed=0,
        confidence=0.95,
        probes=probes,
        faults=[FaultReport(type="error", target="*", fired=40, runs_fired=40)],
        outcomes=Outcomes(ok=40),
        phases=[PhaseReport(phase="chaos", planned_runs=40, runs=[])],
    )


def report(experiments: list[ExperimentReport]) -> Report:
    moment = "2026-01-01T00:00:00Z"
    return Report(
        started_at=moment,
        ended_at=moment,
        suite=Suite(digest="d"),
        spend=Spend(runs=len(experiments) * 40),
        experiments=experiments,
    )


def compared(tables: list[Table]) -> Comparison:
    base, head = reports(tables)
    return compare(base, head, policy=Policy(), today=TODAY)


CASES = {
    "1,000 probes, all 40 against 40": "drawn(1000, PAIRS[:1], RATES)",
    "1,000 probes, four pairs of run counts": "drawn(1000, PAIRS, RATES)",
    "1,000 probes, as many different counts as chance makes": "drawn(1000, PAIRS, [1.0, 0.99, 0.95, 0.9, 0.8])",
    "100 different inconclusive probes, 40 against 40": "undecided(100, 40)",
    "100 different inconclusive probes, 100 against 100": "undecided(100, 100)",
}


def measure(made_by: str) -> str:
    """One row of the table: the shortest of three, every cache empty before each."""
    tables = eval(made_by)
    base, head = reports(tables)
    taken = float("inf")
    for _ in range(3):
        forget()
        start = time.perf_counter()
        made = compare(base, head, policy=Policy(), today=TODAY)
        taken = min(taken, time.perf_counter() - start)
    open_ = {(r.base, r.head) for r in made.rows if r.verdict == "inconclusive" and r.base and r.head}
    distinct = len({((b.passes, b.runs), (h.passes, h.runs)) for b, h in open_})
    forget()
    tracemalloc.start()
    compare(base, head, policy=Policy(), today=TODAY)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    return f"{taken:.2f} s | {len(set(tables))} | {distinct} | {peak:.0f} MiB"


def forget() -> None:
    """Empty every cache of the statistics and the rows."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("gate.stats.", "gate.rows")):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(measure(CASES[sys.argv[1]]))
    else:
        print("| comparison | time | different tables | of them inconclusive | peak memory |")
        print("| --- | --- | --- | --- | --- |")
        for case in CASES:
            done = subprocess.run([sys.executable, __file__, case], capture_output=True, text=True, check=True)
            print(f"| {case} | {done.stdout.strip()} |", flush=True)
