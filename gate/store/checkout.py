"""The ancestors of a commit, from the checkout where it has them: cheaper than asking GitHub."""

import subprocess
from pathlib import Path


def parents_in(directory: Path, commit: str) -> list[str] | None:
    """Return the parents of a commit, the first one first; None if the checkout lacks the commit.

    They stand in the commit itself, so that a checkout without any history knows them too.
    """
    text = _git(directory, "cat-file", "commit", commit)
    if text is None:
        return None
    headers = text.partition("\n\n")[0].splitlines()
    return [line.removeprefix("parent ") for line in headers if line.startswith("parent ")]


def first_parents_in(directory: Path, commit: str, limit: int = 101) -> list[str] | None:
    """Return a commit and its first-parent ancestors, nearest first, at most `limit` of them.

    None if the checkout lacks the commit, or if its history is cut off before.
    """
    text = _git(directory, "rev-list", "--first-parent", f"--max-count={limit}", "--end-of-options", commit, "--")
    if text is None:
        return None
    found = text.split()
    if len(found) < limit and (not found or parents_in(directory, found[-1])):
        return None
    return found


def _git(directory: Path, *arguments: str) -> str | None:
    command = ["git", "--no-replace-objects", "-C", str(directory), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
