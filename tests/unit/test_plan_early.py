"""The expected number of runs, against the real watch on every possible sequence of runs."""

import itertools

import pytest

from gate.bars import bars_of
from gate.judge import judge_experiment
from gate.plan.early import expected_runs
from gate.report import ExperimentReport
from gate.stopping import watch_suite
from tests.builders import POLICY, parsed, records, report

WIDE = POLICY.model_copy(update={"min_effect": 0.5, "extend": "auto"})
N, MOST = 5, 9


def runs_taken(base_passes: int, passed: tuple[bool, ...], most: int | None) -> int:
    """Return how many runs of a sequence the real watch takes."""
    policy = WIDE if most else WIDE.model_copy(update={"extend": "off"})
    experiment = parsed(0.1)
    watch = watch_suite([experiment], lambda _: N, policy, report(base_of(base_passes), policy=policy), max_runs=most)[
        "e", "chaos"
    ]
    for record in records("chaos", passed):
        if not watch.needs(record.index):
            break
        watch.add(record)
    return watch.limit if watch.counted is None else watch.counted


def base_of(passes: int) -> ExperimentReport:
    chaos = records("chaos", [at < passes for at in range(10)])
    return judge_experiment(parsed(0.1), [*records("baseline", [True] * 10), *chaos], planned_runs=10, seed=0)


@pytest.mark.parametrize("most", [None, MOST], ids=["one look", "two looks"])
@pytest.mark.parametrize("base_passes", [10, 8])
def test_expected_runs__is_the_mean_over_every_sequence(base_passes: int, most: int | None) -> None:
    [bar] = bars_of(parsed(0.1), "chaos", base_of(base_passes), WIDE, N, most)
    taken = {seq: runs_taken(base_passes, seq, most) for seq in itertools.product((True, False), repeat=most or N)}
    if most:
        assert bar.claims.looks == 2
        assert set(taken.values()) & set(range(N + 1, MOST + 1)), "some take the second look"
    for rate in (0.95, 0.6):
        mean = sum(n * rate ** sum(seq) * (1 - rate) ** (len(seq) - sum(seq)) for seq, n in taken.items())
        assert expected_runs(bar, N, rate, most) == pytest.approx(mean)
