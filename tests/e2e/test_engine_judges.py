"""A judge looks at finished runs from outside: whatever it does, it is never taken for a pass."""

from pathlib import Path
from typing import Any

import pytest

from gate.engine import judges
from gate.errors import BrokenEnvironmentError
from gate.report import ProbeOutcome
from tests.e2e.engine_agents.harness import experiment, run, run_one


def judged(judge: str, answer: Any = "fine", criterion: str = "is polite:", **more: Any) -> ProbeOutcome:
    probe = {"type": "judge", "params": {"judge": f"judged:{judge}", "criterion": criterion, **more}}
    record = run_one("judged:agent", args={"answer": answer}, probes=[probe, {"type": "no_unhandled_error"}])
    assert (record.outcome, record.probes[1].passed) == ("ok", True)
    return record.probes[0]


def test_judge__sees_the_run_from_outside_the_session() -> None:
    suite = experiment(
        "judged:agent",
        seed=3,
        faults=[{"type": "latency", "params": {"seconds": 0}}],
        probes=[
            {"type": "judge", "params": {"judge": "judged:polite", "criterion": "is polite:"}},
            {"type": "max_tool_calls", "params": {"limit": 1}},
        ],
    )
    baseline, chaos = run(suite)
    assert baseline.probes[0].detail == "is polite: 'fine' ['fetch'] 0 None None"
    assert chaos.probes[0].detail == "is polite: 'fine' ['fetch'] 1 None None"
    assert all(p.passed for p in [*baseline.probes, *chaos.probes])


@pytest.mark.parametrize(
    ("judge", "answer", "passed"),
    [
        ("polite", "rude", False),
        ("scores", "0.5", True),
        ("scores", "0.49", False),
        ("later", "", True),
        ("says_anything", [True, "why"], True),
        ("says_anything", [0.2, "why"], False),
    ],
)
def test_judge__says_yes_or_no(judge: str, answer: Any, passed: bool) -> None:
    outcome = judged(judge, answer)
    assert (outcome.passed, outcome.errored) == (passed, False)


@pytest.mark.parametrize(
    ("judge", "answer", "said"),
    [
        ("says_anything", "yes", "gave no verdict"),
        ("says_anything", None, "gave no verdict"),
        ("says_anything", [], "gave no verdict"),
        ("scores", "nan", "gave no verdict"),
        ("scores", "high", "asked 2 times: ValueError"),
        ("exits", "", "asked 2 times: its process ended"),
        ("hangs", "", "asked 2 times: stopped after 0.3 s"),
        ("model", "", "asked 2 times: "),
    ],
)
def test_judge__that_gives_no_verdict_is_an_error(
    judge: str, answer: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if judge == "hangs":
        monkeypatch.setattr(judges, "JUDGE_LIMIT_S", 0.3)
    outcome = judged(judge, answer)
    assert (outcome.passed, outcome.errored) == (False, True)
    assert said in outcome.detail


def test_judge__is_asked_again_once(tmp_path: Path) -> None:
    assert judged("works_the_second_time", criterion=str(tmp_path / "marker")).passed


def test_judge__that_is_not_there_is_said_before_any_run() -> None:
    with pytest.raises(BrokenEnvironmentError, match="judged:nobody cannot be imported"):
        judged("nobody")
