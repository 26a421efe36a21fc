"""What no route answers: the dashboard's files, and refusals that say what would have worked."""

from __future__ import annotations

import re
from functools import cached_property
from importlib.resources import files

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from goodarm.service.problems import answer


class Rest:
    """Mounted behind all routes."""

    def __init__(self, app: FastAPI) -> None:
        static = files("goodarm.service") / "static"
        self._app = app
        self._static = StaticFiles(directory=str(static), html=True) if static.is_dir() else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        allowed = self._allowed(path)
        if allowed:
            detail = f"{scope['method']} is not possible here; {' and '.join(allowed)} would be."
            await answer(405, "http", detail, {"Allow": ", ".join(allowed)})(scope, receive, send)
        elif path.startswith("/api/") or self._static is None:
            await answer(404, "http", "There is nothing at this address; /api/v1/openapi.json lists what there is.")(
                scope, receive, send
            )
        else:
            await self._static(scope, receive, send)

    def _allowed(self, path: str) -> list[str]:
        return sorted({method for pattern, methods in self._known if pattern.fullmatch(path) for method in methods})

    @cached_property
    def _known(self) -> list[tuple[re.Pattern[str], list[str]]]:
        return [
            (re.compile(re.sub(r"\\{[^}]+\\}", "[^/]+", re.escape(path))), [method.upper() for method in methods])
            for path, methods in self._app.openapi()["paths"].items()
        ]
