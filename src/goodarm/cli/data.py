"""`goodarm data`: list, locate and download datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from goodarm.cli._options import Json
from goodarm.cli._show import console, print_json
from goodarm.cli._verb import Verb

if TYPE_CHECKING:
    from goodarm.environments.datasets import Dataset

EXAMPLES = ("goodarm data list", "goodarm data fetch movielens")

data = typer.Typer(no_args_is_help=True, help="List, fetch and locate the full files of the datasets.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A name of `goodarm data list`.")]
MIRROR_HELP = "Fetch from this address, which has the layout of GOODARM_DATA, instead of the publisher's."
Mirror = Annotated[str | None, typer.Option(metavar="URL", help=MIRROR_HELP)]


@data.command("list", cls=Verb, no_args_is_help=False)
def list_datasets(json: Json = False) -> None:
    """List the datasets with their terms and the files on this machine.

    The environments need none of these files, because their counts are part of goodarm.

    """
    from goodarm.environments.datasets import DATASETS

    if json:
        print_json({"datasets": [_as_json(each) for each in DATASETS.values()]})
        return
    screen = console()
    for each in DATASETS.values():
        screen.print(each.name, style="bold")
        for line in (*each.terms.splitlines(), *(f"{file.path}: {_place(file.found())}" for file in each.files)):
            screen.print(f"  {line}", soft_wrap=True)


@data.command(cls=Verb)
def fetch(name: Name, mirror: Mirror = None, json: Json = False) -> None:
    """Download a dataset from its publisher into the cache, and verify it."""
    from goodarm.environments.datasets import dataset
    from goodarm.environments.datasets import fetch as fetch_files

    found = dataset(name)
    paths = fetch_files(found, mirror=mirror, tell=lambda terms: typer.echo(terms, err=True))
    if json:
        print_json(_as_json(found) | {"fetched": [str(path) for path in paths]})
        return
    for path in paths:
        typer.echo(path)


@data.command(cls=Verb)
def path(name: Name, json: Json = False) -> None:
    """Print the paths of a dataset's files on this machine, one per line."""
    from goodarm.environments.datasets import dataset
    from goodarm.errors import UnavailableData

    found = dataset(name)
    missing = [file.path for file in found.files if file.found() is None]
    if json:
        print_json(_as_json(found))
    elif missing:
        raise UnavailableData(f"{' and '.join(missing)}: not on this machine. {found.way_out}")
    else:
        for file in found.files:
            typer.echo(file.found())


def _place(where: Any) -> str:
    return str(where) if where else "not on this machine"


def _as_json(found: Dataset) -> dict[str, Any]:
    return {
        "name": found.name,
        "title": found.title,
        "homepage": found.homepage,
        "licence": found.licence,
        "citation": found.citation,
        "files": [
            {
                "name": file.path,
                "sha256": file.sha256,
                "address": file.address,
                "path": str(where) if (where := file.found()) else None,
            }
            for file in found.files
        ],
    }
