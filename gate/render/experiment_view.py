"""One experiment of a report, ready to be shown: its counts, its faults, its failing runs as timelines."""

from dataclasses import dataclass

from markupsafe import Markup

from gate.comparison import Counts
from gate.render import number, wording
from gate.render.escape import Own, Part, Sentence, clean, join, say
from gate.render.svg import TONE
from gate.report import ExperimentReport, Failure, TraceEvent

EVENTS, TEXT = 60, 400
"""Most events of a run, and characters of one of its texts, that are shown."""


@dataclass(frozen=True)
class Event:
    """One event of a run."""

    title: Sentence
    data: Markup
    fault: bool


@dataclass(frozen=True)
class FailureView:
    """One failing run."""

    title: Sentence
    facts: tuple[tuple[Own, Markup], ...]
    events: tuple[Event, ...]
    more: int


@dataclass(frozen=True)
class ExperimentView:
    """One experiment. `more`: failing runs that are left out."""

    report: ExperimentReport
    label: str
    tone: str
    opened: bool
    figures: tuple[tuple[Part, ...], ...]
    faults: tuple[Sentence, ...]
    notes: tuple[Sentence, ...]
    failures: tuple[FailureView, ...]
    more: int


def build_experiment(experiment: ExperimentReport, failures: int, *, opened: bool) -> ExperimentView:
    """Return an experiment with at most `failures` failing runs; `opened`: whether it is to stand open."""
    chaos = max((p.runs for p in experiment.probes if p.phase == "chaos"), default=0)
    return ExperimentView(
        report=experiment,
        label=clean(experiment.name),
        opened=opened,
        tone=TONE["violated" if experiment.status == "weakness" else experiment.status],
        figures=tuple(_figures(experiment)),
        faults=tuple(_fault(experiment, at, chaos) for at in range(len(experiment.faults))),
        notes=tuple(_notes(experiment)),
        failures=tuple(_failure(f) for f in experiment.failures[:failures]),
        more=max(0, len(experiment.failures) - failures),
    )


def _figures(experiment: ExperimentReport) -> list[tuple[Part, ...]]:
    rows: list[tuple[Part, ...]] = []
    for probe in experiment.probes:
        perfect = probe.passes == probe.runs
        rows.append(
            (
                wording.probe_name(probe.id, probe.label, probe.phase),
                number.counts(Counts(passes=probe.passes, runs=probe.runs)),
                number.interval(*probe.interval, perfect=perfect) if probe.interval else number.NONE,
                number.share(probe.threshold),
                Own(probe.severity),
            )
        )
    return rows


def _fault(experiment: ExperimentReport, at: int, runs: int) -> Sentence:
    fault = experiment.faults[at]
    name = say("{} on {}", fault.type, fault.target)
    met = say(", met {} that it could not change", number.many(fault.no_op, "value")) if fault.no_op else say("")
    if not fault.fired:
        return say("{} — never fired{}", name, met)
    times = number.many(fault.fired, "time")
    if not fault.runs_fired or fault.runs_fired > runs:
        return say("{} — fired {}{}", name, times, met)
    rate = number.counts(Counts(passes=fault.runs_fired, runs=runs))
    return say("{} — fired {}, in {} runs{}", name, times, rate, met)


def _notes(experiment: ExperimentReport) -> list[Sentence]:
    outcomes = [
        say("{} {}", count, Own(name.replace("_", " ")))
        for name, count in experiment.outcomes.model_dump().items()
        if count
    ]
    notes = [say("Runs: {}", join(outcomes, ", "))] if outcomes else []
    for phase in experiment.phases:
        if phase.extended:
            more = number.many(phase.planned_runs, "run")
            notes.append(say("{}: {} left a comparison open, and more were added", Own(phase.phase), more))
        if phase.stop_reason.strip():
            planned = number.many(phase.wanted_runs, "planned run")
            notes.append(say("{}: stopped short of {}: {}", Own(phase.phase), planned, phase.stop_reason))
    return notes


def _failure(failure: Failure) -> FailureView:
    seed = say("") if failure.seed is None else say(", seed {}", Own(failure.seed))
    violated = join(failure.probes, ", ") if failure.probes else Own("nothing")
    title = say("{} run {}{}: {}, violated {}", Own(failure.phase), failure.index, seed, Own(failure.outcome), violated)
    facts = [("Seen", failure.detail), ("Error", failure.error), ("Output", failure.output)]
    return FailureView(
        title=title,
        facts=tuple((Own(name), _long(text)) for name, text in facts if clean(text)),
        events=tuple(_event(e) for e in failure.trace[:EVENTS]),
        more=max(0, len(failure.trace) - EVENTS),
    )


def _event(event: TraceEvent) -> Event:
    return Event(say("{} {}", event.kind, event.name), _long(event.data), fault=event.kind.startswith("fault"))


def _long(text: str) -> Markup:
    return Markup("<bdi>{}</bdi>").format(clean(text, TEXT))
