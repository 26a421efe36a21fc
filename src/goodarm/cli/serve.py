"""`goodarm serve`: campaigns over HTTP, with a dashboard."""

from __future__ import annotations

from typing import Annotated

import typer

from goodarm.cli._options import Json

EXAMPLES = (
    "goodarm serve --demo",
    "goodarm serve --store sqlite:///goodarm.db --workers 2",
    "goodarm token create --role admin && goodarm serve --host 0.0.0.0",
)


def read_store(store: str) -> str:
    """The store's address, or the first line of file:PATH, which keeps a password out of the process list."""
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
        envvar="GOODARM_STORE",
        callback=read_store,
        help="sqlite:///FILE or postgresql://…, as for `goodarm campaign`; file:PATH is a file that contains it.",
    ),
]
Host = Annotated[str, typer.Option(metavar="H", help="Where to listen; beyond this machine it needs a token.")]
Port = Annotated[int, typer.Option(metavar="P", help="0 chooses a free port.")]
ServerWorkers = Annotated[int, typer.Option("--workers", metavar="N", help="Processes that answer.")]
Demo = Annotated[bool, typer.Option("--demo", help="A temporary store with a campaign fed by simulated visitors.")]
Private = Annotated[bool, typer.Option("--private-webhooks", help="Webhooks may call loopback and private addresses.")]
Origin = Annotated[
    str | None, typer.Option(metavar="URL", help="The address that browsers see, if the server is behind a proxy.")
]
FailedLogins = Annotated[
    int, typer.Option("--failed-logins", metavar="N", help="Wrong tokens per minute before an address must wait.")
]
WebhookPorts = Annotated[
    str, typer.Option("--webhook-ports", metavar="P,P", help="Ports that webhooks may call, separated by commas.")
]
MostTickets = Annotated[
    int, typer.Option("--most-tickets", metavar="N", help="Maximum outstanding tickets per campaign; more are refused.")
]
MostEntries = Annotated[
    int, typer.Option("--most-entries", metavar="N", help="Maximum entries of a journal; then asks are refused.")
]
RootPath = Annotated[
    str, typer.Option("--root-path", metavar="/P", help="Path prefix behind a proxy, such as /goodarm.")
]
LogLevel = Annotated[
    str, typer.Option("--log-level", metavar="L", help="debug, info (logins too), warning, error or critical.")
]
LogFormat = Annotated[str, typer.Option("--log-format", metavar="text|json", help="Lines of the log, on stderr.")]
StalledAfter = Annotated[
    float,
    typer.Option("--stalled-after", metavar="S", help="Seconds after which an idle client is disconnected."),
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
