"""report.json, version 1: what one run of the suite found. Counts, not rates; no data is a state, never a zero."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import to_json

from gate import __version__
from gate.errors import InvalidFileError
from gate.jsontext import JsonText
from gate.policy import (
    Category,
    ExperimentPolicy,
    KnownFinding,
    Model,
    Name,
    OpenRate,
    Policy,
    Rate,
    Removed,
    Severity,
)
from gate.trace import MAX_RUNS, Outcome

MAX_BYTES = 20_000_000
DIRTY = "-dirty"
"""How `tested_tree` ends where the checkout had changes that its commit does not have."""
Phase = Literal["baseline", "chaos"]
PHASES: tuple[Phase, ...] = ("baseline", "chaos")
Status = Literal["held", "weakness", "inconclusive"]
Decision = Literal["pass", "fail", "inconclusive"]
Count = Annotated[int, Field(ge=0, le=10_000_000)]
Total = Annotated[int, Field(ge=0, le=10**15)]
"""A count summed over a suite."""
Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Runs = Annotated[int, Field(ge=0, le=MAX_RUNS)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
M = TypeVar("M", bound=Model)
Text = Annotated[str, Field(max_length=4_000)]


class ProbeOutcome(Model):
    """What one probe said of one run. `vacuous`: it held because there was nothing to hold against."""

    passed: bool
    vacuous: bool = False
    errored: bool = False
    detail: Text = ""


class FaultCount(Model):
    """How often one fault acted in one run; `no_op`: it met a value that it could not change."""

    fired: Count = 0
    no_op: Count = 0


class TraceEvent(Model):
    """One event of a run as it is shown: `data` is JSON text, redacted and cut."""

    kind: Text
    name: Text
    data: Text


class ModelUsage(Model):
    """The responses of one model that told what they took; `model` is empty where none was named."""

    model: Annotated[str, Field(max_length=200)]
    responses: Total
    input_tokens: Total
    output_tokens: Total


class RunRecord(Model):
    """One execution of the agent with one seed: everything the report is made of.

    `retries`: how often it was carried out before and lost to the provider. `model_calls`: how many were seen, whether
    or not `usage` says what they took; `unmetered`: responses that no fault had touched and that do not say it.
    `shared_with`: the experiment whose run this is too, and which bears what it took; empty for a run of one's own.
    """

    experiment: Name
    phase: Phase
    index: Count
    seed: int | None
    outcome: Outcome
    duration_s: Seconds
    error: Text = ""
    probes: list[ProbeOutcome] = Field(max_length=500)
    faults: list[FaultCount] = Field(max_length=100)
    tokens: Count = 0
    output: Text = ""
    retries: Count = 0
    shared_with: Text = ""
    model_calls: Count = 0
    unmetered: Count = 0
    usage: list[ModelUsage] = Field(default=[], max_length=100)
    trace: list[TraceEvent] = Field(default=[], max_length=10_000)


class ProbeReport(Model):
    """The counts of one probe in one phase. `interval` is the Wilson interval, absent without runs.

    `line`: where the probe stands in the experiment's file; absent in older reports and those of other tools.
    `decision`: what a sequential test says of the threshold; it takes the place of the pass rate, whose runs ended
    because of it. `first_look`: passes and runs of those that were planned, where more were added.
    """

    id: Name
    type: Name
    label: Text
    category: Category
    severity: Severity
    phase: Phase
    threshold: Rate
    passes: Runs
    runs: Runs
    vacuous: Count = 0
    errors: Count = 0
    interval: tuple[Rate, Rate] | None = None
    detail: Text = ""
    min_effect: OpenRate | None = None
    line: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    decision: Decision | None = None
    first_look: tuple[Runs, Runs] | None = None


class FaultReport(Model):
    """How often one fault of the file acted over all chaos runs, and in how many of them."""

    type: Name
    target: Text
    fired: Count = 0
    no_op: Count = 0
    runs_fired: Count = 0


class Outcomes(Model):
    """How the runs of an experiment ended, both phases together."""

    ok: Count = 0
    error: Count = 0
    timeout: Count = 0
    crash: Count = 0
    infra: Count = 0
    gate_error: Count = 0


@dataclass(config=Model.model_config, slots=True)
class RunSummary:
    """One run by seed: what a later comparison or a reader of the report may want without the transcript.

    There may be 100,000: a model would take three times the memory.
    """

    index: Count
    seed: int | None
    outcome: Outcome
    passed: Annotated[tuple[bool, ...], Field(max_length=500)]


class Failure(Model):
    """A run that did not hold, with what was seen; the first ones of a phase with their events."""

    phase: Phase
    index: Count
    seed: int | None
    outcome: Outcome
    probes: list[Name]
    detail: Text
    error: Text = ""
    output: Text = ""
    trace: list[TraceEvent] = Field(default=[], max_length=10_000)


BUDGET_STOP = "the budget was used up"
DECIDED_STOP = "no further run could change a verdict"
SEQUENTIAL_STOP = "the sequential tests were decided"
"""Why a phase has fewer runs than planned, in `stop_reason`."""


class PhaseReport(Model):
    """How many runs a phase was planned to have, and why it has fewer, if it has.

    `max_runs`: as many as it would have with a second look, where one was planned, whether or not it was taken.
    `seconds`, all runs one after the other, `model_calls` and `usage` are what the runs took; absent in older reports.
    `group`: phases with the same one are the same runs, carried out once; empty where none can be shared.
    """

    phase: Phase
    planned_runs: Count
    stop_reason: Text = ""
    runs: list[RunSummary] = Field(max_length=100_000)
    seconds: Seconds | None = None
    model_calls: Total | None = None
    usage: list[ModelUsage] | None = Field(default=None, max_length=1_000)
    group: Text = ""
    max_runs: Count | None = None

    @property
    def extended(self) -> bool:
        """Return whether a second look was begun."""
        return self.max_runs is not None and len(self.runs) > self.planned_runs

    @property
    def wanted_runs(self) -> int:
        """Return how many runs it was to have in the end, also where the budget left none for a second look."""
        cut = self.stop_reason and len(self.runs) == self.planned_runs
        return self.max_runs if self.max_runs is not None and (self.extended or cut) else self.planned_runs


class ExperimentReport(Model):
    """One experiment: its own status and the counts behind it. `target` is the entry point that was run."""

    name: Name
    path: Text = ""
    tags: list[Text] = Field(default=[], max_length=100)
    severity: Severity | None = None
    hypothesis: Text = ""
    status: Status
    reason: Text
    fingerprint: Name
    seed: int | None
    confidence: Annotated[float, Field(ge=0.5, le=0.999, allow_inf_nan=False)]
    probes: list[ProbeReport] = Field(max_length=1_000)
    faults: list[FaultReport] = Field(max_length=100)
    outcomes: Outcomes
    phases: list[PhaseReport] = Field(max_length=2)
    failures: list[Failure] = Field(default=[], max_length=100)
    policy: ExperimentPolicy | None = None
    target: Text = ""

    def looks(self, phase: Phase) -> int:
        """Return how often a phase may have been looked at: each error of a claim is split over as many looks."""
        return 2 if any(p.phase == phase and p.max_runs is not None for p in self.phases) else 1


def at_each_look(confidence: float, looks: int) -> float:
    """Return the confidence that each of several looks at the same runs needs for all of them to have it."""
    return 1 - (1 - confidence) / looks


class Suite(Model):
    """Which files were run, by one digest."""

    digest: Name


class Spend(Model):
    """What the suite cost. `usd` is absent where no price is known; `seconds` adds up runs, however many at once."""

    runs: Count
    tokens: Total = 0
    usd: Usd | None = None
    seconds: Seconds | None = None
    model_calls: Total | None = None


class Tool(Model):
    """Who wrote the file."""

    name: Name = "agent-chaos-gate"
    version: Name = __version__


class Report(Model):
    """A whole report.json. `commit` is the sha it was made at, empty outside a repository; times are ISO 8601, UTC.

    `removed` and `known_findings` are what the configuration excused, absent where that is not known. `limits`: what
    the format it was read from cannot say, in sentences; empty for our own.
    """

    schema_version: Literal[1] = 1
    tool: Tool = Tool()
    commit: Annotated[str, Field(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})?$")] = ""
    ref: Text = ""
    tested_tree: Text = ""
    started_at: Name
    ended_at: Name
    suite: Suite
    spend: Spend
    policy: Policy = Policy()  # type: ignore[call-arg]  # the defaults stand in the model
    experiments: list[ExperimentReport] = Field(max_length=2_000)
    removed: list[Removed] | None = None
    known_findings: list[KnownFinding] | None = None
    limits: list[Text] = Field(default=[], max_length=100)

    def to_json(self) -> str:
        """Return the text of report.json, ending in a line feed; indented, unless it could not be read back then."""
        written = to_json(self, indent=1)
        if len(written) >= MAX_BYTES:
            written = to_json(self)
        text = written.decode()
        del written  # a copy less of up to 20 MB
        text += "\n"
        return text


def read_report(text: str | bytes, source: str) -> Report:
    """Parse report.json as untrusted input; keys that a later version added are ignored.

    Raises:
        InvalidFileError: too large, not JSON, of another version, of another shape, or naming an experiment or a probe
            twice.
    """
    report = read_model(Report, text, source)
    problems = []
    names = [e.name for e in report.experiments]
    for name in sorted({n for n in names if names.count(n) > 1}):
        problems.append(f"{source}: experiment {name!r} stands twice")
    for experiment in report.experiments:
        keys = [(p.id, p.phase) for p in experiment.probes]
        for key in sorted({k for k in keys if keys.count(k) > 1}):
            problems.append(f"{source}: probe {key[0]!r} stands twice in phase {key[1]} of {experiment.name!r}")
        for probe in experiment.probes:
            passes, runs = probe.first_look or (0, 0)
            where = f"{source}: probe {probe.id!r} of {experiment.name!r}"
            if probe.passes > probe.runs or passes > runs:
                problems.append(f"{where} has more passes than runs")
            elif passes > probe.passes or runs - passes > probe.runs - probe.passes:
                problems.append(f"{where} had more at first than in the end")
    if problems:
        raise InvalidFileError(problems)
    return report


def read_model(model: type[M], text: str | bytes, source: str) -> M:
    """Parse one of our JSON files under its strict model, unknown keys ignored.

    Raises:
        InvalidFileError: larger than 20 MB, not JSON, not of the model's shape, or with a key twice in one object.
    """
    if len(text) > MAX_BYTES:
        fix = "split the suite over several keys"
        raise InvalidFileError([f"{source}: larger than {MAX_BYTES // 1_000_000} MB"], fix=fix)
    try:
        made = model.model_validate_json(text, extra="ignore")
    except ValidationError as error:
        raise InvalidFileError([f"{source}: {_place(item)}{item['msg']}" for item in error.errors()[:20]]) from None
    JsonText(text.encode() if isinstance(text, str) else text, source).walk()
    return made


def _place(item: Any) -> str:
    path = ".".join(str(part) for part in item["loc"])
    return f"{path}: " if path else ""
