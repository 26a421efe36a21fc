"""Health checks for monitoring."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from goodarm.service.campaigns import campaigns_of
from goodarm.service.guard import route_of
from goodarm.service.problems import documented
from goodarm.service.shown import Health
from goodarm.service.tokens import Role

router = APIRouter(tags=["health"])
TEXT = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/healthz", response_model=Health, openapi_extra={"x-role": "none"})
async def healthz() -> Health:
    """Report that the process answers."""
    return Health(status="ok")


@router.get(
    "/readyz",
    response_model=Health,
    openapi_extra={"x-role": "none"},
    responses={503: {"model": Health, "description": "The store can't be written at the moment."}},
)
async def readyz(request: Request, response: Response) -> Health:
    """Report whether the server and its store work: a test write succeeded within the last second."""
    try:
        await campaigns_of(request).probe()
    except Exception as error:  # any error means that the server is not ready
        response.status_code = 503
        return Health(status="unready", detail=type(error).__name__)
    return Health(status="ok")


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    **route_of(Role.reader),
    responses=documented((401, 403, 429)) | {200: {"content": {"text/plain": {}}, "description": "Prometheus' text."}},
)
async def metrics(request: Request) -> Response:
    """Figures for Prometheus."""
    summaries = await campaigns_of(request).summaries()
    return Response(request.app.state.metrics.text(summaries), media_type=TEXT)
