"""Every handler of the double, registered by import."""

from __future__ import annotations

from tests.double import actions, checks, conversation, git_data, history
from tests.double.routes import Operation, find, operations

__all__ = ["Operation", "actions", "checks", "conversation", "find", "git_data", "history", "operations"]
