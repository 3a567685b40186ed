"""Reports and records for tests, from a few counts."""

from collections.abc import Sequence

from gate.experiment import Experiment, parse_experiment
from gate.policy import Policy, Severity
from gate.report import (
    ExperimentReport,
    FaultCount,
    FaultReport,
    Outcomes,
    Phase,
    PhaseReport,
    ProbeOutcome,
    ProbeReport,
    Report,
    RunRecord,
    RunSummary,
    Spend,
    Status,
    Suite,
)
from gate.trace import Outcome

POLICY = Policy()  # type: ignore[call-arg]  # the defaults stand in the model


def probe(
    passes: int,
    runs: int,
    *,
    id_: str = "output_matches",
    phase: Phase = "chaos",
    severity: Severity = "high",
    threshold: float = 0.5,
) -> ProbeReport:
    """Return a probe's counts."""
    return ProbeReport(
        id=id_,
        type=id_.partition("#")[0],
        label=f"{id_}()",
        category="availability",
        severity=severity,
        phase=phase,
        threshold=threshold,
        passes=passes,
        runs=runs,
        interval=None,
    )


def experiment(
    name: str,
    *probes: ProbeReport,
    status: Status = "held",
    fingerprint: str = "f",
    fired: int = 1,
    outcomes: Sequence[Outcome] = ("ok",) * 40,
) -> ExperimentReport:
    """Return an experiment's report with these probes; `fired`: in how many chaos runs its fault acted."""
    runs = [RunSummary(index=i, seed=i, outcome=o, passed=()) for i, o in enumerate(outcomes)]
    return ExperimentReport(
        name=name,
        status=status,
        reason="as the test says",
        fingerprint=fingerprint,
        seed=0,
        confidence=0.95,
        probes=list(probes),
        faults=[FaultReport(type="error", target="*", fired=fired, runs_fired=fired)],
        outcomes=Outcomes(ok=len(runs)),
        phases=[PhaseReport(phase="chaos", planned_runs=len(runs), runs=runs)],
    )


def report(*experiments: ExperimentReport, policy: Policy = POLICY, commit: str = "") -> Report:
    """Return a report of these experiments."""
    return Report(
        commit=commit,
        started_at="2026-01-01T00:00:00Z",
        ended_at="2026-01-01T00:01:00Z",
        suite=Suite(digest="d"),
        spend=Spend(runs=sum(len(p.runs) for e in experiments for p in e.phases)),
        policy=policy,
        experiments=list(experiments),
    )


EXPERIMENT = """
apiVersion: agentic-chaos/v1
kind: Experiment
metadata: {name: e}
spec:
  target: {entrypoint: "agent:run"}
  faults: [{type: error}]
  probes: [{type: output_matches, params: {pattern: ok}, min_pass_rate: THRESHOLD}]
"""


def parsed(threshold: float = 1.0, extra: str = "") -> Experiment:
    """Return a parsed experiment with one availability probe."""
    return parse_experiment(EXPERIMENT.replace("THRESHOLD", str(threshold)) + extra, "e.yaml")


def records(
    phase: Phase, passed: Sequence[bool], *, fired: int = 1, outcome: Outcome = "ok", vacuous: bool = False
) -> list[RunRecord]:
    """Return one record a run, with one probe and one fault."""
    return [
        RunRecord(
            experiment="e",
            phase=phase,
            index=i,
            seed=i,
            outcome=outcome,
            duration_s=0.1,
            probes=[ProbeOutcome(passed=p, vacuous=vacuous)],
            faults=[FaultCount(fired=fired)] if phase == "chaos" else [FaultCount()],
        )
        for i, p in enumerate(passed)
    ]
