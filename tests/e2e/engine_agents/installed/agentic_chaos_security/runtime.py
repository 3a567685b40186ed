"""Holds the session."""

import contextvars
from typing import Any

_current: contextvars.ContextVar[Any] = contextvars.ContextVar("session", default=None)
