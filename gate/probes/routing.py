"""Which hosts and models serve the agent, after any rerouting."""

import fnmatch
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from gate.policy import Category
from gate.probes.base import Check, Probe
from gate.trace import Trace


class Destination(NamedTuple):
    """Where a model request went in the end; None is what no event says."""

    host: Any
    model: Any


def destinations(trace: Trace) -> list[Destination]:
    """Return where every model request went, in order."""
    went: list[Destination] = []
    for event in trace.events:
        if event.kind == "llm.call":
            went.append(Destination(event.name, event.data.get("model")))
        elif event.kind == "llm.reroute" and went:
            went[-1] = Destination(event.data.get("to_host"), event.data.get("to_model"))
    return went


class HostsWithin(Probe):
    """Every model request goes to a host matching one of `allowed`; vacuous without a request."""

    type: ClassVar[str] = "hosts_within"
    category: ClassVar[Category] = "security"
    allowed: list[str]

    @property
    def label(self) -> str:
        return f"hosts_within({self.allowed})"

    def check(self, trace: Trace) -> Check:
        hosts = {str(d.host) for d in destinations(trace)}
        outside = _outside(hosts, self.allowed)
        return Check(not outside, f"sent to {outside}" if outside else "", vacuous=not hosts)


class ModelsWithin(Probe):
    """Only models matching one of `allowed` are asked; vacuous if no request names its model."""

    type: ClassVar[str] = "models_within"
    category: ClassVar[Category] = "security"
    allowed: list[str]

    @property
    def label(self) -> str:
        return f"models_within({self.allowed})"

    def check(self, trace: Trace) -> Check:
        models = {str(d.model) for d in destinations(trace) if d.model}
        outside = _outside(models, self.allowed)
        return Check(not outside, f"used {outside}" if outside else "", vacuous=not models)


def _outside(names: Iterable[str], allowed: list[str]) -> list[str]:
    """Return the names that match no glob, sorted."""
    return sorted(name for name in names if not any(fnmatch.fnmatchcase(name, glob) for glob in allowed))
