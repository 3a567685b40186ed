"""Which files are experiments."""

import subprocess
from pathlib import Path

import pytest

from gate.errors import InvalidFileError
from gate.suite import Commit, find_files, git_commit, load_experiments

EXPERIMENT = """apiVersion: agentic-chaos/v1
kind: Experiment
metadata: {name: NAME}
spec: {target: {entrypoint: "a:b"}, faults: [{type: error}], probes: [{type: no_unhandled_error}]}
"""


def write(path: Path, text: str = EXPERIMENT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("NAME", path.stem), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        EXPERIMENT.replace("kind: Experiment", "kind: Experimant"),
        EXPERIMENT.replace("agentic-chaos/v1", "agentic-chaoss/v1"),
        EXPERIMENT.replace("kind: Experiment\n", ""),
        "a: [",
    ],
    ids=["kind", "version", "no kind", "no YAML"],
)
def test_folder__a_misspelt_experiment_is_shown_and_not_skipped(tmp_path: Path, text: str) -> None:
    write(tmp_path / "good.yaml")
    write(tmp_path / "bad.yaml", text)
    with pytest.raises(InvalidFileError, match=r"bad\.yaml"):
        load_experiments(["."], tmp_path, print)


def test_folder__files_of_other_kinds_are_skipped(tmp_path: Path) -> None:
    good = write(tmp_path / "deep/good.yml")
    write(tmp_path / "compose.yaml", "services: {}\n")
    write(tmp_path / "deploy.yaml", "apiVersion: apps/v1\nkind: Deployment\nspec: {}\n")
    write(tmp_path / "proxy.yaml", "apiVersion: agentic-chaos/v1\nkind: McpProxy\nspec: {}\n")
    assert find_files(["."], tmp_path) == [good]


def test_glob__in_a_folder_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    good = write(tmp_path / "[a]" / "experiments" / "good.yaml")
    assert find_files(["experiments/**/*.yaml"], tmp_path / "[a]") == [good]
    assert find_files(["experiments"], tmp_path / "[a]") == [good]


def test_patterns__that_overlap_give_each_file_once(tmp_path: Path) -> None:
    good = write(tmp_path / "good.yaml")
    assert find_files(["good.yaml", "*.yaml", "."], tmp_path) == [good]


def test_git_commit__tells_a_checkout_with_changes_from_its_commit(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=Mona", "-c", "user.email=mona@example.com")
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()

    assert git_commit(tmp_path) == Commit()
    git("init", "--quiet", "--initial-branch", "main")
    write(tmp_path / "agent.py")
    git("add", "--all")
    git("commit", "--quiet", "--message", "one")
    sha, tree = git("rev-parse", "HEAD"), git("rev-parse", "HEAD^{tree}")
    write(tmp_path / "report.json")  # not added: what the gate itself leaves is no change
    assert git_commit(tmp_path) == Commit(sha, "main", tree)
    write(tmp_path / "agent.py", "changed")
    assert git_commit(tmp_path) == Commit(sha, "main", f"{tree}-dirty")
