"""Errors as application/problem+json (RFC 9457), with the library's message as the detail."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from http import HTTPStatus
from typing import Any, get_args

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.types import Scope

from goodarm.arguments import arguments_as_json, shown
from goodarm.campaign.connection import AGENT
from goodarm.errors import GoodarmError
from goodarm.service.bodies import FORMS

log = logging.getLogger("goodarm.service")
MEDIA_TYPE = "application/problem+json"
LONGEST_DETAIL = 2000


class Problem(BaseModel):
    """Why a request was refused."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(default="about:blank", description="always about:blank; see `kind`")
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
    return Refusal(503, "ending", "The server is stopping. Try again in a moment.", {"Retry-After": "1"})


def answer(status: int, kind: str, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """One problem as a response."""
    text = detail.encode("utf-8", "replace").decode()
    shown = text if len(text) <= LONGEST_DETAIL else f"{text[:LONGEST_DETAIL]}…"
    problem = Problem(title=HTTPStatus(status).phrase, status=status, detail=shown, kind=kind)
    return JSONResponse(problem.model_dump(), status, headers, media_type=MEDIA_TYPE)


def fault() -> JSONResponse:
    """The answer to an error of the server itself, without internal details."""
    return answer(500, "fault", "The server failed, and nothing was changed. Its log has the reason.")


DESCRIPTIONS = {
    400: "The request is well formed, but the library refuses it.",
    401: "A token is needed, or the one presented is wrong or revoked.",
    403: "The token's role does not allow this, or a page of another origin asks for a change.",
    404: "No campaign, arm, ticket or webhook has this name.",
    409: "The request contradicts the journal.",
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
    "int_parsing": "a whole number",
    "whole_number": "a whole number",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "tuple_type": "a list",
}
"""The expected kind of value, by pydantic's name for the error."""
LIMITS = {
    "greater_than": "more than {gt:,}",
    "greater_than_equal": "at least {ge:,}",
    "less_than": "less than {lt:,}",
    "less_than_equal": "at most {le:,}",
    "literal_error": "{expected}",
    "string_pattern_mismatch": "{form}",
    "too_short": "a list or object with at least {min_length:,} {entries}",
    "too_long": "a list or object with at most {max_length:,} entries",
    "string_too_short": "text of at least {min_length:,} {characters}",
    "string_too_long": "text of at most {max_length:,} characters",
}
"""The violated limit, by pydantic's name for the error, with placeholders for its context."""
HINTS = {"delta": "It is the probability of a wrong verdict that you accept: write 0.05 for 5%."}
"""Advice by the name of a field."""


def explain(errors: Iterable[Mapping[str, Any]], body: Any = None, model: Any = None) -> str:
    """Pydantic's errors in plain words, one sentence per place in the request.

    body  : the JSON that was sent. Parts of a location that do not occur in it are pydantic's names for alternatives
    model : the type of the body, from which the message takes the names of valid fields

    >>> explain([{"loc": ("body", "threshold"), "msg": "Field required", "type": "missing"}], {})
    'body.threshold is missing.'
    >>> wrong = [{"loc": ("body", "reward", "float"), "msg": "...", "type": "float_type", "input": "high"}]
    >>> wrong += [{"loc": ("body", "reward", "bool"), "msg": "...", "type": "bool_type", "input": "high"}]
    >>> explain(wrong, {"reward": "high"})
    "body.reward must be a number or true or false; got 'high'."
    >>> small = {"loc": ("body", "n"), "msg": "...", "type": "greater_than_equal", "ctx": {"ge": 1}, "input": -1}
    >>> explain([small], {"n": -1})
    'body.n must be at least 1; got -1.'
    >>> explain([{"loc": ("body", "ticket"), "msg": "...", "type": "string_type", "input": 5}], {"ticket": 5})
    'body.ticket must be text; got 5. Send it in quotes.'
    """
    places: dict[str, list[Mapping[str, Any]]] = {}
    for error in errors:
        if error["type"] == "json_invalid":
            return f"The body is not valid JSON: {error['ctx']['error']} at character {error['loc'][-1]}."
        places.setdefault(_place(error, body), []).append(error)
    found = [_at(place, wrong, model) for place, wrong in places.items()]
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


def _at(place: str, errors: list[Mapping[str, Any]], model: Any) -> str:
    """Description of the error at one place."""
    first = errors[0]
    if unknown := next((error for error in errors if error["type"] == "extra_forbidden"), None):
        return f"{place}: there is no such field.{_fields_beside(unknown['loc'][1:], model)}"
    if any(error["type"] == "missing" for error in errors):
        return f"{place} is missing."
    wanted = list(dict.fromkeys(_wanted(error) for error in errors))
    if None not in wanted:
        sent = first.get("input")
        unquoted = wanted == ["text"] and isinstance(sent, int | float) and not isinstance(sent, bool)
        hint = "Send it in quotes." if unquoted else HINTS.get(place.rpartition(".")[2], "")
        return f"{place} must be {' or '.join(map(str, wanted))}; got {shown(sent)}. {hint}".rstrip()
    said = dict.fromkeys(
        _wanted(error) or str(error["msg"]).removeprefix("Value error, ").replace("Input should", "the value should")
        for error in errors
    )
    return f"{place}: {', or '.join(said)}."


def _wanted(error: Mapping[str, Any]) -> str | None:
    """The requirement on the value; None for errors whose own message is better."""
    if error["type"] in KINDS:
        return KINDS[error["type"]]
    words = LIMITS.get(error["type"])
    if words is None:
        return None
    whole = {name: int(value) for name, value in error.get("ctx", {}).items() if value in (0.0, 1.0)}
    context = {**error.get("ctx", {}), **whole}
    one = context.get("min_length") == 1
    context |= {"entries": "entry" if one else "entries", "characters": "character" if one else "characters"}
    context["form"] = FORMS.get(str(context.get("pattern")), f"text of the form {context.get('pattern')}")
    return words.format(**context)


def _fields_beside(place: Sequence[str | int], model: Any) -> str:
    """A hint about an unknown field at `place`: the most similar field, or all fields; empty if they aren't known."""
    at = _models_in(model)
    for part in place[:-1]:
        inside = [each.model_fields[part].annotation for each in at if part in each.model_fields]
        at = [found for annotation in inside for found in _models_in(annotation)] or at
    names = [name for each in at for name in each.model_fields]
    if not names:
        return ""
    near = get_close_matches(str(place[-1]), names, n=1)
    return f" Did you mean {near[0]}?" if near else f" Fields: {', '.join(names)}."


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """The models that a type contains: X | None, list[X] and Annotated[X, …] contain X."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for part in get_args(annotation) for found in _models_in(part)]


def _body_of(request: Request) -> Any:
    """The type of the body of a route; None if it has none."""
    body = getattr(request.scope.get("route"), "body_field", None)
    return None if body is None else body.field_info.annotation


def not_json(request: Request, errors: Iterable[Mapping[str, Any]]) -> str:
    """A hint about a body that was not declared as JSON; empty for other errors."""
    sent = request.headers.get("content-type", "").partition(";")[0].strip()
    if sent.lower() == "application/json" or not any(tuple(error["loc"]) == ("body",) for error in errors):
        return ""
    got = f"Content-Type: {sent}" if sent else "no Content-Type"
    return f"The body must be JSON, sent with the header Content-Type: application/json; got {got}."


def answer_to(error: GoodarmError, scope: Scope) -> JSONResponse:
    """The answer to a goodarm error, in the words of the caller. Errors of the store are logged and counted."""
    if isinstance(error, Refusal):
        return answer(error.status, error.kind, str(error), error.headers)
    state = scope["app"].state
    status = next((state.status_of[kind] for kind in type(error).__mro__ if kind in state.status_of), 400)
    if status >= 500:
        state.metrics.note_store_error()
        log.error("%s %s: %s", scope["method"], scope["path"], error, extra={"kind": type(error).__name__})
    from_python = (b"user-agent", AGENT.encode()) in scope["headers"]
    detail = str(error) if from_python else arguments_as_json(str(error))
    return answer(status, type(error).__name__, detail, {"Retry-After": "1"} if status == 503 else None)


def install(app: FastAPI, status_of: Mapping[type[GoodarmError], int]) -> None:
    """Answer every error: goodarm's with its message, others without internal details."""
    app.state.status_of = status_of

    @app.exception_handler(GoodarmError)
    async def _ours(request: Request, error: GoodarmError) -> JSONResponse:
        return answer_to(error, request.scope)

    @app.exception_handler(RequestValidationError)
    async def _malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        return answer(
            422, "form", not_json(request, error.errors()) or explain(error.errors(), error.body, _body_of(request))
        )

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        return answer(error.status_code, "http", str(error.detail), error.headers)

    @app.exception_handler(Exception)
    async def _unknown(request: Request, error: Exception) -> JSONResponse:  # the server logs it
        return fault()
