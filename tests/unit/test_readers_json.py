"""JSON of other tools: what names a row, what a run is, and what would be misread."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gate.errors import InvalidFileError
from gate.readers import read_any
from gate.report import Report

SAMPLES = Path(__file__).parents[1] / "samples"
Edit = Callable[[Any], object]


def read(document: Any) -> Report:
    return read_any(json.dumps(document).encode(), "file.json")


def passed(report: Report) -> dict[str, tuple[int, int]]:
    return {e.name: (e.probes[0].passes, e.probes[0].runs) for e in report.experiments}


def lost(report: Report) -> dict[str, int]:
    return {e.name: e.outcomes.infra for e in report.experiments if e.outcomes.infra}


def refusal(document: Any) -> str:
    with pytest.raises(InvalidFileError) as caught:
        read(document)
    assert "file.json" in str(caught.value)
    return str(caught.value)


def edited(name: str, edit: Edit) -> Any:
    """Return a sample's document after an edit in place."""
    document = json.loads((SAMPLES / name).read_text(encoding="utf-8"))
    edit(document)
    return document


# --- AgentAssay -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, "results", "trials", "trial_results"], ids=str)
@pytest.mark.parametrize(
    "trials",
    [
        pytest.param([True, False, True], id="booleans"),
        pytest.param([{"passed": True}, {"passed": False}, {"passed": True}], id="passed"),
        pytest.param([{"success": True}, {"success": False}, {"success": True}], id="success"),
        pytest.param([{"passed": True, "success": True}, False, {"success": True}], id="mixed"),
    ],
)
def test_agentassay__every_shape_gives_the_same_counts(key: str | None, trials: list[Any]) -> None:
    report = read({key: trials} if key else trials)
    assert passed(report) == {"trials": (2, 3)}
    assert any("all trials of the file are one row" in text for text in report.limits)


def test_agentassay__scenarios_are_rows() -> None:
    trials = [{"scenario_id": name, "passed": ok} for name, ok in [("a", True), ("b", False), ("a", False)]]
    assert passed(read({"trials": trials})) == {"a": (1, 2), "b": (0, 1)}


@pytest.mark.parametrize(
    ("document", "said"),
    [
        pytest.param({"results": [True], "trials": [False]}, "under results and trials", id="two lists"),
        pytest.param([{"passed": True, "success": False}], "contradict each other", id="contradiction"),
        pytest.param([{"passed": True}, {"score": 1.0}], "neither `passed` nor `success`", id="no verdict"),
        pytest.param([{"passed": True}, {"passed": 1}], "1.", id="number for a boolean"),
        pytest.param([{"passed": True}, {"passed": "true"}], "1.", id="text for a boolean"),
        pytest.param([True, None], "1", id="null"),
        pytest.param([True, 1], "1", id="bare number"),
        pytest.param([{"name": "t", "passed": True}], "different tests, not trials", id="tests of another tool"),
        pytest.param([{"scenario_id": "a", "passed": True}, True], "1 of 2 trials name a scenario", id="partly named"),
        pytest.param([{"trial_id": "x", "passed": True}] * 2, "trial 'x' stands more than once", id="one trial twice"),
        pytest.param({"trial_results": []}, "no run is in it", id="no trial"),
    ],
)
def test_agentassay__what_would_be_misread_is_refused(document: Any, said: str) -> None:
    assert said in refusal(document)


def test_agentassay__counts_must_be_the_summarys() -> None:
    document = edited("agentassay/agentassay-demo-report.json", lambda d: d["trial_results"].pop())
    assert "the summary says 30 trials, the file holds 29" in refusal(document)


# --- agentic-chaos-security -----------------------------------------------------------------------------------------


def chaos(edit: Edit) -> Any:
    """Return the sample of fail_closed after an edit of its experiment with 29 of 40."""

    def on_one(document: Any) -> None:
        edit(next(e for e in document if e["name"] == "guardrail-dos-availability"))

    return edited("agentic-chaos-security/mailbot-fail_closed.json", on_one)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        pytest.param(lambda e: e["runs"].pop(), "is stated as 40/40, its chaos runs say 39/39", id="a run is gone"),
        pytest.param(lambda e: e["probes"][3].update(passes=30), "is stated as 30/40", id="counts say more"),
        pytest.param(lambda e: e["runs"].append(e["runs"][0]), "baseline run 0 stands 2 times", id="a run twice"),
        pytest.param(lambda e: e["probes"].pop(), "which has no chaos counts", id="a probe without counts"),
        pytest.param(lambda e: e.update(verdict="fine"), "verdict", id="unknown verdict"),
        pytest.param(lambda e: e["probes"][0].update(threshold=float("nan")), "threshold", id="NaN"),
        pytest.param(lambda e: e["probes"][0].update(phase="both"), "phase", id="unknown phase"),
        pytest.param(lambda e: e.update(name="context-flood"), "'context-flood' stands twice", id="one name twice"),
        pytest.param(lambda e: e.pop("runs"), "runs: Field required", id="no runs"),
        pytest.param(lambda e: e["runs"][0].update(run=-1), "runs.0.run", id="negative index"),
    ],
)
def test_agentic_chaos_security__what_would_be_misread_is_refused(edit: Edit, said: str) -> None:
    assert said in refusal(chaos(edit))


def test_agentic_chaos_security__probes_of_one_label_are_numbered() -> None:
    def twice(experiment: Any) -> None:
        experiment["probes"].append(dict(experiment["probes"][3]))
        for run in experiment["runs"]:
            if run["phase"] == "chaos":
                run["probes"].append(dict(run["probes"][1]))

    report = read(chaos(twice))
    dos = next(e for e in report.experiments if e.name == "guardrail-dos-availability")
    found = {p.id: p.passes for p in dos.probes if p.phase == "chaos" and p.type == "output_matches"}
    assert found == {"output_matches('^Summary:')": 29, "output_matches('^Summary:')#2": 29}


def test_agentic_chaos_security__another_fault_is_another_definition() -> None:
    before, after = (
        read(chaos(edit)).experiments[8].fingerprint
        for edit in (lambda e: None, lambda e: e["faults"][0].update(probability=0.9))
    )
    assert before != after


def test_agentic_chaos_security__a_threshold_is_no_part_of_the_definition() -> None:
    before, after = (
        read(chaos(edit)).experiments[8].fingerprint
        for edit in (lambda e: None, lambda e: e["probes"][3].update(threshold=0.5))
    )
    assert before == after


# --- promptfoo ------------------------------------------------------------------------------------------------------


def promptfoo(edit: Edit) -> Any:
    """Return the sample after an edit of its results."""
    return edited("promptfoo/out.json", lambda d: edit(d["results"]))


def broken_provider(results: Any) -> None:
    """Make the one failed refund an error of the machinery."""
    results["results"][3].update(failureReason=2, error="socket hang up")
    results["stats"].update(failures=1, errors=1)


def test_promptfoo__an_error_of_the_machinery_is_a_lost_run() -> None:
    report = read(promptfoo(broken_provider))
    assert passed(report) == {"refund": (4, 4), "lookup": (4, 5)}
    assert lost(report) == {"refund": 1}
    assert report.experiments[0].failures[0].detail == "socket hang up"


def test_promptfoo__one_description_of_two_tests_gives_two_rows() -> None:
    def rename(results: Any) -> None:
        for result in results["results"]:
            result["testCase"]["description"] = "same"

    found = passed(read(promptfoo(rename)))
    assert sorted(found.values()) == [(4, 5), (4, 5)]
    assert all(name.startswith("same ") for name in found)


def test_promptfoo__without_a_description_vars_and_asserts_name_the_row() -> None:
    def unname(results: Any) -> None:
        for result in results["results"]:
            del result["testCase"]["description"]

    first, second = (passed(read(promptfoo(unname))) for _ in range(2))
    assert first == second and len(first) == 2


@pytest.mark.parametrize("part", ["prompt", "provider"])
def test_promptfoo__two_prompts_or_providers_are_in_the_name(part: str) -> None:
    def second(results: Any) -> None:
        results["results"][4][part]["label"] = "other"

    names = set(passed(read(promptfoo(second))))
    assert "refund / other" in names and len(names) == 3


@pytest.mark.parametrize("part", ["prompt", "provider"])
def test_promptfoo__what_is_compared_is_no_part_of_the_name(part: str) -> None:
    def change(results: Any) -> None:
        for result in results["results"]:
            result[part]["label"] = "changed in this pull request"
            result["promptId"] = "another"

    changed, unchanged = (read(promptfoo(edit)) for edit in (change, lambda r: None))
    assert [(e.name, e.fingerprint) for e in changed.experiments] == [
        (e.name, e.fingerprint) for e in unchanged.experiments
    ]


def test_promptfoo__another_assertion_is_another_definition() -> None:
    def change(results: Any) -> None:
        for result in results["results"]:
            result["testCase"]["assert"] = [{"type": "contains", "value": result["testCase"]["description"]}]

    changed, unchanged = (read(promptfoo(edit)) for edit in (change, lambda r: None))
    assert [e.name for e in changed.experiments] == [e.name for e in unchanged.experiments]
    assert not {e.fingerprint for e in changed.experiments} & {e.fingerprint for e in unchanged.experiments}


def test_promptfoo__cached_answers_are_stated() -> None:
    report = read(promptfoo(lambda r: r["results"][0]["response"].update(cached=True)))
    assert any("1 of 10 answers came from promptfoo's cache" in text for text in report.limits)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        pytest.param(lambda r: r["results"].pop(), "stats says 8 successes, the results hold 7", id="a result is gone"),
        pytest.param(lambda r: r.update(version=2), "results of version 2; version 3 is read", id="other version"),
        pytest.param(lambda r: r["results"][0].update(success=False), "contradict each other", id="contradiction"),
        pytest.param(lambda r: r["results"][0].pop("failureReason"), "failureReason: Field required", id="no reason"),
        pytest.param(lambda r: r["results"][0].update(failureReason=7), "failureReason", id="unknown reason"),
        pytest.param(lambda r: r["results"][0].update(cost=float("nan")), "cost", id="NaN"),
        pytest.param(lambda r: r["results"][0].update(success="yes"), "results.results.0.success", id="text"),
    ],
)
def test_promptfoo__what_would_be_misread_is_refused(edit: Edit, said: str) -> None:
    assert said in refusal(promptfoo(edit))


# --- Inspect --------------------------------------------------------------------------------------------------------


def inspect(edit: Edit) -> Any:
    return edited("inspect/log.json", edit)


def score(value: Any) -> Edit:
    """Return an edit of the first sample, lookup in epoch 1, which was right."""
    return lambda log: log["samples"][0]["scores"]["includes"].update(value=value)


LOOKUP = "agent_task/lookup/includes"


@pytest.mark.parametrize(
    ("value", "expected", "infra"),
    [
        pytest.param("C", (7, 8), 0, id="C"),
        pytest.param("I", (6, 8), 0, id="I"),
        pytest.param("N", (6, 8), 0, id="no answer"),
        pytest.param(1, (7, 8), 0, id="1"),
        pytest.param(1.0, (7, 8), 0, id="1.0"),
        pytest.param(0.0, (6, 8), 0, id="0.0"),
        pytest.param(True, (7, 8), 0, id="true"),
        pytest.param(False, (6, 8), 0, id="false"),
        pytest.param(float("nan"), (6, 7), 1, id="NaN is unscored"),
        pytest.param(None, (6, 7), 1, id="null is unscored"),
    ],
)
def test_inspect__score(value: Any, expected: tuple[int, int], infra: int) -> None:
    report = read(inspect(score(value)))
    assert passed(report)[LOOKUP] == expected
    assert lost(report).get(LOOKUP, 0) == infra


@pytest.mark.parametrize("value", ["P", 0.5, 2, "good", {"a": 1}, [1]], ids=str)
def test_inspect__a_degree_is_refused(value: Any) -> None:
    assert "sample 'lookup', epoch 1: 'includes' scores" in refusal(inspect(score(value)))


def test_inspect__an_error_is_a_lost_run_even_with_a_score() -> None:
    report = read(inspect(lambda log: log["samples"][0].update(error={"message": "no connection"})))
    assert passed(report)[LOOKUP] == (6, 7)
    assert lost(report) == {LOOKUP: 1}


def test_inspect__a_sample_that_only_fails_is_a_row_without_runs() -> None:
    def fail(log: Any) -> None:
        for sample in log["samples"]:
            if sample["id"] == "lookup":
                sample.update(error={"message": "no connection"}, scores=None)

    assert passed(read(inspect(fail)))[LOOKUP] == (0, 0)


def test_inspect__every_scorer_has_its_rows() -> None:
    def second(log: Any) -> None:
        for sample in log["samples"]:
            if sample["id"] == "lookup":
                sample["scores"]["polite"] = {"value": "I"}

    found = passed(read(inspect(second)))
    assert found.pop("agent_task/lookup/polite") == (0, 8)
    assert len(found) == 2


def test_inspect__another_target_is_another_definition() -> None:
    def change(log: Any) -> None:
        for sample in log["samples"]:
            sample["target"] += "!"

    changed, unchanged = (read(inspect(edit)) for edit in (change, lambda log: None))
    assert not {e.fingerprint for e in changed.experiments} & {e.fingerprint for e in unchanged.experiments}


def test_inspect__ids_of_messages_are_no_part_of_the_definition() -> None:
    def messages(id_: str) -> Edit:
        def change(log: Any) -> None:
            for sample in log["samples"]:
                sample["input"] = [{"id": id_, "role": "user", "content": "q"}]

        return change

    one, two = (read(inspect(messages(id_))) for id_ in ("a", "b"))
    assert [e.fingerprint for e in one.experiments] == [e.fingerprint for e in two.experiments]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        pytest.param(lambda log: log.update(status="started"), "did not finish", id="started"),
        pytest.param(lambda log: log.update(status="cancelled"), "did not finish", id="cancelled"),
        pytest.param(lambda log: log.update(invalidated=True), "was invalidated", id="invalidated"),
        pytest.param(lambda log: log.update(version=3), "version", id="other version"),
        pytest.param(lambda log: log.pop("samples"), "no samples are in the log", id="no samples"),
        pytest.param(lambda log: log["samples"].pop(), "total_samples is 16, the log holds 15", id="a sample is gone"),
        pytest.param(lambda log: log["samples"][0].update(epoch=2), "stands twice in epoch 2", id="an epoch twice"),
        pytest.param(lambda log: log["samples"][0].update(target="x"), "asks different things", id="target changes"),
        pytest.param(lambda log: [s.update(scores={}) for s in log["samples"]], "no sample was scored", id="no scores"),
        pytest.param(lambda log: log["samples"][0].pop("epoch"), "samples.0.epoch", id="no epoch"),
        pytest.param(lambda log: log["eval"]["config"].update(epochs=-1), "epochs", id="negative epochs"),
    ],
)
def test_inspect__what_would_be_misread_is_refused(edit: Edit, said: str) -> None:
    assert said in refusal(inspect(edit))
