"""What an output is made of: a comparison, with head's report where that is known."""

from dataclasses import dataclass
from datetime import date

from gate.compare import compare
from gate.comparison import Comparison
from gate.errors import InvalidFileError
from gate.report import Report, read_model, read_report


@dataclass(frozen=True)
class Source:
    """`alone`: there is only a report, and the comparison is that of head with nothing."""

    comparison: Comparison
    head: Report | None
    alone: bool = False


def read_source(text: str | bytes, name: str, head: Report | None, today: date) -> Source:
    """Read a comparison or a report as untrusted input; of a report, `today` dates the comparison with no base.

    Raises:
        InvalidFileError: neither of the two; it tells what is wrong with it as the one that it looks like.
    """
    try:
        return Source(read_model(Comparison, text, name), head)
    except InvalidFileError as as_comparison:
        try:
            report = read_report(text, name)
        except InvalidFileError as as_report:
            looks_like_a_report = len(as_report.problems) < len(as_comparison.problems)
            raise as_report if looks_like_a_report else as_comparison from None
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
