"""Plans: how many samples will a campaign need? One plan is computed at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from goodarm.campaign.words import count_words
from goodarm.forecast import Forecast  # noqa: F401  the example
from goodarm.planning.kinds import planned_question
from goodarm.planning.quick import LIMIT, QuickPlan, Spent, quick_plan
from goodarm.problem import rewards_from_text
from goodarm.question import arguments_in
from goodarm.service.bodies import PlanWish
from goodarm.service.guard import route_of
from goodarm.service.problems import Refusal, documented
from goodarm.service.replies import Reply
from goodarm.service.shown import PlanShown
from goodarm.service.tokens import Role

router = APIRouter(prefix="/api/v1", tags=["plan"])
MOST_WAITING = 8
FEW_TIMES = 3.0
"""Threshold above which the sentence also names the samples for nine tenths of the arms: their ratio to the samples for
all."""


class Planner:
    """Computes one plan at a time."""

    def __init__(self) -> None:
        self._one = asyncio.Lock()
        self._waiting = 0

    async def plan(self, wish: PlanWish) -> dict[str, Any]:
        """The plan for a request."""
        if self._waiting >= MOST_WAITING:
            raise Refusal(429, "busy", "Other plans are being computed. Try again in a second.", {"Retry-After": "1"})
        make = _wanted(wish)
        self._waiting += 1
        try:
            async with self._one:
                return shown(await asyncio.to_thread(make))
        finally:
            self._waiting -= 1


def _wanted(wish: PlanWish) -> Callable[[], QuickPlan]:
    given = wish.model_dump(exclude_none=True)
    rewards = rewards_from_text(given.pop("rewards", "bounded"))
    planned_question(given.get("question"), given.get("cases"), **arguments_in(given))  # refuse before waiting
    return partial(quick_plan, **given, rewards=rewards)


def shown(plan: QuickPlan) -> dict[str, Any]:
    """A plan as JSON; null above a trillion samples."""
    figures = _figures(plan)
    money = {} if plan.money is None else {"money": _figures(plan.money)}
    return {"sentence": sentence(plan), "guess": plan.guess, **figures, **money}


def _figures(spent: Spent) -> dict[str, Any]:
    """The numbers for shares of the arms, and for all arms (`rounds`)."""
    found = {each.name: getattr(spent, each.name) for each in fields(Spent)}
    told = {name: value if value < LIMIT else None for name, value in found.items()}
    rounds = {name: told.pop(name) for name in ("median", "low", "high")}
    return {**told, "half_decided": told["half"], "rounds": rounds}


def sentence(plan: QuickPlan) -> str:
    """A plan in words. If a few arms near the bar would need nearly all samples, it names the others first.

    >>> HALF = Forecast(400_000, 300_000, 500_000)
    >>> sentence(QuickPlan(400_000, 700_000, 900_000, 1_200_000, 1_000_000, 1_600_000, "half above", HALF))
    'about 1.2 million samples; nine in ten campaigns end by 1.6 million'
    >>> sentence(QuickPlan(1_200_000, 5_000_000, 12_000_000, 6.1e9, 1e9, 7e10, "means drawn from Beta(1, 49)", HALF))
    'about 1.2 million samples decide half of the arms, 5 million four in five, 12 million nine in ten; all would need \
about 6.1 billion, the most for those nearest to the bar'
    """
    return _in_samples(plan) + ("" if plan.money is None else f". {_in_money(plan.money)}")


def _in_money(spent: Spent) -> str:
    """The cost of the samples in words.

    >>> _in_money(Spent(4.2, 70, 90, 120, 100, 160))
    'Cost: about 4.2 until half of the arms are decided, 90 until nine in ten, 120 until all (nine in ten: at most 160)'
    """
    end = "no limit until all"
    if spent.high < LIMIT:
        end = f"{_sum(spent.median)} until all (nine in ten: at most {_sum(spent.high)})"
    half, ninety = _sum(spent.half), _sum(spent.ninety)
    return f"Cost: about {half} until half of the arms are decided, {ninety} until nine in ten, {end}"


def _sum(value: float) -> str:
    return count_words(value) if value >= 100.0 else f"{value:.2g}"


def _in_samples(plan: QuickPlan) -> str:
    if plan.median <= FEW_TIMES * plan.ninety:
        return f"about {count_words(plan.median)} samples; nine in ten campaigns end by {count_words(plan.high)}"
    shares = (
        f"about {count_words(plan.half)} samples decide half of the arms, {count_words(plan.eighty)} four in five, "
        f"{count_words(plan.ninety)} nine in ten"
    )
    if plan.median >= LIMIT:
        return f"{shares}; those nearest to the bar may never be decided"
    return f"{shares}; all would need about {count_words(plan.median)}, the most for those nearest to the bar"


@router.post(
    "/plan", response_model=PlanShown, responses=documented((400, 401, 403, 413, 422, 429)), **route_of(Role.reader)
)
async def plan(request: Request, body: PlanWish) -> Response:
    """Estimate by simulation how many samples a campaign will need."""
    return Reply(await request.app.state.planner.plan(body))
