"""chaos-gate.yaml, the environment and the agent's interpreter: the only module that reads `os.environ`."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO, cast, get_args

from pydantic import Field, ValidationError

from gate.document import explain, read_document
from gate.errors import BrokenEnvironmentError, InvalidFileError, UsageError
from gate.format import Isolation
from gate.policy import KnownFinding, Model, Policy, Removed
from gate.prices import Price
from gate.trace import MAX_RUNS

CONFIG_NAME = "chaos-gate.yaml"
DEFAULT_STORE = "branch:agent-chaos-baseline"
DEFAULT_KEY = "default"
MAX_RUN_ID = 2**63 - 1
MAX_ATTEMPTS = 10_000_000
PASSED_ON = ("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "VIRTUAL_ENV", "USER", "LOGNAME", "SHELL")
"""Variables an agent sees besides LC_* and PYTHON*; all others only when named in `pass-env`."""


class Budget(Model):
    """What a suite may use up: once it has, no further run begins, and what has run is judged."""

    usd: Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)] | None = None
    tokens: Annotated[int, Field(ge=0)] | None = None
    minutes: Annotated[float, Field(ge=0, le=100_000)] | None = None


class RunConfig(Model):
    """How the suite is run: `max_runs` with a second look, `timeout_s` in seconds per run, `prices` by model globs."""

    runs: Annotated[int, Field(ge=1, le=MAX_RUNS)] = 40
    max_runs: Annotated[int, Field(ge=1, le=MAX_RUNS)] | None = None
    parallel: Annotated[int, Field(ge=1, le=512)] = 8
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 120.0
    isolation: Isolation = "fork"
    budget: Budget = Budget()
    prices: dict[str, Price] = {}


class Config(Model):
    """A whole chaos-gate.yaml; every key has a default."""

    version: Literal[1] = 1
    experiments: list[str] = ["experiments/**/*.yaml", "experiments/**/*.yml"]
    tracked: list[str] = []
    run: RunConfig = RunConfig()
    policy: Policy = Policy()  # type: ignore[call-arg]  # the defaults stand in the model
    removed: list[Removed] = []
    known_findings: list[KnownFinding] = []


def load_config(path: Path | None, directory: Path) -> Config:
    """Read the given file, or chaos-gate.yaml in a directory if there is one.

    Raises:
        UsageError: the named file is not there.
        InvalidFileError: with every problem of the file.
    """
    found = path or directory / CONFIG_NAME
    if not found.is_file():
        if path is not None:
            raise UsageError("no such file", where=str(path), fix="name an existing file with --config")
        return Config()
    document = read_document(read_text(found), str(path or CONFIG_NAME))
    problems: list[str] = []
    try:
        return Config.model_validate({} if document.data is None else document.data)
    except ValidationError as error:
        explain(error, Config, lambda where, message: problems.append(document.problem(where, message)))
        raise InvalidFileError(problems) from None


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, a byte order mark dropped.

    Raises:
        InvalidFileError: unreadable, or not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidFileError([f"{path}: not UTF-8 text (byte {error.start})"]) from None
    except OSError as error:
        raise InvalidFileError([f"{path}: cannot be read: {error.strerror}"]) from None


def agent_python(given: str, directory: Path) -> tuple[str, ...]:
    """Return the command of the agent's interpreter: as given, else $VIRTUAL_ENV, .venv, python3.

    Raises:
        UsageError: not a command.
        BrokenEnvironmentError: nothing of that name can be run.
    """
    if given:
        try:
            command = tuple(shlex.split(given))
        except ValueError as error:
            raise UsageError(f"not a command: {error}", where="--python", fix="close the quotes") from None
        if not command or shutil.which(command[0], path=None) is None:
            raise BrokenEnvironmentError(f"no such interpreter: {given}", where="--python", fix="name a python")
        return command
    venv = os.environ.get("VIRTUAL_ENV")
    for root in (Path(venv) if venv else None, directory / ".venv"):
        if root is not None and (python := root / "bin" / "python").exists():
            return (str(python.absolute()),)
    if (python3 := shutil.which("python3")) is None:
        raise BrokenEnvironmentError("no python3 on PATH", fix="install one, or name it with --python")
    return (python3,)


def agent_environment(pass_env: list[str]) -> dict[str, str]:
    """Return the variables the agent may see: an allow-list, and what `pass-env` names.

    Raises:
        BrokenEnvironmentError: a named variable is not set.
    """
    absent = [name for name in pass_env if name not in os.environ]
    if absent:
        raise BrokenEnvironmentError(
            f"not set: {', '.join(absent)}",
            where="pass-env",
            fix="set the variable on the step, or take it off the list; pull requests from forks get no secrets",
        )
    return {name: value for name, value in os.environ.items() if name in pass_env or _is_passed_on(name)}


def environment_with(more: Mapping[str, str]) -> dict[str, str]:
    """Return our own environment with some variables more, for a program that we start."""
    return {**os.environ, **more}


def agent_secrets(environment: Mapping[str, str]) -> list[str]:
    """Return the values that an agent's environment has by name: they are to be in nothing that is written."""
    return [value for name, value in environment.items() if not _is_passed_on(name)]


def _is_passed_on(name: str) -> bool:
    return name in PASSED_ON or name.startswith(("LC_", "PYTHON"))


CommentMode = Literal["changes", "always", "failures", "off"]
Mode = Literal["auto", "run", "gate", "publish", "record"]


@dataclass(frozen=True)
class Inputs:
    """The inputs of the action, as the steps see them in `INPUT_*`."""

    experiments: list[str]
    config: str
    target: str
    directory: Path
    python: str
    pass_env: list[str]
    runs: int | None
    key: str
    mode: Mode
    reports: list[str]
    paths: list[str]
    baseline: str
    anchor: str
    comment: CommentMode
    check_run: bool
    publish_required: bool
    allow_persisted_credentials: bool
    job_status: str
    policy: dict[str, str]


RUNNER_FILES = ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")
"""The variables that name the files by which a step speaks to the runner."""

POLICY_INPUTS = ("on_regression", "on_new_critical", "on_missing", "on_inconclusive", "on_no_base")


def read_inputs(environ: Mapping[str, str] | None = None) -> Inputs:
    """Read the action's inputs from the environment.

    Raises:
        UsageError: an input has a value it cannot have.
    """
    env = os.environ if environ is None else environ

    def get(name: str, default: str = "") -> str:
        return env.get("INPUT_" + name.upper(), "").strip() or default

    def flag(name: str, default: str) -> bool:
        value = get(name, default).lower()
        if value not in ("true", "false"):
            raise UsageError(f"must be true or false, not {value!r}", where=f"input {name.replace('_', '-')}")
        return value == "true"

    def choice(name: str, choices: tuple[str, ...], default: str) -> str:
        if (value := get(name, default)) not in choices:
            raise UsageError(f"must be one of {', '.join(choices)}, not {value!r}", where=f"input {name}")
        return value

    key = get("key", DEFAULT_KEY)
    if not re.fullmatch(r"[a-z0-9-]{1,40}", key):
        raise UsageError(f"must be 1 to 40 of a-z, 0-9 and -, not {key!r}", where="input key")
    runs = get("runs")
    policy = {name: get(name) for name in POLICY_INPUTS if get(name)}
    for name, value in policy.items():
        if value not in ("fail", "warn"):
            raise UsageError(f"must be fail or warn, not {value!r}", where=f"input {name.replace('_', '-')}")
    return Inputs(
        experiments=get("experiments").split(),
        config=get("config"),
        target=get("target"),
        directory=Path(env.get("GITHUB_WORKSPACE", ".")) / get("working_directory", "."),
        python=get("python"),
        pass_env=get("pass_env").replace(",", " ").split(),
        runs=_whole(runs, "input runs", 1, MAX_RUNS) if runs else None,
        key=key,
        mode=cast("Mode", choice("mode", get_args(Mode), "auto")),
        reports=get("reports").split(),
        paths=get("paths").split(),
        baseline=get("baseline", DEFAULT_STORE),
        anchor=get("anchor"),
        comment=cast("CommentMode", choice("comment", get_args(CommentMode), "changes")),
        check_run=flag("check_run", "true"),
        publish_required=flag("publish_required", "false"),
        allow_persisted_credentials=flag("allow_persisted_credentials", "false"),
        job_status=get("job_status"),
        policy=policy,
    )


@dataclass(frozen=True)
class GitHubJob:
    """The job we run in, from the runner's `GITHUB_*` and `RUNNER_*` variables."""

    event: str
    payload: dict[str, Any]
    repository: str
    sha: str
    ref: str
    run_id: int
    attempt: int
    api_url: str
    server_url: str
    token: str
    workspace: Path
    temp: Path
    output: Path | None
    summary: Path | None
    runner_files: dict[str, Path]

    @property
    def run_url(self) -> str:
        """Return the address of this workflow run."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}"


def read_job() -> GitHubJob:
    """Read where and for which event we run.

    Raises:
        BrokenEnvironmentError: not in a GitHub job, or its event file is unreadable.
        UsageError: the number of the workflow run is none.
    """
    env = os.environ
    event, path = env.get("GITHUB_EVENT_NAME", ""), env.get("GITHUB_EVENT_PATH", "")
    if not event or not path:
        fix = "use `agent-chaos-gate run` and `compare` outside GitHub Actions"
        raise BrokenEnvironmentError("GITHUB_EVENT_NAME and GITHUB_EVENT_PATH are not set", fix=fix)
    try:
        payload = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise BrokenEnvironmentError(f"the event cannot be read: {error}", where=path) from None
    if not isinstance(payload, dict):
        raise BrokenEnvironmentError("the event is not a JSON object", where=path)
    run_id, attempt = read_run()
    return GitHubJob(
        event=event,
        payload=payload,
        repository=env.get("GITHUB_REPOSITORY", ""),
        sha=env.get("GITHUB_SHA", ""),
        ref=env.get("GITHUB_REF", ""),
        run_id=run_id,
        attempt=attempt,
        api_url=env.get("GITHUB_API_URL", "https://api.github.com"),
        server_url=env.get("GITHUB_SERVER_URL", "https://github.com"),
        token=env.get("INPUT_GITHUB_TOKEN", ""),
        workspace=Path(env.get("GITHUB_WORKSPACE", ".")),
        temp=Path(env.get("RUNNER_TEMP") or "/tmp"),  # noqa: S108 (only where no runner sets it)
        output=Path(env["GITHUB_OUTPUT"]) if env.get("GITHUB_OUTPUT") else None,
        summary=Path(env["GITHUB_STEP_SUMMARY"]) if env.get("GITHUB_STEP_SUMMARY") else None,
        runner_files={name: Path(env[name]) for name in RUNNER_FILES if env.get(name)},
    )


@dataclass(frozen=True)
class Remote:
    """A repository on GitHub, for commands that are called by hand."""

    repository: str
    token: str
    api_url: str


def read_remote() -> Remote:
    """Read which repository on GitHub is meant, and the token for it.

    Raises:
        UsageError: GITHUB_REPOSITORY is not set.
    """
    env = os.environ
    if not (repository := env.get("GITHUB_REPOSITORY", "")):
        raise UsageError("GITHUB_REPOSITORY is not set", fix="set it to owner/name, and GITHUB_TOKEN to a token")
    token = env.get("GITHUB_TOKEN") or env.get("GH_TOKEN") or env.get("INPUT_GITHUB_TOKEN", "")
    return Remote(repository, token, env.get("GITHUB_API_URL") or "https://api.github.com")


def read_run() -> tuple[int, int]:
    """Return the id and the attempt of the workflow run; 0 and 1 outside of one.

    Raises:
        UsageError: one of them is no number.
    """
    env = os.environ
    run_id = _whole(env.get("GITHUB_RUN_ID") or "0", "GITHUB_RUN_ID", 0, MAX_RUN_ID)
    return run_id, _whole(env.get("GITHUB_RUN_ATTEMPT") or "1", "GITHUB_RUN_ATTEMPT", 1, MAX_ATTEMPTS)


def _whole(text: str, where: str, low: int, high: int) -> int:
    if not re.fullmatch(r"[0-9]{1,19}", text) or not low <= int(text) <= high:
        raise UsageError(f"must be a whole number from {low} to {high}, not {text!r:.80}", where=where)
    return int(text)


def is_live_terminal(stream: TextIO) -> bool:
    """Return whether text on a stream can be drawn over: a terminal, not a log that pretends to be one."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not os.environ.get("CI")


def wants_colour() -> bool:
    """Return whether the user has not asked for plain output (NO_COLOR, TERM=dumb)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
