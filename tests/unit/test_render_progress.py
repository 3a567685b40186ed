"""What a terminal, or a log, shows while a suite runs."""

import re
from typing import Any

from gate.render.progress import Progress
from gate.report import Phase, ProbeOutcome, RunRecord


class Screen:
    """A terminal that knows the control sequences in use, and complains about all others."""

    def __init__(self, columns: int = 100, lines: int = 24) -> None:
        self.columns, self.height = columns, lines
        self.lines: list[str] = [""]
        self.row = 0

    def write(self, text: str) -> None:
        for token in re.findall(r"\x1b\[\d*[A-Z]|\n|\r|[^\x1b\n\r]+", text):
            if token == "\n":
                self.row += 1
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif up := re.fullmatch(r"\x1b\[(\d+)A", token):
                self.row -= int(up[1])
                assert self.row >= 0
            elif token == "\x1b[J":
                del self.lines[self.row + 1 :]
                self.lines[self.row] = ""
            elif token not in ("\r", "\x1b[K"):
                assert "\x1b" not in token and len(token) < self.columns
                self.lines[self.row] = token

    @property
    def shown(self) -> list[str]:
        return [line for line in self.lines if line]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def record(index: int, phase: Phase = "chaos", *, name: str = "one", passed: bool = True, tokens: int = 0) -> RunRecord:
    values: dict[str, Any] = {"experiment": name, "phase": phase, "index": index, "seed": index, "outcome": "ok"}
    probes = [ProbeOutcome(passed=passed)]
    return RunRecord(**values, duration_s=1.0, probes=probes, faults=[], tokens=tokens)


def made(live: bool = True, **size: int) -> tuple[Progress, Screen, Clock]:
    screen, clock = Screen(**size), Clock()
    progress = Progress(screen.write, live=live, size=lambda: (screen.columns, screen.height), clock=clock)
    return progress, screen, clock


def test_terminal__shows_experiments_phases_failures_rate_tokens_and_time_left() -> None:
    progress, screen, clock = made()
    progress.plan({("one", "baseline"): 4, ("one", "chaos"): 4, ("two", "chaos"): 8}, {("one", "baseline"): 4})
    for index in range(2):
        clock.now += 1
        progress.add(record(index, passed=index == 0, tokens=600))
    assert [" ".join(line.split()) for line in screen.shown] == [
        "one baseline ██████████ 4/4 chaos █████░░░░░ 2/4, 1 failed",
        "two chaos ░░░░░░░░░░ 0/8",
        "6/16 runs · 1 failed · 1.0 runs/s · 1,200 tokens · 10 s left",
    ]


def test_terminal__is_drawn_at_most_ten_times_a_second_and_at_the_end() -> None:
    progress, _, clock = made()
    drawn: list[str] = []
    progress._write = drawn.append
    progress.plan({("one", "chaos"): 1000}, {})
    for index in range(1000):
        clock.now += 0.001
        progress.add(record(index))
    assert 5 <= len(drawn) <= 13
    assert "1000/1000 runs" in drawn[-1]
    assert "left" not in drawn[-1]


def test_terminal__many_experiments_and_a_small_window() -> None:
    progress, screen, clock = made(columns=40, lines=8)
    progress.plan({(f"experiment {n}\x1b[2J", "chaos"): 1 for n in range(50)}, {})
    for n in range(50):
        clock.now += 1
        progress.add(record(0, name=f"experiment {n}\x1b[2J"))
        assert len(screen.lines) <= 8
    assert screen.shown[-1].startswith("50/50 runs")


def test_log__says_a_line_per_finished_phase_and_now_and_then_one() -> None:
    progress, screen, clock = made(live=False)
    progress.plan({("one", "baseline"): 2, ("one", "chaos"): 2}, {("one", "baseline"): 1})
    progress.add(record(1, "baseline"))
    clock.now += 31
    progress.add(record(0, passed=False))
    clock.now += 1
    progress.add(record(1))
    assert screen.shown == [
        "4 runs, 1 of them done before",
        "one baseline: 2/2; 2/4 runs · 0 failed",
        "3/4 runs · 1 failed · 0.1 runs/s · 16 s left",
        "one chaos: 2/2, 1 failed; 4/4 runs · 1 failed · 0.1 runs/s",
    ]


def test_terminal__of_80_columns_shows_both_phases_whole() -> None:
    progress, screen, _ = made(columns=80)
    name = "a-name-that-is-longer-than-what-there-is-room-for"
    progress.plan({(name, "baseline"): 40, (name, "chaos"): 40}, {})
    assert screen.shown[0].endswith("…  baseline 0/40   chaos 0/40")


def test_phase__that_needs_no_more_runs_is_done() -> None:
    progress, screen, _ = made()
    progress.plan({("one", "chaos"): 40, ("two", "chaos"): 2}, {})
    for index in range(3):
        progress.add(record(index))
    progress.limit("one", "chaos", 0)
    assert "3/3" in screen.shown[0]
    assert screen.shown[-1].startswith("3/5 runs")
    progress.add(record(3))  # was under way
    progress.limit("one", "chaos", 0)
    assert "4/4" in screen.shown[0]


def test_log__says_once_that_a_phase_needs_no_more_runs() -> None:
    progress, screen, _ = made(live=False)
    progress.plan({("one", "chaos"): 40}, {})
    for index in range(3):
        progress.add(record(index))
        if index:
            progress.limit("one", "chaos", 0)
    assert [line.split(";")[0] for line in screen.shown if line.startswith("one")] == ["one chaos: 2/2"]


def test_tokens__of_a_shared_run_are_counted_once() -> None:
    progress, screen, _ = made()
    progress.plan({("one", "baseline"): 1, ("two", "baseline"): 1}, {})
    progress.add(record(0, "baseline", tokens=100))
    progress.add(record(0, "baseline", name="two", tokens=100).model_copy(update={"shared_with": "one"}))
    assert "100 tokens" in screen.shown[-1]
