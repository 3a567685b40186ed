"""Controls and approvals are asked first."""

import fnmatch
from typing import ClassVar

from gate.policy import Category
from gate.probes.base import Check, Probe
from gate.trace import Trace

_ACTIONS = ("tool.call", "agent.call", "payment.call")


class ControlInvoked(Probe):
    """A control matching `control` runs before every call matching `before`, one for each; vacuous without a call.

    With `before: "*"` it need only run at all.
    """

    type: ClassVar[str] = "control_invoked"
    category: ClassVar[Category] = "security"
    control: str
    before: str = "*"

    @property
    def label(self) -> str:
        before = "" if self.before == "*" else f", before={self.before}"
        return f"control_invoked({self.control}{before})"

    def check(self, trace: Trace) -> Check:
        if self.before == "*":
            ran = bool(trace.of("control", self.control))
            return Check(ran, "" if ran else "never ran")
        checked, calls = False, 0
        unchecked: set[str] = set()
        for event in trace.events:
            if event.kind == "control" and fnmatch.fnmatchcase(event.name, self.control):
                checked = True
            elif event.kind in (*_ACTIONS, "llm.call") and fnmatch.fnmatchcase(event.name, self.before):
                calls += 1
                if not checked:
                    unchecked.add(event.name)
                checked = False
        return Check(not unchecked, f"unchecked: {sorted(unchecked)}" if unchecked else "", vacuous=not calls)


class ApprovedBefore(Probe):
    """Every call matching `action` follows an approval matching `approval`, one for each; vacuous without a call."""

    type: ClassVar[str] = "approved_before"
    category: ClassVar[Category] = "security"
    action: str
    approval: str = "approval.*"

    @property
    def label(self) -> str:
        return f"approved_before({self.action}, {self.approval})"

    def check(self, trace: Trace) -> Check:
        approved, calls = False, 0
        unapproved: list[str] = []
        for event in trace.events:
            if event.kind == "control.result" and fnmatch.fnmatchcase(event.name, self.approval):
                approved = bool(event.data.get("result"))
            elif event.kind in _ACTIONS and fnmatch.fnmatchcase(event.name, self.action):
                calls += 1
                if not approved:
                    unapproved.append(event.name)
                approved = False
        return Check(not unapproved, f"without approval: {unapproved}" if unapproved else "", vacuous=not calls)
