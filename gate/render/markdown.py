"""A comparison as Markdown: the comment on the pull request, the job summary, the check run."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from gate.comparison import Comparison
from gate.render import wording
from gate.render.escape import Markdown, escape, plain
from gate.render.marker import Marker
from gate.render.templates import markdown_environment
from gate.render.view import View, build_view, shorten

_URL = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&+,;=%\[\]-]+")
_BLANK = re.compile(r"\n{3,}")
JOB_SUMMARY, FILE = Markdown("the job summary"), Markdown("comparison.json")


@dataclass(frozen=True)
class Links:
    """Trusted addresses; an empty one is not linked. `base_commits` and `head_commits` end before the sha.

    Raises:
        ValueError: something that is not a plain http address.
    """

    run: str = ""
    base_commits: str = ""
    head_commits: str = ""

    def __post_init__(self) -> None:
        for url in (self.run, self.base_commits, self.head_commits):
            if url and not _URL.fullmatch(url):
                raise ValueError(f"not a web address: {url!r}")


NO_LINKS = Links()


def render_comment(
    comparison: Comparison,
    *,
    key: str = "default",
    marker: Marker | None = None,
    links: Links = NO_LINKS,
    limit: int = 60_000,
) -> str:
    """Return the comment, at most `limit` characters; what does not fit is in the job summary.

    Verdict, what blocks and the marker on the last line are always in it.
    """
    values = {"marker": None if marker is None else Markdown(marker), "elsewhere": JOB_SUMMARY}
    return _render("comment.md.j2", build_view(comparison), values, key, links, lambda text: len(text) <= limit)


def render_summary(
    comparison: Comparison, *, key: str = "default", links: Links = NO_LINKS, limit_bytes: int = 900_000
) -> str:
    """Return the job summary: everything, as long as it fits into `limit_bytes` bytes of UTF-8."""
    view = build_view(comparison, folding=False, figures=True)
    return _render("summary.md.j2", view, {"elsewhere": FILE}, key, links, _fits_bytes(limit_bytes))


def check_title(comparison: Comparison) -> str:
    """Return one line of plain text for the check run: the verdict, and in words whether it blocks."""
    return f"{wording.WORD[comparison.verdict]} — {plain(wording.headline(comparison))}"


def check_summary(
    comparison: Comparison, *, key: str = "default", links: Links = NO_LINKS, limit_bytes: int = 65_000
) -> str:
    """Return the Markdown below the title of the check run, at most `limit_bytes` bytes of UTF-8."""
    view = build_view(comparison)
    return _render("summary.md.j2", view, {"elsewhere": JOB_SUMMARY}, key, links, _fits_bytes(limit_bytes))


def _fits_bytes(limit: int) -> Callable[[str], bool]:
    return lambda text: len(text.encode()) <= limit


def _render(
    template: str, view: View, values: dict[str, Markdown | None], key: str, links: Links, fits: Callable[[str], bool]
) -> str:
    text = ""
    source = markdown_environment().get_template(template)
    run = Markdown(f" · [run]({links.run})" if links.run else "")
    for shorter in shorten(view):
        text = source.render(view=shorter, key=key, run=run, commit=_commit_writer(links), **values)
        text = _BLANK.sub("\n\n", text.rstrip("\n")) + "\n"
        if fits(text):
            break
    return text


def _commit_writer(links: Links) -> Callable[[str, str], Markdown]:
    prefixes = {"base": links.base_commits, "head": links.head_commits}

    def write(sha: str, side: str) -> Markdown:
        """Return a commit, linked if it is one and the address is known."""
        if not sha.strip():
            return Markdown("(commit unknown)")
        short = wording.short_commit(sha)
        if short is None or not prefixes[side]:
            return escape(short or sha)
        return Markdown(f"[{escape(short)}]({prefixes[side]}{sha})")

    return write
