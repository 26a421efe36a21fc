"""An HTTP connection to a goodarm server: kept open, retried with backoff; refusals raise the library's errors.

Every request may be sent twice. Repeating a reward has no effect, and every other request that changes something
carries a key by which the server recognises a repetition.
"""

from __future__ import annotations

import gzip
import json
import random
import ssl
import threading
import time
from collections.abc import Mapping
from datetime import timedelta
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from goodarm.arguments import read_duration
from goodarm.errors import GoodarmError, InvalidValue

ATTEMPTS = 8
"""Maximum number of times that a request is sent, unless the caller passes `patience`."""
FIRST_WAIT, LONGEST_WAIT = 0.05, 5.0
AGAIN = frozenset({429, 502, 503, 504})
"""Status codes of failures that may be temporary."""
UNAUTHORIZED, TOO_MANY = 401, 429
WRONG_TOKENS = "token"
"""Kind of the refusal after many wrong tokens. Waiting seconds does not help."""
AGENT = "goodarm-python"
"""User-Agent of this client. The server's messages to it name Python's arguments, not fields of a JSON body."""
TOKEN = "GOODARM_TOKEN"
"""Environment variable with the token to use if the caller passes none."""


class ServerRefused(GoodarmError):
    """The server refused a request with an error that the library does not define."""


class ServerUnreachable(GoodarmError):
    """No answer, even after several attempts."""


class Connection:
    """A server at http://HOST:PORT or https://…, and the token to use there."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        timeout: float = 60.0,
        attempts: int = ATTEMPTS,
        patience: float | str | timedelta | None = None,
    ) -> None:
        """patience : seconds for which a request is retried, in place of a number of attempts."""
        try:
            parts = urlsplit(address)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = None
        if not host or parts.scheme not in ("http", "https"):
            raise InvalidValue(f"a server's address looks like http://127.0.0.1:8000; got {address!r}.")
        self.address = address.rstrip("/")
        self._prefix = parts.path.rstrip("/")
        self._https = parts.scheme == "https"
        self._host, self._port = host, port
        self._token, self._timeout, self._attempts = token, timeout, attempts
        self._patience = read_duration(patience, "patience")
        self._lock = threading.Lock()
        self._open: HTTPConnection | None = None

    def get(self, path: str) -> Any:
        """GET a path and return its JSON."""
        return json.loads(self.call("GET", path))

    def post(self, path: str, body: Any = None, key: str | None = None) -> Any:
        """POST JSON and return JSON. The key lets the server recognise a repeated request."""
        headers = {"Idempotency-Key": key} if key else {}
        answer = self.call("POST", path, {} if body is None else body, headers)
        return json.loads(answer) if answer else None

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._hang_up()

    def call(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> bytes:
        """Send one request, and retry while the server is unreachable or busy."""
        sent = dict(headers or {}) | {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": AGENT}
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        data = None
        if body is not None:
            data = json.dumps(body, allow_nan=False).encode()
            sent["Content-Type"] = "application/json"
        with self._lock:
            return self._try(method, self._prefix + path, data, sent)

    def _try(self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]) -> bytes:
        reason: object = ""
        status = 0
        deadline = None if self._patience is None else time.monotonic() + self._patience
        attempt = 0
        while not attempt or (attempt < self._attempts if deadline is None else time.monotonic() < deadline):
            if attempt:
                most = min(FIRST_WAIT * 2.0 ** min(attempt, 20), LONGEST_WAIT)
                time.sleep(random.uniform(0.5 * most, most))
            attempt += 1
            try:
                status, answer = self._once(method, path, data, headers)
            except (OSError, HTTPException) as error:
                self._hang_up()
                reason, status = error, 0
                continue
            if status < 400:
                return answer
            if status == UNAUTHORIZED and self._token is None:
                raise ServerRefused(
                    f"{self.address} needs a token. Make one on the server with goodarm token create, then pass "
                    f"token='...' or set the environment variable {TOKEN}."
                )
            reason = refusal = _refusal(status, answer)
            if status not in AGAIN or (status == TOO_MANY and _kind(answer) == WRONG_TOKENS):
                raise refusal
        if isinstance(reason, ServerRefused) and status == TOO_MANY:  # the server runs, and gives the reason
            raise reason
        raise ServerUnreachable(
            f"{self.address} did not answer {method} {path} in {attempt} attempts: {str(reason).rstrip('.')}. "
            "Is it running?"
        )

    def _once(self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        if self._open is None:
            if self._https:
                self._open = HTTPSConnection(
                    self._host, self._port, timeout=self._timeout, context=ssl.create_default_context()
                )
            else:
                self._open = HTTPConnection(self._host, self._port, timeout=self._timeout)
        self._open.request(method, path, data, dict(headers))
        response = self._open.getresponse()
        content = response.read()
        return response.status, gzip.decompress(content) if response.headers["Content-Encoding"] == "gzip" else content

    def _hang_up(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None


def _refusal(status: int, answer: bytes) -> GoodarmError:
    """Rebuild the library's error that the server named."""
    try:
        problem = json.loads(answer)
        kind, detail = str(problem["kind"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        return ServerRefused(f"the server answered {status} without a reason that goodarm knows.")
    made = _errors().get(kind, ServerRefused)
    error = made.__new__(made)  # the message is complete; some constructors would format it again
    Exception.__init__(error, detail)
    return error


def _kind(answer: bytes) -> str:
    """The kind of a refusal, as the server names it; empty if the answer is not one."""
    try:
        return str(json.loads(answer)["kind"])
    except (ValueError, KeyError, TypeError):
        return ""


def _errors() -> dict[str, type[GoodarmError]]:
    found: dict[str, type[GoodarmError]] = {}
    waiting: list[type[GoodarmError]] = [GoodarmError]
    while waiting:
        kind = waiting.pop()
        found[kind.__name__] = kind
        waiting.extend(kind.__subclasses__())
    return found
