"""An experiment file, `agentic-chaos/v1` or its superset, to an Experiment: every problem of the file at once."""

import fnmatch
import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from gate.document import Document, Path, explain, read_document
from gate.errors import InvalidFileError
from gate.faults import FAULTS, Fault
from gate.format import (
    DEPRECATED_VERSION,
    OWN_VERSION,
    PUBLIC_VERSION,
    VERSIONS,
    FaultItem,
    File,
    Isolation,
    OwnFile,
    OwnProbeItem,
    ProbeItem,
)
from gate.policy import SEVERITY_OF, ExperimentPolicy, Model, Severity
from gate.probes import PROBES, Probe
from gate.registry import Registry, suggest
from gate.trace import MAX_RUNS, POINTS

MOST_FACTOR = 2.5
"""How many times its fixed number of runs a phase may have at most where nothing is said."""
M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class FaultSpec:
    """One entry of `faults:`: which fault, and when it acts."""

    fault: Fault
    target: str
    points: tuple[str, ...]
    probability: float
    after_calls: int
    max_injections: int | None

    def matches(self, point: str, name: str) -> bool:
        """Return whether the fault looks at this point and target name."""
        return point in self.points and fnmatch.fnmatchcase(name, self.target)

    def definition(self) -> dict[str, Any]:
        """Return everything that defines the entry, as plain values."""
        options = {
            "target": self.target,
            "points": None if self.points == self.fault.points else list(self.points),
            "probability": self.probability,
            "after_calls": self.after_calls,
            "max_injections": self.max_injections,
        }
        return {"type": self.fault.type, **options, "params": self.fault.model_dump(mode="json", exclude_defaults=True)}


@dataclass(frozen=True)
class ProbeSpec:
    """One entry of `probes:` or `detection:` (checked in chaos runs only). `id` is unique in its experiment.

    `line`: where the entry stands in the file.
    """

    id: str
    probe: Probe
    threshold: float
    severity: Severity
    detection: bool
    line: int
    min_effect: float | None = None

    def definition(self) -> dict[str, Any]:
        """Return what is checked, without the threshold."""
        params = self.probe.model_dump(mode="json", exclude_defaults=True)
        return {"type": self.probe.type, "params": params, "detection": self.detection}


@dataclass(frozen=True)
class Experiment:
    """A parsed experiment. `runs`, `timeout_s`, `isolation` and `policy` are None where the file does not say.

    `instrument` names functions by kind and glob, `environment` is added to the agent's; `infra_errors` are globs of
    error classes that are the provider's. `sequential`: runs go on until the thresholds are decided, at most
    `max_runs` of them.
    """

    name: str
    path: str
    description: str
    tags: tuple[str, ...]
    hypothesis: str
    entrypoint: str | None
    arguments: dict[str, Any]
    faults: tuple[FaultSpec, ...]
    probes: tuple[ProbeSpec, ...]
    runs: int | None
    seed: int | None
    baseline: bool
    confidence: float
    require_confidence: bool
    deprecated: bool
    digest: str
    severity: Severity | None = None
    policy: ExperimentPolicy | None = None
    instrument: dict[str, list[str]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    timeout_s: float | None = None
    isolation: Isolation | None = None
    infra_errors: tuple[str, ...] = ()
    sequential: bool = False
    max_runs: int | None = None

    def planned_runs(self, default: int, override: int | None = None) -> int:
        """Return how many runs each phase has, at most where sampling is sequential; an override comes first."""
        runs = override or self.max_runs or self.runs or default
        if self.sequential and not (override or self.max_runs):
            runs = most_runs(runs)
        return runs

    def most_runs(self, planned: int, most: int | None) -> int | None:
        """Return how many runs a phase has with a second look, None where there cannot be one."""
        most = most or most_runs(planned)
        return most if most > planned and not self.sequential else None

    @property
    def fingerprint(self) -> str:
        """Return a digest of what is measured: arguments, faults, probes, and what is left out of the counts.

        Parameters at their defaults are not in it, so that a later version of the gate may add some.

        Not in it: how the agent is reached and started, runs, seed, thresholds, prose, since changing those is what
        is compared.
        """
        definition = {
            "arguments": self.arguments,
            "faults": [f.definition() for f in self.faults],
            "probes": [p.definition() for p in self.probes],
            "infra_errors": list(self.infra_errors),
        }
        return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:16]


def most_runs(runs: int) -> int:
    """Return how many runs a phase may have at most where nothing is said."""
    return min(math.ceil(MOST_FACTOR * runs), MAX_RUNS)


def parse_experiment(text: str, source: str) -> Experiment:
    """Parse the text of one experiment file.

    Raises:
        InvalidFileError: with every problem of the file, each as `file:line: key.path: sentence`.
    """
    document = read_document(text, source)
    return _Parser(document).experiment(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


class _Parser:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[str] = []

    def report(self, path: Path, message: str) -> None:
        self.problems.append(self.document.problem(path, message))

    def experiment(self, digest: str) -> Experiment:
        data = self.document.data
        if not isinstance(data, dict):
            raise InvalidFileError([self.document.problem((), "expected an experiment, found " + _kind(data))])
        version = data.get("apiVersion")
        if version not in VERSIONS:
            hint = suggest(str(version), VERSIONS) or f" (known: {', '.join(VERSIONS)})"
            self.report(("apiVersion",), f"unknown version {version!r}{hint}")
            data = {**data, "apiVersion": PUBLIC_VERSION}
        own = version == OWN_VERSION
        file: File | OwnFile | None = self.model(OwnFile, data, ()) if own else self.model(File, data, ())
        spec = data.get("spec") if isinstance(data.get("spec"), dict) else {}
        faults = [self.fault(item, ("spec", "faults", i)) for i, item in enumerate(_items(spec, "faults"))]
        severity = file.metadata.severity if isinstance(file, OwnFile) else None
        probes: list[ProbeSpec] = []
        for key in ("probes", "detection"):
            for i, item in enumerate(_items(spec, key)):
                path = ("spec", key, i)
                parsed = self.probe(item, path, own)
                if parsed and file:
                    detection, line = key == "detection", self.document.lines[path]
                    probes.append(
                        _specify(parsed, probes, file.spec.pass_rate, severity, detection=detection, line=line)
                    )
        if isinstance(data.get("spec"), dict) and not any(_items(spec, key) for key in ("probes", "detection")):
            self.report(("spec", "probes"), "at least one probe is required: without one nothing can fail")
        if self.problems or file is None:
            raise InvalidFileError(self.problems)
        return Experiment(
            name=file.metadata.name,
            path=self.document.source,
            description=file.metadata.description,
            tags=tuple(file.metadata.tags),
            hypothesis=file.spec.hypothesis,
            entrypoint=file.spec.target.entrypoint,
            arguments=file.spec.target.args,
            faults=tuple(f for f in faults if f),
            probes=tuple(probes),
            runs=file.spec.runs,
            seed=file.spec.seed,
            baseline=file.spec.baseline,
            confidence=file.spec.confidence,
            require_confidence=file.spec.require_confidence,
            deprecated=version == DEPRECATED_VERSION,
            digest=digest,
            severity=severity,
            **(_own_parts(file) if isinstance(file, OwnFile) else {}),
        )

    def model(self, model: type[M], data: Any, path: Path) -> M | None:
        try:
            return model.model_validate(data)
        except ValidationError as error:
            explain(error, model, lambda inner, message: self.report((*path, *inner), message))
            return None

    def fault(self, item: Any, path: Path) -> FaultSpec | None:
        entry = self.model(FaultItem, item, path)
        fault = self.plugin(FAULTS, item, path)
        if entry is None or fault is None:
            return None
        points = fault.points if entry.point is None else _list(entry.point)
        for point in points:
            if point not in POINTS:
                self.report((*path, "point"), f"unknown point {point!r}{suggest(point, POINTS)}")
        return FaultSpec(fault, entry.target, tuple(points), entry.probability, entry.after_calls, entry.max_injections)

    def probe(self, item: Any, path: Path, own: bool) -> tuple[Probe, ProbeItem] | None:
        entry = self.model(OwnProbeItem if own else ProbeItem, item, path)
        probe = self.plugin(PROBES, item, path)
        return (probe, entry) if entry is not None and probe is not None else None

    def plugin(self, registry: Registry[M], item: Any, path: Path) -> M | None:
        type_ = item.get("type") if isinstance(item, dict) else None
        if not isinstance(type_, str):
            return None  # the entry's own model has said so
        if type_ not in registry:
            self.report((*path, "type"), registry.unknown(type_))
            return None
        params = item.get("params")
        if params is not None and not isinstance(params, dict):
            return None
        return self.model(registry[type_], params or {}, (*path, "params"))


def _specify(
    parsed: tuple[Probe, ProbeItem],
    earlier: list[ProbeSpec],
    pass_rate: float,
    severity: Severity | None,
    *,
    detection: bool,
    line: int,
) -> ProbeSpec:
    probe, entry = parsed
    same = sum(other.probe.type == probe.type for other in earlier)
    own, min_effect = (entry.severity, entry.min_effect) if isinstance(entry, OwnProbeItem) else (None, None)
    return ProbeSpec(
        id=probe.type if not same else f"{probe.type}#{same + 1}",
        probe=probe,
        threshold=pass_rate if entry.min_pass_rate is None else entry.min_pass_rate,
        severity=own or severity or SEVERITY_OF[probe.category],
        detection=detection,
        line=line,
        min_effect=min_effect,
    )


def _own_parts(file: OwnFile) -> dict[str, Any]:
    """Return what only our version of the format says, as fields of an Experiment."""
    target = file.spec.target
    return {
        "policy": file.spec.policy,
        "instrument": {kind: places for kind, places in target.instrument.model_dump().items() if places},
        "environment": target.env,
        "timeout_s": target.timeout_s,
        "isolation": target.isolation,
        "infra_errors": tuple(file.spec.infra_errors),
        "sequential": file.spec.sampling.mode == "sprt",
        "max_runs": file.spec.sampling.max_runs,
    }


def _items(spec: Any, key: str) -> list[Any]:
    value = spec.get(key)
    return value if isinstance(value, list) else []


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


def load_suite(files: list[tuple[str, str]], report: Callable[[str], None]) -> list[Experiment]:
    """Parse (source, text) pairs, in order; `report` gets a line for every deprecated file.

    Raises:
        InvalidFileError: with the problems of every file, a name that two experiments share, or an empty suite.
    """
    problems: list[str] = []
    experiments: list[Experiment] = []
    for source, text in files:
        try:
            experiments.append(parse_experiment(text, source))
        except InvalidFileError as error:
            problems += error.problems
    first: dict[str, str] = {}
    for experiment in experiments:
        if experiment.name in first:
            problems.append(
                f"{experiment.path}: metadata.name: {experiment.name!r} is taken by {first[experiment.name]}"
            )
        first.setdefault(experiment.name, experiment.path)
        if experiment.deprecated:
            report(f"{experiment.path}: apiVersion {DEPRECATED_VERSION} is deprecated, use {PUBLIC_VERSION}")
    if problems:
        raise InvalidFileError(problems)
    if not experiments:
        raise InvalidFileError(["no experiment found"], fix="name a file or a folder with experiments")
    return experiments
