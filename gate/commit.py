"""Another commit of the repository: fetched, compared and written out, while checkout and .git stay as they are."""

import base64
import fnmatch
import json
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from gate.config import environment_with
from gate.errors import BrokenEnvironmentError

LOCKS = (
    *("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock*.toml", "setup.py", "setup.cfg"),
    *("requirements*.txt", "requirements/*.txt"),
)
"""Files that say which packages an environment has; of pyproject.toml only the parts that do."""
_HEADER = "CHAOS_GATE_HEADER"
_LFS = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True)
class _Entry:
    mode: str
    object: str
    path: str


def has_commit(repository: Path, commit: str) -> bool:
    """Return whether a repository has a commit with its tree."""
    return _run(repository, "cat-file", "-e", f"{commit}^{{tree}}").returncode == 0


def top_level(directory: Path) -> Path:
    """Return the root of the checkout that a folder belongs to.

    Raises:
        BrokenEnvironmentError: it belongs to none.
    """
    done = _run(directory, "rev-parse", "--show-toplevel")
    if done.returncode:
        raise BrokenEnvironmentError("the agent is not in a git checkout", where=str(directory))
    return Path(done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")).resolve()


def fetch_commit(repository: Path, url: str, commit: str, token: str) -> None:
    """Make a bare repository that has one commit; the token is in the environment of that one git and nowhere else.

    Raises:
        BrokenEnvironmentError: the server does not give it.
    """
    secret = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    environment = {_HEADER: f"AUTHORIZATION: basic {secret}" if token else "", "GIT_TERMINAL_PROMPT": "0"}
    header = f"--config-env=http.{url}.extraheader={_HEADER}"
    options = ("--quiet", "--no-tags", "--depth=1", "--no-write-fetch-head", "--no-recurse-submodules")
    _run(repository.parent, "init", "--quiet", "--bare", "--template=", str(repository))
    done = _run(repository, header, "fetch", *options, url, commit, environment=environment)
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["git fetch failed"]
        raise BrokenEnvironmentError(f"the commit {commit[:12]} cannot be fetched: {last[0][:300]}")


def write_tree(repository: Path, commit: str, folder: Path) -> None:
    """Write the files of a commit into a folder, as they are stored: no hook, no filter and no attribute is heeded.

    Raises:
        BrokenEnvironmentError: it is not whole, or cannot stand alone: links that lead out, submodules, Git LFS.
    """
    entries = list(_entries(repository, commit))
    for entry in entries:
        path = PurePosixPath(entry.path)
        if path.is_absolute() or ".." in path.parts or entry.mode == "160000":
            raise BrokenEnvironmentError(f"{entry.path} of {commit[:12]} is a submodule or no path inside")
    links = []
    for entry, data in _blobs(repository, commit, entries):
        target = folder / entry.path
        target.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == "120000":
            links.append((entry, target, data.decode("utf-8", "surrogateescape")))
        elif data.startswith(_LFS):
            raise BrokenEnvironmentError(f"{entry.path} of {commit[:12]} is kept in Git LFS")
        else:
            target.write_bytes(data)
            target.chmod(0o755 if entry.mode == "100755" else 0o644)
    for entry, target, to in links:  # last, so that nothing is written through them
        if PurePosixPath(to).is_absolute() or not (target.parent / to).resolve().is_relative_to(folder.resolve()):
            raise BrokenEnvironmentError(f"{entry.path} of {commit[:12]} is a link that leads out of the repository")
        target.symlink_to(to)


def differing_dependencies(one: tuple[Path, str], other: tuple[Path, str], directory: PurePosixPath) -> list[str]:
    """Return the files that say what is to be installed for a folder and differ between two (repository, commit)."""
    found = [_dependencies(*side, directory) for side in (one, other)]
    return sorted(path for path in found[0].keys() | found[1].keys() if found[0].get(path) != found[1].get(path))


def _dependencies(repository: Path, commit: str, directory: PurePosixPath) -> dict[str, str]:
    folders = {str(folder) for folder in (directory, *directory.parents)}
    wanted, projects = {}, []
    for entry in _entries(repository, commit):
        path = PurePosixPath(entry.path)
        if str(path.parent) in folders and path.name == "pyproject.toml":
            projects.append(entry)
        for folder in (path.parent, path.parent.parent):
            if str(folder) in folders and any(fnmatch.fnmatchcase(str(path.relative_to(folder)), p) for p in LOCKS):
                wanted[entry.path] = entry.object
    return wanted | {entry.path: _packages(data) for entry, data in _blobs(repository, commit, projects)}


def _packages(text: bytes) -> str:
    """Return what a pyproject.toml says of packages; all of it where it cannot be read."""
    try:
        data: Any = tomllib.loads(text.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return repr(text)
    project, tool = data.get("project", {}), data.get("tool", {})
    project = {k: v for k, v in project.items() if k in ("dependencies", "optional-dependencies", "requires-python")}
    tools = {name: tool.get(name) for name in ("poetry", "uv", "pdm", "hatch")}
    told = [project, data.get("dependency-groups"), data.get("build-system"), tools]
    return json.dumps(told, sort_keys=True, default=str)


def _entries(repository: Path, commit: str) -> Iterator[_Entry]:
    done = _run(repository, "ls-tree", "-r", "-z", "--full-tree", commit)
    if done.returncode:
        raise BrokenEnvironmentError(f"the commit {commit[:12]} is not in {repository}")
    for line in done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        about, _, path = line.partition("\t")
        mode, _, name = about.split(" ")
        yield _Entry(mode, name, path)


def _blobs(repository: Path, commit: str, entries: list[_Entry]) -> Iterator[tuple[_Entry, bytes]]:
    """Yield every entry with what it holds, one at a time."""
    with subprocess.Popen(
        _command(repository, "cat-file", "--batch"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment_with({"GIT_NO_LAZY_FETCH": "1"}),
    ) as git:
        assert git.stdin is not None  # noqa: S101 (it was asked for)
        assert git.stdout is not None  # noqa: S101
        for entry in entries:
            git.stdin.write(entry.object.encode() + b"\n")
            git.stdin.flush()
            yield entry, _blob(git.stdout, f"{entry.path} of {commit[:12]}")


def _blob(stream: IO[bytes], name: str) -> bytes:
    fields = stream.readline().split()
    if len(fields) != 3:
        raise BrokenEnvironmentError(f"the checkout lacks {name}")
    data = stream.read(int(fields[2]))
    stream.read(1)
    return data


def _command(repository: Path, *arguments: str) -> list[str]:
    """Return a command of git; options of git itself may stand first."""
    return ["git", "--no-replace-objects", "-C", str(repository), *arguments]


def _run(
    repository: Path, *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    given = environment_with({"GIT_NO_LAZY_FETCH": "1", **(environment or {})})
    return subprocess.run(_command(repository, *arguments), capture_output=True, env=given, check=False)
