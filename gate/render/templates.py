"""Where the templates lie, and the one environment that writes Markdown from them."""

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


@functools.cache
def markdown_environment() -> "Environment":
    """Return the environment in which every value that is not our own Markdown is escaped."""
    import jinja2

    from gate.render.escape import finalize, table_row
    from gate.resources import resource

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(resource("templates")),
        finalize=finalize,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701  # Markdown, not HTML: finalize escapes
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["table_row"] = table_row
    return environment
