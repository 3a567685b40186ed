"""Ids and times that look like GitHub's and are the same in every document."""

from __future__ import annotations

import base64
import zlib
from datetime import UTC, datetime, timedelta

EPOCH = "2024-01-01T00:00:00Z"


def stable_id(text: str) -> int:
    """The same positive number for the same name, so that ids agree between documents."""
    return zlib.crc32(text.encode()) + 1


def node_id(kind: str, key: object) -> str:
    """An opaque id in the style of GitHub's."""
    return f"{kind}_" + base64.urlsafe_b64encode(str(key).encode()).decode().rstrip("=")


def later(moment: str, days: int) -> str:
    """A GitHub time some days after another one."""
    parsed = datetime.strptime(moment, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    return (parsed + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
