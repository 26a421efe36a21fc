"""How a receiver knows that a delivery is ours: HMAC-SHA256 over id, time and body."""

from __future__ import annotations

import hmac
from hashlib import sha256

TOLERANCE = 300.0
"""Seconds by which a receiver's clock may differ before it should refuse a delivery as replayed."""


def sign(secret: str, id: str, at: int, body: bytes) -> str:
    """The header Goodarm-Signature.

    >>> sign("s", "d1", 1700000000, b"{}")[:19]
    'v1=2e66b89f772a2d58'
    """
    message = f"{id}.{at}.".encode() + body
    return f"v1={hmac.new(secret.encode(), message, sha256).hexdigest()}"


def verify(secret: str, id: str, at: int, body: bytes, signature: str, now: float) -> bool:
    """What a receiver does: compare in constant time, and refuse what is old.

    >>> signed = sign("s", "d1", 1700000000, b"{}")
    >>> verify("s", "d1", 1700000000, b"{}", signed, now=1700000010)
    True
    >>> verify("s", "d1", 1700000000, b"{...}", signed, now=1700000010)
    False
    """
    return abs(now - at) <= TOLERANCE and hmac.compare_digest(sign(secret, id, at, body), signature)
