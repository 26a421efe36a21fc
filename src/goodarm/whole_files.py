"""Write files completely or not at all, with errors that explain failures."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from glob import has_magic
from pathlib import Path

from goodarm.errors import UnusableFolder


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8 on every machine."""
    path.write_text(text, encoding="utf-8")


SQLITE = b"SQLite format 3\0"
"""First bytes of an SQLite database."""
COMPANIONS = ("-wal", "-shm", "-journal", ".lock", ".service")
"""Endings of the files that belong to a store."""
TABLES = (".csv", ".parquet", ".json", ".jsonl")
"""Endings of written files that `judge` would read as a part of a log."""


def is_database(path: Path) -> bool:
    """Whether the path is an existing SQLite database."""
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False


def refuse_replacing(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse to replace a store, or a file that the same operation reads.

    inputs : files, folders and globs that the operation reads. A table written into such a folder, or to a name that
             the glob matches, would become part of the log at the next look
    """
    if is_database(path):
        raise UnusableFolder(f"{path} is a database, and writing this file would destroy it. Give another file name.")
    for ending in COMPANIONS:
        if path.name.endswith(ending) and is_database(store := path.with_name(path.name.removesuffix(ending))):
            raise UnusableFolder(f"{path} belongs to the database {store}. Give another file name.")
    for source in inputs:
        if source.is_file() and path.exists() and path.samefile(source):
            raise UnusableFolder(
                f"{path} is an input of this command, and writing the result would destroy it. Give another file name."
            )
        within = source.is_dir() and path.resolve().is_relative_to(source.resolve())
        matched = has_magic(str(source)) and path.absolute().match(str(source.absolute()))
        if (within or matched) and path.suffix.lower() in TABLES:
            raise UnusableFolder(
                f"{path} would become part of {source} at the next look. Give a file or folder outside it."
            )


def whole(path: Path, write: Callable[[Path], object], inputs: Iterable[Path] = ()) -> Path:
    """Write a temporary file and move it to the path when complete, so a reader never sees half a file.

    Each call uses a separate temporary file, so two writers of one path do not mix their contents. A store, and the
    inputs of the same operation, are never replaced.
    """
    refuse_replacing(path, inputs)
    partial = path.with_name(f".partial-{secrets.token_hex(4)}-{path.name}")
    try:
        write(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def write_whole(path: str | Path, write: Callable[[Path], object], inputs: Iterable[Path] = ()) -> Path:
    """Write one file at the caller's path, completely or not at all."""
    found = Path(path)
    if found.is_dir():
        raise UnusableFolder(f"{found} is a folder. Give the path of a file.")
    with explained(found.parent):
        return whole(found, write, inputs)


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise UnusableFolder(f"can't write into {folder}: {reason}. Give `out` another folder.") from None
