"""Tokens with roles, stored as hashes; browser sessions; counts of wrong attempts."""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from goodarm.errors import GoodarmError, InvalidValue
from goodarm.service.side import Side

PREFIX = "goodarm"
ID = re.compile("[0-9a-f]{8}")
SESSION_SECONDS = 12 * 3600.0
REMEMBERED_SECONDS = 1.0
"""Seconds for which a worker caches a token. Every worker refuses a revoked token after this time."""
USE_SHOWN_EVERY = 60.0
"""Seconds between two writes of a token's last use."""
WINDOW = 60.0
"""Length in seconds of the window for counting wrong attempts."""


class Role(IntEnum):
    """Roles in increasing order. Each has the rights of the roles below it."""

    reader = 1
    writer = 2
    admin = 3


class Caller(NamedTuple):
    """The sender of a request: a role, and the id of the token; empty at a server without tokens."""

    role: Role
    id: str = ""


class UnknownToken(GoodarmError, LookupError):
    """There is no such token."""


@dataclass(frozen=True)
class Token:
    """A stored token, without its secret."""

    id: str
    name: str
    role: Role
    created_at: float
    used_at: float | None
    revoked_at: float | None


def role_named(name: str) -> Role:
    """The role of this name."""
    try:
        return Role[name]
    except KeyError:
        raise InvalidValue(f"role must be one of {', '.join(role.name for role in Role)}; got {name!r}.") from None


class Tokens:
    """The tokens of one store.

    >>> import tempfile
    >>> from goodarm.service.side import open_side
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tokens = Tokens(open_side(f"sqlite:///{folder}/a.db"))
    ...     token, text = tokens.create("writer", name="checkout")
    ...     before = tokens.caller(text)
    ...     tokens.revoke(token.id)
    ...     tokens.forget()
    ...     print(before.role.name, tokens.caller(text))
    writer None

    clock : source of the times written to the tables
    steady : a clock that is never set back; the worker's cache expires by it
    """

    def __init__(
        self,
        side: Side,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._side = side
        self._clock, self._steady = clock, steady
        self._lock = threading.Lock()
        self._remembered: dict[str, tuple[float, Caller | None]] = {}
        self._use_shown: dict[str, float] = {}
        self.needed = False
        self._not_needed_at = -math.inf

    def create(self, role: str, name: str = "") -> tuple[Token, str]:
        """Create a token; returns it and its text, which can't be read again."""
        made = Token(secrets.token_hex(4), name, role_named(role), self._clock(), None, None)
        secret = secrets.token_urlsafe(32)
        self._side.guard()
        self._side.change(
            "insert into goodarm_tokens (id, name, role, hash, created_at) values (?, ?, ?, ?, ?)",
            (made.id, made.name, made.role.name, _hash(secret), made.created_at),
        )
        return made, f"{PREFIX}_{made.id}_{secret}"

    def all(self) -> list[Token]:
        """All tokens, revoked ones included, oldest first."""
        found = self._side.rows(
            "select id, name, role, created_at, used_at, revoked_at from goodarm_tokens order by created_at, id"
        )
        return [Token(id, name, Role[role], *times) for id, name, role, *times in found]

    def any_active(self) -> bool:
        """Whether a valid token exists."""
        return bool(self._side.rows("select 1 from goodarm_tokens where revoked_at is null limit 1"))

    def made(self) -> int:
        """Number of tokens ever created, including revoked ones."""
        return int(self._side.rows("select count(*) from goodarm_tokens")[0][0])

    def are_needed(self) -> bool:
        """Whether a token was created since the server started without one. From then on every request needs one.

        This is permanent: revoking the last token must not open the server to everyone. The count includes revoked
        tokens, so an idle worker also notices a token that was created and revoked in the meantime.
        """
        if self.known_needed() is None:
            now = self._steady()
            if self.made():
                self.needed = True  # never set to False: another thread may have seen a newer token
            self._not_needed_at = now
        return self.needed

    def known_needed(self) -> bool | None:
        """The cached result of `are_needed`; None if it is older than a second."""
        recent = self._steady() - self._not_needed_at <= REMEMBERED_SECONDS
        return self.needed if self.needed or recent else None

    def revoke(self, id: str) -> None:
        """Revoke a token and every session that it opened."""
        touched = self._side.change(
            "update goodarm_tokens set revoked_at = coalesce(revoked_at, ?) where id = ?", (self._clock(), id)
        )
        if not touched:
            raise UnknownToken(f"there is no token {id!r}. `goodarm token list` shows all of them.")
        self._side.change("delete from goodarm_sessions where token = ?", (id,))

    def remembered(self, text: str, *, session: bool = False) -> Caller | None:
        """The cached caller of a token or session; None if the cache is older than a second."""
        known = self._remembered.get(f"{'session' if session else 'token'} {_hash(text)}")
        return known[1] if known is not None and known[0] >= self._steady() - REMEMBERED_SECONDS else None

    def caller(self, text: str) -> Caller | None:
        """The caller who presents a token; None if it is wrong or revoked."""
        return self._recall(f"token {_hash(text)}", lambda: self._of_token(text))

    def caller_of_session(self, text: str) -> Caller | None:
        """The caller of a browser session; None if it does not exist or has expired."""
        return self._recall(f"session {_hash(text)}", lambda: self._of_session(text))

    def open_session(self, text: str) -> tuple[str, Caller] | None:
        """Open a browser session with a token; None if the token is wrong."""
        caller = self._of_token(text)
        if caller is None:
            return None
        session, now = secrets.token_urlsafe(32), self._clock()
        self._side.change("delete from goodarm_sessions where expires_at < ?", (now,))
        self._side.change(
            "insert into goodarm_sessions (hash, token, expires_at) values (?, ?, ?)",
            (_hash(session), caller.id, now + SESSION_SECONDS),
        )
        return session, caller

    def close_session(self, text: str) -> None:
        """Log out."""
        self._side.change("delete from goodarm_sessions where hash = ?", (_hash(text),))
        self.forget()

    def forget(self) -> None:
        """Clear the cache."""
        with self._lock:
            self._remembered.clear()

    def failed(self, address: str) -> int:
        """Record a wrong attempt; returns the attempts from this address within the window."""
        now = self._clock()
        self._side.change("delete from goodarm_failures where at < ?", (now - WINDOW,))
        self._side.change("insert into goodarm_failures (address, at) values (?, ?)", (address, now))
        return self.failures(address)

    def failures(self, address: str) -> int:
        """Number of wrong attempts from this address within the window."""
        query = "select count(*) from goodarm_failures where address = ? and at >= ?"
        return int(self._side.rows(query, (address, self._clock() - WINDOW))[0][0])

    def _recall(self, key: str, look: Callable[[], Caller | None]) -> Caller | None:
        now = self._steady()
        with self._lock:
            known = self._remembered.get(key)
        if known is None or known[0] < now - REMEMBERED_SECONDS or known[1] is None:
            caller = look()
            with self._lock:
                if len(self._remembered) > 10_000:
                    self._remembered.clear()
                self._remembered[key] = known = (now, caller)
        if known[1] is not None:
            self._show_use(known[1].id, now)
        return known[1]

    def _of_token(self, text: str) -> Caller | None:
        prefix, _, rest = text.partition("_")
        id, _, secret = rest.partition("_")
        query = "select hash, role, revoked_at from goodarm_tokens where id = ?"
        found = self._side.rows(query, (id,)) if ID.fullmatch(id) else []
        hash, role, revoked_at = found[0] if found else (_hash(""), "", 0.0)
        same = hmac.compare_digest(_hash(secret), hash)  # constant time, even if there is no such token
        return Caller(Role[role], id) if same and found and prefix == PREFIX and revoked_at is None else None

    def _of_session(self, text: str) -> Caller | None:
        found: list[tuple[Any, ...]] = self._side.rows(
            "select t.role, t.id from goodarm_sessions s join goodarm_tokens t on t.id = s.token"
            " where s.hash = ? and s.expires_at >= ? and t.revoked_at is null",
            (_hash(text), self._clock()),
        )
        return Caller(Role[found[0][0]], found[0][1]) if found else None

    def _show_use(self, id: str, now: float) -> None:
        with self._lock:
            if self._use_shown.get(id, -math.inf) > now - USE_SHOWN_EVERY:
                return
            self._use_shown[id] = now
        self._side.change("update goodarm_tokens set used_at = ? where id = ?", (self._clock(), id))


def _hash(text: str) -> str:
    """Hash of a secret. Secrets are 256 random bits, so one round of SHA-256 suffices."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
