"""JUnit XML to its cases, in one pass that keeps nothing else; document types and entities are refused unread."""

from dataclasses import dataclass, field
from typing import Literal
from xml.parsers import expat

from gate.errors import InvalidFileError
from gate.readers.parsing import refuse

MAX_DEPTH = 100
MAX_CASES = 1_000_000
_RETRIES = ("flakyFailure", "flakyError", "rerunFailure", "rerunError")

Result = Literal["passed", "failed", "error", "skipped"]


@dataclass(slots=True)
class Case:
    """One <testcase>."""

    classname: str
    name: str
    result: Result = "passed"
    message: str = ""

    @property
    def id(self) -> str:
        """Return what names the case in its file."""
        return self.id_of(self.name)

    def id_of(self, name: str) -> str:
        """Return what would name the case under another name."""
        return f"{self.classname}::{name}" if self.classname else name


@dataclass(slots=True)
class Parsed:
    """What a file holds: the names of its suites, their times, and the cases in order."""

    suites: list[str] = field(default_factory=list)
    timestamps: list[str] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)


def parse_junit(data: bytes, source: str) -> Parsed:
    """Return the cases of a file.

    Raises:
        InvalidFileError: not well-formed, not JUnit, not UTF-8, too deep, or with a document type; by line.
    """
    reading = _Reading(source)
    try:
        reading.parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InvalidFileError(
            [f"{source}:{error.lineno}: not well-formed XML: {expat.ErrorString(error.code)}"],
            fix="the file may be cut off; write it anew",
        ) from None
    return reading.parsed


class _Reading:
    """The state of one pass."""

    def __init__(self, source: str) -> None:
        self.parsed = Parsed()
        self._source, self._depth = source, 0
        self._case: Case | None = None
        self.parser = parser = expat.ParserCreate("utf-8")
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.EntityDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end

    def _refusal(self, why: str) -> InvalidFileError:
        return refuse(f"{self._source}:{self.parser.CurrentLineNumber}", why)

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding and encoding.lower() not in ("utf-8", "utf8", "us-ascii", "ascii"):
            raise self._refusal(f"declared as {encoding:.40}, not UTF-8")

    def _refuse_doctype(self, *_: object) -> None:
        raise self._refusal("a document type or an entity is declared; test reports have none, so nothing is expanded")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._refusal(f"nested deeper than {MAX_DEPTH}")
        if self._depth == 1 and tag not in ("testsuites", "testsuite"):
            raise self._refusal(f"<{tag:.40}> at the top: not JUnit XML")
        if tag in ("testsuites", "testsuite"):
            self.parsed.suites.append(attributes.get("name", ""))
            if attributes.get("timestamp"):
                self.parsed.timestamps.append(attributes["timestamp"])
        elif tag == "testcase":
            self._start_case(attributes)
        elif self._case is not None:
            self._result(self._case, tag, attributes)

    def _start_case(self, attributes: dict[str, str]) -> None:
        if self._case is not None:
            raise self._refusal("a <testcase> within another")
        if not attributes.get("name"):
            raise self._refusal("a <testcase> without a name")
        if len(self.parsed.cases) >= MAX_CASES:
            raise self._refusal(f"more than {MAX_CASES:,} cases")
        self._case = Case(attributes.get("classname", ""), attributes["name"])
        self.parsed.cases.append(self._case)

    def _result(self, case: Case, tag: str, attributes: dict[str, str]) -> None:
        """Take what a child says of its case: a failure outweighs an error, an error outweighs a skip."""
        if tag in _RETRIES:
            raise self._refusal(f"<{tag}>: {case.name!r:.120} was retried until it passed; retries are no runs")
        results: dict[str, Result] = {"failure": "failed", "error": "error", "skipped": "skipped"}
        order = ("passed", "skipped", "error", "failed")
        result = results.get(tag)
        if result and order.index(result) > order.index(case.result):
            case.result, case.message = result, attributes.get("message", "")[:500]

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if tag == "testcase":
            self._case = None
