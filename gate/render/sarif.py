"""A comparison as SARIF 2.1.0, for code scanning: one result a finding, where its probe stands."""

import hashlib
import json
import posixpath
from typing import Any
from urllib.parse import quote

from gate.comparison import Comparison
from gate.policy import Severity
from gate.render.escape import clean, plain
from gate.render.finding import SEVERITIES, Finding, FindingKind, find
from gate.report import Report

MAX_RESULTS = 5_000
"""Most results of one run; code scanning shows no more."""

NO_FILE = "chaos-gate.yaml"
"""Where a finding is shown whose experiment file is not known: code scanning takes no result without a place."""

SECURITY_SEVERITY: dict[Severity, str] = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "3.0"}
"""Within the bands that code scanning calls critical, high, medium and low."""

Places = dict[tuple[str, str | None], tuple[str, int]]
"""URI and line of an experiment (no probe) and of each of its probes."""

_TEXT: dict[FindingKind, tuple[str, str]] = {
    "critical-finding": (
        "A critical probe is violated",
        "A probe of critical severity did not hold. Repair the agent, or list the probe under known_findings.",
    ),
    "regression": (
        "A probe passes less often than in the base",
        "An exact test tells the drop in the pass rate from chance. Look at the runs that fail now.",
    ),
    "missing": (
        "An experiment or a probe of the base is gone",
        "The base measured something that head does not. Bring it back, or list it under removed with a reason.",
    ),
    "small-drop": (
        "A probe passes slightly less often than in the base",
        "The drop is real, yet one of the size that matters is ruled out.",
    ),
}


def render_sarif(comparison: Comparison, head: Report | None = None) -> str:
    """Return the text of a SARIF file, ending in a line feed.

    `head` is the report that was compared; it knows where the probes stand. Undecided probes are no findings.
    Findings that were accepted are in it as suppressed ones.
    """
    findings = find(comparison)
    shown = findings[:MAX_RESULTS]
    places = _places(head)
    rules = sorted({(f.kind, f.severity) for f in shown}, key=lambda r: (r[0], SEVERITIES.index(r[1])))
    order = {rule: at for at, rule in enumerate(rules)}
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": clean(comparison.tool.name),
                "version": clean(comparison.tool.version),
                "rules": [_rule(*rule) for rule in rules],
            }
        },
        "automationDetails": {"id": "agent-chaos-gate/"},
        "invocations": [_invocation(comparison, len(findings) - len(shown))],
        "columnKind": "unicodeCodePoints",
        "results": [_result(f, order[(f.kind, f.severity)], places) for f in shown],
    }
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=1) + "\n"


def _rule(kind: FindingKind, severity: Severity) -> dict[str, Any]:
    short, full = _TEXT[kind]
    return {
        "id": _rule_id(kind, severity),
        "name": "".join(word.title() for word in _rule_id(kind, severity).replace("/", "-").split("-")),
        "shortDescription": {"text": f"{short} ({severity})"},
        "fullDescription": {"text": full},
        "help": {"text": full},
        "defaultConfiguration": {"level": "warning"},
        "properties": {
            "tags": ["security", "ai-agent", "chaos-engineering"],
            "security-severity": SECURITY_SEVERITY[severity],
            "problem.severity": "error" if severity in ("critical", "high") else "warning",
            "precision": "high",
        },
    }


def _rule_id(kind: FindingKind, severity: Severity) -> str:
    """Return the id of a rule: code scanning reads the severity off the rule, so each severity has its own."""
    return f"{kind}/{severity}"


def _places(head: Report | None) -> Places:
    """Return where experiments and their probes stand."""
    places: Places = {}
    for experiment in head.experiments if head else []:
        uri = _uri(experiment.path)
        places[experiment.name, None] = uri, 1
        for probe in experiment.probes:
            places[experiment.name, probe.id] = uri, (probe.line or 1) if uri != NO_FILE else 1
    return places


def _result(finding: Finding, rule: int, places: Places) -> dict[str, Any]:
    digest = _fingerprint(finding)
    whole = places.get((finding.experiment, None), (NO_FILE, 1))
    uri, line = places.get((finding.experiment, finding.probe), whole)
    sentence = plain(finding.sentence)
    detail = clean(finding.detail)
    result: dict[str, Any] = {
        "ruleId": _rule_id(finding.kind, finding.severity),
        "ruleIndex": rule,
        "level": "note" if finding.known else "error" if finding.blocks else "warning",
        "message": {"text": f"{sentence}; {detail}" if detail else sentence},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": line},
                },
                "logicalLocations": [
                    {"fullyQualifiedName": " / ".join(clean(n) for n in (finding.experiment, finding.probe) if n)}
                ],
            }
        ],
        # Code scanning tells alerts of one rule in one file apart by the hash of a line, which an edit would change.
        "partialFingerprints": {"agentChaosGate/v1": digest, "primaryLocationLineHash": f"{digest[:16]}:1"},
        "properties": {"blocks": finding.blocks, "severity": finding.severity, "phase": finding.phase or "all"},
    }
    if finding.known:
        # Without a status a suppression is an accepted one; the word for it differs between editions of the schema.
        result["suppressions"] = [{"kind": "external", "justification": clean(finding.known)}]
    return result


def _fingerprint(finding: Finding) -> str:
    """Return what stays the same for the same finding on every commit; counts and severity are not part of it."""
    parts = [finding.kind, finding.experiment, finding.probe or "", finding.phase or ""]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _uri(path: str) -> str:
    """Return a path within the repository as a relative URI, the configuration's for anything else."""
    steps = posixpath.normpath(path.replace("\\", "/")) if path.strip() else ""
    outside = not steps or steps.startswith(("/", "..")) or steps == "." or ":" in steps.split("/")[0]
    if outside or clean(path) != path:
        return NO_FILE
    return quote(steps)


def _invocation(comparison: Comparison, left_out: int) -> dict[str, Any]:
    invocation: dict[str, Any] = {
        "executionSuccessful": comparison.exit_code in (0, 1, 3),
        "exitCode": comparison.exit_code,
    }
    if left_out:
        text = f"{left_out:,} more findings of lower severity are in comparison.json"
        invocation["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": text}}]
    return invocation
