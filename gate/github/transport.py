"""Requests to GitHub over PyGithub's connection, repeated only where repeating is harmless and may help.

PyGithub's objects and retries are left aside on purpose: the objects complete themselves by requests nobody sees and
tell a 404 only when an attribute is touched; the retries repeat a POST after a 502, which makes two comments of one,
and never a PATCH.
"""

import itertools
import random
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gate import __version__
from gate.errors import UsageError
from gate.github.error import ApiError, RateLimitedError, Response, UnreachableError, error_of

if TYPE_CHECKING:
    from github import Github
    from requests import PreparedRequest

MAX_WAIT_S = 90.0
"""All that one client waits for GitHub to recover: the pauses, and the time that failed requests took."""
ATTEMPTS = 5
SECONDARY_LIMIT_S = 60.0
"""The pause GitHub asks for where a rate limit does not say how long."""
TIMEOUT_S = 20


class Transport:
    """Sends requests and counts them in `calls`."""

    def __init__(
        self,
        token: str,
        base_url: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not re.fullmatch(r"https?://[^/\s]+(/\S*)?", base_url):
            raise UsageError(f"{base_url!r:.80} is not the URL of an API", fix="set GITHUB_API_URL to https://…")
        self.calls = 0
        self._token, self._base_url = token, base_url
        self._clock, self._now, self._sleep = clock, now, sleep
        self._waited_s = 0.0
        self._github: Github | None = None

    def close(self) -> None:
        """Close the connection."""
        if self._github is not None:
            self._github.close()
            self._github = None

    def send(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        harmless: bool = False,
        redirect: bool = False,
    ) -> Response:
        """Return the first answer that is a success; `harmless` lets a POST be repeated like the other verbs.

        A rate limit says that nothing was done, so that even a POST comes again after one. `redirect` makes an address
        elsewhere (302) the success that is asked for.

        Raises:
            ApiError: no success within the attempts and within `MAX_WAIT_S`.
        """
        for attempt in range(ATTEMPTS):
            started = self._clock()
            response = self._once(verb, path, query, body)
            if 200 <= response.status < 300 or (redirect and response.status == 302):
                return response
            self._waited_s += self._clock() - started
            error = error_of(verb, path, response)
            pause = self._pause_before(error, response, attempt, again=harmless or verb != "POST")
            if pause is None or not self.pause(pause, attempt):
                raise error
        raise AssertionError("not reached: there is no pause after the last attempt")

    def download(self, url: str, limit_bytes: int) -> bytes:
        """Return what lies at a signed address outside of the API, fetched without the token.

        Raises:
            ApiError: no answer, or more than `limit_bytes`.
        """
        import requests

        for attempt in itertools.count():
            try:
                # The callable keeps requests from taking credentials out of a .netrc.
                with requests.get(
                    url, stream=True, timeout=TIMEOUT_S, allow_redirects=False, auth=lambda r: r
                ) as answer:
                    if answer.status_code == 200:
                        return _bounded(answer.iter_content(65_536), limit_bytes)
                    reason = str(answer.status_code)
            except requests.RequestException as error:
                reason = type(error).__name__
            if not self.pause(backoff(attempt), attempt):
                break
        raise UnreachableError(f"the download failed ({reason})", fix="run the job again")

    def pause(self, seconds: float, attempt: int) -> bool:
        """Sleep before another attempt; False after the last one, or if that were more waiting than is allowed."""
        if attempt + 1 >= ATTEMPTS or self._waited_s + seconds > MAX_WAIT_S:
            return False
        self._waited_s += seconds
        self._sleep(seconds)
        return True

    def _pause_before(self, error: ApiError, response: Response, attempt: int, *, again: bool) -> float | None:
        given = response.headers.get("retry-after", "")
        asked_s = float(given) if re.fullmatch(r"[0-9]{1,9}", given) else None
        if isinstance(error, RateLimitedError):
            reset = response.headers.get("x-ratelimit-reset", "")
            exhausted = response.headers.get("x-ratelimit-remaining") == "0"
            if asked_s is None and exhausted and re.fullmatch(r"[0-9]{1,12}", reset):
                return max(1.0, int(reset) - self._now() + 1)
            return SECONDARY_LIMIT_S if asked_s is None else asked_s
        if isinstance(error, UnreachableError) and again:
            return backoff(attempt) if asked_s is None else asked_s
        return None

    def _once(self, verb: str, path: str, query: Mapping[str, Any] | None, body: Mapping[str, Any] | None) -> Response:
        from requests.exceptions import RequestException

        self.calls += 1
        headers = {"Accept": "application/vnd.github+json"}
        try:
            status, received, text = self._connection().requester.requestJson(
                verb, path, parameters=dict(query or {}), headers=headers, input=body
            )
        except RequestException as error:
            return Response(0, {}, type(error).__name__)
        except RuntimeError as error:  # PyGithub's word for a redirect to another host or scheme
            return Response(400, {}, str(error))
        return Response(status, received, text)

    def _connection(self) -> "Github":
        if self._github is None:
            import github

            self._github = github.Github(
                auth=github.Auth.Token(self._token) if self._token else None,
                base_url=self._base_url.rstrip("/"),
                timeout=TIMEOUT_S,
                user_agent=f"agent-chaos-gate/{__version__}",
                retry=None,
                seconds_between_requests=None,  # its defaults sleep 0.25 s before every request
                seconds_between_writes=None,  # and 1 s before every write
            )
        return self._github


def _nobody(request: "PreparedRequest") -> "PreparedRequest":
    """Leave a request without credentials; without any callable, requests takes those of a .netrc."""
    return request


def _bounded(chunks: Iterable[bytes], limit_bytes: int) -> bytes:
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) > limit_bytes:
            raise ApiError(f"the download is larger than {limit_bytes:,} bytes")
    return bytes(content)


def backoff(attempt: int) -> float:
    """Return the seconds to wait after a failure: 1, 2, 4, 8, up to a quarter less so that crowds disperse."""
    return float(2**attempt) * (1 - random.random() / 4)  # noqa: S311  # not for secrets
