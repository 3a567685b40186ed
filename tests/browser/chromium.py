"""A real Chromium, driven over a pipe in the DevTools protocol: pages, what they log and load, their pictures."""

import base64
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BINARY = Path("/usr/bin/chromium")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
    *("--no-first-run", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe"),
)
PATIENCE_S = 30


class Chromium:
    """One browser; `logs` and `requests` hold what all pages said and asked for since the last `open`."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._buffer = b""
        self._last = 0
        self._session = ""
        self.logs: list[str] = []
        self.requests: list[str] = []
        self._loaded = False

    def open(self, url: str, *, width: int = 1200, height: int = 1600, dark: bool = False) -> None:
        """Load a page in a fresh tab of this size and return when it has loaded."""
        target = self.send("Target.createTarget", {"url": "about:blank"}, browser=True)["targetId"]
        attached = self.send("Target.attachToTarget", {"targetId": target, "flatten": True}, browser=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.send(f"{domain}.enable")
        self.send(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.logs, self.requests, self._loaded = [], [], False
        self.send("Page.navigate", {"url": url})
        deadline = time.monotonic() + PATIENCE_S
        while not self._loaded:
            self._handle(self._receive(deadline))

    def run(self, script: str) -> Any:
        """Return the JSON value of a JavaScript expression in the page."""
        answer = self.send("Runtime.evaluate", {"expression": script, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """Write a picture of the whole page."""
        answer = self.send("Page.captureScreenshot", {"captureBeyondViewport": True})
        path.write_bytes(base64.b64decode(answer["data"]))

    def send(self, method: str, params: dict[str, Any] | None = None, *, browser: bool = False) -> dict[str, Any]:
        """Return the answer to a command of the protocol, sent to the page or to the browser."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params or {}}
        if not browser:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._last:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._handle(answer)

    def _handle(self, event: dict[str, Any]) -> None:
        if event.get("sessionId") != self._session:
            return
        params = event.get("params", {})
        match event.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded" | "Audits.issueAdded":
                self.logs.append(json.dumps(params)[:2_000])

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError("Chromium does not answer")
            got = os.read(self._read, 1 << 20)
            if not got:
                raise ConnectionError("Chromium has ended")
            self._buffer += got
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        return message


@contextmanager
def chromium(profile: Path) -> Iterator[Chromium]:
    """Start a browser with a profile of its own and stop it at the end."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    # The browser reads commands from descriptor 3 and answers on 4, whatever numbers the pipes have here.
    script = f'exec 3<&{to_read} 4>&{from_write}; exec "$@"'
    process = subprocess.Popen(
        ["/bin/bash", "-c", script, "chromium", str(BINARY), *FLAGS, f"--user-data-dir={profile}"],
        pass_fds=(to_read, from_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(from_write)
    try:
        yield Chromium(from_read, to_write)
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
        os.close(to_write)
        os.close(from_read)
