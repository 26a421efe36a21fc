"""Where webhooks may go: the SSRF guard."""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from goodarm.errors import InvalidValue


class Target(NamedTuple):
    """An address that was looked up and allowed; the sender connects to it without a second look-up."""

    scheme: str
    host: str
    port: int
    path: str
    address: str


def resolve(url: str, *, private: bool) -> Target:
    """Look a target up; refuse what lies inside our own network unless the server allows it.

    >>> resolve("http://127.0.0.1:9000/hook", private=True).address
    '127.0.0.1'
    """
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise InvalidValue(f"the webhook's url has no valid port: {url!r}.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise InvalidValue(f"a webhook's url must look like https://example.org/path; got {url!r}.")
    try:
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InvalidValue(f"the webhook's host {parts.hostname!r} can't be found: {error}.") from None
    address = str(found[0][4][0])
    if not private:
        for entry in found:
            _refuse_inside(str(entry[4][0]), parts.hostname)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, parts.hostname, port, path, address)


def _refuse_inside(address: str, host: str) -> None:
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        ip = ip.ipv4_mapped or ip.sixtofour or ip
    if not ip.is_global or ip.is_multicast:
        raise InvalidValue(
            f"the webhook's host {host!r} is at {address}, on this machine or in a private network. "
            "Start the server with --private-webhooks if that is intended."
        )
