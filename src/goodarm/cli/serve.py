"""`goodarm serve`: campaigns over HTTP, with a dashboard."""

from __future__ import annotations

from typing import Annotated

import typer

from goodarm.cli._options import Json, option
from goodarm.cli._verb import STORE_VARIABLE

EXAMPLES = (
    "goodarm serve --demo",
    "goodarm serve --store sqlite:///goodarm.db --workers 2",
    "goodarm token create --role admin && goodarm serve --host 0.0.0.0",
)


def read_store(store: str) -> str:
    """The store's address, or the first line of file:PATH, which keeps passwords out of the process list."""
    from pathlib import Path

    from goodarm.errors import InvalidValue

    if not store.startswith("file:"):
        return store
    try:
        return Path(store.removeprefix("file:")).read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"the file that names the store can't be read: {error}.") from None


Store = Annotated[
    str,
    typer.Option(
        metavar="STORE",
        envvar=STORE_VARIABLE,
        callback=read_store,
        help="sqlite:///FILE or postgresql://…, as for `goodarm campaign`; file:PATH is a file that contains it.",
    ),
]
Host = Annotated[str, option("Address to listen on. Addresses beyond this machine require a token.", "H")]
Port = Annotated[int, option("0 chooses a free port.", "P")]
ServerWorkers = Annotated[int, option("Number of worker processes.", "N", "--workers")]
Demo = Annotated[bool, typer.Option("--demo", help="A temporary store with a campaign fed by simulated visitors.")]
Private = Annotated[bool, typer.Option("--private-webhooks", help="Webhooks may call loopback and private addresses.")]
Origin = Annotated[str | None, option("The address that browsers see, if the server is behind a proxy.", "URL")]
FailedLogins = Annotated[int, option("Wrong tokens per minute before an address must wait.", "N", "--failed-logins")]
WebhookPorts = Annotated[str, option("Ports that webhooks may call, separated by commas.", "P,P", "--webhook-ports")]
MostTickets = Annotated[int, option("Maximum pending tickets per campaign; more are refused.", "N", "--most-tickets")]
MostEntries = Annotated[
    int, option("Maximum number of journal entries. Asks are refused above it.", "N", "--most-entries")
]
RootPath = Annotated[str, option("Path prefix behind a proxy, such as /goodarm.", "/P", "--root-path")]
LogLevel = Annotated[str, option("debug, info (includes logins), warning, error or critical.", "L", "--log-level")]
LogFormat = Annotated[str, option("Format of the log on stderr.", "text|json", "--log-format")]
StalledAfter = Annotated[
    float, option("Seconds until a client that does not read is disconnected.", "S", "--stalled-after")
]


def serve(
    store: Store = "sqlite:///goodarm.db",
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: ServerWorkers = 1,
    demo: Demo = False,
    private_webhooks: Private = False,
    origin: Origin = None,
    failed_logins: FailedLogins = 10,
    stalled_after: StalledAfter = 20.0,
    webhook_ports: WebhookPorts = "80,443,8080,8443",
    most_tickets: MostTickets = 100_000,
    most_entries: MostEntries = 50_000_000,
    root_path: RootPath = "",
    log_level: LogLevel = "warning",
    log_format: LogFormat = "text",
    json: Json = False,
) -> None:
    """Serve the campaigns of a store over HTTP, with a dashboard at /."""
    from json import dumps

    from goodarm.service.run import serve as run
    from goodarm.service.settings import Settings, ports_from_text

    settings = Settings(
        store,
        host,
        port,
        workers,
        private_targets=private_webhooks,
        origin=origin,
        demo=demo,
        failed_logins=failed_logins,
        stalled_after=stalled_after,
        webhook_ports=ports_from_text(webhook_ports),
        most_tickets=most_tickets,
        most_entries=most_entries,
        root_path=root_path,
    )
    run(
        settings,
        say=lambda line: typer.echo(dumps({"says": line}) if json else line),
        log_level=log_level,
        log_format=log_format,
    )
