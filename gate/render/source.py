"""What an output is made of: a comparison, with head's report where that is known."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from gate.compare import compare
from gate.comparison import Comparison
from gate.errors import UsageError
from gate.report import Report, read_model

HEAD_BYTES = 65_536
COMPARISON_KEYS = (b'"verdict":', b'"blocks":', b'"exit_code":')
"""What every comparison begins with, and no report."""


@dataclass(frozen=True)
class Source:
    """`alone`: there is only a report, and the comparison is that of head with nothing."""

    comparison: Comparison
    head: Report | None
    alone: bool = False


def read_source(
    data: bytes, name: str, head: Report | None, today: date, read: Callable[[bytes, str], Report]
) -> Source:
    """Read a comparison, or a report with `read`, as untrusted input; `today` dates a report's comparison with no base.

    Raises:
        InvalidFileError: neither of the two.
        UsageError: `head` is given beside a report, which has no other.
    """
    if all(key in data[:HEAD_BYTES] for key in COMPARISON_KEYS):
        return Source(read_model(Comparison, data, name), head)
    report = read(data, name)
    if head is not None:
        raise UsageError("it is a report; only a comparison has a head report beside it", where=name)
    return Source(compare(None, report, policy=report.policy, today=today), report, alone=True)


def render_as(form: str, source: Source) -> str:
    """Return the text of an output by its name on the command line."""
    from gate.render import html, junit, markdown, sarif, svg

    comparison, head = source.comparison, source.head
    match form:
        case "html":
            return html.render_html(comparison, head)
        case "sarif":
            return sarif.render_sarif(comparison, head)
        case "svg":
            return svg.render_svg(comparison, head)
        case "junit":
            return junit.render_junit(head if source.alone and head else comparison, head)
        case "summary":
            return markdown.render_summary(comparison)
    return markdown.render_comment(comparison)
