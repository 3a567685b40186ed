"""Sizes and times of the HTML report, small and with 2,000 probes of 100 runs. Prints the table of docs/performance.md.

Usage: python benchmarks/render.py
"""

import random
import sys
import time
from datetime import date

from gate.compare import compare
from gate.history import ExperimentSummary, Summary
from gate.policy import Policy
from gate.render.html import render_html
from gate.report import (
    ExperimentReport,
    Failure,
    FaultReport,
    Outcomes,
    PhaseReport,
    ProbeReport,
    Report,
    Spend,
    Suite,
    TraceEvent,
)

RUNS, PROBES, FAILURES, EVENTS, STORED = 100, 10, 20, 40, 20
"""Runs of a probe, probes and kept failures of an experiment, events of a failure, reports in the history."""

TODAY = date(2026, 1, 2)


def experiment(name: str, chance: random.Random) -> ExperimentReport:
    event = TraceEvent(kind="tool.call", name="fetch_page", data='{"args": "' + "a page of some length " * 20 + '"}')
    passes = [sum(chance.random() < 0.97 for _ in range(RUNS)) for _ in range(PROBES)]
    return ExperimentReport(
        name=name,
        status="weakness",
        reason="some runs failed",
        fingerprint="f",
        seed=0,
        confidence=0.95,
        probes=[
            ProbeReport(
                id=f"output_matches#{at}",
                type="output_matches",
                label=f"output_matches('^Summary {at}')",
                category="availability",
                severity="high",
                phase="chaos",
                threshold=0.95,
                passes=count,
                runs=RUNS,
            )
            for at, count in enumerate(passes)
        ],
        faults=[FaultReport(type="error", target="*", fired=RUNS, runs_fired=RUNS)],
        outcomes=Outcomes(ok=RUNS),
        phases=[PhaseReport(phase="chaos", planned_runs=RUNS, runs=[])],
        failures=[
            Failure(
                phase="chaos",
                index=index,
                seed=index,
                outcome="ok",
                probes=["output_matches#0"],
                detail="it does not match",
                output="an answer " * 50,
                trace=[event] * EVENTS,
            )
            for index in range(FAILURES)
        ],
    )


def report(probes: int, chance: random.Random) -> Report:
    return Report(
        started_at="x",
        ended_at="x",
        suite=Suite(digest="d"),
        spend=Spend(runs=probes // PROBES * RUNS),
        policy=Policy(),
        experiments=[experiment(f"e{n}", chance) for n in range(probes // PROBES)],
    )


def stored(made: Report, number: int) -> Summary:
    return Summary(
        commit=f"{number:040x}",
        run_id=number,
        attempt=1,
        ended_at="x",
        tool_version="1",
        experiments=[
            ExperimentSummary(
                name=e.name, status=e.status, counts={f"{p.phase}/{p.id}": (p.passes, p.runs) for p in e.probes}
            )
            for e in made.experiments
        ],
    )


def main() -> None:
    print(f"{sys.version.split()[0]}, {RUNS} runs a probe, {STORED} stored reports, {EVENTS} events a failing run\n")
    print("| probes | HTML | of the small one | compare | render |")
    print("| --- | --- | --- | --- | --- |")
    small = 0
    for probes in (20, 200, 2_000):
        chance = random.Random(7)
        base, head = report(probes, chance), report(probes, chance)
        history = [stored(base, number) for number in range(STORED)]
        start = time.process_time()
        made = compare(base, head, policy=base.policy, today=TODAY, history=history)
        compared = time.process_time()
        size = len(render_html(made, head).encode())
        rendered = time.process_time()
        small = small or size
        seconds = f"{compared - start:.1f} s | {rendered - compared:.1f} s"
        print(f"| {probes:,} | {size / 1e6:.2f} MB | {size / small:.1f} | {seconds} |", flush=True)


if __name__ == "__main__":
    main()
