"""The last line of a comment, by which the gate finds it again."""

import re
from dataclasses import dataclass

_LINE = re.compile(
    r"<!-- agent-chaos-gate v1 key=([a-z0-9-]{1,100}) head=([0-9a-f]{7,64}) run=([0-9]{1,20}) attempt=([0-9]{1,9}) -->"
)


@dataclass(frozen=True)
class Marker:
    """Which gate wrote a comment, for which commit, in which attempt of which workflow run.

    Raises:
        ValueError: a field that cannot stand in the line, such as a key with other characters than [a-z0-9-].
    """

    key: str
    head: str
    run: int
    attempt: int

    def __post_init__(self) -> None:
        if not _LINE.fullmatch(str(self)):
            raise ValueError(f"not a marker: {str(self)!r}")

    def __str__(self) -> str:
        return f"<!-- agent-chaos-gate v1 key={self.key} head={self.head} run={self.run} attempt={self.attempt} -->"


def read_marker(body: str) -> Marker | None:
    """Return the marker on the last line of a comment; one that stands anywhere else does not count."""
    lines = body.rstrip().splitlines()
    found = _LINE.fullmatch(lines[-1]) if lines else None
    return Marker(found[1], found[2], int(found[3]), int(found[4])) if found else None
