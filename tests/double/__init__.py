"""A stateful local double of the GitHub REST API, for tests and as a process."""

from __future__ import annotations

from tests.double.double import GitHubDouble
from tests.double.faults import Fault
from tests.double.log import Exchange, Violation
from tests.double.state import GITHUB_ACTIONS, Artifact, CheckRun, Comment, Identity, Pull, User, WorkflowRun

__all__ = [
    "GITHUB_ACTIONS",
    "Artifact",
    "CheckRun",
    "Comment",
    "Exchange",
    "Fault",
    "GitHubDouble",
    "Identity",
    "Pull",
    "User",
    "Violation",
    "WorkflowRun",
]
