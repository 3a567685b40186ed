"""promptfoo's JSON: a row for every test, prompt and provider; repeats are results of the same row."""

from collections import Counter
from dataclasses import replace
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from gate.readers.base import Reader
from gate.readers.outline import outline
from gate.readers.parsing import Foreign, parse_each, refuse
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
    results: list[object]
    stats: _Stats


class _Metadata(Foreign):
    version: str = Field(default="", alias="promptfooVersion")
    exported_at: str = Field(default="", alias="exportedAt")


class _Document(Foreign):
    results: _Results
    metadata: _Metadata = _Metadata()


_DOCUMENT = TypeAdapter(_Document)
_RESULT = TypeAdapter(_Result)


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
        seen = _Seen(source)
        path = (("results",), ("results",))
        document = parse_each(_DOCUMENT, _RESULT, seen.add, data, source, self.format, path=path)
        stats = document.results.stats
        total = _check_stats(seen.reasons, stats, source)
        origin = Origin(
            tool=self.type,
            version=document.metadata.version,
            limits=[*LIMITS, *([_cached(seen.cached, total)] if seen.cached else [])],
            started_at=document.results.timestamp,
            ended_at=document.metadata.exported_at or document.results.timestamp,
            tokens=stats.usage.total,
            usd=seen.usd,
        )
        return report_of_rows(_named(seen.rows), origin, source)


class _Key(NamedTuple):
    """What tells rows apart: a prompt and a provider are (label, id)."""

    description: str
    test: str
    prompt: tuple[str, str]
    provider: tuple[str, str]


class _Seen:
    """What is kept of the results."""

    def __init__(self, source: str) -> None:
        self.rows: dict[_Key, Row] = {}
        self.reasons: Counter[int] = Counter()
        self.cached = 0
        self.usd: float | None = None
        self._source = source

    def add(self, where: str, result: _Result) -> None:
        """Take one result: a run of its row."""
        if result.success != (result.failure_reason == PASSED):
            raise refuse(self._source, f"{where}: success and failureReason contradict each other")
        test = digest([result.test.vars, result.test.asserts, result.test.threshold])
        prompt = result.prompt.label or result.prompt.raw, result.prompt_id
        key = _Key(result.test.description or "", test, prompt, _provider(result))
        if key not in self.rows:
            self.rows[key] = Row("", test)
        self.rows[key].add(None if result.failure_reason == ERROR else result.success, result.error or "")
        self.reasons[result.failure_reason] += 1
        self.cached += result.response is not None and result.response.cached
        if result.cost is not None:
            self.usd = (self.usd or 0.0) + result.cost


def _cached(count: int, total: int) -> str:
    return f"{count} of {total} answers came from promptfoo's cache: they are copies, not fresh runs (use --no-cache)"


def _check_stats(reasons: Counter[int], stats: _Stats, source: str) -> int:
    """Return how many results there are, once the file's own counts have said the same."""
    for what, reason, stated in (
        ("successes", PASSED, stats.successes),
        ("failures", FAILED, stats.failures),
        ("errors", ERROR, stats.errors),
    ):
        if (counted := reasons[reason]) != stated:
            raise refuse(source, f"results.stats says {stated} {what}, the results hold {counted}")
    return reasons.total()


def _named(rows: dict[_Key, Row]) -> list[Row]:
    """Return the rows. What all results share, prompt or provider, is what is compared and no part of a row's name."""
    tests = Counter(description for description, _ in {(key.description, key.test) for key in rows})
    prompts = _told_apart({key.prompt for key in rows})
    providers = _told_apart({key.provider for key in rows})
    named = []
    for key, row in rows.items():
        alone = key.description and tests[key.description] == 1
        name = [key.description if alone else f"{key.description} {key.test[:8]}".strip()]
        name += [part for part in (prompts[key.prompt], providers[key.provider]) if part]
        named.append(replace(row, name=" / ".join(name), definition=[name, row.definition]))
    return named


def _told_apart(labelled: set[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return a name for each (label, id): nothing if there is but one, the id beside a label that several share."""
    if len(labelled) == 1:
        return dict.fromkeys(labelled, "")
    shared = Counter(label for label, _ in labelled)
    return {(label, id_): label if shared[label] == 1 else f"{label} {id_[:12]}".strip() for label, id_ in labelled}


def _provider(result: _Result) -> tuple[str, str]:
    if isinstance(result.provider, str):
        return result.provider, ""
    return result.provider.label or result.provider.id, result.provider.id
