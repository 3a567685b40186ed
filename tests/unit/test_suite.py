"""Which files are experiments."""

from pathlib import Path

import pytest

from gate.errors import InvalidFileError
from gate.suite import find_files, load_experiments

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
