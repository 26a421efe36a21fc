"""Start a server: check its settings, print its address, and run its workers until it is stopped."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from goodarm.campaign.stores.postgresql import without_password
from goodarm.errors import GoodarmError, InvalidValue, MissingExtra
from goodarm.service.logs import configuration
from goodarm.service.settings import Settings, is_loopback, sqlite_path

STOP_SECONDS = 2
"""Grace period in seconds for open requests when the server is stopped. Streams end at once."""
KEPT_BY_THE_SYSTEM = 262_144
"""Size in bytes of the system's send buffer per client."""
HEALTH_SECONDS = 30
"""Seconds of silence after which a worker counts as hung and is replaced."""


class AddressTaken(GoodarmError):
    """The server can't listen on its address."""


class NotStarted(GoodarmError):
    """The server ended before it could answer."""


def serve(settings: Settings, say: Callable[[str], None], log_level: str = "warning", log_format: str = "text") -> None:
    """Run until SIGTERM or Ctrl-C."""
    logs = configuration(log_level, log_format)
    if find_spec("uvicorn") is None or find_spec("fastapi") is None:
        raise MissingExtra("goodarm serve", "service")
    with _demo_store(settings) as store, tempfile.TemporaryDirectory(prefix="goodarm-metrics-") as folder:
        ready = _with_rights(replace(settings, store=store))
        listening = _listen(ready.host, ready.port, ready.stalled_after)
        with listening:
            ready = replace(ready, port=listening.getsockname()[1])
            _prepare(ready, Path(folder))
            for line in _words(ready):
                say(line)
            _run(ready, listening, logs)


def _run(settings: Settings, listening: socket.socket, logs: dict[str, Any]) -> None:
    from uvicorn import Config, Server
    from uvicorn.supervisors import Multiprocess

    config = Config(
        "goodarm.service.app:from_environment",
        factory=True,
        workers=settings.workers,
        log_config=logs,
        access_log=False,
        timeout_graceful_shutdown=STOP_SECONDS,
        server_header=False,
        timeout_keep_alive=30,
        lifespan="on",
        ws="none",
        http="goodarm.service.protocol:Protocol",
        timeout_worker_healthcheck=HEALTH_SECONDS,
    )
    # uvicorn raises its stop signal again. Folders must be removed first, and the exit code must be 0.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    if settings.workers > 1:
        Multiprocess(config, sockets=[listening]).run()
        return
    server = Server(config)
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    if not server.started:
        raise NotStarted("the server did not start; the lines above have the reason.")


@contextmanager
def _demo_store(settings: Settings) -> Iterator[str]:
    """The demo uses a temporary store."""
    if not settings.demo:
        yield settings.store
        return
    with tempfile.TemporaryDirectory(prefix="goodarm-demo-") as folder:
        yield f"sqlite:///{folder}/demo.db"


def _with_rights(settings: Settings) -> Settings:
    """Refuse to listen beyond loopback without a token. On loopback a token is needed as soon as one exists."""
    from goodarm.service.side import open_side
    from goodarm.service.tokens import Tokens

    path = sqlite_path(settings.store)
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise InvalidValue(f"the folder of the store {settings.store!r} does not exist. Create it first.")
    side = open_side(settings.store)
    try:
        tokens = Tokens(side)
        any_token = tokens.any_active()
        if any_token:
            side.guard()  # the tokens may be older than this mark
        guarded = any_token or tokens.made() > 0 or side.is_guarded()
    finally:
        side.close()
    shown = without_password(settings.store)
    if not is_loopback(settings.host) and not any_token:
        raise InvalidValue(
            f"a server on {settings.host} can be reached by others, and needs a token first: "
            f"goodarm token create --store {shown} --role admin"
        )
    if settings.origin is not None and not any_token:
        raise InvalidValue(
            f"a server that browsers see as {settings.origin} is behind a proxy, so all visitors seem to come from "
            f"this machine. It needs a token first: goodarm token create --store {shown} --role admin"
        )
    if guarded and not any_token:
        raise InvalidValue(
            f"the store {shown!r} has had tokens, but none is valid now: they were revoked, or their file "
            "(FILE.service beside FILE) is missing. Without a token, everyone on this machine would be an admin. "
            "Restore "
            f"that file, or create a token: goodarm token create --store {shown} --role admin"
        )
    return replace(settings, open=not any_token)


def _listen(host: str, port: int, stalled_after: float) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Every connection inherits these limits on the data that waits for a slow client.
    made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KEPT_BY_THE_SYSTEM)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, max(int(1000 * stalled_after), 1))
    try:
        made.bind((host, port))
        made.listen(2048)
    except OSError as error:
        made.close()
        raise AddressTaken(
            f"can't listen on {host}:{port}: {error.strerror}. Choose another --port or --host."
        ) from None
    made.set_inheritable(True)
    return made


def _prepare(settings: Settings, folder: Path) -> None:
    """The settings that workers read from their environment."""
    replace(settings, parent=os.getpid() if settings.workers > 1 else 0).to_environment()
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)


def _words(settings: Settings) -> list[str]:
    from goodarm.service.demo import NAME

    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    lines = [f"goodarm serves {without_password(settings.store)} at http://{host}:{settings.port}/ (stop with Ctrl-C)"]
    if settings.demo:
        lines.append(f"demo: watch http://{host}:{settings.port}/#/campaign/{NAME}")
        lines.append("its visitors are simulated, and the campaign is deleted when the server stops")
    if settings.open:
        lines.append("there is no token, so everyone on this machine can change everything")
        lines.append("before you put a proxy in front of it, run goodarm token create: its visitors could do the same")
    return lines
