"""Judges, and an agent that meets broken providers."""

import os
import time
from pathlib import Path
from typing import Any

from gate import chaos
from gate.chaos.judges import OpenAICompatibleJudge


@chaos.tool
def fetch(url: str) -> str:
    return f"page {url}"


def agent(answer: Any = "fine") -> Any:
    fetch("a")
    return answer


def polite(criterion: str, output: Any, trace: Any) -> tuple[bool, str]:
    fetch("not part of the run, and no fault acts on it")
    seen = [e.name for e in trace.tool_calls()]
    return output == "fine", f"{criterion} {output!r} {seen} {len(trace.faults)} {trace.error} {chaos.seed()}"


def scores(_criterion: str, output: Any, _trace: Any) -> float:
    return float(output)


async def later(_criterion: str, _output: Any, _trace: Any) -> bool:
    return True


def says_anything(_criterion: str, output: Any, _trace: Any) -> Any:
    return output


def raises(*_: Any) -> bool:
    raise ValueError(f"no idea: {os.environ['THE_KEY']}")


def exits(*_: Any) -> None:
    os._exit(0)


def hangs(*_: Any) -> None:
    time.sleep(3600)


def works_the_second_time(criterion: str, *_: Any) -> bool:
    marker = Path(criterion)
    if not marker.exists():
        marker.touch()
        raise ConnectionError("try again")
    return True


not_callable = 5
model = OpenAICompatibleJudge("m", base_url="http://127.0.0.1:9/v1", attempts=1)


class RateLimitError(ConnectionError):
    """What a provider's library raises."""


def loses_its_provider(counter: str, times: int, cause: str = "") -> str:
    """Fail as often as asked, counted in a file."""
    path = Path(counter)
    path.write_text(path.read_text() + "x" if path.exists() else "x")
    if cause == "fault":
        try:
            fetch("a")
        except chaos.ChaosError:
            raise RateLimitError("the fault's doing") from None
    if len(path.read_text()) <= times:
        if cause == "wrapped":
            raise RuntimeError("agent failed") from RateLimitError("429")
        raise RateLimitError("429")
    return "done"


def tells_secrets() -> str:
    fetch(os.environ["THE_KEY"])
    print(os.environ["THE_KEY"])
    raise ValueError(os.environ["THE_KEY"])


def talks(calls: int, size: int) -> str:
    for number in range(calls):
        fetch(f"{number} " + "x" * size)
    return "a" * 40 + "!"
