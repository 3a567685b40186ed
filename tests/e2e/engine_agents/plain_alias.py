"""Binds a tool of the undecorated agent before the agent does."""

from plain.tools import fetch  # type: ignore[import-not-found]  # found from this agent's folder

__all__ = ["fetch"]
