"""How far a suite is: a block that is drawn over and over on a terminal, a line now and then elsewhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gate.judge import is_failure
from gate.report import Phase, RunRecord

Key = tuple[str, Phase]
REDRAW_S = 0.1
LINE_EVERY_S = 30.0
"""How often a suite says that it is still going on where nothing can be drawn over."""
_BAR = 10
_NAME = 32
_PHASES = 54
"""Columns that two phases take beside a name and their bars."""


@dataclass(slots=True)
class _Row:
    planned: int
    done: int
    failed: int = 0


class Progress:
    """Takes the plan, then every record; writes to where `write` leads.

    `live`: that is a terminal, of the (columns, lines) that `size` gives. `clock` is in seconds.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        live: bool,
        size: Callable[[], tuple[int, int]],
        clock: Callable[[], float],
    ) -> None:
        self._write, self._live, self._size, self._clock = write, live, size, clock
        self._rows: dict[Key, _Row] = {}
        self._tokens = self._new = 0
        self._started = self._shown = clock()
        self._height = 0

    def plan(self, planned: Mapping[Key, int], done: Mapping[Key, int]) -> None:
        """Take how many runs each experiment and phase is to have, and how many it had before."""
        self._rows = {key: _Row(count, done.get(key, 0)) for key, count in planned.items()}
        self._started = self._shown = self._clock()
        earlier = sum(row.done for row in self._rows.values())
        if not self._live:
            total = sum(row.planned for row in self._rows.values())
            self._write(f"{total} runs{f', {earlier} of them done before' if earlier else ''}\n")
        else:
            self._draw()

    def add(self, record: RunRecord) -> None:
        """Take one finished run."""
        row = self._rows.get((record.experiment, record.phase))
        if row is None:
            return
        row.done += 1
        row.failed += is_failure(record)
        self._tokens += 0 if record.shared_with else record.tokens
        self._new += 1
        now = self._clock()
        if self._live:
            if now - self._shown >= REDRAW_S or self._left == 0:
                self._draw()
                self._shown = now
        elif row.done == row.planned:
            self._say(record.experiment, record.phase, row)
        elif now - self._shown >= LINE_EVERY_S:
            self._write(f"{self._summary()}\n")
            self._shown = now

    def limit(self, experiment: str, phase: Phase, runs: int) -> None:
        """Take that a phase is to have fewer runs than planned, or more; some beyond may still be under way."""
        row = self._rows[experiment, phase]
        before, row.planned = row.planned, max(runs, row.done)
        if self._live:
            self._draw()
        elif before > row.planned:
            self._say(experiment, phase, row)

    def _say(self, experiment: str, phase: Phase, row: _Row) -> None:
        self._write(f"{_plain(experiment)} {phase}: {_counts(row)}; {self._summary()}\n")
        self._shown = self._clock()

    @property
    def _left(self) -> int:
        return sum(row.planned - row.done for row in self._rows.values())

    def _summary(self) -> str:
        rows = self._rows.values()
        done, planned, failed = (sum(getattr(r, name) for r in rows) for name in ("done", "planned", "failed"))
        parts = [f"{done}/{planned} runs", f"{failed} failed"]
        elapsed_s = self._clock() - self._started
        if self._new and elapsed_s > 0:
            rate = self._new / elapsed_s
            parts.append(f"{rate:.0f} runs/s" if rate >= 10 else f"{rate:.1f} runs/s")
        if self._tokens:
            parts.append(f"{self._tokens:,} tokens")
        if self._left and self._new and elapsed_s > 0:
            parts.append(f"{_duration(self._left * elapsed_s / self._new)} left")
        return " · ".join(parts)

    def _draw(self) -> None:
        columns, lines = self._size()
        names = list(dict.fromkeys(name for name, _ in self._rows))
        room = max(1, lines - 3)
        shown = names
        if len(names) > room:
            going = [n for n in names if any(r.done < r.planned for (name, _), r in self._rows.items() if name == n)]
            shown = going[:room]
        width = min(max(map(len, shown), default=0), _NAME, columns // 3)
        bar = _BAR if columns >= width + _PHASES + 2 * _BAR else 0
        text = [self._line(name, width, bar) for name in shown]
        if len(shown) < len(names):
            text.append(f"… and {len(names) - len(shown)} more")
        text = [line[: max(1, columns - 1)] for line in [*text, self._summary()]]
        up = f"\x1b[{self._height}A\r" if self._height else ""
        self._write(up + "".join(f"{line}\x1b[K\n" for line in text) + "\x1b[J")
        self._height = len(text)

    def _line(self, name: str, width: int, bar: int) -> str:
        shown = _plain(name)
        shown = shown if len(shown) <= width else shown[: width - 1] + "…"
        phases = []
        for (experiment, phase), row in self._rows.items():
            if experiment == name:
                filled = bar * row.done // max(row.planned, 1)
                drawn = f"{'█' * filled}{'░' * (bar - filled)} " if bar else ""
                phases.append(f"{phase} {drawn}{_counts(row)}")
        return f"{shown:{width}}  {'   '.join(phases)}"


def _counts(row: _Row) -> str:
    counts = f"{row.done}/{row.planned}"
    return f"{counts}, {row.failed} failed" if row.failed else counts


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else "�" for c in text)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 5400 else f"{whole / 3600:.1f} h"
