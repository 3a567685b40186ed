"""Base and head run again: real commits, real interpreters; what decides, and everything that stands in the way."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from gate.commit import fetch_commit, has_commit
from gate.compare import compare
from gate.comparison import Comparison
from gate.config import Budget, Config, RunConfig, agent_environment
from gate.confirmation import Confirmation, read_confirmation
from gate.errors import BrokenEnvironmentError
from gate.report import BUDGET_STOP, Report, read_model, read_report
from gate.rerun import Again, confirm, look_and_confirm
from gate.suite import git_commit, load_experiments, run_and_report
from tests.steps import SAYS_OK, git

PARTS = "def answer():\n    return {!r}\n"
AGENT = """
import pathlib
from gate.chaos import tool
from parts import answer

@tool
def search(text):
    return text

def run(prompt="hi"):
    try:
        search(prompt)
    except Exception:
        pass
    return answer() if pathlib.Path("parts.py").exists() else "started elsewhere"
"""
SUITE = SAYS_OK.replace("runs: 3", "runs: 10")
NOT_OK = "no"
USAGE = {"usage": {"prompt_tokens": 60, "completion_tokens": 40}}


@dataclass
class Repository:
    """A user's repository with two commits, the second one checked out."""

    path: Path
    python: str = sys.executable
    environment: dict[str, str] = field(default_factory=dict)

    def commit(self, **files: str) -> str:
        """Commit files, named with `__` for a dot, and return the sha."""
        for name, text in files.items():
            path = self.path / name.replace("__", ".").replace("_in_", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        git(self.path, "add", "--all")
        git(self.path, "commit", "--quiet", "--allow-empty", "-m", "one more")
        return git(self.path, "rev-parse", "HEAD")

    def report(self, target: str | None = None, config: Config | None = None, **changes: Any) -> Report:
        """Run the suite on what is checked out."""
        return run_and_report(
            load_experiments(["experiments"], self.path, lambda _: None),
            config or Config(),
            directory=self.path,
            python=(self.python,),
            environment=agent_environment([]) | self.environment,
            target=target,
            runs=None,
            seed=None,
            commit=git_commit(self.path),
            on_record=lambda _: None,
            **changes,
        )

    def look_and_confirm(self, base: Report, config: Config, journal: Path) -> tuple[Report, Confirmation | None]:
        """Run the suite, and base and head again for what looks worse."""
        experiments = load_experiments(["experiments"], self.path, lambda _: None)
        first_look = partial(self.report, config=config, journal=journal)
        return look_and_confirm(first_look, base, experiments, config, self.again(base), spare=True)

    def again(self, base: Report) -> Again:
        """Return what is run again."""
        return Again(
            repository=self.path,
            commit=base.commit,
            directory=self.path,
            python=(self.python,),
            environment=agent_environment([]) | self.environment,
            target=None,
            say=lambda _: None,
        )

    def confirm(self, base: Report, head: Report, config: Config | None = None, **changes: Any) -> Confirmation:
        """Run base and head again."""
        experiments = load_experiments(["experiments"], self.path, lambda _: None)
        made = confirm(base, head, experiments, config or Config(), replace(self.again(base), **changes))
        assert made is not None
        return made


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    path = tmp_path / "work"
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch", "main")
    made = Repository(path)
    made.commit(agent__py=AGENT, parts__py=PARTS.format("ok"), experiments_in_says_ok__yaml=SUITE)
    return made


def chaos_counts(report: Report | None) -> tuple[int, int]:
    assert report is not None
    [found] = [p for e in report.experiments for p in e.probes if p.phase == "chaos"]
    return found.passes, found.runs


def seeds(report: Report | None) -> set[int | None]:
    assert report is not None
    return {run.seed for e in report.experiments for phase in e.phases for run in phase.runs}


def test_confirm__runs_the_code_of_both_commits_with_fresh_seeds(repository: Repository) -> None:
    base = repository.report()
    repository.commit(parts__py=PARTS.format(NOT_OK))
    head = repository.report()
    before = snapshot(repository.path)
    made = repository.confirm(base, head)
    assert (made.reason, made.impossible) == ("", {})
    assert chaos_counts(made.base) == (20, 20)
    assert chaos_counts(made.head) == (0, 20)
    assert seeds(made.base) == seeds(made.head) == set(range(10, 30))
    assert snapshot(repository.path) == before


def snapshot(root: Path) -> Mapping[str, bytes]:
    """Return all files of a checkout, those of .git too, without what Python compiles."""
    files = (p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {str(p.relative_to(root)): p.read_bytes() for p in files}


def test_edited_experiment__runs_heads_definition_on_both(repository: Repository) -> None:
    base = repository.report()
    edited = SUITE.replace("pattern: ok", "pattern: o")
    repository.commit(experiments_in_says_ok__yaml=edited)
    head = repository.report()
    made = repository.confirm(base, head)
    assert made.base is not None
    assert made.base.experiments[0].fingerprint == head.experiments[0].fingerprint != base.experiments[0].fingerprint
    assert chaos_counts(made.base) == (20, 20)


def why(made: Confirmation) -> str:
    return made.reason or made.impossible["says-ok"]


def test_impossible__the_base_commit_is_gone(repository: Repository) -> None:
    base = repository.report()
    repository.commit(parts__py=PARTS.format(NOT_OK))
    made = repository.confirm(base, repository.report(), commit="1" * 40)
    assert "the commit 111111111111 is not in" in why(made)


def test_impossible__other_lock_files(repository: Repository) -> None:
    base = repository.report()
    repository.commit(parts__py=PARTS.format(NOT_OK), uv__lock="other")
    assert why(repository.confirm(base, repository.report())) == (
        "base may need other packages than head: uv.lock differ"
    )


def test_pyproject__counts_by_what_is_to_be_installed(repository: Repository) -> None:
    project = '[project]\nname = "a"\nversion = "{}"\ndependencies = [{}]\n'
    repository.commit(pyproject__toml=project.format(1, ""))
    base = repository.report()
    repository.commit(parts__py=PARTS.format(NOT_OK), pyproject__toml=project.format(2, ""))
    assert repository.confirm(base, repository.report()).reason == ""
    repository.commit(pyproject__toml=project.format(2, '"requests"'))
    assert "pyproject.toml" in why(repository.confirm(base, repository.report()))


def test_impossible__the_base_agent_no_longer_starts(repository: Repository) -> None:
    repository.commit(parts__py="import package_that_is_gone\n")
    base_commit = git(repository.path, "rev-parse", "HEAD")
    repository.commit(parts__py=PARTS.format("ok"))
    base = repository.report().model_copy(update={"commit": base_commit})
    repository.commit(parts__py=PARTS.format(NOT_OK))
    assert "No module named 'package_that_is_gone'" in why(repository.confirm(base, repository.report()))


@pytest.mark.parametrize(
    "budget",
    [Budget(minutes=1e-9), Budget(minutes=0), Budget(tokens=0), Budget(usd=0)],
    ids=["used up", "no minutes", "no tokens", "no usd"],
)
def test_impossible__the_budget_was_used_up_before(repository: Repository, budget: Budget) -> None:
    base = repository.report()
    repository.commit(parts__py=PARTS.format(NOT_OK))
    config = Config(run=RunConfig(budget=budget))
    made = repository.confirm(base, repository.report(), config)
    assert (why(made), made.base) == ("the budget was used up", None)


def test_impossible__the_budget_ends_inside(repository: Repository) -> None:
    thinking = f"from gate.chaos import llm\n\n@llm\ndef think():\n    return {USAGE}\n\n"
    repository.commit(parts__py=thinking + PARTS.format("ok").replace("    return", "    think()\n    return"))
    base = repository.report()
    repository.commit(parts__py=thinking + PARTS.format(NOT_OK).replace("    return", "    think()\n    return"))
    head = repository.report()
    assert head.spend.tokens == 20 * 100
    config = Config(run=RunConfig(parallel=1, budget=Budget(tokens=(20 + 12) * 100)))
    made = repository.confirm(base, head, config)
    assert why(made) == "the budget was used up"
    # side by side to the end: what has run is kept, for both
    assert (runs_of(made.base), runs_of(made.head)) == (6, 6)


def test_budget__leaves_enough_to_confirm_what_looks_worse(repository: Repository, tmp_path: Path) -> None:
    thinking = f"from gate.chaos import llm\n\n@llm\ndef think():\n    return {USAGE}\n\n"
    parts = thinking + PARTS.replace("    return", "    think()\n    return")
    anything = SUITE.replace("pattern: ok", "pattern: .")
    others = {f"experiments_in_{name}__yaml": anything.replace("says-ok", name) for name in ("x", "y", "z")}
    repository.commit(parts__py=parts.replace("{!r}", "'ok'"), **others)
    base = repository.report()
    repository.commit(parts__py=parts.replace("{!r}", f"'{NOT_OK}'"))
    # at most 20 runs for the one that looks worse in both phases, 2 * 2 * 20 to confirm it, and 5 for the others
    config = Config(run=RunConfig(parallel=1, budget=Budget(tokens=(20 + 80 + 5) * 100)))
    head, made = repository.look_and_confirm(base, config, tmp_path / "journal.jsonl")
    assert {e.name for e in head.experiments for p in e.phases if p.stop_reason == BUDGET_STOP} >= {"y", "z"}
    assert made is not None
    assert (made.reason, made.impossible) == ("", {})
    found = compare(base, head, policy=base.policy, today=date(2026, 1, 1), confirmation=made)
    assert {(r.experiment, r.phase) for r in found.rows if r.verdict == "regressed"} == {
        ("says-ok", "baseline"),
        ("says-ok", "chaos"),
    }


def test_budget__that_cannot_confirm_it_is_no_verdict_of_it(repository: Repository, tmp_path: Path) -> None:
    thinking = f"from gate.chaos import llm\n\n@llm\ndef think():\n    return {USAGE}\n\n"
    parts = thinking + PARTS.replace("    return", "    think()\n    return")
    repository.commit(parts__py=parts.replace("{!r}", "'ok'"))
    base = repository.report()
    repository.commit(parts__py=parts.replace("{!r}", f"'{NOT_OK}'"))
    config = Config(run=RunConfig(parallel=1, budget=Budget(tokens=40 * 100)))
    head, made = repository.look_and_confirm(base, config, tmp_path / "journal.jsonl")
    assert made is not None and made.impossible == {"says-ok": BUDGET_STOP}
    found = compare(base, head, policy=base.policy, today=date(2026, 1, 1), confirmation=made)
    # stopped early since it looks worse: as good as it can have been, it is not beyond chance among two
    assert [(r.verdict, r.unconfirmed, r.spared > 0) for r in found.rows] == [("inconclusive", BUDGET_STOP, True)] * 2
    assert found.exit_code == 0 and found.verdict == "inconclusive"


def test_new_in_head__is_not_run_again_and_keeps_nothing_else_from_it(repository: Repository, tmp_path: Path) -> None:
    base = repository.report()
    added = SUITE.replace("says-ok", "added")
    repository.commit(parts__py=PARTS.format(NOT_OK), experiments_in_added__yaml=added)
    head, made = repository.look_and_confirm(base, Config(), tmp_path / "journal.jsonl")
    assert made is not None
    assert (made.reason, made.impossible) == ("", {})
    assert [e.name for side in (made.base, made.head) if side for e in side.experiments] == ["says-ok"] * 2
    found = compare(base, head, policy=base.policy, today=date(2026, 1, 1), confirmation=made)
    assert {(r.experiment, r.verdict, r.decided_by) for r in found.rows} == {
        ("says-ok", "regressed", "confirmation"),
        ("added", "new", None),
    }


def runs_of(report: Report | None) -> int:
    assert report is not None
    return report.spend.runs


def test_links_and_paths__that_lead_out_make_it_impossible(repository: Repository) -> None:
    (repository.path / "out").symlink_to("/etc")
    repository.commit()
    base = repository.report()
    repository.commit(parts__py=PARTS.format(NOT_OK))
    assert "leads out of the repository" in why(repository.confirm(base, repository.report()))


def test_filters_and_hooks__of_the_repository_do_not_run(repository: Repository, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    git(repository.path, "config", "filter.evil.smudge", f"touch {touched}; cat")
    git(repository.path, "config", "core.fsmonitor", f"touch {touched}")
    hook = repository.path / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {touched}\n")
    hook.chmod(0o755)
    repository.commit(__gitattributes="*.py filter=evil\n")
    base = repository.report()
    repository.commit(parts__py=PARTS.format(NOT_OK))
    head = repository.report()
    touched.unlink(missing_ok=True)
    assert chaos_counts(repository.confirm(base, head).base) == (20, 20)
    assert not touched.exists()


def test_fetch__from_a_shallow_clone_leaves_it_alone(repository: Repository, tmp_path: Path) -> None:
    first = git(repository.path, "rev-parse", "HEAD")
    repository.commit(parts__py=PARTS.format(NOT_OK))
    shallow, extra = tmp_path / "shallow", tmp_path / "base.git"
    git(tmp_path, "clone", "--quiet", "--depth=1", repository.path.as_uri(), str(shallow))
    assert not has_commit(shallow, first)
    before = snapshot(shallow)
    fetch_commit(extra, repository.path.as_uri(), first, "t0ken")
    assert has_commit(extra, first)
    assert snapshot(shallow) == before
    assert not any(b"t0ken" in data or b"dDBrZW4" in data for data in snapshot(extra).values())
    with pytest.raises(BrokenEnvironmentError, match="111111111111 cannot be fetched"):
        fetch_commit(extra, repository.path.as_uri(), "1" * 40, "")


def test_fetch__gives_the_token_to_the_repository_asked_for(tmp_path: Path) -> None:
    seen = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(BrokenEnvironmentError) as raised:
            fetch_commit(tmp_path / "base.git", f"http://127.0.0.1:{server.server_port}/o/r", "1" * 40, "t0ken")
        server.shutdown()
    assert seen[0] == "basic eC1hY2Nlc3MtdG9rZW46dDBrZW4="  # x-access-token:t0ken
    assert "t0ken" not in str(raised.value)


def command(repository: Repository, *arguments: str) -> int:
    program = [str(Path(sys.executable).with_name("agent-chaos-gate")), *arguments, "--quiet"]
    return subprocess.run(program, cwd=repository.path, check=False).returncode


def test_command__a_local_user_gets_the_same(repository: Repository, tmp_path: Path) -> None:
    files = {name: str(tmp_path / f"{name}.json") for name in ("base", "head", "confirmation", "comparison")}
    run = ("run", "--python", sys.executable, "--report")
    assert command(repository, *run, files["base"]) == 0
    repository.commit(parts__py=PARTS.format(NOT_OK))
    assert command(repository, *run, files["head"], "--base", files["base"]) == 0
    compare = ("compare", files["base"], files["head"], "--output", files["comparison"])
    assert command(repository, *compare, "--confirmation", files["confirmation"]) == 1
    made = read_model(Comparison, Path(files["comparison"]).read_text(), "comparison.json")
    assert {(r.verdict, r.decided_by) for r in made.rows} == {("regressed", "confirmation")}


def test_command__what_cannot_be_confirmed_is_decided_on_all_runs(repository: Repository, tmp_path: Path) -> None:
    base, head = str(tmp_path / "base.json"), str(tmp_path / "head.json")
    run = ("run", "--python", sys.executable, "--report")
    assert command(repository, *run, base) == 0
    repository.commit(parts__py=PARTS.format(NOT_OK), uv__lock="other")
    assert command(repository, *run, head, "--base", base) == 0
    made = read_report(Path(head).read_text(), head)
    assert [len(phase.runs) for phase in made.experiments[0].phases] == [10, 10]
    assert "uv.lock" in read_confirmation((tmp_path / "confirmation.json").read_text(), "confirmation.json").reason


FINDER = """
import importlib.machinery, importlib.util, sys

class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in {names!r}:
            return importlib.util.spec_from_file_location(name, {folder!r} + "/" + name + ".py")

sys.meta_path.{how}
"""


def installed(repository: Repository, folder: Path, site: Mapping[str, str]) -> Repository:
    """Return the repository with an interpreter of its own, in whose packages these files stand."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [packages] = folder.glob("lib/python3.*/site-packages")
    for name, text in site.items():
        (packages / name).parent.mkdir(exist_ok=True)
        (packages / name).write_text(text, encoding="utf-8")
    return replace(repository, python=str(folder / "bin/python"))


def in_src(repository: Repository) -> None:
    """Move the agent into a folder of its own, where only an installation finds it."""
    (repository.path / "src").mkdir()
    for name in ("agent.py", "parts.py"):
        git(repository.path, "mv", name, f"src/{name}")
    repository.commit(src_in_agent__py=AGENT.replace('"parts.py"', '"src/parts.py"'))


def test_editable__a_path_into_the_checkout_leads_into_base_instead(repository: Repository, tmp_path: Path) -> None:
    in_src(repository)
    repository = installed(repository, repository.path / ".venv", {"agent.pth": f"{repository.path}/src\n"})
    (repository.path / ".venv/.gitignore").write_text("*")
    base = repository.report()
    repository.commit(src_in_parts__py=PARTS.format(NOT_OK))
    made = repository.confirm(base, repository.report())
    assert (made.reason, made.impossible) == ("", {})
    assert (chaos_counts(made.base), chaos_counts(made.head)) == ((20, 20), (0, 20))


@pytest.mark.parametrize(
    ("names", "how"),
    [({"agent", "parts"}, "append(Finder)"), ({"parts"}, "insert(0, Finder)")],
    ids=["target", "a module of it"],
)
def test_editable__a_hook_that_imports_the_checkout_is_detected(
    repository: Repository, tmp_path: Path, names: set[str], how: str
) -> None:
    if "agent" in names:
        in_src(repository)
    folder = repository.path / ("src" if "agent" in names else "")
    hook = FINDER.format(names=names, folder=str(folder), how=how)
    site = {"editable_finder.py": hook, "editable.pth": "import editable_finder\n"}
    repository = installed(repository, tmp_path / "venv", site)
    base = repository.report()
    parts = f"{folder.relative_to(repository.path)}/parts.py".removeprefix("./")
    (repository.path / parts).write_text(PARTS.format(NOT_OK))
    repository.commit()
    told = why(repository.confirm(base, repository.report()))
    assert re.search(rf"(agent|parts) is loaded from {re.escape(str(repository.path))}/", told)


def test_installed_copy__of_the_checkout_is_detected(repository: Repository, tmp_path: Path) -> None:
    lib = repository.path / "lib_of_ours"
    repository.commit(agent__py="import ours\n" + AGENT, lib_of_ours_in_ours__py="")
    origin = json.dumps({"url": lib.as_uri(), "dir_info": {}})
    about = {"METADATA": "Metadata-Version: 2.1\nName: ours\nVersion: 1\n", "RECORD": "ours.py,,\n"}
    site = {f"ours-1.dist-info/{name}": text for name, text in (about | {"direct_url.json": origin}).items()}
    repository = installed(repository, tmp_path / "venv", site | {"ours.py": ""})
    base = repository.report()
    repository.commit(parts__py=PARTS.format(NOT_OK))
    assert "ours is loaded from" in why(repository.confirm(base, repository.report()))


def test_import_during_a_run__from_the_checkout_is_detected(repository: Repository, tmp_path: Path) -> None:
    late = "    import parts\n    return parts.answer()"
    repository.commit(agent__py=AGENT.replace("from parts import answer\n", "").replace(AGENT.splitlines()[-1], late))
    hook = FINDER.format(names={"parts"}, folder=str(repository.path), how="insert(0, Finder)")
    site = {"editable_finder.py": hook, "editable.pth": "import editable_finder\n"}
    repository = installed(repository, tmp_path / "venv", site)
    base = repository.report()
    repository.commit(parts__py=PARTS.format(NOT_OK))
    made = repository.confirm(base, repository.report())
    assert chaos_counts(made.base) == (0, 0)  # such runs say nothing of base, so that nothing is decided by them
    assert made.base is not None
    assert made.base.experiments[0].outcomes.gate_error == 40
