"""What an agent can do to itself, it cannot do to the gate, to its siblings or to the machine."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gate.engine import live, worker
from gate.engine import run as engine_run
from gate.errors import BrokenEnvironmentError
from gate.report import RunRecord
from tests.e2e.engine_agents.harness import experiment, run, run_one


def gone(marker: Path) -> bool:
    """Return whether the process whose id stands in a file has ended."""
    pid = int(marker.read_text())
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] == "Z"


@pytest.mark.parametrize(
    ("function", "outcome", "error"),
    [
        ("exits_with_success", "crash", "the agent left by SystemExit(0)"),
        ("exits_at_once", "crash", "the agent's process ended with status 0 before the run was over."),
        ("exits_in_a_thread_of_asyncio", "crash", "the agent left by SystemExit(0)"),
        ("segfaults", "crash", "the agent's process ended by signal 11 before the run was over."),
        ("kills_itself", "crash", "the agent's process ended by signal 9 before the run was over."),
        ("raises_keyboard_interrupt", "crash", "the agent left by KeyboardInterrupt()"),
        ("raises_base_exception", "error", "Unusual('out of the ordinary')"),
        ("raises_unprintable", "error", "UnprintableError(...)"),
    ],
)
def test_outcome__agent_ends_badly(function: str, outcome: str, error: str) -> None:
    record = run_one(f"hostile:{function}")
    assert (record.outcome, record.error) == (outcome, error)
    assert [p.passed for p in record.probes] == [False]


@pytest.mark.parametrize("function", ["hangs", "ignores_signals_and_hangs", "spins", "sorts_for_ever_in_c"])
def test_timeout__agent_does_not_end(function: str) -> None:
    record = run_one(f"hostile:{function}", settings={"timeout_s": 0.3})
    assert (record.outcome, record.error) == ("timeout", "stopped after 0.3 s")
    assert [p.passed for p in record.probes] == [False]
    assert 0.3 <= record.duration_s < 5


def test_stdout__never_reaches_ours(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_one("hostile:prints_workflow_commands").outcome == "ok"
    assert capfd.readouterr() == ("", "")


def test_stdout__100_megabytes_change_nothing(tmp_path: Path) -> None:
    record = run_one("hostile:floods_its_output", settings={"scratch": tmp_path})
    assert record.outcome == "ok"
    assert sum(f.stat().st_size for f in tmp_path.rglob("*") if f.is_file()) == 0


@pytest.mark.parametrize("function", ["leaves_a_daemon", "leaves_a_subprocess"])
def test_descendants__killed_after_the_run(function: str, tmp_path: Path) -> None:
    markers = [tmp_path / str(n) for n in range(3)]
    suite = [experiment(f"hostile:{function}", name=m.name, args={"marker": str(m)}, baseline=False) for m in markers]
    assert [r.outcome for r in run(*suite)] == ["ok"] * 3
    assert all(gone(m) for m in markers)


def test_descendants__killed_after_a_timeout(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    record = run_one("hostile:hangs_with_a_daemon", args={"marker": str(marker)}, settings={"timeout_s": 1.0})
    assert record.outcome == "timeout"
    assert gone(marker)


def test_descendants__of_a_worker_that_was_killed_are_killed(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    assert run_one("hostile:leaves_a_daemon_to_the_gate", args={"marker": str(marker)}).outcome == "crash"
    assert gone(marker)


def test_descendants__that_do_not_end_are_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engine_run, "KILL_PATIENCE_S", 0.0)
    marker = tmp_path / "pid"
    with pytest.raises(BrokenEnvironmentError, match="do not end") as caught:
        run_one("hostile:leaves_a_daemon_to_the_gate", args={"marker": str(marker)})
    assert marker.read_text() in str(caught.value)
    os.kill(int(marker.read_text()), signal.SIGKILL)
    os.waitpid(int(marker.read_text()), 0)
    assert "run --resume" in str(caught.value)


def test_descendants__of_a_run_in_progress_survive_another_run_ending(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    suite = [
        experiment("hostile:hangs_with_a_daemon", name="long", args={"marker": str(marker)}, baseline=False),
        experiment("hostile:changes_globals", name="short", baseline=False, runs=20),
    ]
    seen: list[bool] = []
    records = run_watched(suite, lambda r: seen.append(marker.exists() and not gone(marker)) if r.index > 15 else None)
    assert [r.outcome for r in records].count("ok") == 20
    assert any(seen)
    assert gone(marker)


def run_watched(suite: list[Any], watch: Callable[[RunRecord], None]) -> list[RunRecord]:
    import tempfile

    from gate.engine import run_suite
    from tests.e2e.engine_agents.harness import settings

    records: list[RunRecord] = []

    def on_records(new: Sequence[RunRecord]) -> None:
        records.extend(new)
        time.sleep(0.02)
        watch(new[0])

    with tempfile.TemporaryDirectory() as folder:
        run_suite(suite, settings(Path(folder), timeout_s=3.0, parallel=2), on_records=on_records)
    return records


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("nan", "nan"),
        ("bytes", "b'\\xff\\x00'"),
        ("cyclic", "[1, "),
        ("deep", ""),
        ("surrogate", "lone \\ud800 surrogate"),
        ("huge", "xxx"),
        ("object", "<object object at"),
        ("bare", "<Bare>"),
        ("int keys", "{1: 'one', (2, 3): 'two'}"),
        ("big int", ""),
        ("set", "None"),
        ("generator", "[0, 1, 2]"),
        ("control", "\x1b[31m\x00"),
    ],
)
def test_output__any_value_makes_a_valid_record(what: str, text: str) -> None:
    record = run_one(
        "hostile:returns", args={"what": what}, probes=[{"type": "output_matches", "params": {"pattern": "^$never"}}]
    )
    assert record.outcome == "ok"
    assert text in record.output
    assert len(record.output) <= 2_000
    assert RunRecord.model_validate_json(record.model_dump_json()) == record


@pytest.mark.parametrize(
    ("function", "output"),
    [
        ("closes_its_descriptors", "done 0"),
        ("changes_directory", str(Path(__file__).parent / "engine_agents")),
        ("clears_its_environment", "done"),
        ("interrupts_itself", "done"),
        ("uses_threads", "20"),
        ("uses_pools", "20"),
        ("leaves_a_thread", "done"),
        ("forks_and_both_return", "parent"),
        ("forks_and_the_child_calls", "done"),
        ("starts_an_interpreter", "done"),
        ("spawns_by_multiprocessing", "['x']"),
        ("uses_up_descriptors", "done"),
        ("fills_its_folder", "/tmp"),
    ],
)
def test_agent__may_do_this(function: str, output: str) -> None:
    record = run_one(f"hostile:{function}", probes=[{"type": "output_matches", "params": {"pattern": "^$never"}}])
    assert record.outcome == "ok", record.error
    assert output in record.output


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        ("uses_threads", 20),
        ("uses_pools", 20),
        ("forks_and_the_child_calls", 2),
        ("starts_an_interpreter", 1),
        ("spawns_by_multiprocessing", 1),
        ("closes_its_descriptors", 2),
        ("clears_its_environment", 1),
    ],
)
def test_trace__sees_threads_and_child_processes(function: str, calls: int) -> None:
    limits = [calls, calls - 1]
    probes = [{"type": "max_tool_calls", "params": {"limit": limit}} for limit in limits]
    record = run_one(f"hostile:{function}", probes=probes)
    assert [p.passed for p in record.probes] == [True, False], record


def test_globals__of_one_run_are_not_seen_by_the_next() -> None:
    records = run(
        experiment(
            "hostile:changes_globals", runs=5, probes=[{"type": "output_matches", "params": {"pattern": "never"}}]
        )
    )
    assert [r.output for r in records] == ["1"] * 10


def test_hook__rubbish_is_a_crash_of_that_run() -> None:
    record = run_one("hostile:writes_rubbish_to_the_socket")
    assert record.outcome == "crash"
    assert record.error.startswith("the hook sent what is not of its protocol")


@pytest.mark.parametrize("function", ["calls_tools_for_ever", "calls_with_too_much"])
def test_hook__too_much_to_look_at_is_never_passed_over(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "BYTE_LIMIT", 20_000_000)
    record = run_one(f"hostile:{function}")
    assert record.outcome == "crash"
    assert record.error == "recorded more than 100,000 events or 20 MB"


def test_worker__lives_through_a_thread_that_logs_between_runs() -> None:
    assert [r.outcome for r in run(experiment("chatters:agent", runs=3))] == ["ok"] * 6


def test_worker__killed_by_its_agent_is_replaced() -> None:
    records = run(
        experiment("hostile:kills_its_parent", name="bad", runs=2, baseline=False),
        experiment("hostile:changes_globals", name="good", runs=3, baseline=False),
        parallel=1,
    )
    assert [r.outcome for r in records] == ["crash", "crash", "ok", "ok", "ok"]


def test_worker__processes_for_the_next_runs_killed_by_an_agent_are_replaced() -> None:
    probes = [{"type": "output_matches", "params": {"pattern": "^killed$"}}]
    records = run(experiment("hostile:kills_its_sibling", runs=4, probes=probes), parallel=1)
    assert [r.outcome for r in records] == ["ok"] * 8
    assert [r.probes[0].passed for r in records].count(True) >= 4  # the last has no sibling


def test_worker__stopped_by_its_agent_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "GRACE_S", 0.5)
    records = run(
        experiment("hostile:stops_its_parent", name="bad", baseline=False),
        experiment("hostile:changes_globals", name="good", baseline=False),
        parallel=1,
        timeout_s=0.5,
    )
    assert [r.outcome for r in records] == ["timeout", "ok"]
