"""What every command has in common: where it speaks, and the options that say how."""

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gate.render.progress import Progress

F = Callable[..., Any]
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


class Output:
    """Where a command speaks: results on standard output, everything else on standard error."""

    def __init__(self, *, as_json: bool, quiet: bool, no_color: bool) -> None:
        from gate.config import wants_colour

        self.as_json, self.quiet = as_json, quiet
        self.colour = not no_color and wants_colour() and sys.stdout.isatty()

    def result(self, text: str, data: str) -> None:
        """Print a result as text, or as JSON when that was asked for."""
        if self.as_json:
            click.echo(data, nl=not data.endswith("\n"))
        elif not self.quiet:
            click.echo(text, color=self.colour)

    def note(self, text: str) -> None:
        """Say something beside the result."""
        if not self.quiet:
            click.echo(text, err=True)

    def progress(self) -> "Progress":
        """Return what shows on standard error how far a suite is."""
        from gate.config import is_live_terminal
        from gate.render.progress import Progress

        def say(text: str) -> None:
            if not self.quiet:
                click.echo(text, err=True, nl=False, color=True)

        live = is_live_terminal(sys.stderr)
        return Progress(say, live=live, size=shutil.get_terminal_size, clock=time.monotonic)


def output_options(command: F) -> F:
    """Add --json, --quiet and --no-color, passed on as one `output`."""

    def call(*args: Any, as_json: bool, quiet: bool, no_color: bool, **kwargs: Any) -> Any:
        return command(*args, output=Output(as_json=as_json, quiet=quiet, no_color=no_color), **kwargs)

    call.__doc__, call.__name__ = command.__doc__, command.__name__
    call.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]  # where click keeps options
    call = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(call)
    call = click.option("--quiet", is_flag=True, help="Print nothing but errors.")(call)
    return click.option("--no-color", is_flag=True, help="Print without colour.")(call)


def write(path: Path, text: str) -> None:
    """Write a file, its folder made if needed.

    Raises:
        BrokenEnvironmentError: it cannot be written.
    """
    from gate.errors import BrokenEnvironmentError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BrokenEnvironmentError(f"cannot be written: {error.strerror}", where=str(path)) from None
