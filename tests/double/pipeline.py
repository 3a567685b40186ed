"""From a raw request to an answer: log, check, faults, permissions, handler."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import parse_qsl, urlsplit

from tests.double.api import Operation, find
from tests.double.contract import contract
from tests.double.faults import Fault, FaultList
from tests.double.hub import Hub
from tests.double.log import Exchange, Violation
from tests.double.routes import STORAGE, Answer, ApiError, Call, Json, not_found
from tests.double.shapes import Shapes

PREFIX = "/api/v3"
_DOCS = "https://docs.github.com/rest"


class Pipeline:
    """Everything that happens to a request between the socket and the handlers."""

    def __init__(self, hub: Hub, web: str, *, strict: bool, log: Path | None) -> None:
        self.hub = hub
        self.web = web
        self.faults = FaultList()
        self.contract = contract()
        self.strict = strict
        self.requests: list[Exchange] = []
        self.violations: list[Violation] = []
        self._signature = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._log: IO[str] | None = log.open("a", encoding="utf-8") if log else None

    def close(self) -> None:
        if self._log:
            self._log.close()

    def handle(self, method: str, target: str, headers: dict[str, str], raw: bytes) -> Answer | None:
        """The answer, or None where the connection is to be dropped."""
        exchange = self._received(method, target, headers, raw)
        try:
            answer = self._storage(exchange) if exchange.path.startswith(STORAGE) else self._answer(exchange, raw)
        except Exception:  # noqa: BLE001 -- a bug of the double must show in the test, not in a thread
            self.violations.append(Violation(exchange.number, "double", exchange.path, traceback.format_exc()))
            answer = Answer(500, {"message": "the double failed"})
        if answer is not None:
            answer = self._finished(exchange, answer)
            exchange.status, exchange.response_headers = answer.status, answer.headers
            exchange.response = answer.body
        if self._log:
            with self._lock:
                self._log.write(exchange.to_line())
                self._log.flush()
        return answer

    def _received(self, method: str, target: str, headers: dict[str, str], raw: bytes) -> Exchange:
        url = urlsplit(target)
        prefix = PREFIX if url.path.startswith(f"{PREFIX}/") else ""
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = raw.decode(errors="replace")
        host = headers.get("host", "")
        with self._lock:
            exchange = Exchange(
                len(self.requests) + 1, method, url.path.removeprefix(prefix), prefix, query, headers, body, host
            )
            self.requests.append(exchange)
            self.hub.used += 1
        return exchange

    def _answer(self, exchange: Exchange, raw: bytes) -> Answer | None:
        found = find(exchange.method, exchange.path)
        operation, parameters = found or (None, {})
        exchange.operation = operation.key if operation else None
        self._check_request(exchange, parameters)
        fault = self.faults.take(exchange.method, exchange.path, exchange.body)
        if fault:
            exchange.fault = fault.kind
            time.sleep(fault.delay_s)
            if fault.action:
                fault.action()
            if fault.kind == "race":
                self.hub.commit_files(fault.branch, {"race.txt": secrets.token_bytes(8).hex().encode()}, "Win a race")
        spoiled = fault is not None and fault.kind not in {"slow", "race"}
        if fault and spoiled and fault.when == "before":
            answer = self._spoiled(fault, operation)
        else:
            answer = self._served(exchange, operation, parameters, raw)
            if fault and spoiled:
                answer = self._spoiled(fault, operation)
        if answer is not None and operation and not (fault and fault.body is not None):
            self._check_response(exchange, operation, answer)
        return answer

    def _spoiled(self, fault: Fault, operation: Operation | None) -> Answer | None:
        if fault.kind == "drop":
            return None
        permissions = operation.accepted_permissions if operation else ""
        return fault.answer(permissions, self._documentation(operation))

    def _served(
        self, exchange: Exchange, operation: Operation | None, parameters: dict[str, str], raw: bytes
    ) -> Answer:
        shapes = Shapes.of(self.hub, f"http://{exchange.host}{exchange.prefix}", self.web)
        try:
            if operation is None:
                raise not_found()
            self.hub.authorize(operation, exchange.token)
            known = self._repository(operation, parameters)
            body = self._body(exchange, raw)
            if known is not None:
                return Answer(200, shapes.full_repository(known))
            call = Call(self.hub, shapes, operation, parameters, exchange.query, body, exchange.headers, exchange.path)
            with self._serialized(operation):
                answer = operation.handler(call)
            if operation.writes:
                self.hub.save()
            return answer
        except ApiError as error:
            document: Json = {"message": error.message, "documentation_url": self._documentation(operation)}
            if error.errors is not None:
                document["errors"] = error.errors
            document["status"] = str(error.status)
            return Answer(error.status, document, headers=error.headers)

    def _repository(self, operation: Operation, parameters: dict[str, str]) -> str | None:
        """The full name when the request is for a known fork itself; 404 for any other foreign repository."""
        if "repo" not in parameters:
            return None
        name = f"{parameters['owner']}/{parameters['repo']}"
        if name.lower() == self.hub.full_name.lower():
            return None
        forks = {pull.head_repo for pull in self.hub.state.pulls.values()}
        if name in forks and operation.key == "GET /repos/{owner}/{repo}":
            return name
        raise not_found()

    @contextmanager
    def _serialized(self, operation: Operation) -> Iterator[None]:
        """Records are touched one request at a time; git decides its own races."""
        if "/git/" in operation.template:
            yield
        else:
            with self.hub.lock:
                yield

    @staticmethod
    def _body(exchange: Exchange, raw: bytes) -> Json:
        if not raw:
            return {}
        if isinstance(exchange.body, str) and not raw.lstrip().startswith(b'"'):
            raise ApiError(400, "Problems parsing JSON")
        if not isinstance(exchange.body, dict):
            raise ApiError(400, "Body should be a JSON object")
        return exchange.body

    def _documentation(self, operation: Operation | None) -> str:
        return self.contract.documentation_url(operation.key) if operation else _DOCS

    # Checking

    def _violation(self, exchange: Exchange, side: str, operation: str, problems: list[str]) -> None:
        if self.strict:
            with self._lock:
                self.violations += [Violation(exchange.number, side, operation, problem) for problem in problems]

    def _check_request(self, exchange: Exchange, parameters: dict[str, str]) -> None:
        if exchange.operation is None:
            problem = "no such operation, or one that the double does not serve"
            self._violation(exchange, "request", f"{exchange.method} {exchange.path}", [problem])
            return
        media = exchange.headers.get("content-type", "")
        problems = self.contract.request(exchange.operation, parameters, exchange.query, exchange.body, media)
        self._violation(exchange, "request", exchange.operation, problems)

    def _check_response(self, exchange: Exchange, operation: Operation, answer: Answer) -> None:
        body: Any = answer.body
        problems = self.contract.response(operation.key, answer.status, body, answer.content_type)
        self._violation(exchange, "response", operation.key, problems)

    # Around the answer

    def storage_url(self, host: str, artifact_id: int) -> str:
        """Where an archive lies: another host than the API's, so that a token taken along is noticed."""
        name, _, port = host.partition(":")
        other = "localhost" if name != "localhost" else "127.0.0.1"
        return f"http://{other}:{port}{STORAGE}{artifact_id}?sig={self._signature}"

    def _storage(self, exchange: Exchange) -> Answer:
        exchange.operation = "storage"
        archive = self.hub.state.artifacts.get(int(exchange.path.removeprefix(STORAGE) or 0))
        if exchange.token is not None:
            # The real store refuses requests that carry both a signature and a token.
            return Answer(
                400, raw=b"<Error><Code>InvalidAuthenticationInfo</Code></Error>", content_type="application/xml"
            )
        if archive is None or exchange.query.get("sig") != self._signature:
            return Answer(403, raw=b"<Error><Code>AuthenticationFailed</Code></Error>", content_type="application/xml")
        return Answer(200, raw=archive.archive, content_type="application/zip")

    def _finished(self, exchange: Exchange, answer: Answer) -> Answer:
        """The answer with the headers GitHub always sends."""
        limit, used = self.hub.rate_limit, min(self.hub.used, self.hub.rate_limit)
        headers = {
            "X-GitHub-Request-Id": f"{exchange.number:04X}:{self._signature.upper()}",
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(limit - used),
            "X-RateLimit-Used": str(used),
            "X-RateLimit-Reset": str(int(time.time()) + 3600),
            "X-RateLimit-Resource": "core",
            **answer.headers,
        }
        if answer.status == 302 and headers.get("Location", "").startswith(STORAGE):
            artifact_id = int(headers["Location"].removeprefix(STORAGE))
            headers["Location"] = self.storage_url(exchange.host, artifact_id)
        if exchange.method == "GET" and answer.status == 200 and answer.raw is None:
            digest = hashlib.sha256(json.dumps(answer.body, sort_keys=True).encode()).hexdigest()
            headers["ETag"] = f'W/"{digest}"'
            if exchange.headers.get("if-none-match") == headers["ETag"]:
                return Answer(304, headers=headers)
        return Answer(answer.status, answer.body, answer.raw, answer.content_type, headers)
