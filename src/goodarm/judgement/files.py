"""Write a judgement to disk: the table, the figure and the page, each file whole or not at all."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from goodarm.errors import MissingExtra, UnusableFolder
from goodarm.forest import save
from goodarm.judgement.page import page
from goodarm.whole_files import explained, whole, write_text

if TYPE_CHECKING:
    from goodarm.judgement.judgement import Judgement


def check_folder(folder: Path) -> None:
    """Check that results can be written to a folder, without creating it. Called before a log is read."""
    if find_spec("pyarrow") is None or find_spec("matplotlib") is None:
        raise MissingExtra("writing a judgement", "report")
    if folder.exists() and not folder.is_dir():
        raise UnusableFolder(f"{folder} is a file, not a folder. Give --out a folder; it is created if missing.")
    parent = next((each for each in (folder, *folder.absolute().parents) if each.exists()), folder)
    if not os.access(parent, os.W_OK):
        raise UnusableFolder(f"can't write into {folder}: {parent} is not writable. Give --out another folder.")


def write(judgement: Judgement, folder: Path) -> list[Path]:
    """Write the table as Parquet and CSV, the forest plot as SVG and PNG, and the page; returns their paths."""
    check_folder(folder)
    figure = judgement.plot()
    writers: dict[str, Callable[[Path], None]] = {
        "arms.parquet": lambda path: parquet_file(judgement, path),
        "arms.csv": lambda path: csv_file(judgement, path),
        "forest.svg": lambda path: save(figure, path),
        "forest.png": lambda path: save(figure, path),
        "judgement.html": lambda path: write_text(path, page(judgement)),
    }
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        return [whole(folder / name, writer) for name, writer in writers.items()]


def parquet_file(judgement: Judgement, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    parquet.write_table(pa.table(judgement.columns()), path)


def csv_file(judgement: Judgement, path: Path) -> None:
    columns = judgement.columns()
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def excel_file(judgement: Judgement, path: Path) -> None:
    """A workbook with the table on one sheet, and the sentence and the conditions on another."""
    from openpyxl import Workbook

    book = Workbook()
    arms, about = book.active, book.create_sheet("about")
    arms.title = "arms"
    columns = judgement.columns()
    arms.append(list(columns))
    for row in zip(*columns.values(), strict=True):
        arms.append([_cell(value) for value in row])
    arms.freeze_panes = "A2"
    lines = [judgement.sentence, f"verdicts are {judgement.guarantee} if", *judgement.conditions, *judgement.notes]
    for line in lines:
        about.append([_cell(line)])
    about.column_dimensions["A"].width = 100
    with path.open("wb") as stream:
        book.save(stream)


def _cell(value: object) -> object:
    """A value for Excel: empty for numbers that are not finite, and text that never becomes a formula."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        clean = "".join(letter for letter in value if letter.isprintable() or letter in "\t\n")
        return f"'{clean}" if clean.startswith("=") else clean
    return value
