"""`goodarm init`: a small project to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goodarm.cli._options import Json, some_path
from goodarm.cli._show import print_json

EXAMPLES = ("goodarm init --example prompts my-prompts", "goodarm init --example headlines my-headlines")


def init(
    folder: Annotated[Path, typer.Argument(parser=some_path, metavar="DIR", help="A new or empty folder.")],
    example: Annotated[str, typer.Option(metavar="NAME", help="prompts, headlines, laboratory or paper.")] = "prompts",
    json: Json = False,
) -> None:
    """Write a small runnable project: a script to adapt, and a README."""
    from goodarm.projects import write_project

    written = write_project(example, folder)
    if json:
        print_json({"example": example, "files": [str(path) for path in written]})
        return
    typer.echo(f"wrote {', '.join(path.name for path in written)} into {folder}")
    typer.echo(f"next: cd {folder} && python run.py")
