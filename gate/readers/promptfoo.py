"""promptfoo's JSON: a row for every test, prompt and provider; repeats are results of the same row."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from gate.readers.base import Reader
from gate.readers.outline import outline
from gate.readers.parsing import Foreign, Items, parse, refuse
from gate.readers.rows import ROWS_ONLY, Origin, Row, digest, report_of_rows
from gate.report import Report

VERSION = "3"
PASSED, FAILED, ERROR = 0, 1, 2
"""What `failureReason` says: none, an assertion, the machinery."""

LIMITS = (
    ROWS_ONLY,
    "repeats carry no index: a test written twice reads as repeats; failureReason 2 (a broken provider) is a lost run",
)
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Prompt(Foreign):
    raw: str = ""
    label: str = ""


class _Provider(Foreign):
    id: str = ""
    label: str | None = None


class _Test(Foreign):
    description: str | None = None
    vars: dict[str, object] = {}
    asserts: object = Field(default=None, alias="assert")
    threshold: object = None


class _Answer(Foreign):
    cached: bool = False


class _Result(Foreign):
    success: bool
    failure_reason: Literal[0, 1, 2] = Field(alias="failureReason")
    prompt: _Prompt
    prompt_id: str = Field(default="", alias="promptId")
    provider: _Provider | str
    test: _Test = Field(alias="testCase")
    error: str | None = None
    cost: _Amount | None = None
    response: _Answer | None = None


class _Usage(Foreign):
    total: int = Field(default=0, ge=0)


class _Stats(Foreign):
    successes: int
    failures: int
    errors: int
    usage: _Usage = Field(default=_Usage(), alias="tokenUsage")


class _Results(Foreign):
    version: Literal[3]
    timestamp: str = ""
    results: Items[_Result]
    stats: _Stats


class _Metadata(Foreign):
    version: str = Field(default="", alias="promptfooVersion")
    exported_at: str = Field(default="", alias="exportedAt")


class _Document(Foreign):
    results: _Results
    metadata: _Metadata = _Metadata()


_DOCUMENT = TypeAdapter(_Document)


class PromptfooReader(Reader):
    """promptfoo's JSON, version 3 of its results."""

    type = "promptfoo"
    format = "promptfoo's JSON"

    def handles(self, head: bytes, name: str) -> bool:  # noqa: ARG002  # the bytes say enough
        """Return whether results stand within results, as promptfoo alone has them."""
        seen = outline(head)
        own = not seen.keys().isdisjoint(("evalId", "results.results", "results.prompts", "results.stats"))
        return seen.get("results") == "{" and own

    def read(self, data: bytes, source: str) -> Report:
        """Return the report; the counts must be those that promptfoo states."""
        version = outline(data[:65_536]).get("results.version", VERSION)
        if version != VERSION:
            raise refuse(source, f"promptfoo's results of version {version}; version {VERSION} is read")
        document = parse(_DOCUMENT, data, source, self.format)
        results = document.results.results
        _check_stats(results, document.results.stats, source)
        costs = [r.cost for r in results if r.cost is not None]
        cached = sum(r.response is not None and r.response.cached for r in results)
        origin = Origin(
            tool=self.type,
            version=document.metadata.version,
            limits=[*LIMITS, *([_cached(cached, len(results))] if cached else [])],
            started_at=document.results.timestamp,
            ended_at=document.metadata.exported_at or document.results.timestamp,
            tokens=document.results.stats.usage.total,
            usd=sum(costs) if costs else None,
        )
        return report_of_rows(_rows(results, source), origin, source)


def _cached(count: int, total: int) -> str:
    return f"{count} of {total} answers came from promptfoo's cache: they are copies, not fresh runs (use --no-cache)"


def _check_stats(results: list[_Result], stats: _Stats, source: str) -> None:
    for what, reason, stated in (
        ("successes", PASSED, stats.successes),
        ("failures", FAILED, stats.failures),
        ("errors", ERROR, stats.errors),
    ):
        if (counted := sum(r.failure_reason == reason for r in results)) != stated:
            raise refuse(source, f"results.stats says {stated} {what}, the results hold {counted}")


def _rows(results: list[_Result], source: str) -> list[Row]:
    """Return the rows. What all results share, prompt or provider, is what is compared and no part of a row's name."""
    prompts = _told_apart([(r.prompt.label or r.prompt.raw, r.prompt_id) for r in results])
    providers = _told_apart([_provider(r) for r in results])
    tests = [digest([r.test.vars, r.test.asserts, r.test.threshold]) for r in results]
    variants: dict[str, set[str]] = {}
    for result, test in zip(results, tests, strict=True):
        variants.setdefault(result.test.description or "", set()).add(test)
    rows: dict[tuple[str, ...], Row] = {}
    for at, (result, test) in enumerate(zip(results, tests, strict=True)):
        if result.success != (result.failure_reason == PASSED):
            raise refuse(source, f"results.results.{at}: success and failureReason contradict each other")
        description = result.test.description or ""
        alone = description and len(variants[description]) == 1
        name = [description if alone else f"{description} {test[:8]}".strip()]
        name += [name for name in (prompts[at], providers[at]) if name]
        key = tuple(name)
        if key not in rows:
            rows[key] = Row(" / ".join(name), [name, test])
        rows[key].add(None if result.failure_reason == ERROR else result.success, result.error or "")
    return list(rows.values())


def _told_apart(labelled: list[tuple[str, str]]) -> list[str]:
    """Return a name for each (label, id): nothing where all are one, the id beside a label that several ids share."""
    ids: dict[str, set[str]] = {}
    for label, id_ in labelled:
        ids.setdefault(label, set()).add(id_)
    if len(set(labelled)) == 1:
        return [""] * len(labelled)
    return [label if len(ids[label]) == 1 else f"{label} {id_[:12]}".strip() for label, id_ in labelled]


def _provider(result: _Result) -> tuple[str, str]:
    if isinstance(result.provider, str):
        return result.provider, ""
    return result.provider.label or result.provider.id, result.provider.id
