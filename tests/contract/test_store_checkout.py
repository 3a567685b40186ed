"""Ancestors from a real checkout: whole, shallow, and without the commit."""

import subprocess
from pathlib import Path

import pytest

from gate.store import first_parents_in, parents_in


def git(directory: Path, *arguments: str) -> str:
    """Run git as somebody."""
    who = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "init.defaultBranch=main",
    ]
    done = subprocess.run(["git", *who, "-C", str(directory), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with four commits on main, the third a merge of a branch with one commit."""
    directory = tmp_path_factory.mktemp("repository")
    git(directory, "init", "--quiet")
    git(directory, "commit", "--quiet", "--allow-empty", "-m", "one")
    git(directory, "checkout", "--quiet", "-b", "side")
    git(directory, "commit", "--quiet", "--allow-empty", "-m", "side\n\nparent of nothing")
    git(directory, "checkout", "--quiet", "main")
    git(directory, "commit", "--quiet", "--allow-empty", "-m", "two")
    git(directory, "merge", "--quiet", "--no-ff", "-m", "three", "side")
    git(directory, "commit", "--quiet", "--allow-empty", "-m", "four")
    return directory


def test_first_parents_in__whole_history(repository: Path) -> None:
    expected = [git(repository, "rev-parse", f"main{'^1' * n}") for n in range(4)]
    assert first_parents_in(repository, expected[0]) == expected
    assert first_parents_in(repository, expected[0], limit=2) == expected[:2]


def test_first_parents_in__shallow_checkout_knows_only_what_it_has(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{repository}", "shallow")
    tip = git(repository, "rev-parse", "main")
    assert first_parents_in(tmp_path / "shallow", tip) is None
    assert first_parents_in(tmp_path / "shallow", tip, limit=2) == [tip, git(repository, "rev-parse", "main^")]


def test_parents_in__shallow_checkout_of_a_merge_knows_both(repository: Path, tmp_path: Path) -> None:
    git(repository, "branch", "--force", "merge", "main^")
    git(tmp_path, "clone", "--quiet", "--depth=1", "--branch=merge", f"file://{repository}", "shallow")
    expected = [git(repository, "rev-parse", "main^^1"), git(repository, "rev-parse", "main^^2")]
    assert parents_in(tmp_path / "shallow", "HEAD") == expected


@pytest.mark.parametrize("commit", ["e" * 40, "no-such-branch", "--all"])
def test_checkout__without_the_commit(repository: Path, commit: str) -> None:
    assert (first_parents_in(repository, commit), parents_in(repository, commit)) == (None, None)


def test_checkout__that_is_none(tmp_path: Path) -> None:
    assert (first_parents_in(tmp_path, "HEAD"), parents_in(tmp_path / "absent", "HEAD")) == (None, None)
