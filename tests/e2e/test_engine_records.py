"""What the record of a run says: never for too long, never too much, never a secret."""

import os
import time
from typing import Any

import pytest

from gate.engine import verdict
from gate.engine.redact import Redactor
from gate.judge import judge_experiment
from tests.e2e.engine_agents.harness import experiment, run, run_one

NEVER = [{"type": "output_matches", "params": {"pattern": "^$never"}}]
KEY = "a key/with odd+characters=="


def test_probe__whose_expression_backtracks_for_ever_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "PROBE_LIMIT_S", 0.3)
    probes = [{"type": "output_matches", "params": {"pattern": "^(a+)+$"}}, {"type": "no_unhandled_error"}]
    started = time.monotonic()
    record = run_one("judged:talks", args={"calls": 1, "size": 1}, probes=probes)
    assert time.monotonic() - started < 10
    assert [(p.passed, p.errored) for p in record.probes] == [(False, True), (True, False)]
    assert record.probes[0].detail == "the probe took longer than 0.3 s"


def test_trace__of_a_failing_run_is_in_its_record() -> None:
    record = run_one("judged:talks", args={"calls": 2, "size": 3}, probes=NEVER)
    assert [(e.kind, e.name) for e in record.trace] == [("tool.call", "fetch"), ("tool.call.result", "fetch")] * 2
    assert record.trace[0].data == '{"args": ["0 xxx"], "kwargs": {}}'
    assert run_one("judged:talks", args={"calls": 2, "size": 3}).trace == []


@pytest.mark.parametrize(("calls", "size"), [(2_000, 10), (500, 400), (50, 100_000)])
def test_trace__is_at_most_64_kilobytes(calls: int, size: int) -> None:
    record = run_one("judged:talks", args={"calls": calls, "size": size}, probes=NEVER)
    assert sum(len(e.model_dump_json()) for e in record.trace) <= 64_000
    cut = [e.data for e in record.trace if e.kind == "cut"]
    assert len(cut) == (calls > 50)
    assert record.trace[0].data.startswith('{"args": ["0 x')
    assert f"page {calls - 1} x" in record.trace[-1].data


def test_trace__only_of_the_first_failures() -> None:
    suite = experiment("judged:talks", args={"calls": 1, "size": 1}, probes=NEVER, runs=12)
    records = run(suite)
    report = judge_experiment(suite, records, planned_runs=12, seed=0)
    traced = [(f.phase, f.index) for f in report.failures if f.trace]
    assert traced == [(phase, index) for phase in ("baseline", "chaos") for index in range(3)]
    assert sum(bool(r.trace) for r in records) <= 2 * (3 + 4), "some may have ended before an earlier one"


def test_secrets__of_the_agent_are_in_nothing_that_is_written() -> None:
    changes: dict[str, Any] = {
        "environment": {"PATH": os.environ["PATH"], "THE_KEY": KEY},
        "redactor": Redactor([KEY]),
    }
    probes = [{"type": "output_matches", "params": {"pattern": "x"}}, {"type": "no_unhandled_error"}]
    probes += [{"type": "judge", "params": {"judge": "judged:raises", "criterion": "c"}}]
    record = run_one("judged:tells_secrets", probes=probes, settings=changes)
    text = record.model_dump_json()
    assert record.outcome == "error" and len(record.trace) >= 2
    assert "[redacted]" in record.error and "[redacted]" in record.probes[2].detail
    assert "odd" not in text and "[redacted]" in record.trace[0].data
