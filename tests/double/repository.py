"""A bare git repository driven by plumbing commands: the truth behind the git endpoints."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ZERO_SHA = "0" * 40


class GitError(Exception):
    """A git command that failed; the text is its standard error."""


@dataclass(frozen=True)
class Signature:
    """A name, an address and a moment such as `2026-01-02T03:04:05Z`."""

    name: str
    email: str
    date: str


@dataclass(frozen=True)
class CommitObject:
    """A parsed commit."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Signature
    committer: Signature
    message: str


@dataclass(frozen=True)
class TreeEntry:
    """One line of `ls-tree`; `size` is None for what is not a blob."""

    mode: str
    type: str
    sha: str
    path: str
    size: int | None


@dataclass(frozen=True)
class TreeChange:
    """An entry to write into a tree; `sha` None removes the path."""

    path: str
    mode: str
    sha: str | None


@dataclass(frozen=True)
class FileChange:
    """One file of a diff."""

    path: str
    status: str
    additions: int
    deletions: int
    sha: str


class BareRepository:
    """Reads and writes objects and refs of one bare repository."""

    def __init__(self, path: Path, default_branch: str = "main") -> None:
        self.path = path
        if not (path / "HEAD").exists():
            path.mkdir(parents=True, exist_ok=True)
            self._run("init", "--bare", "--quiet", "--template=", f"--initial-branch={default_branch}", str(path))

    def _environment(self, extra: dict[str, str] | None = None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return {
            **kept,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            **(extra or {}),
        }

    def _try(
        self, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", *arguments], input=stdin, cwd=cwd or self.path, env=self._environment(env), capture_output=True
        )

    def _run(
        self, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> bytes:
        done = self._try(*arguments, stdin=stdin, env=env, cwd=cwd)
        if done.returncode != 0:
            raise GitError(done.stderr.decode(errors="replace").strip() or f"git {arguments[0]} failed")
        return done.stdout

    def fetch_from(self, source: Path) -> None:
        """Take over every branch and tag of a local repository, also of one with a detached HEAD."""
        refspecs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+HEAD:refs/seed/head"]
        self._run("push", "--quiet", str(self.path.resolve()), *refspecs, cwd=source)

    # Objects

    def type_of(self, name: str) -> str | None:
        """`blob`, `tree`, `commit`, `tag`, or None for what is not there."""
        done = self._try("cat-file", "-t", "--", name) if not name.startswith("-") else None
        return done.stdout.decode().strip() if done and done.returncode == 0 else None

    def resolve_commit(self, name: str) -> str | None:
        """The commit a branch, tag, full ref or (abbreviated) sha stands for."""
        if name.startswith("-") or ".." in name or not name:
            return None
        for candidate in (f"refs/heads/{name}", f"refs/tags/{name}", f"refs/{name}", name):
            done = self._try("rev-parse", "--verify", "--quiet", "--end-of-options", f"{candidate}^{{commit}}")
            if done.returncode == 0:
                return done.stdout.decode().strip()
        return None

    def resolve_tree(self, name: str) -> str | None:
        """The tree of a tree sha, a commit or a branch."""
        commit = self.resolve_commit(name)
        target = commit or name
        if target.startswith("-"):
            return None
        done = self._try("rev-parse", "--verify", "--quiet", "--end-of-options", f"{target}^{{tree}}")
        return done.stdout.decode().strip() if done.returncode == 0 else None

    def write_blob(self, content: bytes) -> str:
        return self._run("hash-object", "-w", "--stdin", stdin=content).decode().strip()

    def read_blob(self, sha: str) -> bytes:
        return self._run("cat-file", "blob", sha)

    def list_tree(self, sha: str, *, recursive: bool) -> list[TreeEntry]:
        """The entries of a tree; recursive lists show the folders too, as GitHub's do."""
        options = ["-r", "-t"] if recursive else []
        output = self._run("ls-tree", "-z", "-l", "--full-tree", *options, sha)
        entries = []
        for line in output.decode("utf-8", "surrogateescape").split("\0"):
            if line:
                head, path = line.split("\t", 1)
                mode, kind, entry_sha, size = head.split()
                entries.append(TreeEntry(mode, kind, entry_sha, path, None if size == "-" else int(size)))
        return entries

    def entry(self, tree: str, path: str) -> TreeEntry | None:
        """The entry at a path, or None."""
        output = self._run("ls-tree", "-z", "-l", "--full-tree", tree, "--", f":(literal){path}")
        text = output.decode("utf-8", "surrogateescape").rstrip("\0")
        if not text or "\0" in text:
            return None
        head, found = text.split("\t", 1)
        mode, kind, sha, size = head.split()
        return TreeEntry(mode, kind, sha, found, None if size == "-" else int(size))

    def write_tree(self, changes: list[TreeChange], base: str | None) -> str:
        """A tree made of `base` and the changes, built in an index of its own."""
        with tempfile.TemporaryDirectory(prefix="index-") as folder:
            env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self._run("read-tree", base if base else "--empty", env=env)
            folders = [change for change in changes if change.mode == "040000" and change.sha]
            for change in folders:
                self._run("rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", change.path, env=env)
                self._run("read-tree", f"--prefix={change.path}/", str(change.sha), env=env)
            lines = [
                f"{'0' if change.sha is None else change.mode} {change.sha or ZERO_SHA}\t{change.path}\0"
                for change in changes
                if change not in folders
            ]
            stdin = "".join(lines).encode("utf-8", "surrogateescape")
            self._run("update-index", "-z", "--replace", "--index-info", stdin=stdin, env=env)
            return self._run("write-tree", env=env).decode().strip()

    def write_commit(self, tree: str, parents: list[str], message: str, author: Signature, committer: Signature) -> str:
        env = {
            "GIT_AUTHOR_NAME": author.name,
            "GIT_AUTHOR_EMAIL": author.email,
            "GIT_AUTHOR_DATE": author.date,
            "GIT_COMMITTER_NAME": committer.name,
            "GIT_COMMITTER_EMAIL": committer.email,
            "GIT_COMMITTER_DATE": committer.date,
        }
        options = [option for parent in parents for option in ("-p", parent)]
        return self._run("commit-tree", tree, *options, "-F", "-", stdin=message.encode(), env=env).decode().strip()

    def commits(self, shas: list[str]) -> list[CommitObject]:
        """Parsed commits in the order given."""
        if not shas:
            return []
        output = self._run("cat-file", "--batch", stdin="\n".join(shas).encode() + b"\n")
        parsed, position = [], 0
        for sha in shas:
            end = output.index(b"\n", position)
            size = int(output[position:end].split()[2])
            parsed.append(_parse_commit(sha, output[end + 1 : end + 1 + size]))
            position = end + 1 + size + 1
        return parsed

    # Refs

    def ref(self, name: str) -> str | None:
        """What a full ref such as `refs/heads/main` points at."""
        return self.refs(name).get(name)

    def refs(self, prefix: str) -> dict[str, str]:
        """Every ref whose full name starts with the prefix, which may end within a word."""
        output = self._run("for-each-ref", "--format=%(objectname) %(refname)").decode()
        pairs = (line.split(" ", 1) for line in output.splitlines())
        return {name: sha for sha, name in pairs if name.startswith(prefix)}

    def valid_ref(self, name: str) -> bool:
        return self._try("check-ref-format", name).returncode == 0

    def update_ref(self, name: str, new: str, old: str | None) -> bool:
        """Compare and swap: False when the ref no longer is `old` (None: must not exist)."""
        return self._try("update-ref", name, new, old or ZERO_SHA).returncode == 0

    def force_ref(self, name: str, new: str) -> None:
        self._run("update-ref", name, new)

    def delete_ref(self, name: str) -> None:
        self._run("update-ref", "-d", name)

    # History

    def is_ancestor(self, old: str, new: str) -> bool:
        return self._try("merge-base", "--is-ancestor", old, new).returncode == 0

    def merge_base(self, one: str, other: str) -> str | None:
        done = self._try("merge-base", one, other)
        return done.stdout.decode().strip() if done.returncode == 0 else None

    def rev_list(self, *revisions: str, options: tuple[str, ...] = (), path: str | None = None) -> list[str]:
        """Commits, newest first, in the order of `git rev-list`."""
        paths = ["--", f":(literal){path}"] if path else ["--"]
        return self._run("rev-list", *options, *revisions, *paths).decode().split()

    def changes(self, old: str, new: str) -> list[FileChange]:
        """Files that differ between two trees or commits."""
        raw = self._run("diff-tree", "-r", "-z", "--no-renames", "--raw", old, new).decode("utf-8", "surrogateescape")
        numbers = self._run("diff-tree", "-r", "-z", "--no-renames", "--numstat", old, new)
        counts = {}
        for line in numbers.decode("utf-8", "surrogateescape").split("\0"):
            if line:
                added, removed, path = line.split("\t", 2)
                counts[path] = (0, 0) if added == "-" else (int(added), int(removed))
        words = {"A": "added", "D": "removed", "M": "modified", "T": "changed"}
        fields = raw.split("\0")
        found = []
        for meta, path in zip(fields[::2], fields[1::2], strict=False):
            _, _, old_sha, new_sha, letter = meta.split()
            sha = old_sha if letter == "D" else new_sha
            found.append(FileChange(path, words.get(letter[0], "changed"), *counts.get(path, (0, 0)), sha))
        return found

    def merge_tree(self, base: str, head: str) -> str | None:
        """The tree of a merge of two commits, or None when they conflict."""
        done = self._try("merge-tree", "--write-tree", base, head)
        return done.stdout.decode().split()[0] if done.returncode == 0 else None


def _parse_commit(sha: str, raw: bytes) -> CommitObject:
    head, _, message = raw.decode("utf-8", "replace").partition("\n\n")
    tree, parents, people = "", [], {}
    for line in head.split("\n"):
        name, _, value = line.partition(" ")
        if name == "tree":
            tree = value
        elif name == "parent":
            parents.append(value)
        elif name in {"author", "committer"}:
            people[name] = _parse_signature(value)
    return CommitObject(sha, tree, tuple(parents), people["author"], people["committer"], message.rstrip("\n"))


def _parse_signature(text: str) -> Signature:
    who, _, when = text.rpartition("> ")
    name, _, email = who.partition(" <")
    moment = datetime.fromtimestamp(int(when.split()[0]), UTC)
    return Signature(name, email, moment.strftime("%Y-%m-%dT%H:%M:%SZ"))
