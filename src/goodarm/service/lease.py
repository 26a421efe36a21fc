"""One of many workers does a job; when it ends or dies, another takes over."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from goodarm.service.side import Side

SECONDS = 5.0
"""How long a lease lasts if it is not renewed."""


class Lease:
    """The right to do a job, for a short time.

    >>> import tempfile
    >>> from goodarm.service.side import open_side
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     side = open_side(f"sqlite:///{folder}/a.db")
    ...     first, second = Lease(side, "sender"), Lease(side, "sender")
    ...     held = first.take(), second.take(), first.take()
    ...     first.release()
    ...     print(held, second.take())
    (True, False, True) True
    """

    def __init__(self, side: Side, job: str, clock: Callable[[], float] = time.time) -> None:
        self._side, self._job, self._clock = side, job, clock
        self._me = secrets.token_hex(8)

    def take(self) -> bool:
        """Take or renew the lease; False while another holds it."""
        now = self._clock()
        self._side.change(
            "insert into goodarm_leases (name, holder, until) values (?, ?, ?) on conflict (name) do nothing",
            (self._job, self._me, now + SECONDS),
        )
        return bool(
            self._side.change(
                "update goodarm_leases set holder = ?, until = ? where name = ? and (holder = ? or until < ?)",
                (self._me, now + SECONDS, self._job, self._me, now),
            )
        )

    def release(self) -> None:
        """Let another have it at once."""
        self._side.change("delete from goodarm_leases where name = ? and holder = ?", (self._job, self._me))
