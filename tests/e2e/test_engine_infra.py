"""What the provider broke is not the agent's; what we broke is."""

from pathlib import Path
from typing import Any

import pytest

from gate.engine import run as engine_run
from gate.judge import judge_experiment
from gate.report import RunRecord
from tests.e2e.engine_agents.harness import experiment, run


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_run, "INFRA_PAUSE_S", 0.01)


def lose(folder: Path, times: int, *faults: dict[str, Any], **arguments: Any) -> tuple[RunRecord, int]:
    """Return the record of a run that fails so many times, and how often it was carried out."""
    counter = folder / "counter"
    globs = arguments.pop("infra_errors", ["RateLimit*"])
    args = {"counter": str(counter), "times": times, **arguments}
    suite = experiment(
        "judged:loses_its_provider", args=args, infra_errors=globs, faults=list(faults) or None, baseline=False
    )
    (record,) = run(suite)
    return record, len(counter.read_text())


@pytest.mark.parametrize(
    ("globs", "cause", "outcome", "carried_out"),
    [
        (["RateLimitError"], "", "infra", 3),
        (["ConnectionError"], "", "infra", 3),
        (["judged.RateLimit*"], "", "infra", 3),
        (["RateLimitError"], "wrapped", "infra", 3),
        (["TimeoutError"], "", "error", 1),
        ([], "", "error", 1),
    ],
    ids=["by name", "by base class", "by module", "as the cause", "another", "none"],
)
def test_infra__is_what_the_file_names(
    globs: list[str], cause: str, outcome: str, carried_out: int, tmp_path: Path
) -> None:
    record, times = lose(tmp_path, 99, infra_errors=globs, cause=cause)
    assert (record.outcome, times) == (outcome, carried_out)
    assert record.retries == carried_out - 1


def test_infra__that_passes_is_forgotten(tmp_path: Path) -> None:
    record, times = lose(tmp_path, 2)
    assert (record.outcome, record.retries, times) == ("ok", 2, 3)


def test_infra__never_for_what_a_fault_raised(tmp_path: Path) -> None:
    record, times = lose(tmp_path, 0, {"type": "timeout", "target": "fetch"}, cause="fault")
    assert (record.outcome, times) == ("error", 1)


def test_infra__is_left_out_of_the_counts(tmp_path: Path) -> None:
    suite = experiment(
        "judged:loses_its_provider",
        args={"counter": str(tmp_path / "counter"), "times": 99},
        infra_errors=["RateLimitError"],
        runs=2,
        baseline=False,
    )
    report = judge_experiment(suite, run(suite), planned_runs=2, seed=0)
    assert report.outcomes.infra == 2
    assert report.status == "inconclusive"
    assert [p.runs for p in report.probes] == [0]
