"""Write files whole or not at all, with errors that explain failures."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from goodarm.errors import UnusableFolder


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8 on every machine."""
    path.write_text(text, encoding="utf-8")


def whole(path: Path, write: Callable[[Path], object]) -> Path:
    """Write a temporary file and move it to the path when complete, so a reader never sees half a file.

    Each call uses a separate temporary file, so two writers of one path do not mix their contents.
    """
    partial = path.with_name(f".partial-{secrets.token_hex(4)}-{path.name}")
    try:
        write(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def write_whole(path: str | Path, write: Callable[[Path], object]) -> Path:
    """One file at a path given by the caller, whole or not at all."""
    found = Path(path)
    if found.is_dir():
        raise UnusableFolder(f"{found} is a folder. Give the path of a file.")
    with explained(found.parent):
        return whole(found, write)


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise UnusableFolder(f"can't write into {folder}: {reason}. Give `out` another folder.") from None
