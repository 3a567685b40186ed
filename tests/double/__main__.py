"""The double as a process: `python -m tests.double --port 0 --state DIR --log FILE` prints its port."""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path
from types import FrameType

from tests.double.double import GitHubDouble
from tests.double.state import GITHUB_ACTIONS, Identity, User


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.double")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--state", type=Path, help="folder of the repository and the records; temporary by default")
    parser.add_argument("--log", type=Path, help="file that gets one JSON line for each request")
    parser.add_argument("--repository", default="octo-org/travel-agent")
    parser.add_argument("--default-branch", default="main")
    parser.add_argument("--user", help="login of a personal token; the GITHUB_TOKEN by default")
    parser.add_argument("--lenient", action="store_true", help="do not check against GitHub's description")
    options = parser.parse_args()
    stopped = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        stopped.set()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    with GitHubDouble(
        options.state,
        repository=options.repository,
        identity=Identity(User(options.user)) if options.user else GITHUB_ACTIONS,
        default_branch=options.default_branch,
        strict=not options.lenient,
        port=options.port,
        log=options.log,
    ) as double:
        print(double.port, flush=True)
        stopped.wait()


if __name__ == "__main__":
    main()
