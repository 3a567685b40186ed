"""Carries out the runs of a suite and hands over the record of each."""

import asyncio
import bisect
import functools
import os
import secrets
import shutil
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gate.chaos import hook, process
from gate.chaos.wire import Encoder
from gate.config import Budget
from gate.confirm import confirming_runs
from gate.engine.budget import Meter
from gate.engine.judges import Judges
from gate.engine.live import LiveRun
from gate.engine.schedule import PlannedPhase, PlannedRun, RunSettings, Start, plan
from gate.engine.scheduler import Scheduler, Turn
from gate.engine.server import Server
from gate.engine.session import Session
from gate.engine.verdict import JUDGED, Ending, is_infra, judge_run
from gate.engine.worker import Exit, Worker
from gate.errors import BrokenEnvironmentError, UsageError
from gate.experiment import Experiment
from gate.judge import MAX_TRACES
from gate.report import Phase, RunRecord
from gate.stopping import Watch, Watches

SOCKET_PATH_LIMIT = 100
"""Bytes of a Unix socket's path, with room to spare: Linux takes 107."""
INFRA_RETRIES = 2
"""How often a run that was lost to the provider is carried out again."""
INFRA_PAUSE_S = 1.0
"""Before the first of them; doubled before each further one."""
KILL_PATIENCE_S = 5.0
"""How long what the agent left behind may take to end when it is killed."""
DRAIN_S = 1.0
"""How long what the hook has sent may take to be read once the processes of a run are gone."""


def run_suite(
    experiments: Sequence[Experiment],
    settings: RunSettings,
    *,
    on_records: Callable[[Sequence[RunRecord]], None],
    watches: Watches | None = None,
    earlier: Iterable[RunRecord] = (),
) -> None:
    """Carry out every planned run that is not among the `earlier` ones, and hand over its record, in any order.

    Baseline runs that experiments share are carried out once; their records are handed over together. `watches` say
    which runs are needed (default: all). Past the budget no run begins.

    Nothing that the agent started is left when this returns or raises.

    Raises:
        UsageError: an experiment without an entry point, or a budget in USD and a model without a price.
        BrokenEnvironmentError: the agent's interpreter does not start, a target cannot be imported, or what the agent
            has started does not end.
    """
    planned = plan(experiments, settings)
    watches = watches or {p.key: Watch(p.runs) for p in planned}
    meter, done = Meter(settings.budget, settings.prices), set()
    for record in earlier:
        done.add((record.experiment, record.phase, record.index))
        _note(record, watches, meter)
    by_value = settings.budget != Budget() and not settings.trees  # two trees are compared: neither may lie behind
    scheduler = Scheduler(planned, watches, done=done, by_value=by_value)
    with _scratch(settings.scratch) as folder, _descendants():
        asyncio.run(_Suite(settings, folder, scheduler, meter, watches, on_records).run(scheduler.todo))
    if meter.problem is not None:
        raise meter.problem


class _Suite:
    def __init__(
        self,
        settings: RunSettings,
        folder: Path,
        scheduler: Scheduler,
        meter: Meter,
        watches: Watches,
        on_records: Callable[[Sequence[RunRecord]], None],
    ) -> None:
        self.settings, self.folder, self.on_records = settings, folder, on_records
        self.scheduler, self.meter, self.watches = scheduler, meter, watches
        self.server = Server(folder / "hook")
        self.workers: dict[Start, Worker] = {}
        self._folders: list[Path] = []
        self._traced: dict[tuple[str, Phase], list[int]] = {}

    async def run(self, todo: Sequence[PlannedPhase]) -> None:
        async with self.server:
            starts: Counter[Start] = Counter()
            for phase in todo:
                starts[phase.start] += phase.runs
            self.workers = {s: Worker(self.server, self.settings, s, self.folder, n) for s, n in starts.items()}
            self.judges = Judges(self.server, self.settings, self.folder, todo)
            workers = [*self.workers.values(), *self.judges.workers.values()]
            try:
                await _all(self.settings.parallel, iter([w.start for w in workers]))
                await _all(self.settings.parallel, self._tasks())
                for phase in todo:
                    self.workers[phase.start].expected += self.watches[phase.key].limit - phase.runs
                await _all(self.settings.parallel, self._tasks(second=True))
            finally:
                await asyncio.gather(*(w.stop() for w in workers))

    def _tasks(self, *, second: bool = False) -> Iterator[Callable[[], Any]]:
        for turn in self.scheduler.turns(second=second):
            if self.meter.is_over:
                return
            yield functools.partial(self._take, turn)

    async def _take(self, turn: Turn) -> None:
        records = await self._carry_out(turn)
        for record in records:
            _note(record, self.watches, self.meter)
        self.on_records(records)

    async def _carry_out(self, turn: Turn) -> list[RunRecord]:
        """Carry out one run and return its record for every experiment that shares it, the first as its payer."""
        first, retries = turn[0], 0
        while True:
            session, ending = await self._attempt(first)
            if not is_infra(first.experiment.infra_errors, ending, session):
                break
            if retries == INFRA_RETRIES:
                ending = replace(ending, outcome="infra")
                break
            await asyncio.sleep(INFRA_PAUSE_S * 2**retries)
            retries += 1
        records = []
        for planned in turn:
            ask = await self.judges.ask(planned, session.close()) if ending.outcome in JUDGED else None
            record = judge_run(
                planned,
                session,
                ending,
                redactor=self.settings.redactor,
                ask=ask,
                retries=retries,
                with_trace=self._is_early(planned),
                shared_with="" if planned is first else first.experiment.name,
            )
            if record.trace:
                bisect.insort(self._traced[planned.experiment.name, planned.phase], planned.index)
            records.append(record)
        return records

    def _is_early(self, planned: PlannedRun) -> bool:
        """Return whether this run, if it fails, may be one of the first of its phase: those are shown with events."""
        traced = self._traced.setdefault((planned.experiment.name, planned.phase), [])
        return bisect.bisect_left(traced, planned.index) < MAX_TRACES

    async def _attempt(self, planned: PlannedRun) -> tuple[Session, Ending]:
        worker = self.workers[planned.start]
        token = secrets.token_hex(16)
        session = Session(planned.experiment.faults if planned.phase == "chaos" else (), planned.seed)
        live = LiveRun(token, session, lambda: worker.kill(token))
        self.server.runs[token] = live
        temporary = self._temporary_folder()
        try:
            ended = await worker.run(live, self._order(planned, token, temporary), planned.timeout_s)
            await live.drain(DRAIN_S)
        finally:
            del self.server.runs[token]
            await self._give_back(temporary)
        ending = _ending(live, ended, planned.timeout_s)
        if ending.outcome not in JUDGED:
            session.trace.duration_s = live.elapsed_s
        return session, ending

    def _temporary_folder(self) -> Path:
        if self._folders:
            return self._folders.pop()
        return Path(tempfile.mkdtemp(prefix="tmp-", dir=self.folder))

    async def _give_back(self, folder: Path) -> None:
        """Keep an empty folder for a later run: deleting one can take as long as a whole run."""
        try:
            empty = not os.listdir(folder)  # noqa: PTH208 (nothing but whether there is anything)
        except OSError:
            empty = False
        if empty:
            self._folders.append(folder)
        else:
            await asyncio.to_thread(_delete, folder)

    def _order(self, planned: PlannedRun, token: str, temporary: Path) -> dict[str, Any]:
        environment = {hook.RUN: token, "TMPDIR": str(temporary)}
        if planned.seed is not None:
            environment[hook.SEED] = str(planned.seed)
        arguments = Encoder(_refuse).encode(planned.experiment.arguments)
        return {"environment": environment, "arguments": arguments}


def _note(record: RunRecord, watches: Watches, meter: Meter) -> None:
    """Take a run; what looks worse with it has the runs kept back that are to confirm it."""
    watch = watches[record.experiment, record.phase]
    watch.add(record)
    meter.add(record)
    if watch.looks_worse:
        meter.keep_back(record.experiment, confirming_runs(watch.planned_runs, record.phase))


def _ending(live: LiveRun, ended: Exit, timeout_s: float) -> Ending:
    if live.ending is not None:
        return live.ending
    if ended.kind == "timeout":
        return Ending("timeout", f"stopped after {timeout_s:g} s")
    last = ended.tail.strip().splitlines()[-1:] or [""]
    if ended.kind == "lost":
        return Ending("crash", f"the run was lost: {last[0]}")
    how = f"with status {ended.status}" if (ended.status or 0) >= 0 else f"by signal {-(ended.status or 0)}"
    return Ending("crash", f"the agent's process ended {how} before the run was over. {last[0]}".strip())


async def _all(parallel: int, tasks: Iterator[Callable[[], Any]]) -> None:
    """Carry out tasks, some at a time; the first error cancels the others and is raised."""

    async def lane() -> None:
        for task in tasks:
            await task()

    lanes = [asyncio.create_task(lane()) for _ in range(max(1, parallel))]
    try:
        await asyncio.gather(*lanes)
    finally:
        for running in lanes:
            running.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)


def _refuse(value: Any, _encoder: Encoder) -> list[Any]:
    raise UsageError(f"a {type(value).__name__} cannot be handed to an agent", where="spec.target.args")


@contextmanager
def _scratch(wanted: Path) -> Iterator[Path]:
    """Yield a folder of our own, whose paths are short enough for a socket."""
    wanted.mkdir(parents=True, exist_ok=True)
    parent = str(wanted.resolve())
    if len(os.fsencode(parent)) > SOCKET_PATH_LIMIT - 24:
        parent = tempfile.gettempdir() if len(tempfile.gettempdir()) < SOCKET_PATH_LIMIT - 24 else "/tmp"  # noqa: S108
    folder = Path(tempfile.mkdtemp(prefix="chaos-gate-", dir=parent))
    try:
        yield folder
    finally:
        _delete(folder)


@contextmanager
def _descendants() -> Iterator[None]:
    """Inherit what the agent's processes leave behind, and kill it at the end.

    Raises:
        BrokenEnvironmentError: some of it does not end.
    """
    before, session = process.children(), os.getsid(0)
    process.inherit_orphans()
    try:
        yield
    finally:
        # agents run in sessions of their own; another child of this process is none of our business
        left = process.kill_children(lambda p: p in before or process.session_of(p) == session, KILL_PATIENCE_S)
        process.inherit_orphans(False)
    if left:
        raise BrokenEnvironmentError(
            f"processes that the agent started do not end: {', '.join(map(str, sorted(left)))}",
            fix="see with ps whose they are and end them; what has run is in the journal, run --resume reports it",
        )


def _delete(folder: Path) -> None:
    """Delete a tree, read-only folders in it too; what cannot be deleted stays."""
    for path, folders, _files in os.walk(folder):
        for name in folders:
            inner = Path(path, name)
            if not inner.is_symlink():
                inner.chmod(stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)
