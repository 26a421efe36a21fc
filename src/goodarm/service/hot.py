"""Fast paths for the three routes that are called for every sample: `ask`, `tell` and `step`.

FastAPI runs its middleware, finds the route, solves its dependencies and validates its parameters at each request. This
takes longer than the rest of the event loop's work for a step. Here the guard has already found the caller. Any unusual
request (another role, a query, another form of body) is passed on, unread, to the regular route of the same address,
which refuses it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goodarm.errors import GoodarmError
from goodarm.service import problems
from goodarm.service.bodies import Ask, Body, Tell
from goodarm.service.desk import Desk
from goodarm.service.hosted import Hosted
from goodarm.service.replies import KEY_LENGTH, NAME_LENGTH, SLASH, as_json
from goodarm.service.routes import tickets
from goodarm.service.tokens import Role

PATH = re.compile(f"/api/v1/campaigns/([^/]{{1,{NAME_LENGTH}}})/(ask|tell|step)")
JSON = (b"content-type", b"application/json")
Operation = Callable[[Hosted, Any, str | None], dict[str, Any]]


class Hot(NamedTuple):
    """A route: its name in the metrics, its body, and its operation on a campaign."""

    path: str
    body: type[Body]
    operation: Operation


ROUTES = {
    "ask": Hot("/api/v1/campaigns/{name}/ask", Ask, tickets.asked),
    "tell": Hot("/api/v1/campaigns/{name}/tell", Tell, tickets.told),
    "step": Hot("/api/v1/campaigns/{name}/step", Tell, tickets.stepped),
}


class HotPath:
    """The layer between the guard and the framework."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        caller = scope["state"].get("caller") if found is not None else None
        headers = dict(scope["headers"]) if caller is not None else {}
        key = headers.get(b"idempotency-key")
        usual = (
            found is not None
            and caller is not None
            and caller.role >= Role.writer
            and not scope["query_string"]
            and headers.get(b"content-type") == JSON[1]
            and (key is None or (0 < len(key) <= KEY_LENGTH and key.isascii()))
        )
        if not usual or found is None or caller is None:
            await self._app(scope, receive, send)
            return
        hot, messages = ROUTES[found[2]], list[Message]()
        try:
            body = await _whole(receive, messages)
            given = hot.body.model_validate(json.loads(body))
        except HTTPException as error:
            await problems.answer(error.status_code, "http", str(error.detail))(scope, receive, send)
            return
        except (ValidationError, ValueError, RecursionError):
            await self._app(scope, _again(messages, receive), send)
            return
        scope["route"] = hot  # for the metrics
        name, text = found[1].replace(SLASH, "/"), None if key is None else key.decode()
        desk: Desk[Hosted] = scope["app"].state.desk
        try:
            result = await desk.write(
                name, lambda campaign: campaign.act_for(caller.id, lambda each: hot.operation(each, given, text)), text
            )
        except GoodarmError as error:
            await problems.answer_to(error, scope)(scope, receive, send)
            return
        content = as_json(result)
        length = (b"content-length", b"%d" % len(content))
        await send({"type": "http.response.start", "status": 200, "headers": [length, JSON]})
        await send({"type": "http.response.body", "body": content})


async def _whole(receive: Receive, messages: list[Message]) -> bytes:
    """The body of a request; its messages are kept."""
    while True:
        message = await receive()
        messages.append(message)
        if not message.get("more_body", False):
            return b"".join(each.get("body", b"") for each in messages)


def _again(messages: list[Message], receive: Receive) -> Receive:
    """A `receive` that replays these messages first."""
    left = iter(messages)

    async def receiving() -> Message:
        for message in left:
            return message
        return await receive()

    return receiving
