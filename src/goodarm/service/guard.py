"""Checks before every route (body size, host, origin, token, role), and headers of every response."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

from fastapi import Request, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goodarm.errors import GoodarmError
from goodarm.service.problems import Refusal, answer_to, fault, is_ending
from goodarm.service.replies import SLASH
from goodarm.service.settings import Settings, is_loopback
from goodarm.service.side import UnusableSide
from goodarm.service.tokens import WINDOW, Caller, Role, Tokens

COOKIE = "goodarm_session"
NEEDED = "A token is needed: Authorization: Bearer TOKEN, or log in."
UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})
LOGIN_BYTES = 10_000
"""Maximum size of a body that is read without a token."""
FORWARDED = frozenset({
    b"forwarded", b"via", b"x-real-ip", b"x-real-port", b"x-client-ip", b"x-client-port", b"x-cluster-client-ip",
    b"client-ip", b"true-client-ip", b"fastly-client-ip", b"fly-client-ip", b"do-connecting-ip", b"x-proxyuser-ip",
    b"x-nf-client-connection-ip", b"x-appengine-user-ip", b"proxy-client-ip", b"wl-proxy-client-ip", b"x-rewrite-url",
    b"x-scheme", b"x-proto", b"x-host", b"cdn-loop",
})  # fmt: skip
"""Headers that proxies add, and below, how the names of others begin."""
FORWARDED_AS = (
    b"x-forwarded", b"x-original", b"x-proxy-", b"x-envoy-", b"x-vercel-", b"x-azure-", b"x-arr-", b"cf-",
    b"tailscale-",
)  # fmt: skip
HEADERS = {
    "content-security-policy": (
        "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
ADDED = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
ADDED.append((b"cache-control", b"no-cache"))  # all files of a page must have the same version

QUERY = {
    "history": ("after", "limit", "kind"),
    "remaining": ("draws",),
    "export": ("format",),
    "verdicts.csv": ("only",),
    "waiting": ("limit",),
    "check": ("head",),
}
"""Allowed query parameters by the last part of the path. Other names are refused on these routes."""

EVERYONE = Caller(Role.admin)
"""The caller of a server without tokens."""

Observe = Callable[[Scope, int, float], None]
log = logging.getLogger("goodarm.service")


class Guard:
    """The outermost layer: refuses requests that are too large, for another host, or from another origin."""

    def __init__(self, app: ASGIApp, settings: Settings, observe: Observe) -> None:
        self._app, self._settings, self._observe = app, settings, observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, started = time.perf_counter(), 500, False
        if self._settings.root_path:
            self._enter(scope)

        async def send_with_headers(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                present = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in ADDED if pair[0] not in present)]
            await send(message)

        try:
            headers = dict(reversed(scope["headers"]))  # the first of several with the same name
            most = self._most_bytes(scope)
            refused: GoodarmError | None = self._refused(scope, headers, most)
            changes = scope["method"] in UNSAFE and scope["path"].startswith("/api/")
            if refused is None and changes and not _is_remembered(scope, headers):
                refused = await _not_allowed_in(scope)
            if refused is not None:
                await answer_to(refused, scope)(scope, receive, send_with_headers)
            else:
                scope["path"] = path_of(scope)
                await self._app(scope, _counted(receive, most), send_with_headers)
        except asyncio.CancelledError:  # the server is stopping, and its grace period for this request is over
            if started:
                raise
            await answer_to(is_ending(), scope)(scope, receive, send_with_headers)
        except Exception:  # the server logs it
            if not started:
                await fault()(scope, receive, send_with_headers)
            raise
        finally:
            self._observe(scope, status, time.perf_counter() - began)

    def _enter(self, scope: Scope) -> None:
        """Remove the path prefix of a proxy, unless the proxy has removed it."""
        root = self._settings.root_path
        if scope["path"] == root or scope["path"].startswith(f"{root}/"):
            scope["path"] = scope["path"][len(root) :] or "/"
            scope["raw_path"] = scope["raw_path"][len(root) :] or b"/"

    def _refused(self, scope: Scope, headers: Mapping[bytes, bytes], most: int) -> Refusal | None:
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > most:
            return too_large(most)
        host = headers.get(b"host", b"").decode("latin-1")
        if self._settings.open and not _is_loopback_name(host):
            return Refusal(
                403,
                "host",
                f"This server answers only to the name localhost, but was addressed as {host!r}. "
                "Create a token (`goodarm token create`) to serve it under another name.",
            )
        if self._settings.open and (_is_forwarded(scope, headers) or not _is_near(scope)):
            return Refusal(
                403,
                "forwarded",
                "This server has no token, so it answers only programs on its own machine, in HTTP/1.1 and not through "
                "a proxy. Create a token (`goodarm token create`) and restart it.",
            )
        found = headers.get(b"origin")
        if found is not None and scope["method"] in UNSAFE and not self._own(origin := found.decode("latin-1"), host):
            return Refusal(403, "origin", f"A page from {origin!r} may not change anything here.")
        return None

    def _most_bytes(self, scope: Scope) -> int:
        """Maximum size of the body. Outside the API a body contains at most a token."""
        return self._settings.most_bytes if scope["path"].startswith("/api/") else LOGIN_BYTES

    def _own(self, origin: str, host: str) -> bool:
        """Whether this origin is the server's own. For a server at https://…, an http:// origin is not."""
        seen_as = (self._settings.origin or "").rstrip("/")
        if seen_as and origin == seen_as:
            return True
        return bool(host) and host != urlsplit(seen_as).netloc and origin in (f"http://{host}", f"https://{host}")


def _is_near(scope: Scope) -> bool:
    """Whether the client is on this machine."""
    client = scope.get("client")
    return client is not None and is_loopback(client[0])


def _is_forwarded(scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request shows signs of a proxy. nginx sends HTTP/1.0 unless its configuration says otherwise.

    >>> _is_forwarded({"http_version": "1.1"}, {b"x-forwarded-port": b"443"})
    True
    >>> _is_forwarded({"http_version": "1.0"}, {})
    True
    """
    if scope["http_version"] == "1.0" or not FORWARDED.isdisjoint(headers):
        return True
    return any(name.startswith(FORWARDED_AS) for name in headers)


@lru_cache(maxsize=256)
def _is_loopback_name(host: str) -> bool:
    """Whether a Host header names this machine."""
    return is_loopback(name_of(host))


def _is_remembered(scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
    """Whether the caller of a request without cookies is cached; the caller is then kept with the request."""
    scheme, _, text = headers.get(b"authorization", b"").partition(b" ")
    if b"cookie" in headers or scheme not in (b"", b"Bearer"):
        return False
    token = text.decode("latin-1") if scheme else None
    caller = remembered(scope["app"].state, token, None)
    if caller is not None:
        scope.setdefault("state", {}).update(shown=(token, None), caller=caller)
    return caller is not None


async def _not_allowed_in(scope: Scope) -> GoodarmError | None:
    """Refuse a change without a valid token or session before reading its body; FastAPI would read the body first."""
    request = Request(scope)
    try:
        await caller_of(request, await bearer(request), request.cookies.get(COOKIE))
    except (Refusal, UnusableSide) as error:  # the route would wait once more for tables that do not answer
        return error
    return None


def name_of(host: str) -> str:
    """The name in a Host header, without its port; empty if it is malformed.

    >>> name_of("[::1]:8000"), name_of("localhost"), name_of("[::1")
    ('::1', 'localhost', '')
    """
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def path_of(scope: Scope) -> str:
    """The path with each slash inside a name (%2F) replaced by `SLASH`.

    >>> path_of({"raw_path": b"/campaigns/a%2Fb/ask", "path": "/campaigns/a/b/ask"})
    '/campaigns/a\\x00b/ask'
    """
    raw: bytes = scope.get("raw_path") or b""
    if b"%2f" not in raw.lower() and b"%00" not in raw:
        path: str = scope["path"]
        return path
    parts = raw.decode("ascii", "replace").split("/")
    return "/".join(unquote(part).replace(SLASH, "\ufffd").replace("/", SLASH) for part in parts)


def too_large(most: int) -> Refusal:
    """The refusal of a body above the limit."""
    return Refusal(
        413, "size", f"The body is larger than {most:,} bytes. Split it, for example into several tell-many requests."
    )


def _counted(receive: Receive, most: int) -> Receive:
    """Refuse a body once it exceeds the limit; its declared length may be missing or wrong."""
    seen = 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise HTTPException(413, str(too_large(most)))  # FastAPI turns every other exception into a 400
        return message

    return counting


bearer = HTTPBearer(auto_error=False, description="A token of `goodarm token create`.")
cookie = APIKeyCookie(name=COOKIE, auto_error=False, description="Set by POST /login.")

Bearer = Annotated[HTTPAuthorizationCredentials | None, Security(bearer)]
Session = Annotated[str | None, Security(cookie)]


def address_of(request: Request) -> str:
    """The address of the client."""
    return request.client.host if request.client else "unknown"


async def caller_of(request: Request, credentials: Bearer, session: Session) -> Caller:
    """The caller of a request; refused if a token is needed and none is valid. The result is kept with the request."""
    known: Caller | None = getattr(request.state, "caller", None)
    if known is not None:
        return known
    token = credentials.credentials if credentials is not None else None
    if token is None and session and request.method in UNSAFE and request.headers.get("origin") is None:
        raise Refusal(403, "origin", "A browser session can make changes only with an Origin header.")
    request.state.shown = (token, session)
    caller = await caller_now(request)
    if caller is not None:
        request.state.caller = caller
        return caller
    if token is None and session:
        raise not_known("The session has expired. Log in again.")
    if token is None:
        raise not_known(NEEDED)
    await asyncio.to_thread(_count_wrong, request)
    raise not_known("The token is wrong or was revoked. `goodarm token create` makes a new one.")


async def caller_now(request: Request) -> Caller | None:
    """The caller as of now, since a token may be revoked during a long request; None without a valid token."""
    state = request.app.state
    tokens: Tokens = state.tokens
    token, session = request.state.shown
    known = remembered(state, token, session)
    if known is not None:
        return known
    if token is not None:
        return await asyncio.to_thread(tokens.caller, token)
    if session:
        return await asyncio.to_thread(tokens.caller_of_session, session)
    return None if await is_closed(state) else EVERYONE


def remembered(state: State, token: str | None, session: str | None) -> Caller | None:
    """The cached caller; None if the store must be asked, or if a token is needed."""
    tokens: Tokens = state.tokens
    if token is not None:
        return tokens.remembered(token)
    if session:
        return tokens.remembered(session, session=True)
    return EVERYONE if state.settings.open and tokens.known_needed() is False else None


async def is_closed(state: State) -> bool:
    """Whether a token is needed, either from the start or since one was created."""
    if not state.settings.open:
        return True
    tokens: Tokens = state.tokens
    known = tokens.known_needed()
    return await asyncio.to_thread(tokens.are_needed) if known is None else known


def _count_wrong(request: Request) -> None:
    """Count a wrong token. An address with too many is refused and not counted again."""
    tokens: Tokens = request.app.state.tokens
    address = address_of(request)
    if tokens.failures(address) >= request.app.state.settings.failed_logins:
        raise too_many_failures()
    log.warning("wrong token", extra={"address": address})
    tokens.failed(address)


def not_known(detail: str) -> Refusal:
    """The refusal of a caller without a valid token."""
    return Refusal(401, "token", detail, {"WWW-Authenticate": "Bearer"})


def too_many_failures() -> Refusal:
    """The refusal of an address with too many wrong tokens."""
    return Refusal(
        429,
        "token",
        f"Too many wrong tokens from this address. Wait {WINDOW:.0f} seconds.",
        {"Retry-After": f"{WINDOW:.0f}"},
    )


def needs(role: Role) -> Callable[..., Awaitable[Caller]]:
    """A dependency that refuses callers below this role."""

    async def enough(request: Request, caller: Annotated[Caller, Security(caller_of)]) -> Caller:
        if caller.role < role:
            raise Refusal(403, "role", f"This needs the role {role.name}; your token has the role {caller.role.name}.")
        known = QUERY.get(request.url.path.rpartition("/")[2], ())
        for name in request.query_params:
            if known and name not in known:
                raise Refusal(
                    422, "form", f"query.{name}: there is no such parameter. Valid parameters: {', '.join(known)}."
                )
        return caller

    return enough


def route_of(role: Role) -> dict[str, Any]:
    """The role that a route needs, as arguments of its decorator: for the check and for the OpenAPI document."""
    return {"dependencies": [Security(needs(role))], "openapi_extra": {"x-role": role.name}}
