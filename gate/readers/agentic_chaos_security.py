"""JSON of agentic-chaos-security: experiments with faults, probes by phase, and every run."""

from collections import Counter
from typing import Literal

from pydantic import Field, TypeAdapter

from gate.policy import SEVERITY_OF, Category, Rate
from gate.probes import PROBES
from gate.readers.base import Reader
from gate.readers.outline import outline
from gate.readers.parsing import Foreign, Items, parse_each, refuse
from gate.readers.rows import CONFIDENCE, MAX_ROWS, MAX_SUMMARIES, Origin, cut, digest, interval, make_report, short
from gate.report import (
    PHASES,
    Count,
    ExperimentReport,
    Failure,
    FaultReport,
    Outcomes,
    Phase,
    PhaseReport,
    ProbeReport,
    Report,
    RunSummary,
    Status,
)

LIMITS = (
    "no commit, version, times or seeds in the file; severities are those this gate gives probes of these names",
    "how runs ended, and passes with nothing to hold against, are not told apart; faults are counted together",
)
MAX_FAILURES = 20

_STATUS: dict[str, Status] = {
    "hypothesis-held": "held",
    "weakness-found": "weakness",
    "inconclusive": "inconclusive",
}


class _RunProbe(Foreign):
    name: str
    passed: bool
    detail: str = ""


class _Run(Foreign):
    phase: Phase
    run: Count
    passed: bool
    faults_fired: Count
    probes: list[_RunProbe] = Field(max_length=500)


class _Counts(Foreign):
    name: str = Field(min_length=1)
    phase: Phase
    passes: Count
    runs: Count
    threshold: Rate


class _Experiment(Foreign):
    name: str = Field(min_length=1)
    hypothesis: str = ""
    tags: list[str] = Field(default=[], max_length=100)
    verdict: Literal["hypothesis-held", "weakness-found", "inconclusive"]
    reason: str = ""
    faults: list[dict[str, object]] = Field(max_length=100)
    probes: list[_Counts] = Field(max_length=1_000)
    runs: Items[_Run]


_DOCUMENT: TypeAdapter[list[object]] = TypeAdapter(list[object])
_EXPERIMENT = TypeAdapter(_Experiment)

_Key = tuple[str, Phase]


class AgenticChaosSecurityReader(Reader):
    """JSON report of agentic-chaos-security."""

    type = "agentic-chaos-security"
    format = "agentic-chaos-security's JSON"

    def handles(self, head: bytes, name: str) -> bool:  # noqa: ARG002  # the bytes say enough
        """Return whether the file is an array of experiments with a verdict."""
        return {"[].hypothesis", "[].verdict"} <= outline(head).keys()

    def read(self, data: bytes, source: str) -> Report:
        """Return the report; the counts of every probe must be those of its runs."""
        seen = _Seen(source)
        parse_each(_DOCUMENT, _EXPERIMENT, seen.add, data, source, self.format)
        if not seen.experiments:
            raise refuse(source, "no experiment is in it", fix="run the suite again")
        return make_report(seen.experiments, Origin(tool=self.type, limits=LIMITS), seen.runs)


class _Seen:
    """What is kept of the experiments: single runs only as long as they are not too many."""

    def __init__(self, source: str) -> None:
        self.experiments: list[ExperimentReport] = []
        self.runs = 0
        self._names: set[str] = set()
        self._source = source

    def add(self, _where: str, made: _Experiment) -> None:
        """Take one experiment."""
        if (name := short(made.name)) in self._names:
            raise refuse(self._source, f"experiment {name!r} stands twice", fix="give every experiment its name")
        if len(self._names) == MAX_ROWS:
            raise refuse(self._source, f"more than {MAX_ROWS:,} experiments")
        self._names.add(name)
        before, self.runs = self.runs, self.runs + len(made.runs)
        if before <= MAX_SUMMARIES < self.runs:
            self.experiments = [_without_runs(e) for e in self.experiments]
        self.experiments.append(_experiment(made, self._source, every_run=self.runs <= MAX_SUMMARIES))


def _without_runs(experiment: ExperimentReport) -> ExperimentReport:
    """Return an experiment without its single runs; none of this format is ever lost."""
    return experiment.model_copy(update={"phases": [p.model_copy(update={"runs": []}) for p in experiment.phases]})


def _experiment(made: _Experiment, source: str, *, every_run: bool) -> ExperimentReport:
    where = f"experiment {made.name!r:.80}"
    for (phase, index), times in Counter((r.phase, r.run) for r in made.runs).items():
        if times > 1:
            raise refuse(source, f"{where}: {phase} run {index} stands {times} times")
    return ExperimentReport(
        name=short(made.name),
        tags=[t[:4000] for t in made.tags],
        hypothesis=made.hypothesis[:4000],
        status=_STATUS[made.verdict],
        reason=made.reason[:4000],
        fingerprint=digest({"faults": made.faults, "probes": sorted({i for i, _ in _ids(made.probes)})}),
        seed=None,
        confidence=CONFIDENCE,
        probes=_probes(made, source, where),
        faults=_faults(made),
        outcomes=Outcomes(ok=len(made.runs)),
        phases=[
            _phase(made, phase, every_run=every_run) for phase in PHASES if any(r.phase == phase for r in made.runs)
        ],
        failures=[_failure(r) for r in made.runs if not all(p.passed for p in r.probes)][:MAX_FAILURES],
    )


def _ids(probes: list[_Counts]) -> list[_Key]:
    """Return a key for every probe: its label, numbered from the second of the same label and phase."""
    seen: Counter[_Key] = Counter()
    keys: list[_Key] = []
    for probe in probes:
        seen[probe.name, probe.phase] += 1
        keys.append((_numbered(probe.name, seen[probe.name, probe.phase]), probe.phase))
    return keys


def _numbered(label: str, ordinal: int) -> str:
    return short(label, 190) if ordinal == 1 else f"{short(label, 190)}#{ordinal}"


def _probes(made: _Experiment, source: str, where: str) -> list[ProbeReport]:
    """Return the counts as stated, once a count of the runs has given the same."""
    passes, runs, details = _recount(made)
    keys = _ids(made.probes)
    if unknown := sorted(runs.keys() - set(keys)):
        raise refuse(source, f"{where}: runs speak of {unknown[0][0]!r}, which has no {unknown[0][1]} counts")
    for key, probe in zip(keys, made.probes, strict=True):
        if (probe.passes, probe.runs) != (passes[key], runs[key]):
            stated, counted = f"{probe.passes}/{probe.runs}", f"{passes[key]}/{runs[key]}"
            raise refuse(source, f"{where}: {key[0]!r} is stated as {stated}, its {key[1]} runs say {counted}")
    return [
        ProbeReport(
            id=key[0],
            type=_type(probe.name),
            label=probe.name[:4000],
            category=_category(probe.name),
            severity=SEVERITY_OF[_category(probe.name)],
            phase=probe.phase,
            threshold=probe.threshold,
            passes=probe.passes,
            runs=probe.runs,
            interval=interval(probe.passes, probe.runs),
            detail=details.get(key, ""),
        )
        for key, probe in zip(keys, made.probes, strict=True)
    ]


def _recount(made: _Experiment) -> tuple[Counter[_Key], Counter[_Key], dict[_Key, str]]:
    """Return passes, runs and the first failure's detail of every probe, by its key."""
    passes: Counter[_Key] = Counter()
    runs: Counter[_Key] = Counter()
    details: dict[_Key, str] = {}
    for run in made.runs:
        seen: Counter[str] = Counter()
        for probe in run.probes:
            seen[probe.name] += 1
            key: _Key = (_numbered(probe.name, seen[probe.name]), run.phase)
            runs[key] += 1
            passes[key] += probe.passed
            if not probe.passed:
                details.setdefault(key, cut(probe.detail))
    return passes, runs, details


def _type(label: str) -> str:
    return short(label.partition("(")[0] or label)


def _category(label: str) -> Category:
    type_ = _type(label)
    return PROBES[type_].category if type_ in PROBES else "availability"


def _faults(made: _Experiment) -> list[FaultReport]:
    """Return the one fault with its counts, or all of them as one, since they are counted together."""
    if not made.faults:
        return []
    chaos = [r.faults_fired for r in made.runs if r.phase == "chaos"]
    types = " + ".join(str(f.get("type", "fault")) for f in made.faults)
    targets = ", ".join(dict.fromkeys(str(f.get("target", "*")) for f in made.faults))
    fired = min(sum(chaos), 10_000_000)
    return [
        FaultReport(
            type=short(types) or "fault", target=targets[:4000], fired=fired, runs_fired=sum(n > 0 for n in chaos)
        )
    ]


def _phase(made: _Experiment, phase: Phase, *, every_run: bool) -> PhaseReport:
    runs = sorted((r for r in made.runs if r.phase == phase), key=lambda r: r.run)
    kept = runs if every_run else []
    return PhaseReport(
        phase=phase,
        planned_runs=len(runs),
        runs=[RunSummary(index=r.run, seed=None, outcome="ok", passed=tuple(p.passed for p in r.probes)) for r in kept],
    )


def _failure(run: _Run) -> Failure:
    failed = [p for p in run.probes if not p.passed]
    return Failure(
        phase=run.phase,
        index=run.run,
        seed=None,
        outcome="ok",
        probes=[short(p.name) or "probe" for p in failed],
        detail=cut("; ".join(p.detail for p in failed if p.detail)),
    )
