"""`goodarm token`: access tokens of a served store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goodarm.cli._options import Json
from goodarm.cli._show import console, print_json
from goodarm.cli.serve import Store

if TYPE_CHECKING:
    from goodarm.service.tokens import Token, Tokens

EXAMPLES = ("goodarm token create --role writer --name shop", "goodarm token list")

token = typer.Typer(no_args_is_help=True, help="Create, list and revoke the tokens of a served store.")
RoleName = Annotated[str, typer.Option("--role", metavar="admin|writer|reader", help="What the token allows.")]
TokenName = Annotated[str, typer.Option("--name", metavar="TEXT", help="Owner, shown in the list.")]


@contextmanager
def _tokens(store: str) -> Iterator[Tokens]:
    from goodarm.service.side import open_side
    from goodarm.service.tokens import Tokens

    side = open_side(store)
    try:
        yield Tokens(side)
    finally:
        side.close()


@token.command()
def create(role: RoleName, store: Store = "sqlite:///goodarm.db", name: TokenName = "", json: Json = False) -> None:
    """Create a token. Its text is shown once and stored as a hash."""
    from goodarm.campaign.stores.postgresql import without_password

    with _tokens(store) as tokens:
        made, text = tokens.create(role, name)
    if json:
        print_json({"id": made.id, "role": made.role.name, "name": made.name, "token": text})
    else:
        typer.echo(text)
        where = f"token {made.id}, role {made.role.name}, for the store {without_password(store)}."
        typer.echo(f"{where} It is not shown again. Keep it safe.", err=True)


@token.command("list")
def show(store: Store = "sqlite:///goodarm.db", json: Json = False) -> None:
    """All tokens with role and times of creation, last use and revocation."""
    with _tokens(store) as tokens:
        found = tokens.all()
    if json:
        print_json({"tokens": [_as_json(each) for each in found]})
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("id", "role", "name", "made", "last used", "revoked"):
        table.add_column(heading)
    for each in found:
        times = (each.created_at, each.used_at, each.revoked_at)
        table.add_row(each.id, each.role.name, each.name, *map(_when, times))
    console().print(table)


@token.command()
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="As shown by `goodarm token list`.")],
    store: Store = "sqlite:///goodarm.db",
) -> None:
    """Revoke a token and the browser sessions that it opened."""
    with _tokens(store) as tokens:
        tokens.revoke(id)
    typer.echo(f"token {id} is revoked; running servers refuse it within a second", err=True)


def _as_json(each: Token) -> dict[str, Any]:
    return {
        "id": each.id,
        "role": each.role.name,
        "name": each.name,
        "created_at": each.created_at,
        "used_at": each.used_at,
        "revoked_at": each.revoked_at,
    }


def _when(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
