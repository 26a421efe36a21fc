"""docs/commands.md, from the command line's own help: python docs/refresh_commands.py"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ["COLUMNS"] = "100"

TARGET = Path(__file__).with_name("commands.md")


def page() -> str:
    """The text of docs/commands.md."""
    import typer

    from goodarm.cli import app

    root: Any = typer.main.get_command(app)
    lines = ["# Command line", "", "Generated from the commands' help by `python docs/refresh_commands.py`.", ""]
    lines += _section(root, "goodarm", 1)
    return "\n".join(lines).rstrip() + "\n"


def _section(command: Any, path: str, level: int) -> list[str]:
    import click

    if level > 1:
        lines = [f"{'#' * min(level, 4)} {path}", "", *(command.help or "").replace("\b\n", "").splitlines(), ""]
    else:
        lines = []
    rows = [record for record in (p.get_help_record(click.Context(command)) for p in command.params) if record]
    if level > 1 and rows:
        lines += ["| option or argument | meaning |", "| --- | --- |"]
        lines += [f"| `{_plain(name)}` | {_plain(text)} |" for name, text in rows]
        lines += [""]
    for name, each in sorted(getattr(command, "commands", {}).items()):
        lines += _section(each, f"{path} {name}", level + 1)
    return lines


def _plain(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
