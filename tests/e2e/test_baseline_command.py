"""`merge`, `record` and `baseline list | show | fetch | prune`, by the command."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import builders
from tests.double import GitHubDouble
from tests.steps import TOKEN, experiment_report, suite_report

OLD, NEW = "a" * 40, "ab" + "c" * 38


@pytest.fixture
def double() -> Iterator[GitHubDouble]:
    with GitHubDouble() as double:
        yield double
        double.check()


def gate(folder: Path, double: GitHubDouble, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    env |= {"GITHUB_REPOSITORY": double.repository, "GITHUB_API_URL": double.url, "GITHUB_TOKEN": TOKEN}
    command = [sys.executable, "-m", "gate", *arguments]
    env["PYTHONPATH"] = str(Path(__file__).parents[2])
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_baseline__is_stored_listed_shown_fetched_and_pruned(tmp_path: Path, double: GitHubDouble) -> None:
    for commit in (OLD, NEW):
        (tmp_path / "report.json").write_text(suite_report(commit).model_copy(update={"ref": "main"}).to_json())
        done = gate(tmp_path, double, "record", "report.json", "--store", "branch:agent-chaos-baseline")
        assert done.returncode == 0, done.stderr
    again = gate(tmp_path, double, "record", "report.json", "--store", "branch:agent-chaos-baseline", "--json")
    assert json.loads(again.stdout) == {"commit": NEW, "store": "branch:agent-chaos-baseline", "new": False}
    listed = gate(tmp_path, double, "baseline", "list")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [NEW[:12], OLD[:12]]
    assert "2 of 2 held" in listed.stdout

    shown = gate(tmp_path, double, "baseline", "show")
    assert shown.stdout.startswith(f"commit {NEW}\n")
    assert "alpha" in shown.stdout
    assert json.loads(gate(tmp_path, double, "baseline", "show", OLD[:6], "--json").stdout)["commit"] == OLD

    assert gate(tmp_path, double, "baseline", "fetch", OLD[:6]).returncode == 0
    assert json.loads((tmp_path / "base.json").read_text())["commit"] == OLD

    assert gate(tmp_path, double, "baseline", "prune", "--keep", "1").stdout == "1 report(s) taken away\n"
    gone = gate(tmp_path, double, "baseline", "show", OLD)
    assert (gone.returncode, "no report is stored" in gone.stderr) == (2, True)


def test_baseline__ambiguous_and_empty(tmp_path: Path, double: GitHubDouble) -> None:
    assert gate(tmp_path, double, "baseline", "list").stdout == "nothing is stored for main\n"
    for commit in (OLD, NEW):
        (tmp_path / "report.json").write_text(suite_report(commit).model_copy(update={"ref": "main"}).to_json())
        gate(tmp_path, double, "record", "report.json", "--store", "branch:agent-chaos-baseline")
    done = gate(tmp_path, double, "baseline", "show", "a")
    assert (done.returncode, "2 commits" in done.stderr) == (2, True)


def test_merge__joins_shards_and_refuses_the_same_experiment(tmp_path: Path, double: GitHubDouble) -> None:
    for name in ("one", "two"):
        report = builders.report(experiment_report(name, 40), commit=OLD)
        (tmp_path / f"{name}.json").write_text(report.to_json())
    done = gate(tmp_path, double, "merge", "one.json", "two.json", "--output", "all.json")
    assert done.returncode == 0, done.stderr
    assert [e["name"] for e in json.loads((tmp_path / "all.json").read_text())["experiments"]] == ["one", "two"]
    done = gate(tmp_path, double, "merge", "one.json", "all.json")
    assert (done.returncode, "has experiment 'one', as one.json has" in done.stderr) == (2, True)


def test_record__refuses_what_the_commit_does_not_have(tmp_path: Path, double: GitHubDouble) -> None:
    (tmp_path / "report.json").write_text(suite_report(OLD).model_copy(update={"tested_tree": "t-dirty"}).to_json())
    done = gate(tmp_path, double, "record", "report.json")
    assert (done.returncode, "made with changes that the commit does not have" in done.stderr) == (2, True)
    assert not (tmp_path / "chaos-base.json").exists()


def test_record__in_a_run_without_a_number_is_an_error_of_use(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(suite_report(OLD).to_json())
    command = [sys.executable, "-m", "gate", "record", "report.json"]
    env = os.environ | {"GITHUB_RUN_ID": "latest", "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "GITHUB_RUN_ID: must be a whole number" in done.stderr) == (2, True)
