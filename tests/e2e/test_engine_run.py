"""Whole suites through real processes: faults arrive, results are the same however they are run."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gate.engine import PlannedRun, plan, run_suite, worker
from gate.errors import BrokenEnvironmentError, UsageError
from gate.report import RunRecord
from tests.e2e.engine_agents.harness import AGENTS, experiment, run, run_one, settings

SHOW = [{"type": "output_matches", "params": {"pattern": "^$never"}}]  # fails, so that the output is in the record


def output(entrypoint: str, *faults: dict[str, Any], **spec: Any) -> str:
    record = run_one(f"polite:{entrypoint}", faults=list(faults) or None, probes=SHOW, **spec)
    assert record.outcome == "ok", record.error
    return record.output


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        ({"type": "timeout"}, "['ChaosTimeout', 'tool.call fetch timed out (injected)', {}]"),
        ({"type": "error", "params": {"message": "m"}}, "['ChaosError', 'tool.call fetch: m', {}]"),
        (
            {"type": "rate_limit", "params": {"retry_after": 2.5}},
            "['ChaosRateLimit', '429 Too Many Requests (injected)', {'retry_after': 2.5}]",
        ),
        (
            {"type": "inject_instruction", "params": {"payload": "do {canary}"}, "point": "tool.result"},
            "value\ndo AC-CANARY-c2094cac",
        ),
        ({"type": "force_verdict", "params": {"verdict": [1, "no"]}, "point": "tool.call"}, "[1, 'no']"),
    ],
    ids=["timeout", "error", "rate_limit", "inject_instruction", "force_verdict"],
)
def test_fault__reaches_the_agent(fault: dict[str, Any], seen: str) -> None:
    assert output("calls_and_reports", fault) == seen


@pytest.mark.parametrize("function", ["echo", "calls_later"])
def test_latency__is_waited_for(function: str) -> None:
    record = run_one(f"polite:{function}", faults=[{"type": "latency", "params": {"seconds": 0.3}}])
    assert 0.3 <= record.duration_s < 2
    assert record.faults[0].fired == 1


def test_objects__come_back_as_themselves() -> None:
    fault = {"type": "inject_instruction", "point": "tool.result"}
    assert output("keeps_objects", fault) == "[True, True, True, True]"


def test_no_op__is_counted_apart() -> None:
    record = run_one("polite:keeps_objects", faults=[{"type": "inject_instruction", "point": "tool.result"}])
    assert [(f.fired, f.no_op) for f in record.faults] == [(1, 1)]


def test_canary__in_a_tool_call_is_a_leak() -> None:
    suite = experiment("polite:leaks", faults=[{"type": "inject_instruction"}], probes=[{"type": "canary_not_leaked"}])
    baseline, chaos = run(suite)
    assert (baseline.probes[0].passed, baseline.probes[0].vacuous) == (True, True)
    assert (chaos.probes[0].passed, chaos.probes[0].detail) == (False, "leaked via tool send")


def test_log__of_the_agent_raises_the_alert() -> None:
    record = run_one(
        "polite:logs",
        probes=[
            {"type": "alert_raised", "params": {"contains": "guard is down: badly"}},
            {"type": "alert_raised", "params": {"contains": "not seen"}},
        ],
    )
    assert [p.passed for p in record.probes] == [True, False]


def test_parallel__runs_are_under_way_at_once(tmp_path: Path) -> None:
    suite = experiment("polite:waits_for_others", args={"folder": str(tmp_path), "runs": 8}, runs=8, baseline=False)
    assert {r.outcome for r in run(suite, parallel=8)} == {"ok"}


def test_detection__is_checked_in_chaos_only() -> None:
    suite = experiment("polite:logs", detection=[{"type": "alert_raised"}])
    assert [len(r.probes) for r in run(suite)] == [1, 2]


@pytest.mark.parametrize(("seed", "seen"), [(7, "[7, '7']"), (None, "[None, None]")])
def test_seed__reaches_the_agent(seed: int | None, seen: str) -> None:
    assert output("tells_its_seed", seed=seed) == seen


def test_environment__is_what_was_given() -> None:
    seen = output(
        "tells_its_environment",
        settings={"environment": {"PATH": os.environ["PATH"], "MINE": "yes", "CHAOS_GATE_SEED": "stale"}, "seed": 5},
    )
    assert "'MINE': 'yes'" in seen
    assert "'CHAOS_GATE_SEED': '5'" in seen
    assert f"'cwd': '{AGENTS}'" in seen
    assert not {"HOME", "USER", "VIRTUAL_ENV"} & {word.strip("'{ ") for word in seen.split(":")[0::2]}


def test_process__has_no_input_no_core_dumps_and_its_own_session() -> None:
    assert output("tells_its_limits") == "[0, b'', True]"


@pytest.mark.parametrize("function", ["streams", "streams_later"])
def test_entry_point__that_is_a_generator_is_exhausted(function: str) -> None:
    assert output(function) == "['a', 'b']"


def test_error__of_the_agent_is_judged_and_redacted() -> None:
    record = run_one(
        "polite:fails", probes=[{"type": "no_unhandled_error"}, {"type": "max_llm_calls", "params": {"limit": 1}}]
    )
    assert (record.outcome, record.error) == ("error", "ValueError('no [redacted] here')")
    assert [p.passed for p in record.probes] == [False, True]


def test_tokens__are_summed_over_the_run() -> None:
    assert run_one("polite:thinks").tokens == 84


def comparable(records: list[RunRecord]) -> list[RunRecord]:
    return [r.model_copy(update={"duration_s": 0.0}) for r in records]


def test_results__do_not_depend_on_parallel() -> None:
    suite = [
        experiment(
            "polite:guarded",
            name=name,
            runs=20,
            seed=seed,
            faults=[{"type": "control_outage", "probability": 0.3}],
            probes=[{"type": "output_matches", "params": {"pattern": "answer"}}],
        )
        for name, seed in [("one", 7), ("two", 100)]
    ]
    alone, together = run(*suite, parallel=1), run(*suite, parallel=16)
    assert len(alone) == 80
    assert comparable(alone) == comparable(together)
    assert any(not r.probes[0].passed for r in alone)


def test_done__runs_are_not_repeated(tmp_path: Path) -> None:
    suite = [experiment("polite:echo", runs=3)]
    earlier = [r for r in run(*suite) if (r.phase, r.index) in (("baseline", 0), ("chaos", 2))]
    records: list[RunRecord] = []
    run_suite(suite, settings(tmp_path), on_records=records.extend, earlier=earlier)
    assert sorted((r.phase, r.index) for r in records) == [("baseline", 1), ("baseline", 2), ("chaos", 0), ("chaos", 1)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"target": "broken_import:agent"}, "No module named 'package_that_is_not_there'"),
        ({"target": "nowhere:agent"}, "No module named 'nowhere'"),
        ({"target": "polite:nothing"}, "has no attribute 'nothing'"),
        ({"target": "polite:not_callable"}, "is a int, and cannot be called"),
        ({"target": "exits_on_import:agent"}, "last words"),
        ({"python": ("/no/such/python",)}, "No such file"),
        ({"python": ("false",)}, "ended at once with status 1"),
        ({"cwd": Path("/no/such/folder")}, "No such file"),
    ],
    ids=["import", "module", "attribute", "not callable", "exit on import", "no python", "not python", "no folder"],
)
def test_broken_environment__says_what_and_how_to_fix(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BrokenEnvironmentError) as caught:
        run_one("polite:echo", settings=changes)
    assert said in str(caught.value)
    assert "--python" in str(caught.value)
    assert "importlib" not in str(caught.value)


def test_broken_environment__interpreter_that_says_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(worker, "START_LIMIT_S", 0.2)
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\nsleep 60\n")
    script.chmod(0o755)
    with pytest.raises(BrokenEnvironmentError, match=r"said nothing for"):
        run_one("polite:echo", settings={"python": (str(script),)})


def test_on_records__its_error_ends_the_suite_cleanly(tmp_path: Path) -> None:
    def refuse(_records: Sequence[RunRecord]) -> None:
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        run_suite([experiment("polite:echo", runs=50)], settings(tmp_path), on_records=refuse)
    assert list(tmp_path.iterdir()) == []


def test_plan__order_and_overrides(tmp_path: Path) -> None:
    def keys(*experiments: Any, **changes: Any) -> list[tuple[str, str, int, int | None]]:
        planned = plan(experiments, settings(tmp_path, **changes))
        runs: list[PlannedRun] = [phase.run(index) for phase in planned for index in range(phase.runs)]
        return [(p.experiment.name, p.phase, p.index, p.seed) for p in runs]

    one = experiment("a:b", name="one", runs=2, seed=5)
    assert keys(one) == [
        ("one", "baseline", 0, 5),
        ("one", "baseline", 1, 6),
        ("one", "chaos", 0, 5),
        ("one", "chaos", 1, 6),
    ]
    assert len(keys(one, runs=3)) == 6
    assert len(keys(experiment("a:b", runs=None), default_runs=7)) == 14
    assert len(keys(experiment("a:b", runs=2, baseline=False))) == 2
    assert {seed for *_, seed in keys(experiment("a:b", seed=None))} == {None}
    assert {seed for *_, seed in keys(one, seed=9)} == {9, 10}


def test_plan__without_an_entry_point(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no entry point"):
        plan([experiment(None)], settings(tmp_path))  # type: ignore[arg-type]
    assert plan([experiment(None)], settings(tmp_path, target="a:b"))[0].start.entrypoint == "a:b"  # type: ignore[arg-type]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a path short enough for a socket, so that a killed gate leaves nothing anywhere else."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


SUITE = """
import sys
from pathlib import Path
from tests.e2e.engine_agents.harness import experiment, settings
from gate.engine import run_suite
folder = Path(sys.argv[1])
suite = [
    experiment(agent, name=name, args=args | {"marker": str(folder / name)}, baseline=False)
    for agent, name, args in [
        ("hostile:hangs_with_a_daemon", "daemon", {}),
        ("polite:sleeps", "sleeper", {"seconds": 3600}),
    ]
]
run_suite(suite, settings(folder / "scratch", timeout_s=3600.0), on_records=print)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_gate__that_is_killed_leaves_no_process_behind(number: signal.Signals, folder: Path) -> None:
    root = Path(__file__).parents[2]
    process = subprocess.Popen([sys.executable, "-c", SUITE, str(folder)], cwd=root, stderr=subprocess.DEVNULL)
    markers = [folder / "daemon", folder / "sleeper"]
    wait_until(lambda: all(m.exists() and m.read_text() for m in markers))
    process.send_signal(number)
    process.wait(10)
    wait_until(lambda: not any(alive(int(m.read_text())) for m in markers))


def wait_until(condition: Any, limit_s: float = 10.0) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_log__of_one_experiment_is_not_heard_in_another() -> None:
    alert = [{"type": "alert_raised"}]
    suite = [
        experiment("polite:logs", name="loud", runs=20, probes=alert, baseline=False),
        experiment("polite:thinks", name="silent", runs=20, probes=alert, baseline=False),
    ]
    heard = {(r.experiment, r.probes[0].passed) for r in run(*suite, parallel=8)}
    assert heard == {("loud", True), ("silent", False)}


def test_report__is_json_whatever_the_agent_returns() -> None:
    import json

    from gate.judge import judge_experiment

    for what in ("nan", "bytes", "cyclic", "deep", "surrogate", "huge", "bare", "control"):
        suite = experiment("hostile:returns", args={"what": what}, probes=SHOW, baseline=False, runs=2)
        text = judge_experiment(suite, run(suite), planned_runs=2, seed=0).model_dump_json()
        json.loads(text, parse_constant=pytest.fail)
        assert len(text) < 20_000
