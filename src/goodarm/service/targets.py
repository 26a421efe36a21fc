"""SSRF guard: the addresses that webhooks may call."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from goodarm.errors import InvalidValue

NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""The form of IPv4 addresses in networks that have only IPv6."""
SPECIAL = tuple(
    ipaddress.ip_network(each)
    for each in (
        "0.0.0.0/8",
        "100.64.0.0/10",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",
        "64:ff9b:1::/48",
        "100::/64",
        "100:0:0:1::/64",
        "2001::/23",
        "2001:db8::/32",
        "2620:4f:8000::/48",
        "3fff::/20",
        "5f00::/16",
    )
)
"""Special-purpose networks of IANA's registries. Python's `is_global` differs between versions."""
PORTS = (80, 443, 8080, 8443)
"""Ports that webhooks may call by default."""
READY = "/%:@!$&'()*+,;=~?"
"""Characters allowed in a path and query; others are percent-encoded."""


class Target(NamedTuple):
    """A resolved and allowed address. The sender connects to it without resolving the name again."""

    scheme: str
    host: str
    port: int
    path: str
    address: str


def resolve(url: str, *, private: bool, ports: Collection[int] = PORTS) -> Target:
    """Resolve a target; refuse private addresses unless the server allows them.

    private : allow every address and port
    ports : allowed ports

    >>> resolve("http://127.0.0.1:9000/hook", private=True).address
    '127.0.0.1'
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise InvalidValue(f"the webhook's url has no valid host or port: {url!r}.") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise InvalidValue(f"a webhook's url must look like https://example.org/path; got {url!r}.")
    try:
        host = _in_letters(parts.hostname)
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InvalidValue(f"the webhook's host {parts.hostname!r} can't be found: {error}.") from None
    address = str(found[0][4][0])
    if not private:
        for entry in found:
            _refuse_inside(str(entry[4][0]), parts.hostname)
    if not private and port not in ports:
        allowed = ", ".join(map(str, sorted(ports)))
        raise InvalidValue(
            f"webhooks may call only the ports {allowed}; got port {port}. Start the server with --webhook-ports to "
            "allow others."
        )
    path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=READY)
    return Target(parts.scheme, host, port, path, address)


def _in_letters(host: str) -> str:
    """A host name encoded for a header.

    >>> _in_letters("münchen.example")
    'xn--mnchen-3ya.example'
    """
    return host if host.isascii() else host.encode("idna").decode("ascii")


def _refuse_inside(address: str, host: str) -> None:
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        through = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in NAT64 else None
        ip = ip.ipv4_mapped or ip.sixtofour or through or ip
    outside = ip.is_global and not (ip.is_multicast or ip.is_reserved or getattr(ip, "is_site_local", False))
    if not outside or any(ip in network for network in SPECIAL):
        raise InvalidValue(
            f"the webhook's host {host!r} is at {address}, on this machine or in a private network. Start the server "
            "with --private-webhooks to allow this."
        )
