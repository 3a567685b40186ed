"""A comparison or a report as JUnit XML: an experiment is a suite, a probe a case; its runs are counts, not cases."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

from gate.comparison import Comparison, Counts, ReasonKind, Row, RowVerdict
from gate.judge import violated
from gate.render import number, wording
from gate.render.deciding import not_reproduced
from gate.render.escape import Part, clean, plain, say
from gate.render.finding import blocking_kinds, fallen, find
from gate.report import ExperimentReport, ProbeReport, Report, at_each_look
from gate.stats import threshold_verdict

_KIND: dict[RowVerdict, ReasonKind] = {
    "regressed": "regression",
    "small_drop": "small_drop",
    "inconclusive": "inconclusive",
    "not_reproduced": "not_reproduced",
    "missing": "missing",
    "not_comparable": "not_comparable",
}
"""The reason by which a row of this verdict blocks, where the policy says so."""

_SKIPPED: tuple[RowVerdict, ...] = ("inconclusive", "not_reproduced", "missing", "not_comparable")
"""Rows that say nothing about head; they are neither passed nor failed unless they block."""


@dataclass
class _Case:
    """`failed` and `skipped` are sentences; at most one is there."""

    name: Part
    properties: dict[str, str] = field(default_factory=dict)
    failed: Part | None = None
    skipped: Part | None = None
    kind: str = ""
    detail: str = ""


@dataclass
class _Suite:
    name: str
    cases: list[_Case] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)


def render_junit(made: Comparison | Report, head: Report | None = None) -> str:
    """Return the text of a JUnit file, ending in a line feed.

    Of a comparison a case fails when it blocks under the policy, and is skipped when nothing can be said; `head`, the
    report that was compared, adds what is known of each experiment. Of a report alone a case fails when the probe is
    violated, and is skipped when its interval lies across the threshold.
    """
    if isinstance(made, Report):
        suites = [_own_suite(e) for e in made.experiments]
        return _write("agent-chaos-gate", suites, {"commit": made.commit, "ended_at": made.ended_at})
    suites = _compared_suites(made, head)
    return _write(
        "agent-chaos-gate",
        suites,
        {
            "verdict": made.verdict,
            "blocks": str(made.blocks).lower(),
            "base": made.base.commit if made.base else "",
            "head": made.head.commit,
        },
    )


# --- a comparison ---------------------------------------------------------------------------------------------------


def _compared_suites(comparison: Comparison, head: Report | None) -> list[_Suite]:
    reports = {e.name: e for e in head.experiments} if head else {}
    suites: dict[str, _Suite] = {}
    cases: dict[tuple[str, str, str], _Case] = {}

    def suite(name: str) -> _Suite:
        if name not in suites:
            suites[name] = _Suite(name, properties=_facts(reports[name]) if name in reports else {})
        return suites[name]

    blocking = blocking_kinds(comparison)
    for row in comparison.rows:
        case = _row(row, blocking)
        cases[row.experiment, row.probe, row.phase] = case
        suite(row.experiment).cases.append(case)
    if comparison.base is None:
        for experiment in reports.values():
            for probe in experiment.probes:
                case = _Case(wording.probe_name(probe.id, probe.label, probe.phase), _counts("head", _count(probe)))
                cases[experiment.name, probe.id, probe.phase] = case
                suite(experiment.name).cases.append(case)
    for finding in find(comparison):
        if finding.kind in ("regression", "small-drop"):
            continue
        key = (finding.experiment, finding.probe or "", finding.phase or "")
        if key not in cases:
            what = wording.probe_name(finding.probe, "", finding.phase) if finding.probe else say("whole experiment")
            cases[key] = _Case(what)
            suite(finding.experiment).cases.append(cases[key])
        case = cases[key]
        case.properties["finding"] = finding.kind
        if finding.blocks:
            case.failed, case.skipped = finding.sentence, None
            case.kind, case.detail = finding.kind, finding.detail
        elif case.failed is None and finding.kind == "missing":
            case.skipped = finding.sentence
    return list(suites.values())


def _row(row: Row, blocking: set[ReasonKind]) -> _Case:
    case = _Case(wording.probe_name(row.probe, row.label, row.phase))
    case.properties = {
        "verdict": row.verdict,
        "phase": row.phase,
        "severity": row.severity,
        **_counts("base", row.base),
        **_counts("head", row.head),
    }
    for name in ("p_value", "adjusted_p_value", "noninferiority_p_value", "power", "runs_needed"):
        if (value := getattr(row, name)) is not None:
            case.properties[name] = f"{value:.6g}"
    if _KIND.get(row.verdict) in blocking:
        case.failed, case.kind = _sentence(row), row.verdict
    elif row.verdict in _SKIPPED:
        case.skipped = _sentence(row)
    return case


def _sentence(row: Row) -> Part:
    match row.verdict:
        case "inconclusive":
            return wording.undecided(row)
        case "not_reproduced":
            return not_reproduced(row)
        case "not_comparable":
            return wording.not_comparable(row)
        case "missing":
            return say("{} — in the base, not in head", wording.name(row))
    return fallen(row)


# --- a report -------------------------------------------------------------------------------------------------------


def _own_suite(experiment: ExperimentReport) -> _Suite:
    suite = _Suite(experiment.name, properties=_facts(experiment))
    for probe in experiment.probes:
        case = _Case(wording.probe_name(probe.id, probe.label, probe.phase))
        case.properties = {
            "phase": probe.phase,
            "severity": probe.severity,
            "threshold": f"{probe.threshold:g}",
            **_counts("head", _count(probe)),
        }
        count, needs = number.counts(_count(probe)), number.share(probe.threshold)
        confidence = at_each_look(experiment.confidence, experiment.looks(probe.phase))
        if violated(probe, probe.threshold, confidence):
            case.failed = say("{} — {} violated it, {} passed, needs {}", case.name, _often(probe), count, needs)
            case.kind, case.detail = "violated", probe.detail
        elif not probe.runs:
            case.skipped = say("{} — no valid run", case.name)
        elif probe.threshold < 1 and (
            threshold_verdict(probe.passes, probe.runs, probe.threshold, confidence) == "inconclusive"
        ):
            case.skipped = say("{} — {} passed, needs {}: undecided", case.name, count, needs)
        suite.cases.append(case)
    return suite


def _often(probe: ProbeReport) -> Part:
    return number.of(_count(probe))


def _facts(experiment: ExperimentReport) -> dict[str, str]:
    outcomes = {f"outcome.{name}": str(count) for name, count in experiment.outcomes.model_dump().items() if count}
    faults = {
        f"fault.{at}": f"{fault.type} {fault.target}: fired {fault.fired} times in {fault.runs_fired} runs"
        for at, fault in enumerate(experiment.faults, 1)
    }
    return {
        "status": experiment.status,
        "reason": experiment.reason,
        "path": experiment.path,
        "seed": "" if experiment.seed is None else str(experiment.seed),
        **outcomes,
        **faults,
    }


def _count(probe: ProbeReport) -> Counts:
    return Counts(passes=probe.passes, runs=probe.runs)


def _counts(side: str, value: Counts | None) -> dict[str, str]:
    return {} if value is None else {f"{side}.passes": str(value.passes), f"{side}.runs": str(value.runs)}


# --- XML ------------------------------------------------------------------------------------------------------------


def _write(name: str, suites: list[_Suite], properties: dict[str, str]) -> str:
    root = ET.Element("testsuites", {"name": name, **_totals(c for s in suites for c in s.cases)})
    for suite in suites:
        element = ET.SubElement(root, "testsuite", {"name": clean(suite.name), **_totals(suite.cases)})
        _properties(element, {**properties, **suite.properties})
        for case in suite.cases:
            _case(element, suite, case)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _case(parent: ET.Element, suite: _Suite, case: _Case) -> None:
    element = ET.SubElement(parent, "testcase", {"classname": clean(suite.name), "name": plain(case.name)})
    _properties(element, case.properties)
    if case.failed is not None:
        failure = ET.SubElement(element, "failure", {"message": plain(case.failed), "type": case.kind})
        failure.text = clean(case.detail) or None
    elif case.skipped is not None:
        ET.SubElement(element, "skipped", {"message": plain(case.skipped)})


def _properties(parent: ET.Element, values: dict[str, str]) -> None:
    shown = {name: text for name, value in values.items() if (text := clean(value))}
    if shown:
        properties = ET.SubElement(parent, "properties")
        for name, text in shown.items():
            ET.SubElement(properties, "property", {"name": name, "value": text})


def _totals(cases: Iterable[_Case]) -> dict[str, str]:
    listed = list(cases)
    failures = sum(c.failed is not None for c in listed)
    skipped = sum(c.skipped is not None and c.failed is None for c in listed)
    return {"tests": str(len(listed)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}
