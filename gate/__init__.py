"""A merge gate for AI agents. Nothing but the version stands here; the command is in gate.cli."""

__version__ = "0.1.0"
