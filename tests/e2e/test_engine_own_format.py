"""What `agent-chaos-gate/v1` adds to how an agent is reached and started."""

from typing import Any

import pytest

from gate.errors import BrokenEnvironmentError
from gate.report import RunRecord
from tests.e2e.engine_agents.harness import experiment, run

SHOW = [{"type": "output_matches", "params": {"pattern": "^$never"}}]  # fails, so that the output is in the record
ALL = ["a", "b", "c", "x/d", "e"]


def run_own(function: str, target: dict[str, Any], *faults: dict[str, Any], **changes: Any) -> RunRecord:
    spec = changes.pop("spec", {})
    suite = experiment(f"plain.main:{function}", faults=list(faults) or None, target=target, baseline=False, **spec)
    (record,) = run(suite, **changes)
    return record


def calls(tool: list[str], function: str = "run", **target: Any) -> int:
    """Return how many tool calls are seen."""
    limits = [{"type": "max_tool_calls", "params": {"limit": n}} for n in range(12)]
    record = run_own(function, {"instrument": {"tool": tool}, **target}, spec={"probes": limits})
    assert record.outcome == "ok", record.error
    return 12 - sum(p.passed for p in record.probes)


@pytest.mark.parametrize(
    ("tool", "seen"),
    [
        ([], 0),
        (["plain.tools:fetch"], 2),
        (["plain.tools:*"], 3),
        (["plain.*:fetch*"], 3),
        (["plain.tools:fetch", "plain.tools:f*"], 2 + 1),
        (["plain.tools:Mailbox.send"], 1),
        (["plain.tools:Mailbox.*"], 3),
        (["plain.tools:*.*", "plain.tools:*"], 6),
        (["plain.tools:search"], 1),
        (["plain.tools:_private"], 1),
        (["plain.main:*"], 0),
    ],
    ids=lambda v: ",".join(v) if isinstance(v, list) else None,
)
def test_instrument__functions_by_glob(tool: list[str], seen: int) -> None:
    assert calls(tool) == seen


@pytest.mark.parametrize("isolation", ["fork", "process", "none"])
def test_instrument__in_every_isolation(isolation: str) -> None:
    assert calls(["plain.tools:*"], isolation=isolation) == 3


def test_instrument__reaches_interpreters_of_multiprocessing() -> None:
    assert calls(["plain.tools:fetch"], "spawns") == 1


def test_instrument__faults_act_on_controls_and_tools() -> None:
    target = {"instrument": {"control": ["plain.guard:check"], "tool": ["plain.tools:fetch"]}}
    record = run_own("guarded", target, {"type": "control_outage", "target": "check"}, spec={"probes": SHOW})
    assert record.output == "ChaosTimeout"
    inject = {"type": "inject_instruction", "target": "fetch", "params": {"payload": "planted"}}
    record = run_own("run", target, inject, spec={"probes": SHOW})
    assert record.output.startswith("['page a\\nplanted', 'page b\\nplanted', 'later c', ")


def test_instrument__leaves_modules_what_they_are() -> None:
    record = run_own("tells_where_it_is_from", {"instrument": {"tool": ["plain.tools:*"]}}, spec={"probes": SHOW})
    assert record.output == "['\"\"\"Its tools.\"\"\"', 'SourceFileLoader', 'SourceFileLoader']"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("plain.tools:fetsch", "instrument: plain.tools:fetsch: there is no such function"),
        ("plain.tols:fetch", "no module named 'plain.tols'"),
        ("nowhere.tools:fetch", "No module named 'nowhere'"),
        ("json:loads", "json:loads: this module runs the agent, and cannot be instrumented"),
    ],
)
def test_instrument__what_is_not_there_is_said_before_any_run(place: str, said: str) -> None:
    with pytest.raises(BrokenEnvironmentError, match=said):
        calls([place])


def test_env__is_added_to_the_agents() -> None:
    target = {"env": {"MODEL": "small", "CHAOS_GATE_FAKE": "1"}}
    record = run_own("environment", target, spec={"probes": SHOW})
    assert record.output == "['small', None, 'subprocess']"


def test_timeout__of_the_file_and_of_the_command_line() -> None:
    suite = experiment("polite:sleeps", args={"seconds": 60}, target={"timeout_s": 0.2}, baseline=False)
    assert run(suite)[0].error == "stopped after 0.2 s"
    assert run(suite, limit_s=0.1)[0].error == "stopped after 0.1 s"


def test_isolation__may_differ_within_a_suite() -> None:
    suite = [
        experiment(
            "hostile:changes_globals", name=mode, runs=3, baseline=False, target={"isolation": mode}, probes=SHOW
        )
        for mode in ("none", "fork", "process")
    ]
    assert [r.output for r in run(*suite)] == ["1", "2", "3"] + ["1"] * 6
