"""The HTTP side of the double."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.double.control import CONTROL, control
from tests.double.pipeline import Pipeline
from tests.double.routes import Answer

if TYPE_CHECKING:
    from tests.double.double import GitHubDouble


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, double: GitHubDouble, pipeline: Pipeline, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.double = double
        self.pipeline = pipeline
        self.open_sockets: set[socket.socket] = set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def setup(self) -> None:
        super().setup()
        self.server.open_sockets.add(self.connection)

    def finish(self) -> None:
        self.server.open_sockets.discard(self.connection)
        super().finish()

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = urlsplit(self.path).path
        if path.startswith(CONTROL):
            answer: Answer | None = self._control(path, raw)
        else:
            answer = self.server.pipeline.handle(self.command, self.path, headers, raw)
        if answer is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._write(answer)

    def _control(self, path: str, raw: bytes) -> Answer:
        try:
            body = json.loads(raw) if raw else None
        except ValueError as error:
            return Answer(400, {"error": f"not JSON: {error}"})
        return control(self.server.double, self.command, path, body)

    def _write(self, answer: Answer) -> None:
        content = answer.raw
        if content is None:
            content = b"" if answer.body is None else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status not in {204, 304}:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if answer.status not in {204, 304}:
            self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve  # noqa: N815 -- the names http.server calls

    def version_string(self) -> str:
        return "github.com"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- the name in http.server
        """The request log of the double is elsewhere."""


class Server:
    """Listens on the loopback from construction, serves from `start` to `stop`."""

    def __init__(self, double: GitHubDouble, pipeline: Pipeline, port: int) -> None:
        self._listener = _Listener(double, pipeline, port)
        self._thread = threading.Thread(
            target=self._listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True, name="github-double"
        )

    @property
    def port(self) -> int:
        return int(self._listener.server_address[1])

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        if self._thread.is_alive():
            self._listener.shutdown()
            self._thread.join()
        for connection in list(self._listener.open_sockets):
            # Idle keep-alive connections would hold their threads.
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self._listener.server_close()
