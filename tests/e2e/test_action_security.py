"""A hostile agent inside the real action: it looks for the token, stays behind, and rewrites the gate."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.double import GitHubDouble
from tests.double.events import Events
from tests.e2e.action import ROOT, UserRepository, readme_workflow

ONE = ("control-guardrail-outage.yaml",)

# Looks through every environment and every file of the job, now and for a minute after the agent has ended.
SPY = """
import os, pathlib, sys, time

def hunt(token_start, places, log):
    me = os.getpid()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if int(process.name) != me and token_start in (process / "environ").read_bytes():
                with open(log, "a") as out:
                    out.write(f"environ of {(process / 'cmdline').read_bytes()!r}\\n")
        except (OSError, ValueError):
            pass
    for place in places:
        for path in pathlib.Path(place).rglob("*"):
            try:
                if path.is_file() and token_start in path.read_bytes():
                    with open(log, "a") as out:
                        out.write(f"file {path}\\n")
            except OSError:
                pass

START, LOG, PLACES = "".join(["ghs_", "OnlyHere"]).encode(), @LOG@, @PLACES@
if not os.path.exists(LOG):
    open(LOG, "w").write("looked\\n")
    hunt(START, PLACES, LOG)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for _ in range(600):
                with open(LOG + ".alive", "a") as alive:
                    alive.write("x")
                hunt(START, (), LOG)
                time.sleep(0.1)
        os._exit(0)
"""
# Only below the folder of the test: what an interpreter finds as `gate` may be a checkout that somebody works in.
TAMPER = """
import pathlib
for path in pathlib.Path(@HOME@).rglob("gate/cli.py"):
    with open(path, "a") as file:
        file.write("\\nprint('the gate is mine')\\n")
"""


def pull_request_of(user: UserRepository, code: str) -> dict[str, object]:
    """Open a pull request whose agent is a good one after this code; return the event."""
    first = user.create("hardened", ONE, readme_workflow("plain"))
    user.switch("feature")
    agent = f"{code}\nfrom experiments.mailbot import hardened as run\n"
    head = user.commit({"my_agent.py": agent}, "innocent")
    user.double.open_pull(7, "main", first, "feature", head)
    return Events(user.double.repository).pull_request(base_sha=first, head_sha=head)


def test_spy__finds_no_token_and_does_not_outlive_the_run_step(tmp_path: Path) -> None:
    log = tmp_path / "spied"
    with GitHubDouble() as double:
        user = UserRepository(tmp_path / "repo", double, token="ghs_" + "OnlyHere" * 4)
        code = SPY.replace("@LOG@", repr(str(log))).replace("@PLACES@", repr((str(tmp_path / "home"), str(user.path))))
        outcome = user.run("pull_request", pull_request_of(user, code))
        assert outcome.green, outcome.log
        assert log.read_text() == "looked\n"
        before = Path(f"{log}.alive").stat().st_size
        time.sleep(0.5)
        assert Path(f"{log}.alive").stat().st_size == before, "the daemon still lives"
        assert user.token not in outcome.log
        assert {r.token for r in double.requests} == {user.token}
        double.check()


def test_tampering_with_the_gate__is_noticed_and_nothing_is_published(tmp_path: Path) -> None:
    with GitHubDouble() as double:
        user = UserRepository(tmp_path / "repo", double)
        code = TAMPER.replace("@HOME@", repr(str(tmp_path / "home")))
        outcome = user.run("pull_request", pull_request_of(user, code))
        assert not outcome.green
        assert "were changed while the agent ran" in outcome.log, outcome.log
        assert double.comments(7) == []
        assert [(c.status, c.conclusion) for c in double.check_runs()] == [("completed", "failure")]
        [opened, completed] = [r for r in double.requests if r.method != "GET"]
        assert (opened.path.rpartition("/")[2], completed.headers["user-agent"].partition("/")[0]) == (
            "check-runs",
            "curl",
        )
        double.check()


# --- the digest, out of action.yml and by itself ---------------------------------------------------------------------


def digest_script() -> str:
    """Return the shell function of the action that digests what the publish step trusts."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    found = re.search(r"digest\(\) \{\n.*?\n\}\n", action["runs"]["steps"][1]["run"], re.DOTALL)
    assert found
    return found[0]


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    for name in (
        "home/venv/lib",
        "home/pycache/lib",
        "home/state",
        "action/gate",
        "action/templates",
        "python/lib/python3",
    ):
        (tmp_path / name).mkdir(parents=True)
    for name in ("home/venv/lib/a.py", "home/pycache/lib/a.pyc", "home/state/base.json", "action/gate/cli.py"):
        (tmp_path / name).write_text("1")
    for name in ("action/templates/t.j2", "python/lib/python3/os.py", "python/bin", "python/shared", "python/other"):
        (tmp_path / name).write_text("1")
    (tmp_path / "home/venv/python").symlink_to(tmp_path / "python/bin")
    (tmp_path / "home/venv/gate").symlink_to(tmp_path / "action/gate")
    return tmp_path


def digest(trees: Path, **environment: str) -> str:
    hijack = trees.parent / f"{trees.name}.bash"
    hijack.write_text("sha256sum() { echo hijacked; }\n")
    variables = environment | {
        "PATH": os.environ["PATH"],
        "BASH_ENV": str(hijack),
        "BASH_FUNC_sha256sum%%": "() { echo hijacked; }",
        "HOME_DIR": str(trees / "home"),
        "GITHUB_ACTION_PATH": str(trees / "action"),
        "LIBRARY": str(trees / "python/lib/python3"),
        "INTERPRETER": str(trees / "python/bin"),
        "SHARED": str(trees / "python/shared"),
    }
    command = ["/bin/bash", "-p", "-euo", "pipefail", "-c", f"{digest_script()}digest"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"[0-9a-f]{64}\n", done.stdout)
    return done.stdout


def retarget(link: Path, target: str) -> None:
    link.unlink()
    link.symlink_to(link.parents[2] / target)


CHANGES: dict[str, Callable[[Path], object]] = {
    "file changed": lambda t: (t / "action/gate/cli.py").write_text("2"),
    "file added": lambda t: (t / "home/venv/lib/sitecustomize.py").write_text(""),
    "file gone": lambda t: (t / "action/templates/t.j2").unlink(),
    "file renamed": lambda t: (t / "action/gate/cli.py").rename(t / "action/gate/clj.py"),
    "link retargeted": lambda t: retarget(t / "home/venv/python", "python/other"),
    "link added": lambda t: (t / "home/venv/lib/b.py").symlink_to(t / "python/other"),
    "target of a link changed": lambda t: (t / "python/bin").write_text("2"),
    "compiled file changed": lambda t: (t / "home/pycache/lib/a.pyc").write_text("2"),
    "compiled file added": lambda t: (t / "home/pycache/lib/b.pyc").write_text("2"),
    "fetched base changed": lambda t: (t / "home/state/base.json").write_text("2"),
    "library changed": lambda t: (t / "python/lib/python3/os.py").write_text("2"),
    "library shadowed by a zip": lambda t: (t / "python/lib/python3.zip").write_text("2"),
    "shared library changed": lambda t: (t / "python/shared").write_text("2"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_digest__sees_it(trees: Path, change: Callable[[Path], object]) -> None:
    before = digest(trees)
    assert digest(trees) == before
    change(trees)
    assert digest(trees) != before


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "OPENSSL_CONF"])
def test_digest__sees_another_way_to_the_server(trees: Path, name: str) -> None:
    assert digest(trees, LANG="C") == digest(trees, LANG="de")
    assert len({digest(trees), digest(trees, **{name: "x"}), digest(trees, **{name: "y"})}) == 3


def test_digest__leaves_out_what_is_never_executed(trees: Path) -> None:
    before = digest(trees)
    for name in (
        "action/gate/__pycache__",
        *(f"python/lib/python3/{n}" for n in ("site-packages", "test", "config-3")),
    ):
        (trees / name).mkdir()
        (trees / name / "x.py").write_text("")
    assert digest(trees) == before


def test_publish__loads_nothing_that_the_digest_leaves_out() -> None:
    code = """
import sys, sysconfig
import gate.pipeline.prepare, gate.pipeline.publish, github, jinja2, scipy.special
library = sysconfig.get_path("stdlib")
files = [str(getattr(module, "__file__", "")) for module in list(sys.modules.values())]
print(len([f for f in files if f.startswith((library + "/test/", library + "/config-"))]), len(files) > 500)
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 True\n"
