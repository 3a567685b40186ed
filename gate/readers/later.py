"""Formats that are known by name and not read yet."""

from gate.readers.base import UnreadFormat
from gate.readers.outline import outline

_JUNIT = "give JUnit XML of repeats (pytest-repeat), or a report of another known format"


class CtrfReader(UnreadFormat):
    """Common Test Report Format."""

    type = "ctrf"
    format = "CTRF"
    instead = _JUNIT

    def handles(self, head: bytes, name: str) -> bool:  # noqa: ARG002  # the bytes say enough
        """Return whether the file calls itself CTRF, or has a tool and tests among its results as CTRF does."""
        seen = outline(head)
        return seen.get("reportFormat") == '"CTRF"' or {"results.tool", "results.summary"} <= seen.keys()


class PytestJsonReportReader(UnreadFormat):
    """JSON of the pytest plug-in json-report."""

    type = "pytest-json-report"
    format = "pytest-json-report"
    instead = _JUNIT

    def handles(self, head: bytes, name: str) -> bool:  # noqa: ARG002  # the bytes say enough
        """Return whether the first keys are those of a pytest session."""
        return {"created", "exitcode", "root"} <= outline(head).keys()


class DeepEvalReader(UnreadFormat):
    """A test run of DeepEval."""

    type = "deepeval"
    format = "DeepEval"
    instead = _JUNIT

    def handles(self, head: bytes, name: str) -> bool:  # noqa: ARG002  # the bytes say enough
        """Return whether test cases stand under DeepEval's name for them."""
        return outline(head).get("testCases") == "["


class OpenAiEvalsReader(UnreadFormat):
    """JSON lines of OpenAI evals."""

    type = "openai-evals"
    format = "OpenAI evals"
    instead = "give a report of another known format"

    def handles(self, head: bytes, name: str) -> bool:  # noqa: ARG002  # the bytes say enough
        """Return whether the first line is a specification or an event of a recorder."""
        seen = outline(head.partition(b"\n")[0])
        return "spec.completion_fns" in seen or {"run_id", "event_id", "sample_id"} <= seen.keys()


class InspectArchiveReader(UnreadFormat):
    """Inspect's log as an archive."""

    type = "inspect-eval"
    format = "Inspect's .eval archive"
    instead = "write the log as JSON: inspect eval --log-format json, or inspect log convert --to json"

    def handles(self, head: bytes, name: str) -> bool:
        """Return whether the file is a zip archive with Inspect's name or Inspect's first entries."""
        inside = any(entry in head for entry in (b"_journal/start.json", b"header.json"))
        return head.startswith(b"PK\x03\x04") and (name.endswith(".eval") or inside)
