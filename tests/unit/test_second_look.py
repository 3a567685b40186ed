"""A second look: more runs where a comparison is open. Every promise holds over both looks together."""

import itertools
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import pytest
from scipy.stats import binom

from gate.comparison import Counts, Row
from gate.completion import why_no_base
from gate.confirm import Rerun, is_due, plan_reruns
from gate.errors import InvalidFileError
from gate.experiment import Experiment
from gate.findings import pair_up
from gate.judge import Tally
from gate.policy import Policy
from gate.report import BUDGET_STOP, Decision, ExperimentReport, RunRecord, read_report
from gate.rows import Claims, Draft, compare_rows, draft_rows
from gate.stats import noninferiority_boundary, wilson_interval
from gate.stopping import Watch, watch_suite
from tests import builders
from tests.builders import parsed, records, report

PLAIN = builders.POLICY.model_copy(update={"extend": "off"})
POLICY = PLAIN.model_copy(update={"extend": "auto"})
ALONE = POLICY.model_copy(update={"confirm": "off"})
BASE, N, MOST = 40, 26, 60


@dataclass
class Whole:
    """A second look of which no run is spared."""

    limit: int
    max_runs: int = MOST
    stop_reason: str = ""
    decisions: Mapping[str, Decision] = field(default_factory=dict)

    def needs(self, index: int) -> bool:
        return index < self.limit


def report_of(
    experiment: Experiment, runs: Sequence[RunRecord], watch: Watch | Whole | None = None, planned: int = N
) -> ExperimentReport:
    tally = Tally(experiment)
    for record in runs:
        if watch is None or record.phase == "baseline" or watch.needs(record.index):
            tally.add(record)
    return tally.report(planned_runs=planned, seed=0, stops={"chaos": watch} if watch else {})


def base_of(experiment: Experiment, passes: int, runs: int = BASE) -> ExperimentReport:
    chaos = records("chaos", [at < passes for at in range(runs)])
    return report_of(experiment, [*records("baseline", [True] * runs), *chaos], planned=runs)


def head_of(
    experiment: Experiment,
    base: ExperimentReport,
    chaos: Sequence[RunRecord],
    *,
    planned: int = N,
    most: int = MOST,
    policy: Policy = POLICY,
    whole: bool = False,
) -> tuple[Watch, ExperimentReport]:
    """Return what follows the chaos runs of head, and its report; runs that are not needed are not carried out."""
    known = report(base, policy=policy)
    watch = watch_suite([experiment], lambda _: planned, policy, known, max_runs=most, whole=whole)["e", "chaos"]
    kept = []
    for record in itertools.takewhile(lambda r: watch.needs(r.index), chaos):
        watch.add(record)
        kept.append(record)
    return watch, report_of(experiment, [*records("baseline", [True] * planned), *kept], watch, planned)


def draft_and_row(base: ExperimentReport, head: ExperimentReport, policy: Policy = ALONE) -> tuple[Draft, Row]:
    drafts = draft_rows(pair_up(report(base), report(head)), policy)
    return next(found for found in zip(drafts, compare_rows(drafts), strict=True) if found[1].phase == "chaos")


def row_of(base: ExperimentReport, head: ExperimentReport, policy: Policy = ALONE) -> Row:
    return draft_and_row(base, head, policy)[1]


def test_second_look__is_taken_where_more_runs_may_prove_it_and_nothing_looks_worse() -> None:
    experiment = parsed(0.5)
    base = base_of(experiment, BASE)
    # 25/26 against 40/40: neither a drop nor the absence of one of .10 at .90 is shown
    watch, head = head_of(experiment, base, records("chaos", [False] + [True] * (MOST - 1)))
    assert (watch.limit, watch.max_runs) == (MOST, MOST)
    chaos = head.phases[1]
    assert (chaos.planned_runs, chaos.max_runs, chaos.extended) == (N, MOST, True)
    assert next(p for p in head.probes if p.phase == "chaos").first_look == (25, 26)
    row = row_of(base, head)
    assert row.first_look is not None
    assert (row.first_look.passes, row.first_look.runs) == (25, 26)
    assert "may have more runs" in why_no_base(report(head))


@pytest.mark.parametrize(
    ("base", "failures", "most"),
    [
        pytest.param(40, 10, MOST, id="where it looks worse"),
        pytest.param(20, 0, MOST, id="where it is proven"),
        pytest.param(40, 1, 27, id="where no count could prove it"),
    ],
)
def test_second_look__is_not_taken(base: int, failures: int, most: int) -> None:
    experiment = parsed(0.1)
    known = base_of(experiment, base)
    chaos = records("chaos", [True] * (N - failures) + [False] * failures)
    watch, head = head_of(experiment, known, chaos, most=most)
    assert (watch.limit, watch.max_runs) == (N, most)
    assert not head.phases[1].extended


def test_second_look__without_the_key_there_is_none() -> None:
    experiment = parsed(0.5)
    known = report(base_of(experiment, N), policy=PLAIN)
    watch = watch_suite([experiment], lambda _: N, POLICY, known, max_runs=MOST)["e", "chaos"]
    for record in records("chaos", [False] + [True] * (N - 1)):
        watch.add(record)
    assert (watch.limit, watch.max_runs) == (N, None)


def test_split__leaves_alone_what_it_would_keep_from_a_pass() -> None:
    claims = Claims.of(POLICY, None, None)
    # 20/20 against 20/20 is a PASS at 1 - .80, and none at half of that
    assert noninferiority_boundary(20, 20, min_effect=0.1, beta=0.2)[20] == 20
    assert noninferiority_boundary(20, 20, min_effect=0.1, beta=0.1)[20] > 20
    assert claims.with_looks((20, 20), 20, 200).looks == 1
    assert claims.with_looks((40, 40), 40, 100).looks == 2
    assert claims.with_looks((40, 40), 8, 60).looks == 2, "too few to prove it at either"
    assert claims.with_looks((40, 40), 40, 40 + 1).beta == pytest.approx(0.1)
    assert claims.with_looks((40, 40), 40, None).beta == pytest.approx(0.2)


def test_second_look__for_the_sake_of_another_probe_leaves_the_counts_of_the_first() -> None:
    base = builders.experiment("e", builders.probe(20, 20), outcomes=["ok"] * 20)
    probe = builders.probe(49, 50).model_copy(update={"first_look": (19, 20)})
    head = builders.experiment("e", probe, outcomes=["ok"] * 50)
    phase = head.phases[0].model_copy(update={"planned_runs": 20, "max_runs": 50})
    row = row_of(base, head.model_copy(update={"phases": [phase]}))
    assert row.head is not None
    assert (row.head.passes, row.head.runs, row.first_look) == (19, 20, None)


def test_second_look__for_the_sake_of_another_probe_takes_no_proof_away() -> None:
    base = builders.experiment("e", builders.probe(40, 40))
    first, more = (40, 40), (91, 100)
    assert noninferiority_boundary(40, 100, min_effect=0.1, beta=0.1)[40] > more[0]
    probe = builders.probe(*more).model_copy(update={"first_look": first})
    head = builders.experiment("e", probe, outcomes=["ok"] * 100)
    phase = head.phases[0].model_copy(update={"planned_runs": 40, "max_runs": 100})
    row = row_of(base, head.model_copy(update={"phases": [phase]}))
    assert (row.verdict, row.first_look) == ("pass", Counts(passes=40, runs=40))


def test_second_look__of_chaos_counts_no_run_that_was_lost_for_the_baseline() -> None:
    # 25/26 would meet 96.1 %; the last run is lost, and 24/25 do not
    experiment = parsed(0.961)
    known = report(base_of(experiment, BASE), policy=POLICY)
    watches = watch_suite([experiment], lambda _: N, POLICY, known, max_runs=MOST)
    for record in records("chaos", [False] + [True] * (N - 1)):
        watches["e", "chaos"].add(record)
    lost = records("baseline", [True] * N, outcome="infra")[-1]
    for record in [*records("baseline", [False] + [True] * (N - 2)), lost]:
        watches["e", "baseline"].add(record)
    assert watches["e", "baseline"].is_broken
    assert watches["e", "chaos"].limit == N


@pytest.mark.parametrize(
    ("first", "why"),
    [
        ((21, 20), "more passes than runs"),
        ((46, 46), "had more at first than in the end"),
        ((0, 10), "had more at first than in the end"),
        ((0, 51), "had more at first than in the end"),
    ],
)
def test_first_look__that_cannot_be_is_refused(first: tuple[int, int], why: str) -> None:
    probe = builders.probe(45, 50).model_copy(update={"first_look": first})
    with pytest.raises(InvalidFileError, match=why):
        read_report(report(builders.experiment("e", probe)).to_json(), "report.json")


def test_first_look__without_a_valid_run_tests_nothing() -> None:
    base = builders.experiment("e", builders.probe(40, 40))
    probe = builders.probe(40, 40).model_copy(update={"first_look": (0, 0)})
    row = row_of(base, builders.experiment("e", probe))
    assert (row.verdict, row.p_value) == ("inconclusive", None)


@pytest.mark.parametrize(("broken", "limit"), [(False, MOST), (True, N)])
def test_second_look__of_chaos_is_not_taken_where_the_baseline_is_broken(broken: bool, limit: int) -> None:
    # a must without faults: one failure, of whichever run, and the experiment is inconclusive whatever chaos counts say
    experiment = parsed(1.0)
    known = report(base_of(experiment, BASE), policy=POLICY)
    watches = watch_suite([experiment], lambda _: N, POLICY, known, max_runs=MOST)
    baseline, chaos = watches["e", "baseline"], watches["e", "chaos"]
    for record in records("chaos", [False] + [True] * (N - 1)):
        chaos.add(record)
    for record in records("baseline", [True] * (N - 1) + [not broken]):
        baseline.add(record)
    assert chaos.limit == limit
    for record in records("baseline", [True] * MOST)[N:]:
        if baseline.needs(record.index):
            baseline.add(record)
    assert chaos.limit == limit, "a second look at the baseline comes too late for it"


def test_first_look__is_ended_early_unless_it_is_to_be_whole() -> None:
    experiment = parsed(0.1)
    base, failing = base_of(experiment, BASE), records("chaos", [False] * N)
    early, whole = (head_of(experiment, base, failing, whole=whole)[0] for whole in (False, True))
    assert (early.counted, whole.counted, whole.limit) == (early.counted, None, N)
    assert early.counted is not None and early.counted < N


def test_first_look__goes_on_while_a_second_may_be_wanted() -> None:
    experiment = parsed(0.1)
    base = base_of(experiment, BASE)
    # a failure in the last run leaves it open, so that the passes before end nothing
    watch, _ = head_of(experiment, base, records("chaos", [True] * (N - 1) + [False] + [True] * (MOST - N)))
    assert watch.limit == MOST


def test_second_look__of_too_few_runs_is_none() -> None:
    experiment = parsed(0.1)
    base = base_of(experiment, BASE)
    _, cut = head_of(experiment, base, records("chaos", [False] + [True] * 50))
    assert (len(cut.phases[1].runs), cut.phases[1].stop_reason) == (51, BUDGET_STOP)
    row = row_of(base, cut)
    # 50/51 would be proven to be no drop: 51 runs were nobody's plan
    assert noninferiority_boundary(BASE, 51, min_effect=0.1, beta=0.1)[BASE] == 50
    assert row.head is not None
    assert (row.verdict, row.head.passes, row.head.runs, row.first_look) == ("inconclusive", N - 1, N, None)


def test_second_look__that_the_budget_leaves_no_run_for_is_what_was_cut() -> None:
    experiment = parsed(0.1)
    _, cut = head_of(experiment, base_of(experiment, BASE), records("chaos", [False] + [True] * (N - 1)))
    chaos = cut.phases[1]
    assert (len(chaos.runs), chaos.stop_reason, chaos.extended, chaos.wanted_runs) == (N, BUDGET_STOP, False, MOST)


def test_flag__at_the_second_look_alone_is_for_confirmation_and_no_fail() -> None:
    experiment = parsed(0.1)
    base = base_of(experiment, BASE)
    watch, head = head_of(experiment, base, records("chaos", [False] + [True] * (N - 1) + [False] * (MOST - N)))
    assert watch.counted is not None and watch.counted > N
    row = row_of(base, head)
    assert row.p_value is not None and row.p_value <= 0.05 < (row.adjusted_p_value or 0)
    assert row.verdict == "inconclusive"
    assert plan_reruns(report(base), report(head), POLICY) == [Rerun("e", 2 * N, MOST, baseline=False)]


def test_threshold__with_confidence_has_half_the_error_at_each_look() -> None:
    experiment = replace(parsed(0.5), require_confidence=True)
    base = base_of(experiment, BASE)
    # 18/26 at a threshold of .5: the 95 % interval is above it, the 97.5 % interval is not
    assert (wilson_interval(18, N, 0.95).low > 0.5, wilson_interval(18, N, 0.975).low > 0.5) == (True, False)
    chaos = records("chaos", [True] * 18 + [False] * 8)
    for policy, status in ((PLAIN, "held"), (POLICY, "inconclusive")):
        _, head = head_of(experiment, base, chaos, policy=policy)
        assert head.status == status


@pytest.mark.parametrize("rate", [1.0, 0.97, 0.9, 0.75])
def test_second_look__ended_early_changes_no_verdict(rate: float) -> None:
    experiment, spared, extended = parsed(0.1), 0, 0
    base = base_of(experiment, BASE)
    for seed in range(40):
        draw = random.Random(seed)
        chaos = records("chaos", [draw.random() < rate for _ in range(MOST)])
        watch, early = head_of(experiment, base, chaos)
        every = Whole(watch.limit)
        whole = report_of(experiment, [*records("baseline", [True] * N), *chaos[: watch.limit]], every)
        (of_early, ended), (of_whole, row) = draft_and_row(base, early), draft_and_row(base, whole)
        assert is_due(of_early, ended) == is_due(of_whole, row)
        if not is_due(of_whole, row):
            assert ended.verdict == row.verdict
        spared, extended = spared + ended.spared, extended + (watch.limit > N)
    assert (spared > 0, extended > 0) == (rate < 1, rate < 1)


WIDE = {"min_effect": 0.25}


@cache
def outcome(x1: int, first: int, more: int) -> tuple[str, bool]:
    """Return the verdict of a row, confirmation off, whose 10 runs and 14 more pass so often, and if it took those."""
    experiment = parsed(0.0)
    base = base_of(experiment, x1, 16)
    passed = [at < first for at in range(10)] + [at < more for at in range(14)]
    policy = POLICY.model_copy(update=WIDE)
    _, head = head_of(experiment, base, records("chaos", passed), planned=10, most=24, policy=policy, whole=True)
    return row_of(base, head, ALONE.model_copy(update=WIDE)).verdict, head.phases[1].extended


@pytest.mark.parametrize("rate", [1.0, 0.95, 0.9, 0.8, 0.5])
def test_second_look__errors_over_both_looks__exact(rate: float) -> None:
    # every triple of counts, by the real watch and the real comparison, weighted with scipy's binomial laws
    taken = 0
    found: defaultdict[tuple[str, str], float] = defaultdict(float)
    for x1, first in itertools.product(range(17), range(11)):
        extended = outcome(x1, first, 14)[1]
        taken += extended
        for case, p in (("drop", rate - 0.25), ("none", rate)):
            chance = binom.pmf(x1, 16, rate) * binom.pmf(first, 10, p)
            for more in range(15) if extended else [14]:
                found[case, outcome(x1, first, more)[0]] += chance * (binom.pmf(more, 14, p) if extended else 1)
    assert taken > 20
    assert sum(found.values()) == pytest.approx(2)
    assert found["drop", "pass"] <= 0.20
    assert found["none", "regressed"] + found["none", "small_drop"] <= 0.05
    assert found["none", "pass"] > found["drop", "pass"] + 0.3
