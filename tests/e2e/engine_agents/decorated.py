"""An agent that carries the decorators of the public package."""

import asyncio
import threading
from typing import Any

import agentic_chaos_security  # type: ignore[import-not-found]

chaos: Any = agentic_chaos_security


@chaos.tool  # type: ignore[untyped-decorator]
def fetch(what: str) -> str:
    """Return what it was given."""
    return what


@chaos.tool(name="later")  # type: ignore[untyped-decorator]
async def fetch_later(what: str) -> str:
    return what


@chaos.control("guard")  # type: ignore[untyped-decorator]
def guard() -> bool:
    return False


def agent() -> Any:
    """Return what the tools said, also in a thread, and how the control failed."""
    from agentic_chaos_security.faults import ChaosTimeout  # type: ignore[import-not-found]

    said = [fetch("one"), asyncio.run(fetch_later("two"))]
    thread = threading.Thread(target=lambda: said.append(fetch("three")))
    thread.start()
    thread.join()
    try:
        said.append(guard())
    except ChaosTimeout as error:
        said.append(str(error))
    with chaos.suspended():
        said.append(fetch("unseen"))
    return said
