"""Ask and tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response

from goodarm.campaign import Campaign, rows
from goodarm.service.bodies import Ask, AskBlock, CloseUnits, Tell, TellArm, TellBlock, TellMany, TellUnits, Void
from goodarm.service.campaigns import campaigns_of
from goodarm.service.guard import route_of
from goodarm.service.problems import documented
from goodarm.service.replies import CampaignName, Key, Reply
from goodarm.service.shown import BlockShown, Stepped, Tickets, Told
from goodarm.service.tokens import Role

REFUSALS = documented((400, 401, 403, 404, 409, 413, 422, 429))
CUT = 100_000
"""Maximum number of samples in one block. Other requests wait while they are chosen."""
router = APIRouter(prefix="/api/v1/campaigns/{name}", tags=["ask and tell"], responses=REFUSALS)


def asked(campaign: Campaign, body: Ask, key: str | None) -> dict[str, Any]:
    """The operation of `ask`, and its answer. A unit's id serves as the key, regardless of the header."""
    tickets = campaign.ask(body.n, key=None if body.unit else key, unit=body.unit)
    return {"tickets": [ticket.as_json() for ticket in tickets], "ended": not tickets and campaign.tally().ended}


def told(campaign: Campaign, body: Tell, key: str | None = None) -> dict[str, Any]:
    """The operation of `tell`, which needs no key."""
    return campaign.tell(body.ticket, body.reward).as_json()


def stepped(campaign: Campaign, body: Tell, key: str | None) -> dict[str, Any]:
    """The operation of `step`, and its answer."""
    result, following = campaign.tell_and_ask(body.ticket, body.reward, key=key)
    return {"ticket": following and following.as_json(), "verdicts": result.as_json()["verdicts"]}


@router.post("/ask", response_model=Tickets, **route_of(Role.writer))
async def ask(request: Request, name: CampaignName, body: Ask, key: Key = None) -> Response:
    """Tickets for the next samples, one arm each."""
    return Reply(await campaigns_of(request).write(request, name, lambda campaign: asked(campaign, body, key)))


@router.post("/tell", response_model=Told, **route_of(Role.writer))
async def tell(request: Request, name: CampaignName, body: Tell) -> Response:
    """Tell a ticket's reward. Repeating the same reward changes nothing; a different one is refused."""
    return Reply(await campaigns_of(request).write(request, name, lambda campaign: told(campaign, body)))


@router.post("/tell-many", response_model=Told, **route_of(Role.writer))
async def tell_many(request: Request, name: CampaignName, body: TellMany) -> Response:
    """Tell the rewards of many tickets in one transaction: all of them, or none."""
    rewards = [(each.ticket, each.reward) for each in body.rewards]
    return await _told(request, name, lambda campaign: campaign.tell_many(rewards))


@router.post("/tell-arm", response_model=Told, **route_of(Role.writer))
async def tell_arm(request: Request, name: CampaignName, body: TellArm, key: Key = None) -> Response:
    """Tell a reward without a ticket. The guarantee holds only if all such rewards are told."""
    return await _told(request, name, lambda campaign: campaign.tell_arm(body.arm, body.reward, key=key))


@router.post("/tell-units", response_model=Told, **route_of(Role.writer))
async def tell_units(request: Request, name: CampaignName, body: TellUnits) -> Response:
    """Tell rows of units. They count when their unit is closed; a row with an id counts only once."""
    given = [(each.unit, each.reward, each.denominator, each.row) for each in body.rows]
    return await _told(request, name, lambda campaign: campaign.tell_units(given))


@router.post("/close-units", response_model=Told, **route_of(Role.writer))
async def close_units(request: Request, name: CampaignName, body: CloseUnits) -> Response:
    """Tell the rewards of complete units; with a window, of those that are due. Repeating it changes nothing."""
    return await _told(request, name, lambda campaign: campaign.close_units(*body.units))


@router.post("/step", response_model=Stepped, **route_of(Role.writer))
async def step(request: Request, name: CampaignName, body: Tell, key: Key = None) -> Response:
    """Tell and ask in one transaction. The same key returns the same verdicts and the same ticket."""
    return Reply(await campaigns_of(request).write(request, name, lambda campaign: stepped(campaign, body, key)))


@router.post("/ask-block", response_model=BlockShown, **route_of(Role.writer))
async def ask_block(request: Request, name: CampaignName, body: AskBlock, key: Key = None) -> Response:
    """Ask for at most 100,000 samples in one journal entry, as a count per arm. Ask again for more."""
    found, n = campaigns_of(request), min(body.n, CUT)
    await found.ready_for_blocks(name)
    block = await found.write(request, name, lambda campaign: campaign.ask_block(n, key=key))
    return Reply(block.as_json())


@router.post("/tell-block", response_model=Told, **route_of(Role.writer))
async def tell_block(request: Request, name: CampaignName, body: TellBlock) -> Response:
    """Tell the rewards of a block, all at once or in parts. A part told twice counts once."""
    rewards = {arm: (told, total) for arm, (told, total) in body.rewards.items()}
    await campaigns_of(request).ready_for_blocks(name)
    return await _told(request, name, lambda campaign: campaign.tell_block(body.ticket, rewards, body.part))


@router.post("/void", status_code=204, **route_of(Role.writer))
async def void(request: Request, name: CampaignName, body: Void) -> None:
    """Withdraw a ticket. This is valid only if the reason does not depend on its reward."""
    await campaigns_of(request).write(request, name, lambda campaign: campaign.void(body.ticket, body.reason))


async def _told(request: Request, name: str, operation: Callable[[Campaign], rows.Told]) -> Response:
    return Reply((await campaigns_of(request).write(request, name, operation)).as_json())
