"""Log in, log out, and the caller's role."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated

from fastapi import APIRouter, Request, Response, Security

from goodarm.service.bodies import Login
from goodarm.service.guard import COOKIE, address_of, caller_of, not_known, too_many_failures
from goodarm.service.problems import documented
from goodarm.service.shown import Me
from goodarm.service.tokens import SESSION_SECONDS, Caller, Tokens

router = APIRouter(tags=["people"])
log = logging.getLogger("goodarm.service")


@router.post(
    "/login", response_model=Me, responses=documented((400, 401, 403, 413, 422, 429)), openapi_extra={"x-role": "none"}
)
async def login(request: Request, response: Response, body: Login) -> Me:
    """Exchange a token for a cookie that scripts can't read and other sites can't send."""
    tokens: Tokens = request.app.state.tokens
    settings = request.app.state.settings
    address = address_of(request)
    if await asyncio.to_thread(tokens.failures, address) >= settings.failed_logins:
        raise too_many_failures()
    opened = await asyncio.to_thread(tokens.open_session, body.token)
    if opened is None:
        log.warning("failed login", extra={"address": address})
        await asyncio.to_thread(tokens.failed, address)
        raise not_known("The token is wrong or was revoked. `goodarm token create` makes a new one.")
    session, caller = opened
    log.info("login", extra={"address": address, "token": caller.id})
    secure = request.url.scheme == "https" or (settings.origin or "").startswith("https:")
    response.set_cookie(
        COOKIE,
        session,
        max_age=int(SESSION_SECONDS),
        path=f"{settings.root_path}/",
        httponly=True,
        samesite="strict",
        secure=secure,
    )
    return Me.model_validate({"role": caller.role.name})


@router.post("/logout", status_code=204, responses=documented((403,)), openapi_extra={"x-role": "none"})
async def logout(request: Request, response: Response) -> None:
    """End the browser's session."""
    session = request.cookies.get(COOKIE)
    if session:
        await asyncio.to_thread(request.app.state.tokens.close_session, session)
    path = f"{request.app.state.settings.root_path}/"
    response.delete_cookie(COOKIE, path=path, httponly=True, samesite="strict")


@router.get("/api/v1/me", response_model=Me, responses=documented((401, 429)), openapi_extra={"x-role": "reader"})
async def me(caller: Annotated[Caller, Security(caller_of)]) -> Me:
    """The role of the caller."""
    return Me.model_validate({"role": caller.role.name})
