"""Reads: verdicts, arms, progress, history, and the live stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from goodarm.campaign.journal import HEXADECIMAL, Head
from goodarm.campaign.served import MOST_PENDING
from goodarm.service.campaigns import campaigns_of
from goodarm.service.compressed import may_be_compressed
from goodarm.service.guard import caller_now, route_of
from goodarm.service.problems import Refusal, documented
from goodarm.service.replies import NOT_CHANGED, ArmName, CampaignName, IfNoneMatch, Reply, fresh
from goodarm.service.shown import (
    ArmPage,
    ArmTable,
    Checked,
    HeadShown,
    History,
    ProgressPage,
    RemainingShown,
    ScoreShown,
    Verdicts,
    WaitingShown,
)
from goodarm.service.stream import PING
from goodarm.service.tokens import Role
from goodarm.service.views import (
    arm_page,
    arm_table,
    history,
    pending_tickets,
    progress,
    verdict_table,
    verdicts,
)

router = APIRouter(prefix="/api/v1/campaigns/{name}", tags=["reads"], responses=documented((401, 403, 404, 422, 429)))
MOST_EVENTS = 10_000
After = Annotated[int, Query(ge=0, lt=2**53, description="entries after this number")]
Limit = Annotated[int, Query(ge=1, le=MOST_EVENTS)]
Kind = Annotated[str | None, Query(max_length=20, examples=["verdict"])]


@router.get("/verdicts", response_model=Verdicts, responses=NOT_CHANGED, **route_of(Role.reader))
async def all_verdicts(request: Request, name: CampaignName, if_none_match: IfNoneMatch = None) -> Response:
    """Every arm against the bar."""
    return await campaigns_of(request).answer(name, if_none_match, verdicts, "verdicts", forecast=True, rows=True)


@router.get(
    "/verdicts.csv",
    response_class=Response,
    **route_of(Role.reader),
    responses={200: {"description": "One line per arm.", "content": {"text/csv": {}}}},
)
async def verdicts_as_csv(
    request: Request,
    name: CampaignName,
    only: Annotated[Literal["good", "bad", "open"] | None, Query(description="arms with this verdict only")] = None,
) -> Response:
    """The verdicts as a table for a spreadsheet."""
    text = await campaigns_of(request).with_rows(name, lambda campaign: verdict_table(campaign, only))
    headers = _attached(f"{name}-{only or 'verdicts'}.csv")
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/arms", response_model=ArmTable, responses=NOT_CHANGED, **route_of(Role.reader))
async def all_arms(request: Request, name: CampaignName, if_none_match: IfNoneMatch = None) -> Response:
    """All arms with all their fields."""
    return await campaigns_of(request).answer(name, if_none_match, arm_table, "arms", rows=True)


@router.get(
    "/remaining", response_model=RemainingShown, responses=NOT_CHANGED | documented((400,)), **route_of(Role.reader)
)
async def remaining(
    request: Request,
    name: CampaignName,
    draws: Annotated[int | None, Query(ge=1, le=1000, description="200 by default, fewer with very many arms")] = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Expected further samples of each arm."""
    return fresh(*await campaigns_of(request).remaining(request, name, if_none_match, draws))


@router.get("/arms/{arm}", response_model=ArmPage, responses=NOT_CHANGED, **route_of(Role.reader))
async def one_arm(request: Request, name: CampaignName, arm: ArmName, if_none_match: IfNoneMatch = None) -> Response:
    """One arm: its interval over time, its evidence, and the audit of its verdict."""
    found = campaigns_of(request)
    trail = await found.trail(request, name)
    return await found.answer(name, if_none_match, lambda campaign: arm_page(campaign, trail, arm), "arm", arm)


@router.get("/progress", response_model=ProgressPage, responses=NOT_CHANGED, **route_of(Role.reader))
async def over_time(request: Request, name: CampaignName, if_none_match: IfNoneMatch = None) -> Response:
    """Verdicts over time."""
    found = campaigns_of(request)
    trail = await found.trail(request, name)
    return await found.answer(name, if_none_match, lambda campaign: progress(trail), "progress")


@router.get("/score", response_model=ScoreShown, **route_of(Role.reader))
async def score(request: Request, name: CampaignName) -> Response:
    """Number of wrong verdicts so far, for a campaign whose metadata has the true `means`."""
    return Reply(await campaigns_of(request).score(name))


@router.get("/waiting", response_model=WaitingShown, **route_of(Role.reader))
async def waiting(
    request: Request, name: CampaignName, limit: Annotated[int, Query(ge=1, le=MOST_PENDING)] = 1000
) -> Response:
    """Pending tickets, oldest first. There is no ETag, since their age changes without an entry."""
    return Reply(await campaigns_of(request).with_rows(name, lambda campaign: pending_tickets(campaign, limit)))


@router.get("/history", response_model=History, responses=NOT_CHANGED, **route_of(Role.reader))
async def journal(
    request: Request,
    name: CampaignName,
    after: After = 0,
    limit: Limit = 1000,
    kind: Kind = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """A range of the journal, optionally only its entries of one kind."""
    return await campaigns_of(request).answer(
        name, if_none_match, lambda campaign: history(campaign, after, limit, kind), "history", after, limit, kind
    )


@router.get("/check", response_model=Checked, **route_of(Role.reader))
async def check(
    request: Request,
    name: CampaignName,
    head: Annotated[
        str | None,
        Query(pattern=f"^[0-9]{{1,18}}:{HEXADECIMAL.pattern}$", description="an earlier head, number:chain"),
    ] = None,
) -> Response:
    """Replay the journal and compare. If something differs, `ok` is false and `problem` has the reason."""
    return Reply(await campaigns_of(request).check(request, name, None if head is None else Head.read(head)))


@router.get("/head", response_model=HeadShown, responses=NOT_CHANGED, **route_of(Role.reader))
async def head(request: Request, name: CampaignName, if_none_match: IfNoneMatch = None) -> Response:
    """The number and chain of the journal's newest entry. Save it elsewhere, and pass it to /check later."""
    return await campaigns_of(request).answer(name, if_none_match, lambda campaign: campaign.head()._asdict(), "head")


FORMATS = {"jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}
KINDS = tuple(FORMATS.values())
EVENTS = "text/event-stream"


@router.get(
    "/export",
    response_class=Response,
    **route_of(Role.reader),
    responses={200: {"description": "The journal, chain included.", "content": {kind: {} for kind in KINDS}}},
)
async def export(request: Request, name: CampaignName, format: Literal["jsonl", "parquet"] = "jsonl") -> Response:
    """The whole journal as a file; `goodarm campaign import` reads it."""
    found = await campaigns_of(request).export(
        request, name, format, format == "jsonl" and may_be_compressed(request.scope)
    )
    found.headers.update({"Content-Type": FORMATS[format], **_attached(f"{name}.{format}")})
    return found


def _attached(filename: str) -> dict[str, str]:
    """The header that names a download; any name of a campaign is allowed in it (RFC 5987)."""
    return {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(filename, safe='')}"}


async def _there(request: Request, name: CampaignName) -> str:
    """Refuse a stream before it begins if its campaign does not exist or the store can't be reached."""
    most = request.app.state.settings.most_streams
    if request.app.state.fanout.clients >= most:
        detail = f"{most:,} live streams are already open at this worker. Try again later, or read the campaign itself."
        raise Refusal(503, "streams", detail, {"Retry-After": "10"})
    await campaigns_of(request).desk.read(name, lambda campaign: campaign.number)
    return name


@router.get(
    "/events",
    response_class=Response,
    **route_of(Role.reader),
    responses={200: {"description": "Server-sent events.", "content": {EVENTS: {"schema": {"type": "string"}}}}},
)
async def events(
    request: Request,
    name: Annotated[str, Depends(_there)],
    last_event_id: Annotated[int | None, Header(ge=0, lt=2**53, description="the last event that arrived")] = None,
) -> Response:
    """Live updates: first the changes since Last-Event-ID (every arm without it), then each new change."""
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(request, name, last_event_id), media_type=EVENTS, headers=headers)


async def _events(request: Request, name: str, last_event_id: int | None) -> AsyncIterator[bytes]:
    """The stream, until its token is revoked or expires."""
    async for change in request.app.state.fanout.follow(name, last_event_id):
        if await caller_now(request) is None:
            return
        yield PING if change is None else change.event
