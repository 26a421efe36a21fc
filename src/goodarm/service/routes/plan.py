"""How many pulls will it take?"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from goodarm.service.bodies import PlanWish
from goodarm.service.guard import route_of
from goodarm.service.problems import documented
from goodarm.service.replies import Reply
from goodarm.service.shown import PlanShown
from goodarm.service.tokens import Role

router = APIRouter(prefix="/api/v1", tags=["plan"])


@router.post(
    "/plan", response_model=PlanShown, responses=documented((400, 401, 403, 413, 422, 429)), **route_of(Role.reader)
)
async def plan(request: Request, body: PlanWish) -> Response:
    """What a campaign will take, by simulation, before it is started."""
    return Reply(await request.app.state.planner.plan(body))
