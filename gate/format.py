"""The keys of an experiment file: the public format, and ours, which adds to it."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, JsonValue, model_validator

from gate.policy import ExperimentPolicy, Model, Name, OpenRate, Rate, Severity
from gate.trace import MAX_RUNS

PUBLIC_VERSION = "agentic-chaos/v1"
DEPRECATED_VERSION = "agentic-chaos/v1alpha1"
OWN_VERSION = "agent-chaos-gate/v1"
VERSIONS = (PUBLIC_VERSION, DEPRECATED_VERSION, OWN_VERSION)

Text = Annotated[str, Field(max_length=4_000)]
Whole = Annotated[int, Field(ge=0)]
Isolation = Literal["fork", "process", "none"]
Callable = Annotated[str, Field(pattern=r"^[\w.]+:[\w.]+$")]
Place = Annotated[str, Field(pattern=r"^[\w.*?\[\]!-]+:[\w.*?\[\]!-]+$", max_length=200)]
"""Functions by glob, `module:name`; methods are `module:Class.name`."""


class Metadata(Model):
    """What an experiment is called."""

    name: Name
    description: Text = ""
    tags: Annotated[list[Text], Field(max_length=100)] = []


class OwnMetadata(Metadata):
    """`severity` holds for every probe that does not state its own."""

    severity: Severity | None = None


class Target(Model):
    """What is run: `entrypoint(**args)`."""

    entrypoint: Callable | None = None
    args: dict[str, JsonValue] = {}


class Instrument(Model):
    """Which functions are what, for an agent without decorators."""

    tool: list[Place] = []
    llm: list[Place] = []
    memory: list[Place] = []
    control: list[Place] = []
    agent: list[Place] = []
    payment: list[Place] = []


class OwnTarget(Target):
    """How it is run: functions to instrument, more environment, seconds per run, isolation."""

    instrument: Instrument = Instrument()
    env: dict[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")], str] = {}
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] | None = None
    isolation: Isolation | None = None


class FaultItem(Model):
    """One entry of `faults`: what is injected, where and when."""

    type: str
    target: str = "*"
    point: str | list[str] | None = None
    probability: Rate = 1.0
    after_calls: Whole = 0
    max_injections: Whole | None = None
    params: dict[str, Any] | None = None


class ProbeItem(Model):
    """One entry of `probes` or `detection`: what is checked of every run."""

    type: str
    params: dict[str, Any] | None = None
    min_pass_rate: Rate | None = None


class OwnProbeItem(ProbeItem):
    """`min_effect`: the smallest drop in this probe's pass rate that matters."""

    severity: Severity | None = None
    min_effect: OpenRate | None = None


class Spec(Model):
    """What is claimed, and how it is put to the test."""

    hypothesis: Text = ""
    target: Target = Target()
    runs: Annotated[int, Field(ge=1, le=MAX_RUNS)] | None = None
    seed: int | None = 0
    baseline: bool = True
    pass_rate: Rate = 1.0
    confidence: Annotated[float, Field(ge=0.5, le=0.999)] = 0.95
    require_confidence: bool = False
    faults: Annotated[list[Any], Field(min_length=1, max_length=100)]
    probes: Annotated[list[Any], Field(max_length=250)] | None = None
    detection: Annotated[list[Any], Field(max_length=250)] | None = None


class Sampling(Model):
    """How many runs there are: a fixed number, or `sprt`, until thresholds are decided, at most `max_runs`."""

    mode: Literal["fixed", "sprt"] = "fixed"
    max_runs: Annotated[int, Field(ge=1, le=MAX_RUNS)] | None = None

    @model_validator(mode="after")
    def _has_a_use_for_max_runs(self) -> Self:
        if self.mode == "fixed" and self.max_runs is not None:
            raise ValueError("max_runs is for mode sprt; a fixed number of runs stands in spec.runs")
        return self


class OwnSpec(Spec):
    """`infra_errors`: globs of error classes that are the provider's, not the agent's."""

    target: OwnTarget = OwnTarget()
    sampling: Sampling = Sampling()
    policy: ExperimentPolicy | None = None
    infra_errors: Annotated[list[Name], Field(max_length=100)] = []


class File(Model):
    """An experiment file of the public format."""

    apiVersion: Literal["agentic-chaos/v1", "agentic-chaos/v1alpha1"]  # noqa: N815 (the format's own key)
    kind: Literal["Experiment"]
    metadata: Metadata
    spec: Spec


class OwnFile(Model):
    """An experiment file with what this gate adds."""

    apiVersion: Literal["agent-chaos-gate/v1"]  # noqa: N815 (the format's own key)
    kind: Literal["Experiment"]
    metadata: OwnMetadata
    spec: OwnSpec
