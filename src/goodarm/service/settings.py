"""Settings of a server. Workers are new processes and read them from the environment."""

from __future__ import annotations

import ipaddress
import json
import os
import re
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

from goodarm.errors import InvalidValue

VARIABLE = "GOODARM_SERVICE"
"""The environment variable that carries the settings to the workers."""
ENDS_WITH_THE_SERVER = re.compile(r"memory(:|$)|sqlite:///:memory:")
ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")
ORIGIN = re.compile(r"https?://[^/?#@\s]+/?")


@dataclass(frozen=True)
class Settings:
    """Settings of one server.

    open            : whether the server needs no token: only on loopback, and until a token is created
    private_targets : whether webhooks may call loopback and private addresses, and every port
    webhook_ports   : the ports that webhooks may call
    origin          : public address behind a proxy, like https://goodarm.example.org
    root_path       : path prefix behind a proxy, like /goodarm; empty for the whole site
    demo            : whether simulated visitors feed a campaign
    """

    store: str
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    open: bool = True
    private_targets: bool = False
    webhook_ports: tuple[int, ...] = (80, 443, 8080, 8443)
    origin: str | None = None
    root_path: str = ""
    demo: bool = False
    failed_logins: int = 10
    """Maximum number of wrong tokens per address and minute."""
    most_bytes: int = 8_000_000
    most_waiting: int = 10_000
    """Maximum number of operations waiting for the writer thread of one worker."""
    update_every: float = 0.2
    """Seconds between two polls of the journal by a worker's stream."""
    stalled_after: float = 20.0
    """Seconds after which a client that does not read its answer is disconnected."""
    body_seconds: float = 60.0
    """Maximum time from a request's head to the end of its body."""
    most_connections: int = 900
    """Maximum number of open connections per worker; many systems allow a process 1,024 open files."""
    most_per_address: int = 300
    """Maximum number of open connections per worker from one address, unless it is a trusted proxy's."""
    most_streams: int = 500
    """Maximum number of live streams per worker."""
    most_tickets: int = 100_000
    """Maximum number of pending tickets per campaign."""
    most_entries: int = 50_000_000
    """Maximum number of entries of a journal."""
    parent: int = 0
    """Id of the process that started the workers; 0 if the server is one process."""

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InvalidValue(f"workers must be at least 1; got {self.workers}.")
        if not 0 <= self.port <= 65535:
            raise InvalidValue(f"port must lie between 0 and 65535; got {self.port}.")
        if not self.stalled_after > 0.0:
            raise InvalidValue(f"stalled_after must be a positive number of seconds; got {self.stalled_after}.")
        for name, value in (("most_tickets", self.most_tickets), ("most_entries", self.most_entries)):
            if value < 1:
                raise InvalidValue(f"{name} must be at least 1; got {value}.")
        if self.root_path and not ROOT_PATH.fullmatch(self.root_path):
            raise InvalidValue(
                f"root_path must look like /goodarm, without a slash at its end; got {self.root_path!r}."
            )
        if self.origin is not None and not ORIGIN.fullmatch(self.origin):
            raise InvalidValue(
                f"origin must look like https://goodarm.example.org, without a path; got {self.origin!r}."
            )
        if ENDS_WITH_THE_SERVER.match(self.store):
            raise InvalidValue(
                f"the store {self.store!r} is lost when its process exits, so it can't be served. "
                "Use sqlite:///FILE or postgresql://…, or try `goodarm serve --demo`."
            )

    def to_environment(self) -> None:
        """Hand these settings to the workers."""
        os.environ[VARIABLE] = json.dumps(asdict(self))

    @staticmethod
    def from_environment() -> Settings:
        """The settings left by the process that started this worker."""
        text = os.environ.get(VARIABLE)
        if text is None:
            raise InvalidValue(
                f"the environment variable {VARIABLE} is not set. Start the server with `goodarm serve`."
            )
        values: dict[str, Any] = json.loads(text)
        return Settings(**values | {"webhook_ports": tuple(values["webhook_ports"])})


def ports_from_text(text: str) -> tuple[int, ...]:
    """Parse ports from the command line.

    >>> ports_from_text("443, 8443")
    (443, 8443)
    """
    try:
        ports = tuple(int(each) for each in text.split(","))
    except ValueError:
        ports = ()
    if not ports or not all(0 < port < 65536 for port in ports):
        raise InvalidValue(f"webhook_ports must be numbers from 1 to 65535, such as 443,8443; got {text!r}.")
    return ports


@lru_cache(1000)
def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to this host.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    name = host.strip("[]")
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def sqlite_path(store: str) -> str | None:
    """The file of a store sqlite:///FILE; None for other stores.

    >>> sqlite_path("sqlite:///banners.db"), sqlite_path("sqlite:////var/lib/banners.db")
    ('banners.db', '/var/lib/banners.db')
    """
    parts = urlsplit(store)
    return unquote(parts.path[1:]) if parts.scheme == "sqlite" else None
