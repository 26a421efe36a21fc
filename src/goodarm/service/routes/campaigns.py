"""Campaigns and their arms."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Request, Response

from goodarm.campaign import Campaign
from goodarm.service.bodies import End, NewArms, NewCampaign, OneArm
from goodarm.service.campaigns import campaigns_of
from goodarm.service.guard import route_of
from goodarm.service.problems import documented
from goodarm.service.replies import NOT_CHANGED, CampaignName, IfNoneMatch, Key, Reply, etag, fresh, matches
from goodarm.service.shown import Campaigns, Summary
from goodarm.service.tokens import Role
from goodarm.service.views import summary

router = APIRouter(prefix="/api/v1/campaigns", tags=["campaigns"])
DEPRECATED = "@1794960000"
"""Date of the deprecation of /pause and /close: 2026-11-18, in seconds since 1970."""
READ = documented((401, 403, 404, 422, 429))
CHANGE = documented((400, 401, 403, 404, 409, 413, 422, 429))


@router.get("", response_model=Campaigns, responses=documented((401, 403, 429)) | NOT_CHANGED, **route_of(Role.reader))
async def all_campaigns(request: Request, if_none_match: IfNoneMatch = None) -> Response:
    """Summaries of all campaigns of the store."""
    found = await campaigns_of(request).summaries()
    tag = etag(*((each["name"], each["number"], each["remaining"], each["tally"]["overdue"]) for each in found))
    return fresh(tag, None if matches(tag, if_none_match) else {"campaigns": found})


@router.post(
    "",
    status_code=201,
    response_model=Summary,
    responses=documented((400, 401, 403, 409, 413, 422, 429)),
    **route_of(Role.admin),
)
async def create(request: Request, body: NewCampaign, key: Key = None) -> Response:
    """Start a campaign."""
    return Reply(await campaigns_of(request).create(request, body, key), 201)


@router.get("/{name}", response_model=Summary, responses=READ | NOT_CHANGED, **route_of(Role.reader))
async def one_campaign(request: Request, name: CampaignName, if_none_match: IfNoneMatch = None) -> Response:
    """Summary of one campaign."""
    return await campaigns_of(request).answer(name, if_none_match, summary, "summary", forecast=True)


@router.post("/{name}/arms", status_code=201, response_model=Summary, responses=CHANGE, **route_of(Role.admin))
async def add_arms(request: Request, name: CampaignName, body: NewArms, key: Key = None) -> Response:
    """Add arms to a running campaign. This needs a reserve."""
    given = [arm if isinstance(arm, str) else arm.model_dump(exclude_none=True) for arm in body.arms]
    return await _changed(request, name, lambda campaign: campaign.add_arms(given, key=key), 201)


@router.post("/{name}/suspend", response_model=Summary, responses=CHANGE, **route_of(Role.admin))
async def suspend(request: Request, name: CampaignName, body: OneArm) -> Response:
    """Do not ask for this arm until it is resumed."""
    return await _changed(request, name, lambda campaign: campaign.suspend(body.arm))


@router.post("/{name}/resume", response_model=Summary, responses=CHANGE, **route_of(Role.admin))
async def resume(request: Request, name: CampaignName, body: OneArm) -> Response:
    """Ask for a suspended arm again."""
    return await _changed(request, name, lambda campaign: campaign.resume(body.arm))


@router.post("/{name}/retire", response_model=Summary, responses=CHANGE, **route_of(Role.admin))
async def retire(request: Request, name: CampaignName, body: OneArm) -> Response:
    """Never ask for this arm again. It gets no verdict."""
    return await _changed(request, name, lambda campaign: campaign.retire(body.arm))


@router.post("/{name}/end", response_model=Summary, responses=CHANGE, **route_of(Role.admin))
async def end(request: Request, name: CampaignName, body: End | None = None) -> Response:
    """End the campaign. Rewards of pending tickets may still be told."""
    reason = body.reason if body is not None else ""
    return await _changed(request, name, lambda campaign: campaign.end(reason))


@router.post("/{name}/pause", response_model=Summary, responses=CHANGE, deprecated=True, **route_of(Role.admin))
async def pause(request: Request, name: CampaignName, body: OneArm) -> Response:
    """The old name of suspend; it will be removed in the next version."""
    return _renamed(await suspend(request, name, body), request, "suspend")


@router.post("/{name}/close", response_model=Summary, responses=CHANGE, deprecated=True, **route_of(Role.admin))
async def close(request: Request, name: CampaignName, body: End | None = None) -> Response:
    """The old name of end; it will be removed in the next version."""
    return _renamed(await end(request, name, body), request, "end")


def _renamed(response: Response, request: Request, verb: str) -> Response:
    """Add headers that mark the path as deprecated and name its replacement (RFC 9745)."""
    path = request.app.state.settings.root_path + request.scope["raw_path"].decode("ascii").rpartition("/")[0]
    response.headers["Deprecation"] = DEPRECATED
    response.headers["Link"] = f'<{path}/{verb}>; rel="successor-version"'
    return response


async def _changed(request: Request, name: str, operation: Callable[[Campaign], None], status: int = 200) -> Response:
    found = campaigns_of(request)
    await found.write(request, name, operation)
    return Reply(await found.summary(name), status)
