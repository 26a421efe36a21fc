"""Webhooks: addresses to call at each verdict, and their deliveries."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from goodarm.service.bodies import NewWebhook
from goodarm.service.campaigns import campaigns_of
from goodarm.service.guard import route_of
from goodarm.service.problems import documented
from goodarm.service.replies import CampaignName, Key, Reply
from goodarm.service.shown import Deliveries, Webhooks, WebhookShown
from goodarm.service.tokens import Role
from goodarm.service.webhooks import Webhook

router = APIRouter(
    prefix="/api/v1/campaigns/{name}", tags=["webhooks"], responses=documented((401, 403, 404, 422, 429))
)
HookId = Annotated[str, Path(pattern="^[0-9a-f]{12}$", examples=["0123456789ab"])]
log = logging.getLogger("goodarm.service")
DeliveryId = Annotated[str, Path(pattern="^[0-9a-f]{12}-[0-9]{1,15}$", examples=["0123456789ab-42"])]


def _log(what: str, request: Request, name: str, id: str) -> None:
    """Log who changed the webhooks, which are not in the journal."""
    log.info(what, extra={"campaign": name, "webhook": id, "token": request.state.caller.id})


def _shown(hook: Webhook) -> dict[str, object]:
    return {"id": hook.id, "url": hook.url, "created_at": hook.created_at, "ended_at": hook.ended_at}


@router.get("/webhooks", response_model=Webhooks, **route_of(Role.admin))
async def all_webhooks(request: Request, name: CampaignName) -> Response:
    """The webhooks of a campaign, without their secrets."""
    await campaigns_of(request).desk.read(name, lambda campaign: None)
    found = await asyncio.to_thread(request.app.state.webhooks.of, name)
    return Reply({"webhooks": [_shown(hook) for hook in found]})


@router.post(
    "/webhooks",
    status_code=201,
    response_model=WebhookShown,
    responses=documented((400, 409, 413)),
    **route_of(Role.admin),
)
async def register(request: Request, name: CampaignName, body: NewWebhook, key: Key = None) -> Response:
    """Call this address at every future verdict. Only this response contains the secret for signatures."""
    number = await campaigns_of(request).desk.read(name, lambda campaign: campaign.number)
    hook = await asyncio.to_thread(request.app.state.webhooks.register, name, body.url, number, key)
    _log("webhook registered", request, name, hook.id)
    return Reply(_shown(hook) | {"secret": hook.secret}, 201)


@router.delete("/webhooks/{id}", status_code=204, **route_of(Role.admin))
async def end(request: Request, name: CampaignName, id: HookId) -> None:
    """Stop calling this address."""
    await campaigns_of(request).desk.read(name, lambda campaign: None)
    await asyncio.to_thread(request.app.state.webhooks.end, name, id)
    _log("webhook ended", request, name, id)


@router.get("/deliveries", response_model=Deliveries, **route_of(Role.admin))
async def deliveries(request: Request, name: CampaignName) -> Response:
    """Deliveries: sent, waiting for a retry, or given up."""
    return Reply({"deliveries": await request.app.state.sender.deliveries(name)})


@router.post(
    "/deliveries/{id}/replay",
    status_code=202,
    response_model=Deliveries,
    responses=documented((400, 409)),
    **route_of(Role.admin),
)
async def replay(request: Request, name: CampaignName, id: DeliveryId) -> Response:
    """Send a delivery again, even if it arrived or was given up."""
    replayed = await request.app.state.sender.replay(name, id, request.state.caller.id)
    return Reply({"deliveries": [replayed]}, 202)
