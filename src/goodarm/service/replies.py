"""Replies of routes: JSON, with an ETag for reads."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Response
from starlette.responses import JSONResponse

from goodarm.version import __version__

NAME_LENGTH, KEY_LENGTH = 200, 200
SLASH = "\0"
"""Placeholder for a slash inside a name during routing; names have no NUL."""
PIECE = 200
"""Rows to encode at a time, which takes a few milliseconds."""

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def as_json(content: Any) -> bytes:
    """Compact JSON in ASCII, which can hold any Python string."""
    return _encode(content).encode()


def in_pieces(content: dict[str, Any]) -> bytes:
    """The same for an object whose last value may be a long list. The encoder lets no other thread run meanwhile.

    >>> in_pieces({"number": 7, "arms": [1, 2]}), in_pieces({"number": 7, "arms": list(range(1000))})[:24]
    (b'{"number":7,"arms":[1,2]}', b'{"number":7,"arms":[0,1,')
    """
    name = next(reversed(content))
    rows = content[name]
    if not isinstance(rows, list) or len(rows) <= PIECE:
        return as_json(content)
    head = as_json(content | {name: []}).removesuffix(b"]}")
    pieces = (as_json(rows[first : first + PIECE])[1:-1] for first in range(0, len(rows), PIECE))
    return head + b",".join(pieces) + b"]}"


class Reply(JSONResponse):
    """An answer in the JSON of `as_json`, or one that is encoded already."""

    def render(self, content: Any) -> bytes:
        return content if isinstance(content, bytes) else as_json(content)


async def _name(name: Annotated[str, Path(min_length=1, max_length=NAME_LENGTH, examples=["headlines"])]) -> str:
    return name.replace(SLASH, "/")


async def _arm(arm: Annotated[str, Path(min_length=1, max_length=200, examples=["calm"])]) -> str:
    return arm.replace(SLASH, "/")


# They are async so that FastAPI does not start a thread for each.
CampaignName = Annotated[str, Depends(_name)]
ArmName = Annotated[str, Depends(_arm)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=KEY_LENGTH,
        description="chosen by the client; repeated requests with the same key are carried out once",
    ),
]
IfNoneMatch = Annotated[str | None, Header(description="an ETag; answered with 304 if nothing changed")]
NOT_CHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Nothing changed since the ETag."}}


def etag(*parts: object) -> str:
    """An ETag, a hash of its parts."""
    text = json.dumps([__version__, *map(str, parts)])
    return f'"{hashlib.blake2b(text.encode(), digest_size=12).hexdigest()}"'


def matches(tag: str, if_none_match: str | None) -> bool:
    """Whether the client already has this version."""
    if if_none_match is None:
        return False
    known = [each.strip().removeprefix("W/") for each in if_none_match.split(",")]
    return tag in known or "*" in known


def fresh(tag: str, content: Any) -> Response:
    """A body with its tag; 304 without a body if the client already has it."""
    if content is None:
        return Response(status_code=304, headers={"ETag": tag})
    return Reply(content, headers={"ETag": tag})
