"""The environment and chaos-gate.yaml: what is no number, no command or no date is an error of use, never a crash."""

import json
from datetime import date
from pathlib import Path

import pytest

from gate.config import agent_python, load_config, read_inputs, read_job, read_run
from gate.errors import BrokenEnvironmentError, GateError, UsageError
from gate.suite import match_files

NO_NUMBERS = ["x", "1.5", "-1", " ", "0x1", "1_000", "٣", "9" * 5_000]


@pytest.fixture
def event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "event.json"
    path.write_text("{}")
    monkeypatch.setenv("GITHUB_EVENT_NAME", "push")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(path))
    return path


@pytest.mark.usefixtures("event")
@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize("name", ["GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT"])
def test_run__that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    for read in (read_run, read_job):
        with pytest.raises(UsageError, match=f"{name}: must be a whole number"):
            read()


def test_run__outside_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_RUN_ID", raising=False)
    monkeypatch.setenv("GITHUB_RUN_ATTEMPT", "")
    assert read_run() == (0, 1)


@pytest.mark.parametrize("value", [v for v in NO_NUMBERS if v.strip()] + ["0", "10001"])
def test_input_runs__that_is_no_number_is_named(value: str) -> None:
    with pytest.raises(UsageError, match="input runs: must be a whole number from 1 to 10000"):
        read_inputs({"INPUT_RUNS": value})


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 200_000, "NaN"], ids=lambda t: t[:3] or "empty")
def test_event__that_is_no_object_is_named(event: Path, text: str) -> None:
    event.write_text(text, encoding="utf-8")
    with pytest.raises(BrokenEnvironmentError, match=str(event)):
        read_job()


def test_event__that_is_not_there_is_named(event: Path) -> None:
    event.unlink()
    with pytest.raises(BrokenEnvironmentError, match=str(event)):
        read_job()


def test_python__with_an_open_quote_is_no_command(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a command"):
        agent_python("uv run 'python", tmp_path)


@pytest.mark.parametrize("pattern", ["a/**.yaml", "**a", "/"])
def test_glob__that_is_none_is_named(pattern: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a glob"):
        match_files(pattern, tmp_path)


def test_glob__absolute_or_relative_finds_files_in_order(tmp_path: Path) -> None:
    for name in ("b.json", "a.json", "c/d.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    expected = [tmp_path / "a.json", tmp_path / "b.json", tmp_path / "c/d.json"]
    assert match_files("**/*.json", tmp_path) == expected
    assert match_files(f"{tmp_path}/**/*.json", Path("/nowhere")) == expected


@pytest.mark.parametrize("day", ["2026-12-31", '"2026-12-31"'], ids=["bare", "quoted"])
def test_known_finding__expires_on_a_day(tmp_path: Path, day: str) -> None:
    path = tmp_path / "chaos-gate.yaml"
    path.write_text(f"known_findings: [{{probe: p, reason: r, expires: {day}}}]\n")
    assert load_config(path, tmp_path).known_findings[0].expires == date(2026, 12, 31)


@pytest.mark.parametrize("day", ["soon", '"2026-13-01"', "1798675200", "true", '"2026-12-31T00:00:00"'])
def test_known_finding__that_expires_on_no_day_is_an_error_with_its_place(tmp_path: Path, day: str) -> None:
    path = tmp_path / "chaos-gate.yaml"
    path.write_text(f"known_findings: [{{probe: p, reason: r, expires: {day}}}]\n")
    with pytest.raises(GateError, match=r"chaos-gate\.yaml:1: known_findings\[0\]\.expires"):
        load_config(path, tmp_path)


def test_known_finding__is_the_same_in_a_report(tmp_path: Path) -> None:
    path = tmp_path / "chaos-gate.yaml"
    path.write_text("known_findings: [{probe: p, reason: r, expires: 2026-12-31}]\n")
    [entry] = load_config(path, tmp_path).known_findings
    assert type(entry).model_validate_json(json.dumps(entry.model_dump(mode="json"))) == entry
