"""Trials of AgentAssay: an array of booleans or trials, bare or under one of three names."""

from typing import Annotated

from pydantic import Field, StrictBool, TypeAdapter

from gate.readers.base import Reader
from gate.readers.outline import outline
from gate.readers.parsing import Foreign, parse_each, refuse
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
    results: list[object] | None = None
    trials: list[object] | None = None
    trial_results: list[object] | None = None
    summary: _Summary = _Summary()
    generated_at: str = ""
    attribution: _Attribution = Field(default=_Attribution(), alias="_attribution")


_BARE: TypeAdapter[list[object]] = TypeAdapter(list[object])
_WRAPPED = TypeAdapter(_Document)
_TRIAL: TypeAdapter[bool | _Trial] = TypeAdapter(StrictBool | _Trial)


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
        seen = _Seen(source)
        if data.lstrip().startswith(b"["):
            parse_each(_BARE, _TRIAL, seen.add, data, source, self.format)
            document = _Document()
        else:
            document = parse_each(_WRAPPED, _TRIAL, seen.add, data, source, self.format, path=(LISTS,))
            given = [name for name in LISTS if getattr(document, name) is not None]
            if len(given) != 1:
                raise refuse(source, f"trials stand under {' and '.join(given) or 'no known name'}, not under one name")
        _check(seen, document.summary, source)
        unnamed = seen.rows.keys() == {UNNAMED}
        origin = Origin(
            tool="AgentAssay",
            version=document.attribution.generator.removeprefix("AgentAssay v"),
            limits=[*LIMITS, ONE_ROW] if unnamed else LIMITS,
            started_at=document.generated_at,
            ended_at=document.generated_at,
            usd=seen.usd,
        )
        return report_of_rows(seen.rows.values(), origin, source)


class _Seen:
    """What is kept of the trials."""

    def __init__(self, source: str) -> None:
        self.rows: dict[str, Row] = {}
        self.named = 0
        self.usd: float | None = None
        self._ids: set[str] = set()
        self._source = source

    def add(self, where: str, trial: bool | _Trial) -> None:
        """Take one trial: a run of its scenario."""
        scenario = UNNAMED
        if isinstance(trial, _Trial):
            if trial.trial_id is not None:
                if trial.trial_id in self._ids:
                    raise refuse(self._source, f"trial {trial.trial_id!r:.80} stands more than once")
                self._ids.add(trial.trial_id)
            if trial.scenario_id is not None:
                self.named += 1
                scenario = trial.scenario_id
            if trial.trace and trial.trace.total_cost_usd is not None:
                self.usd = (self.usd or 0.0) + trial.trace.total_cost_usd
        if scenario not in self.rows:
            self.rows[scenario] = Row(scenario, [AgentAssayReader.type, scenario])
        self.rows[scenario].add(_passed(trial, f"{self._source}: {where}"))


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


def _check(seen: _Seen, summary: _Summary, source: str) -> None:
    """Refuse trials that name their scenario only in part, or are not as many as the file says."""
    trials = sum(len(row.runs) for row in seen.rows.values())
    if seen.named not in (0, trials):
        raise refuse(source, f"{seen.named} of {trials} trials name a scenario: the others cannot be assigned")
    for what, stated, counted in (
        ("trials", summary.total_trials, trials),
        ("passes", summary.passed, sum(row.runs.count(True) for row in seen.rows.values())),
    ):
        if stated is not None and stated != counted:
            raise refuse(source, f"the summary says {stated} {what}, the file holds {counted}")
