"""Trials of AgentAssay: an array of booleans or trials, bare or under one of three names."""

from collections import Counter
from typing import Annotated

from pydantic import Field, StrictBool, TypeAdapter

from gate.readers.base import Reader
from gate.readers.outline import outline
from gate.readers.parsing import Foreign, Items, parse, refuse
from gate.readers.rows import ROWS_ONLY, Origin, Row, report_of_rows
from gate.report import Report

LISTS = ("results", "trials", "trial_results")
UNNAMED = "trials"
"""The one row of a file whose trials name no scenario."""

LIMITS = (ROWS_ONLY, "errors of the machinery are not told from failures")
ONE_ROW = f"no scenario is named: all trials of the file are one row, {UNNAMED!r}"

_PATHS = {p for at in ("", *(f"{name}." for name in LISTS)) for p in (f"{at}[].passed", f"{at}[].success")}


class _Trace(Foreign):
    total_cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class _Trial(Foreign):
    """One trial. The last keys are those by which other tools name tests; trials have none of them."""

    passed: bool | None = None
    success: bool | None = None
    scenario_id: Annotated[str, Field(min_length=1)] | None = None
    trial_id: str | None = None
    trace: _Trace | None = None
    name: object = None
    test: object = None
    test_name: object = None
    case: object = None
    nodeid: object = None


class _Attribution(Foreign):
    generator: str = ""


class _Summary(Foreign):
    total_trials: int | None = None
    passed: int | None = None


class _Document(Foreign):
    results: Items[StrictBool | _Trial] | None = None
    trials: Items[StrictBool | _Trial] | None = None
    trial_results: Items[StrictBool | _Trial] | None = None
    summary: _Summary = _Summary()
    generated_at: str = ""
    attribution: _Attribution = Field(default=_Attribution(), alias="_attribution")


_BARE = TypeAdapter(Items[StrictBool | _Trial])
_WRAPPED = TypeAdapter(_Document)


class AgentAssayReader(Reader):
    """Trials as AgentAssay writes and reads them."""

    type = "agentassay"
    format = "AgentAssay's trials"

    def handles(self, head: bytes, name: str) -> bool:  # noqa: ARG002  # the bytes say enough
        """Return whether the file is an array of booleans or of trials, bare or under one of the known names."""
        seen = outline(head)
        if "[].verdict" in seen:
            return False
        lists = [seen.get("[]", ""), *(seen.get(f"{name}.[]", "") for name in LISTS)]
        if any(first in ("true", "false") for first in lists) or _PATHS & seen.keys():
            return True
        return "trial_results" in seen

    def read(self, data: bytes, source: str) -> Report:
        """Return a row for every scenario, or one for all trials."""
        if data.lstrip().startswith(b"["):
            document = _Document(results=parse(_BARE, data, source, self.format))
        else:
            document = parse(_WRAPPED, data, source, self.format)
        given = [name for name in LISTS if getattr(document, name) is not None]
        if len(given) != 1:
            raise refuse(source, f"trials stand under {' and '.join(given) or 'no known name'}, not under one name")
        trials: list[bool | _Trial] = getattr(document, given[0])
        passed = [_passed(trial, f"{source}: {given[0]}.{at}") for at, trial in enumerate(trials)]
        _check(trials, passed, document.summary, source)
        rows: dict[str, Row] = {}
        for trial, verdict in zip(trials, passed, strict=True):
            scenario = (trial.scenario_id if isinstance(trial, _Trial) else None) or UNNAMED
            if scenario not in rows:
                rows[scenario] = Row(scenario, [self.type, scenario])
            rows[scenario].add(verdict)
        costs = [t.trace.total_cost_usd for t in trials if isinstance(t, _Trial) and t.trace]
        unnamed = rows.keys() == {UNNAMED}
        origin = Origin(
            tool="AgentAssay",
            version=document.attribution.generator.removeprefix("AgentAssay v"),
            limits=[*LIMITS, ONE_ROW] if unnamed else LIMITS,
            started_at=document.generated_at,
            ended_at=document.generated_at,
            usd=sum(c for c in costs if c is not None) if costs else None,
        )
        return report_of_rows(rows.values(), origin, source)


def _passed(trial: bool | _Trial, where: str) -> bool:
    if isinstance(trial, bool):
        return trial
    named = [k for k in ("name", "test", "test_name", "case", "nodeid") if getattr(trial, k) is not None]
    if named:
        raise refuse(where, f"{named[0]!r} names a test: these are results of different tests, not trials of one")
    said = {v for v in (trial.passed, trial.success) if v is not None}
    if len(said) != 1:
        raise refuse(
            where, "`passed` and `success` contradict each other" if said else "neither `passed` nor `success`"
        )
    return said.pop()


def _check(trials: list[bool | _Trial], passed: list[bool], summary: _Summary, source: str) -> None:
    """Refuse trials that stand twice, name their scenario only in part, or are not as many as the file says."""
    ids = [t.trial_id for t in trials if isinstance(t, _Trial) and t.trial_id is not None]
    if twice := [i for i, times in Counter(ids).items() if times > 1]:
        raise refuse(source, f"trial {twice[0]!r:.80} stands more than once")
    named = sum(isinstance(t, _Trial) and t.scenario_id is not None for t in trials)
    if named not in (0, len(trials)):
        raise refuse(source, f"{named} of {len(trials)} trials name a scenario: the others cannot be assigned")
    for what, stated, counted in (
        ("trials", summary.total_trials, len(trials)),
        ("passes", summary.passed, sum(passed)),
    ):
        if stated is not None and stated != counted:
            raise refuse(source, f"the summary says {stated} {what}, the file holds {counted}")
