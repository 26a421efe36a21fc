"""Errors as application/problem+json (RFC 9457), with the library's message as the detail."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.types import Scope

from goodarm.arguments import families_as_text, shown
from goodarm.errors import GoodarmError

log = logging.getLogger("goodarm.service")
MEDIA_TYPE = "application/problem+json"
LONGEST_DETAIL = 2000


class Problem(BaseModel):
    """Why a request was refused."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(default="about:blank", description="always about:blank: the kind says more")
    title: str = Field(description="the status in words")
    status: int
    detail: str = Field(description="the value, the reason and the fix")
    kind: str = Field(description="the class of the library's error, or the part of the service that refused")


class Refusal(GoodarmError):
    """A request that the service itself refuses, before the library sees it."""

    def __init__(self, status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.kind, self.headers = status, kind, dict(headers or {})


def is_ending() -> Refusal:
    """The refusal while the server is stopping."""
    return Refusal(503, "ending", "The server is being stopped. Try again in a moment.", {"Retry-After": "1"})


def answer(status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """One problem as a response."""
    text = detail.encode("utf-8", "replace").decode()
    shown = text if len(text) <= LONGEST_DETAIL else f"{text[:LONGEST_DETAIL]}…"
    problem = Problem(title=HTTPStatus(status).phrase, status=status, detail=shown, kind=kind)
    return JSONResponse(problem.model_dump(), status, headers, media_type=MEDIA_TYPE)


def fault() -> JSONResponse:
    """The answer to an error of the server itself, without internal details."""
    return answer(500, "fault", "The server failed here, and nothing was changed. Its log has the reason.")


DESCRIPTIONS = {
    400: "The request is well formed, but the library refuses what it asks for.",
    401: "A token is needed, or the one presented is wrong or revoked.",
    403: "The token's role does not allow this, or a page of another origin asks for a change.",
    404: "No campaign, arm, ticket or webhook has this name.",
    409: "The request contradicts what the journal already says.",
    413: "The body is larger than the server accepts.",
    415: "The body is not application/json.",
    422: "The request does not have the form that this document describes.",
    429: "Too many wrong tokens, or too many operations wait; try again after Retry-After seconds.",
    503: "The store can't be reached at the moment; try again after Retry-After seconds.",
}


def documented(statuses: Iterable[int]) -> dict[int | str, dict[str, Any]]:
    """These refusals in the form of OpenAPI."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": DESCRIPTIONS[status], "content": content} for status in statuses}


def describe(app: FastAPI) -> None:
    """Add the schema of a problem to the OpenAPI document. FastAPI would describe it as application/json."""
    plain = app.openapi

    def document() -> dict[str, Any]:
        made = plain()
        made["components"]["schemas"]["Problem"] = Problem.model_json_schema()
        for methods in made["paths"].values():
            for route in methods.values():  # any route may fail to reach the store
                route["responses"].setdefault("503", documented((503,))[503])
        return made

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's own way


KINDS = {
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
"""The kind of value that is missing, by pydantic's name for the error."""


def explain(errors: Iterable[Mapping[str, Any]], body: Any = None) -> str:
    """Pydantic's errors in plain words, one sentence per place in the request.

    body : the JSON that was sent. Parts of a location that are not in it are pydantic's names for alternatives

    >>> explain([{"loc": ("body", "threshold"), "msg": "Field required", "type": "missing"}], {})
    'body.threshold is missing.'
    >>> wrong = [{"loc": ("body", "reward", "float"), "msg": "...", "type": "float_type", "input": "high"}]
    >>> wrong += [{"loc": ("body", "reward", "bool"), "msg": "...", "type": "bool_type", "input": "high"}]
    >>> explain(wrong, {"reward": "high"})
    "body.reward must be a number or true or false; got 'high'."
    """
    places: dict[str, list[Mapping[str, Any]]] = {}
    for error in errors:
        if error["type"] == "json_invalid":
            return f"The body is not valid JSON: {error['ctx']['error']} at character {error['loc'][-1]}."
        places.setdefault(_place(error, body), []).append(error)
    found = [_at(place, wrong) for place, wrong in places.items()]
    more = f" … and {len(found) - 5} more." if len(found) > 5 else ""
    return " ".join(found[:5]) + more


def _place(error: Mapping[str, Any], body: Any) -> str:
    """The location of an error, without the names of alternatives."""
    first, *rest = error["loc"]
    if first != "body":
        return ".".join(str(part) for part in error["loc"])
    kept, value = [first], body
    for j, part in enumerate(rest):
        inside = part in value if isinstance(value, dict) else isinstance(value, list) and isinstance(part, int)
        if inside and not (isinstance(value, list) and part >= len(value)):
            kept, value = [*kept, part], value[part]
        elif error["type"] == "missing" and j == len(rest) - 1:
            kept.append(part)
    return ".".join(str(part) for part in kept)


def _at(place: str, errors: list[Mapping[str, Any]]) -> str:
    """Description of the error at one place."""
    kinds = list(dict.fromkeys(KINDS[error["type"]] for error in errors if error["type"] in KINDS))
    other = [error for error in errors if error["type"] not in KINDS]
    if not other:
        return f"{place} must be {' or '.join(kinds)}; got {shown(errors[0].get('input'))}."
    if other[0]["type"] == "missing":
        return f"{place} is missing."
    if other[0]["type"] == "extra_forbidden":
        return f"{place}: there is no such field."
    said = dict.fromkeys(
        str(error["msg"]).removeprefix("Value error, ").replace("Input should", "the value should") for error in other
    )
    return f"{place}: {', or '.join([*said, *kinds])}."


def not_json(request: Request, errors: Iterable[Mapping[str, Any]]) -> str:
    """A hint about a body that was not declared as JSON; empty for other errors."""
    sent = request.headers.get("content-type", "").partition(";")[0].strip()
    if sent.lower() == "application/json" or not any(tuple(error["loc"]) == ("body",) for error in errors):
        return ""
    got = f"Content-Type: {sent}" if sent else "no Content-Type"
    return f"The body must be JSON, sent with the header Content-Type: application/json; got {got}."


def answer_to(error: GoodarmError, scope: Scope) -> JSONResponse:
    """The answer to a goodarm error. Errors of the store are logged and counted."""
    if isinstance(error, Refusal):
        return answer(error.status, error.kind, str(error), error.headers)
    state = scope["app"].state
    status = next((state.status_of[kind] for kind in type(error).__mro__ if kind in state.status_of), 400)
    if status >= 500:
        state.metrics.note_store_error()
        log.error("%s %s: %s", scope["method"], scope["path"], error, extra={"kind": type(error).__name__})
    return answer(
        status, type(error).__name__, families_as_text(str(error)), {"Retry-After": "1"} if status == 503 else None
    )


def install(app: FastAPI, status_of: Mapping[type[GoodarmError], int]) -> None:
    """Answer every error: goodarm's with its message, others without internal details."""
    app.state.status_of = status_of

    @app.exception_handler(GoodarmError)
    async def _ours(request: Request, error: GoodarmError) -> JSONResponse:
        return answer_to(error, request.scope)

    @app.exception_handler(RequestValidationError)
    async def _malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        return answer(422, "form", not_json(request, error.errors()) or explain(error.errors(), error.body))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        return answer(error.status_code, "http", str(error.detail), error.headers)

    @app.exception_handler(Exception)
    async def _unknown(request: Request, error: Exception) -> JSONResponse:  # the server logs it
        return fault()
