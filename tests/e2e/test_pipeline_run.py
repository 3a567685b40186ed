"""The run step with a real agent: what it leaves, and what it refuses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.report import read_report
from tests.double import GitHubDouble
from tests.steps import AGENT, EVENTS, SAYS_OK, TOKEN, Job, pull


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    with GitHubDouble() as double:
        job = Job(tmp_path, double, monkeypatch)
        base, head = pull(double)
        job.check_out()
        job.start("pull_request", EVENTS.pull_request(base_sha=base, head_sha=head), comment="always")
        yield job
        double.check()


def agent(before: str = "pass", inside: str = "pass") -> str:
    """Return an agent that does something when it is imported, and something in every run."""
    return AGENT.replace('def run(prompt="hi"):\n', f'def run(prompt="hi"):\n    {inside}\n') + f"\n{before}\n"


def test_run__writes_the_report_of_head(job: Job) -> None:
    assert job.all() == (0, 0, 0), job.log
    report = read_report((job.results / "report.json").read_text(), "report.json")
    assert report.commit == job.read_state()["head_sha"]
    assert [(p.passes, p.runs) for p in report.experiments[0].probes if p.phase == "chaos"] == [(3, 3)]


@pytest.mark.parametrize(
    ("experiment", "source", "code", "text"),
    [
        ("kind: Experiment\nspec: 1\n", AGENT, 2, "experiments/says-ok.yaml"),
        (SAYS_OK, "import nothing_of_the_name\n", 4, "nothing_of_the_name"),
        (SAYS_OK.replace("agent:run", "agent:walk"), AGENT, 4, "walk"),
    ],
    ids=["invalid file", "import fails", "no such callable"],
)
def test_run__that_fails_is_told_on_the_check(job: Job, experiment: str, source: str, code: int, text: str) -> None:
    job.check_out(source, experiment)
    assert job.all() == (0, code, code)
    [check] = job.double.check_runs()
    assert (check.status, check.conclusion) == ("completed", "failure")
    assert text in (check.summary or "")
    assert job.double.comments(7) == []


def test_run__without_a_variable_of_pass_env_says_which(job: Job) -> None:
    job.set({"INPUT_PASS_ENV": "MODEL_API_KEY"})
    assert job.all() == (0, 4, 4)
    assert "MODEL_API_KEY" in job.log
    assert "forks get no secrets" in job.log


@pytest.mark.parametrize("name", ["GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"])
@pytest.mark.parametrize("when", ["import", "run", "failing"])
def test_runner_files__what_the_agent_writes_is_taken_back(job: Job, name: str, when: str) -> None:
    path = job.temp / name.lower()
    write = f"open({str(path)!r}, 'a').write('BASH_ENV=/tmp/evil\\n')"
    source = {"import": agent(before=write), "run": agent(inside=write), "failing": f"{write}\nraise SystemExit(3)\n"}
    job.check_out(source[when])
    assert job.step("prepare") == 0
    path.write_text("ours=1\n")
    assert job.step("run") == 4
    assert path.read_text() == "ours=1\n"
    assert f"the agent wrote to {name}" in job.log
    assert job.step("publish") == 4
    assert job.double.check_runs()[0].conclusion == "failure"
    assert job.double.comments(7) == []


def test_runner_files__a_link_in_their_place_is_taken_back(job: Job, tmp_path: Path) -> None:
    path, victim = job.temp / "github_env", tmp_path / "victim"
    victim.write_text("mine")
    job.check_out(agent(before=f"import os; os.unlink({str(path)!r}); os.symlink({str(victim)!r}, {str(path)!r})"))
    job.step("prepare")
    assert job.step("run") == 4
    assert not path.is_symlink()
    assert path.read_text() == ""
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("trap", ["os.mkfifo(p + '/report.json')", "os.symlink('/etc/passwd', p + '/report.json')"])
def test_results__traps_of_the_agent_are_swept_away(job: Job, trap: str) -> None:
    setup = f"import os; p = {str(job.results)!r}; os.path.isdir(p) or (os.mkdir(p), {trap})"
    job.check_out(agent(before=setup))
    assert job.all() == (0, 0, 0), job.log
    assert not (job.results / "report.json").is_symlink()


def test_environment__the_agent_sees_no_token_and_only_what_is_named(job: Job, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    job.check_out(agent(before=f"import os; open({str(seen)!r}, 'a').write(str(sorted(os.environ)))"))
    job.set({"INPUT_PASS_ENV": "MODEL_API_KEY", "MODEL_API_KEY": "sk-key", "DEPLOY_KEY": "other"})
    assert job.all() == (0, 0, 0), job.log
    assert "'MODEL_API_KEY'" in seen.read_text()
    for name in ("DEPLOY_KEY", "INPUT_", "GITHUB_", "RUNNER_"):
        assert name not in seen.read_text()
    for path in (*job.results.iterdir(), *job.handover.iterdir()):
        assert "sk-key" not in path.read_text()
        assert TOKEN not in path.read_text()


@pytest.mark.parametrize("allowed", ["false", "true"])
def test_persisted_credentials__are_refused_unless_allowed(job: Job, allowed: str) -> None:
    job.git("init", "--quiet")
    job.git("config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic eDp5")
    job.set({"INPUT_ALLOW_PERSISTED_CREDENTIALS": allowed})
    assert job.all() == ((0, 0, 0) if allowed == "true" else (0, 4, 4))
    assert ("persist-credentials: false" in job.log) == (allowed == "false")


def test_work_tree__stays_as_it_was(job: Job) -> None:
    job.git("init", "--quiet")
    job.git("add", ".")
    job.git("commit", "--quiet", "-m", "all")
    job.set({"GITHUB_SHA": job.git("rev-parse", "HEAD")})
    assert job.all() == (0, 0, 0), job.log
    assert job.git("status", "--porcelain", "--ignored").replace("!! __pycache__/", "").strip() == ""
