"""confirmation.json, version 1: base and head run again, side by side, for what looked worse."""

from typing import Annotated, Literal

from pydantic import Field

from gate.policy import Model, Name
from gate.report import Report, Text, read_model, read_report


class Confirmation(Model):
    """The fresh counts of both commits, made with the same definitions and seeds; absent where there are none.

    `impossible` says by experiment why it has no counts or too few, `reason` why none has any.
    """

    schema_version: Literal[1] = 1
    base: Report | None = None
    head: Report | None = None
    reason: Text = ""
    impossible: Annotated[dict[Name, Text], Field(max_length=2_000)] = {}

    def to_json(self) -> str:
        """Return the text of confirmation.json, ending in a line feed."""
        return self.model_dump_json(indent=1) + "\n"


def read_confirmation(text: str | bytes, source: str) -> Confirmation:
    """Parse confirmation.json as untrusted input; keys that a later version added are ignored.

    Raises:
        InvalidFileError: too large, not JSON, of another shape, or with a report that is no valid one.
    """
    found = read_model(Confirmation, text, source)
    for report in (found.base, found.head):
        if report is not None:
            read_report(report.model_dump_json(), source)
    return found
