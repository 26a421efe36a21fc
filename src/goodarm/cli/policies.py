"""`goodarm policies`: list named policies, and the rules that policies consist of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from goodarm.cli._options import Json
from goodarm.cli._show import console, print_json

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = ("goodarm policies value", "goodarm policies 'ucb(beta=1.5)+betting'")

Name = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="Show one policy, rule, pairing or model of the arms.")
]


def policies(name: Name = None, json: Json = False) -> None:
    """List named policies, sampling rules, identification rules and models of the arms, with their guarantees."""
    from goodarm.report import catalogue

    if name is not None:
        _print_one(catalogue.policies_named(name), json)
        return
    listed = catalogue.policies()
    if json:
        print_json(listed)
        return
    screen = console()
    for kind, entries in listed.items():
        screen.print(catalogue.KINDS[kind], style="bold")
        screen.print(catalogue.table(entries))
    screen.print(
        "A sampling rule pairs with an identification rule and a model: hdoc+kt, 'ucb(beta=1.5)+betting', "
        "value@linear. Pairings whose guarantee would be false are refused. For a single one: goodarm policies NAME",
        style="dim",
    )


def _print_one(found: list[tuple[str, dict[str, Any]]], json: bool) -> None:
    from goodarm.report import catalogue

    if json:
        print_json({kind: [entry] for kind, entry in found})
        return
    screen = console()
    for kind, entry in found:
        screen.print(f"{entry['name']}: {catalogue.ONE[kind]}", style="bold")
        screen.print(entry["summary"])
        for words in ("guarantee", "pairing", "valid_for", "parameters", "reference"):
            _print_field(screen, words, entry.get(words))
        screen.print(f"try it: {entry['example']}", style="dim", soft_wrap=True)


def _print_field(screen: Console, words: str, value: Any) -> None:
    if isinstance(value, dict):
        value = ", ".join(f"{name}={number:g}" for name, number in value.items())
    if isinstance(value, list):
        value = " or ".join(value)
    if value:
        screen.print(f"{words.replace('_', ' ')}: {value}")
