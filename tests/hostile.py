"""Names that try to be more than text, and a report and a comparison that carry them in every foreign field."""

from typing import Any

from gate.comparison import (
    Comparison,
    Counts,
    CriticalFinding,
    Missing,
    Notice,
    Reason,
    Row,
    RowVerdict,
    Side,
    StatusChange,
)
from gate.report import (
    ExperimentReport,
    Failure,
    FaultReport,
    Outcomes,
    PhaseReport,
    ProbeReport,
    Report,
    Spend,
    Suite,
    TraceEvent,
)
from tests.golden.comparisons import POLICY

TEXTS = {
    "markup": "</td></svg></style></script><script>alert(1)</script><img src=x onerror=alert(1)>",
    "attribute": '" onmouseover="alert(1)" x=\'&quot;',
    "cdata": "]]><!-- --><?php ?>&#0;&lt;&amp;",
    "bidi": "a\u202egnp.exe\u202c\u2066x\u2069\u200b",
    "control": "a\x00b\x07c\x1b[31md\x7f\x85e\u2028f",
    "noncharacter": "a\ufffeb\uffffc\ue000d",
    "template": "{{ 7 * 7 }} {% raw %} ${alert(1)}",
    "blank": "\u200b \t",
}


def comparison_of(text: str) -> Comparison:
    """Return a comparison in which every foreign field carries the text; two rows of each verdict."""
    few, most = Counts(passes=29, runs=40), Counts(passes=39, runs=40)
    verdicts: tuple[RowVerdict, ...] = (
        *("pass", "regressed", "small_drop", "improved", "inconclusive"),
        *("not_reproduced", "new", "missing", "not_comparable"),
    )
    return Comparison(
        verdict="fail",
        blocks=True,
        exit_code=1,
        policy=POLICY,
        base=Side(commit=text, ref=text),
        head=Side(commit=text, ref=text),
        reasons=[Reason(kind=kind, blocks=True, count=2, first=text) for kind in ("regression", "missing", "no_runs")],
        rows=[
            Row(
                experiment=text,
                probe=f"{n}",
                label=text,
                phase="chaos",
                severity="critical",
                verdict=verdict,
                base=most,
                head=few,
                min_effect=0.1,
                p_value=0.01,
                power=0.5,
                runs_needed=90,
                decided_by="exact_test",
            )
            for n, verdict in enumerate(verdicts)
        ],
        status_changes=[
            StatusChange(experiment=text, base="held", head="weakness", reason=text, significant=False),
        ],
        new_critical=[
            CriticalFinding(
                experiment=text,
                probe=text,
                label=text,
                phase="chaos",
                threshold=1.0,
                head=few,
                base=most,
                p_value=0.5,
                detail=text,
            )
        ],
        missing=[Missing(experiment=text), Missing(experiment=text, probe=text, phase="chaos", allowed=text)],
        warnings=[Notice(kind="other", experiment=text, probe=text, detail=text)],
    )


def report_of(text: str, **fields: Any) -> Report:
    """Return a report in which every foreign field carries the text."""
    counts: dict[str, Any] = {"category": "security", "severity": "critical", "phase": "chaos", "threshold": 1.0}
    return Report(
        ref=text,
        started_at=text,
        ended_at=text,
        suite=Suite(digest="d"),
        spend=Spend(runs=40),
        experiments=[
            ExperimentReport(
                name=text,
                path=text,
                tags=[text],
                hypothesis=text,
                status="weakness",
                reason=text,
                fingerprint="f",
                seed=7,
                confidence=0.95,
                probes=[ProbeReport(id=text, type=text, label=text, passes=29, runs=40, detail=text, **counts)],
                faults=[FaultReport(type=text, target=text, fired=3, runs_fired=3)],
                outcomes=Outcomes(ok=40),
                phases=[PhaseReport(phase="chaos", planned_runs=50, stop_reason=text, runs=[])],
                failures=[
                    Failure(
                        phase="chaos",
                        index=1,
                        seed=8,
                        outcome="error",
                        probes=[text],
                        detail=text,
                        error=text,
                        output=text,
                        trace=[TraceEvent(kind=text, name=text, data=text)],
                    )
                ],
            )
        ],
        **fields,
    )


SURROGATE = "a\ud800b"
"""Valid nowhere: models refuse it, but text that was never in a file can hold it."""


def with_surrogates(comparison: Comparison) -> Comparison:
    """Return a comparison whose first row carries a lone surrogate past the model."""
    row = comparison.rows[0].model_copy(update={"experiment": SURROGATE, "label": SURROGATE, "probe": SURROGATE})
    return comparison.model_copy(update={"rows": [row, *comparison.rows[1:]]})
