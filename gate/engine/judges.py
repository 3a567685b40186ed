"""Puts finished runs to judges of the agent's project: each in a process of its own, outside the chaos session."""

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gate.chaos import hook
from gate.chaos.wire import Encoder, cut
from gate.counting import applicable
from gate.engine.live import LiveRun
from gate.engine.schedule import PlannedPhase, PlannedRun, RunSettings, Start
from gate.engine.server import Server
from gate.engine.session import Session
from gate.engine.worker import Worker
from gate.experiment import Experiment
from gate.probes.judge import Ask, Judge
from gate.trace import Opaque, Trace

JUDGE_LIMIT_S = 120.0
"""How long a judge may take over one run, with whatever it does again by itself."""
ATTEMPTS = 2
DRAIN_S = 1.0
_TEXT_LIMIT = 10_000
_EVENTS = 5_000


class JudgeError(Exception):
    """A judge that said nothing."""


class Judges:
    """Workers for the judges of a suite, each `module:callable` in the agent's interpreter and environment."""

    def __init__(self, server: Server, settings: RunSettings, folder: Path, todo: Sequence[PlannedPhase]) -> None:
        self._server = server
        experiments = {p.experiment.name: p.experiment for p in todo}.values()
        starts = dict.fromkeys(_start(e, p) for e in experiments for p in _judges_of(e))
        self.workers = {start: Worker(server, settings, start, folder, sum(p.runs for p in todo)) for start in starts}

    async def ask(self, planned: PlannedRun, trace: Trace) -> Ask:
        """Put a run to the judges of its probes; return what gives their replies, or raises what went wrong."""
        replies: dict[tuple[str, str], object] = {}
        for spec in applicable(planned.experiment, planned.phase):
            if isinstance(spec.probe, Judge):
                worker = self.workers[_start(planned.experiment, spec.probe)]
                key = spec.probe.judge, spec.probe.criterion
                if key not in replies:
                    replies[key] = await self._ask(worker, spec.probe.criterion, trace)

        def reply(judge: str, criterion: str, _trace: Trace) -> object:
            said = replies[judge, criterion]
            if isinstance(said, JudgeError):
                raise said
            return said

        return reply

    async def _ask(self, worker: Worker, criterion: str, trace: Trace) -> object:
        problem = ""
        for _ in range(ATTEMPTS):
            token = secrets.token_hex(16)
            live = LiveRun(token, Session(), lambda token=token: worker.kill(token))  # type: ignore[misc]
            self._server.runs[token] = live
            try:
                ended = await worker.run(live, _order(token, criterion, trace), JUDGE_LIMIT_S)
                await live.drain(DRAIN_S)
            finally:
                del self._server.runs[token]
            said = live.session.trace
            if live.ending is not None and live.ending.outcome == "ok":
                return said.output
            if said.error is not None:
                problem = said.error.text
            elif live.ending is not None:
                problem = live.ending.reason
            else:
                problem = f"stopped after {JUDGE_LIMIT_S:g} s" if ended.kind == "timeout" else "its process ended"
        return JudgeError(f"asked {ATTEMPTS} times: {problem}")


def _judges_of(experiment: Experiment) -> list[Judge]:
    return [spec.probe for spec in experiment.probes if isinstance(spec.probe, Judge)]


def _start(experiment: Experiment, probe: Judge) -> Start:
    return Start(probe.judge, environment=tuple(experiment.environment.items()))


def _order(token: str, criterion: str, trace: Trace) -> dict[str, Any]:
    arguments = {
        "criterion": criterion,
        "output": trace.output,
        "events": [[e.kind, e.name, e.data] for e in trace.events[:_EVENTS]],
        "error": trace.error.text if trace.error else None,
        "duration_s": trace.duration_s,
        "canaries": sorted(trace.canaries),
    }
    encoded = {name: Encoder(_as_text).encode(value) for name, value in arguments.items()}
    return {"environment": {hook.RUN: token}, "arguments": encoded, "judge": True}


def _as_text(value: Any, _encoder: Encoder) -> list[Any]:
    return [0, cut(value.text if isinstance(value, Opaque) else str(value), _TEXT_LIMIT)]
