"""Small projects that `goodarm init` writes: each is a folder with a README and a script that runs."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from pathlib import Path

from goodarm.errors import UnknownName, UnusableFolder
from goodarm.whole_files import explained, whole, write_text

PROJECTS = ("prompts", "headlines", "laboratory", "paper")


def write_project(name: str, folder: Path) -> list[Path]:
    """Write the files of a project into a folder that is new or empty; returns their paths."""
    if name not in PROJECTS:
        raise UnknownName("example", name, list(PROJECTS))
    if folder.exists() and not folder.is_dir():
        raise UnusableFolder(f"{folder} is a file, not a folder. Give a folder that is new or empty.")
    with explained(folder):
        if folder.exists() and any(folder.iterdir()):
            raise UnusableFolder(f"{folder} is not empty, and its files are kept. Give a folder that is new or empty.")
        folder.mkdir(parents=True, exist_ok=True)
        texts = {
            each.name: each.read_text(encoding="utf-8")
            for each in sorted((files("goodarm.projects") / name).iterdir(), key=lambda each: each.name)
            if each.is_file()
        }
        return [whole(folder / file, partial(write_text, text=text)) for file, text in texts.items()]
