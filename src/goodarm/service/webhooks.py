"""Webhooks: registration, the outbox, and delivery.

The journal is the outbox. A webhook gets every verdict after its registration. Each attempt is a note in the journal,
and a fold over verdicts and notes gives the open deliveries. One worker sends at a time.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b, sha256
from http.client import HTTPConnection, HTTPException
from typing import Any

from goodarm.errors import GoodarmError, Refused
from goodarm.service.side import Side
from goodarm.service.targets import PORTS, Target, resolve

ATTEMPTS = 8
FIRST_WAIT, GROWTH = 2.0, 4.0
"""Seconds before the second attempt, and the factor by which waits grow. The last attempt is made after about three
hours."""
TIMEOUT = 10.0
NOTE = "delivery"
SHOWN_AGAIN = 3600.0
"""Seconds for which a repeated request returns the same webhook with its secret."""


class UnknownWebhook(GoodarmError, LookupError):
    """There is no such webhook or delivery."""


@dataclass(frozen=True)
class Webhook:
    """A registered address for a campaign's verdicts after entry `after`."""

    id: str
    campaign: str
    url: str
    secret: str
    after: int
    created_at: float
    ended_at: float | None


class Webhooks:
    """The registered webhooks of a store."""

    def __init__(
        self, side: Side, *, private: bool, ports: Collection[int] = PORTS, clock: Callable[[], float] = time.time
    ) -> None:
        self._side, self._clock = side, clock
        self._resolve = partial(resolve, private=private, ports=ports)

    def register(self, campaign: str, url: str, after: int, key: str | None = None) -> Webhook:
        """Register a webhook. Its target is resolved now, and again at each delivery.

        key : chosen by the caller; for an hour the same key gets the same webhook, including its secret. The id is
              derived from it, so two workers with the same request create one webhook
        """
        self._resolve(url)
        id = secrets.token_hex(6) if key is None else blake2b(f"{campaign}\0{key}".encode(), digest_size=6).hexdigest()
        made = Webhook(id, campaign, url, new_secret(), after, self._clock(), None)
        new = self._side.change(
            "insert into goodarm_webhooks (id, campaign, url, secret, after_number, created_at)"
            " values (?, ?, ?, ?, ?, ?) on conflict (id) do nothing",
            (made.id, made.campaign, made.url, made.secret, made.after, made.created_at),
        )
        return made if new else self._again(made)

    def _again(self, asked: Webhook) -> Webhook:
        """The webhook of an earlier request with the same key."""
        (found,) = self._found("where id = ?", (asked.id,))
        if (found.campaign, found.url) != (asked.campaign, asked.url) or found.ended_at is not None:
            raise Refused("this key was used for a different or ended webhook. Use a new key.")
        if asked.created_at - found.created_at > SHOWN_AGAIN:
            raise Refused("this key was used more than an hour ago, and secrets are not shown again. Use a new key.")
        return found

    def of(self, campaign: str) -> list[Webhook]:
        """All webhooks of a campaign, including ended ones."""
        return self._found("where campaign = ? order by created_at, id", (campaign,))

    def active(self) -> list[Webhook]:
        """All active webhooks."""
        return self._found("where ended_at is null order by created_at, id", ())

    def end(self, campaign: str, id: str) -> None:
        """Stop sending to a webhook."""
        if not self._side.change(
            "update goodarm_webhooks set ended_at = coalesce(ended_at, ?) where id = ? and campaign = ?",
            (self._clock(), id, campaign),
        ):
            raise UnknownWebhook(f"the campaign {campaign!r} has no webhook {id!r}.")

    def _found(self, where: str, values: tuple[str, ...]) -> list[Webhook]:
        query = f"select id, campaign, url, secret, after_number, created_at, ended_at from goodarm_webhooks {where}"
        return [Webhook(*row) for row in self._side.rows(query, values)]


@dataclass
class Delivery:
    """The delivery of one verdict to one webhook, and its state."""

    id: str
    webhook: str
    verdict: int
    attempts: int = 0
    delivered: bool = False
    due_at: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def given_up(self) -> bool:
        return not self.delivered and self.attempts >= ATTEMPTS

    def note(self, content: Mapping[str, Any], at: float) -> None:
        """Apply one note of the journal: an attempt, or a request to send it again."""
        if content.get("again"):
            self.attempts, self.delivered, self.due_at = 0, False, at
        else:
            self.attempts += 1
            self.delivered = bool(content["delivered"])
            self.due_at = at + FIRST_WAIT * GROWTH ** (self.attempts - 1)
        self.history.append({"at": at} | {key: content[key] for key in ("status", "error", "again") if key in content})


def delivery_id(webhook: str, verdict: int) -> str:
    """Id of the delivery. It is the same for every attempt, so receivers can detect repeats."""
    return f"{webhook}-{verdict}"


def outbox(
    webhooks: Iterable[Webhook], verdicts: Iterable[int], notes: Iterable[tuple[Mapping[str, Any], float]]
) -> dict[str, Delivery]:
    """Fold verdicts (their numbers) and notes (content, time) into deliveries."""
    numbers = list(verdicts)
    owed = {
        delivery_id(hook.id, number): Delivery(delivery_id(hook.id, number), hook.id, number)
        for hook in webhooks
        for number in numbers
        if number > hook.after
    }
    for content, at in notes:
        found = owed.get(str(content.get("delivery")))
        if content.get("note") == NOTE and found is not None:
            found.note(content, at)
    return owed


def send(
    hook: Webhook, id: str, content: Mapping[str, Any], *, private: bool, now: float, ports: Collection[int] = PORTS
) -> dict[str, Any]:
    """Make one attempt; returns its note for the journal."""
    note = {"note": NOTE, "delivery": id, "webhook": hook.id}
    try:
        target = resolve(hook.url, private=private, ports=ports)
        status = _post(target, hook, id, json.dumps(content).encode(), int(now))
    except (OSError, HTTPException, ValueError) as error:  # other deliveries must still be sent
        return note | {"delivered": False, "status": None, "error": str(error)[:300]}
    return note | {"delivered": 200 <= status < 300, "status": status}


def _post(target: Target, hook: Webhook, id: str, body: bytes, at: int) -> int:
    """Connect to the allowed address; redirects are not followed."""
    port = "" if target.port in (80, 443) else f":{target.port}"
    headers = {
        "Host": (f"[{target.host}]" if ":" in target.host else target.host) + port,
        "Content-Type": "application/json",
        "User-Agent": "goodarm",
        "Webhook-Id": id,
        "Webhook-Timestamp": str(at),
        "Webhook-Signature": sign(hook.secret, id, at, body),
    }
    with socket.create_connection((target.address, target.port), TIMEOUT) as raw, _hung_up_on(raw, TIMEOUT):
        connection = HTTPConnection(target.address, target.port)
        connection.sock = raw if target.scheme == "http" else _verified(raw, target.host)
        try:
            connection.request("POST", target.path, body, headers)
            return connection.getresponse().status
        finally:
            connection.close()


@contextmanager
def _hung_up_on(connected: socket.socket, seconds: float) -> Iterator[None]:
    """Disconnect a slow receiver. One that answers byte by byte would never hit a socket's timeout.

    This includes the TLS handshake, after which the connection belongs to another socket object.
    """
    held = connected.dup()

    def hang_up() -> None:
        with suppress(OSError):  # already disconnected
            held.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # the number of the closed file may soon be that of another one
        held.close()


def _verified(connected: socket.socket, name: str) -> ssl.SSLSocket:
    """TLS over a connection to a resolved address, verified with the certificate of its name."""
    return ssl.create_default_context().wrap_socket(connected, server_hostname=name)


TOLERANCE = 300.0
"""Maximum age in seconds of a delivery. A receiver should refuse older ones as replayed."""


SECRET = "whsec_"
"""Prefix of every secret; the rest is Base64."""


def new_secret() -> str:
    """A secret in the form of Standard Webhooks: whsec_ and 32 random bytes in Base64."""
    return SECRET + base64.b64encode(secrets.token_bytes(32)).decode()


def sign(secret: str, id: str, at: int, body: bytes) -> str:
    """The header Webhook-Signature of Standard Webhooks (https://www.standardwebhooks.com).

    >>> secret, id = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek"
    >>> sign(secret, id, 1614265330, b'{"test": 2432232314}')
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    key = base64.b64decode(secret.removeprefix(SECRET)) if secret.startswith(SECRET) else secret.encode()
    return f"v1,{base64.b64encode(hmac.new(key, f'{id}.{at}.'.encode() + body, sha256).digest()).decode()}"


def verify(secret: str, id: str, at: int, body: bytes, signature: str, now: float) -> bool:
    """Verify a delivery as a receiver: compare in constant time, and refuse old ones.

    >>> signed = sign("whsec_c2VjcmV0", "d1", 1700000000, b"{}")
    >>> verify("whsec_c2VjcmV0", "d1", 1700000000, b"{}", signed, now=1700000010)
    True
    >>> verify("whsec_c2VjcmV0", "d1", 1700000000, b"{...}", signed, now=1700000010)
    False
    """
    expected = sign(secret, id, at, body)
    return abs(now - at) <= TOLERANCE and any(hmac.compare_digest(expected, each) for each in signature.split(" "))
