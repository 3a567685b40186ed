"""Which run comes next: all experiments side by side, or the most valuable first where money may run out."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from gate.engine.schedule import RunSettings, plan
from gate.engine.scheduler import Scheduler, Turn
from gate.experiment import Experiment
from gate.policy import Severity
from gate.stopping import Watch
from tests.builders import parsed


def named(name: str, runs: int, severity: Severity = "high", seed: int = 0) -> Experiment:
    probes = tuple(replace(p, severity=severity) for p in parsed().probes)
    return replace(parsed(), name=name, runs=runs, seed=seed, probes=probes)


def order(*experiments: Experiment, by_value: bool = False, done: frozenset[tuple[str, str, int]] = frozenset()) -> str:
    settings = RunSettings(
        python=("python",), cwd=Path(), environment={}, parallel=1, timeout_s=1.0, scratch=Path(), target="a:b"
    )
    planned = plan(experiments, settings)
    scheduler = Scheduler(planned, {p.key: Watch(p.runs) for p in planned}, done=done, by_value=by_value)  # type: ignore[arg-type]
    return shown(scheduler.turns())


def shown(turns: Iterable[Turn]) -> str:
    return " ".join("+".join(p.experiment.name for p in t) + f"{t[0].phase[0]}{t[0].index}" for t in turns)


def test_order__run_by_run_through_experiments_and_phases() -> None:
    assert order(named("x", 2), named("y", 1, seed=5)) == "xb0 xc0 yb0 yc0 xb1 xc1"


def test_order__what_is_done_is_left_out() -> None:
    done = frozenset({("x", "baseline", 0), ("x", "chaos", 1)})
    assert order(named("x", 2), done=done) == "xc0 xb1"


def test_order__a_shared_baseline_run_is_one_turn() -> None:
    assert order(named("x", 1), named("y", 2)) == "x+yb0 xc0 yc0 yb1 yc1"


def test_order_by_value__critical_first_then_the_fewest_runs() -> None:
    many, few, grave = named("many", 2, seed=1), named("few", 1, seed=2), named("grave", 2, "critical", seed=3)
    shown = order(many, few, grave, by_value=True)
    assert shown == "graveb0 gravec0 graveb1 gravec1 fewb0 fewc0 manyb0 manyc0 manyb1 manyc1"


def test_order_by_value__counts_what_is_still_missing() -> None:
    done = frozenset(("long", phase, i) for phase in ("baseline", "chaos") for i in range(3))
    assert order(named("short", 2, seed=1), named("long", 4, seed=2), by_value=True, done=done).startswith("longb3")
