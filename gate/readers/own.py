"""The gate's own report.json, of this and of earlier versions."""

from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import TypeAdapter
from pydantic_core import from_json

from gate.readers.base import Reader
from gate.readers.outline import outline
from gate.readers.parsing import Foreign, parse, refuse
from gate.report import MAX_BYTES, Report, read_report

CURRENT = 1

MIGRATIONS: dict[int, Callable[[Any], Any]] = {}
"""What turns a document of a schema version into one of the next; the first version has none before it."""


class _Version(Foreign):
    schema_version: int


_VERSION = TypeAdapter(_Version)


class OwnReader(Reader):
    """report.json of agent-chaos-gate."""

    type = "agent-chaos-gate"
    format = "agent-chaos-gate's report.json"
    max_bytes: ClassVar[int] = MAX_BYTES

    def handles(self, head: bytes, name: str) -> bool:  # noqa: ARG002  # the bytes say enough
        """Return whether a schema version or what a report begins with is there."""
        seen = outline(head)
        return "schema_version" in seen or seen.get("experiments") == "["

    def read(self, data: bytes, source: str) -> Report:
        """Return the report, brought to the current version first."""
        if {"verdict", "exit_code"} <= outline(data[:65_536]).keys():
            raise refuse(source, "a comparison, not a report", fix="give the two reports that it was made of")
        version = parse(_VERSION, data, source, self.format).schema_version
        if version > CURRENT:
            raise refuse(
                source,
                f"schema_version {version}; this agent-chaos-gate reads up to {CURRENT}",
                fix="install a newer agent-chaos-gate",
            )
        return read_report(data if version == CURRENT else _migrated(data, version, source), source)


def _migrated(data: bytes, version: int, source: str) -> bytes:
    document = from_json(data)
    while version < CURRENT:
        if version not in MIGRATIONS:
            raise refuse(source, f"schema_version {version} is not known")
        document = MIGRATIONS[version](document)
        version += 1
    return TypeAdapter(Any).dump_json(document)
