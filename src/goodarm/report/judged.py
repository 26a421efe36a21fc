"""A judgement for the terminal and on disk."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from goodarm.errors import MissingExtra, UnusableFolder
from goodarm.judgement import Judgement
from goodarm.judgement.figure import save
from goodarm.judgement.page import page
from goodarm.judgement.words import LOOKS, amount, visible, whole
from goodarm.report.files import explained, write_text
from goodarm.report.files import whole as whole_file

if TYPE_CHECKING:
    from rich.table import Table

EACH = 20
"""Rows per verdict in the terminal."""
WIDE, NARROWEST = 100, 14
"""Columns of a terminal in which all of the table fits; letters that a name has at least."""
LONGEST = 100
"""Letters of a name in the terminal."""
STYLES = {1: "green", -1: "red", 0: ""}


def notes(judgement: Judgement) -> Iterator[str]:
    """Under what conditions the guarantee holds, what was chosen, and what readers should know."""
    yield f"verdicts are {judgement.guarantee} if"
    yield from (f"- {visible(each)}" for each in judgement.conditions)
    yield from (visible(note) for note in (*judgement.notes, LOOKS))


def segment_lines(judgement: Judgement, most: int = EACH) -> Iterator[str]:
    """The sentence of each segment; if there are many, of the first ones."""
    found = list(judgement.segments()) if judgement.by else []
    for by, arms in found[:most]:
        name = ", ".join(f"{visible(key)} {visible(str(value))}" for key, value in by.items())
        yield f"{name}: {judgement.sentence_of(arms)}."
    if len(found) > most:
        yield f"{len(found) - most:,} more segments; --json prints all, --out writes them"


def _name(text: object) -> str:
    """A name in a cell: very long ones are cut, in the terminal only."""
    shown = visible(str(text))
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def table(judgement: Judgement, each: int = EACH, width: int = WIDE) -> Table:
    """The first arms of each verdict: name, pulls, mean, interval, verdict, guarantee, what is needed.

    In a narrow terminal the guarantee, which is the same for all, makes room for the names; the notes say it.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in judgement.by:
        made.add_column(visible(name), overflow="fold")
    made.add_column("arm", style="bold", overflow="fold", min_width=NARROWEST)
    for name in ("pulls", "mean" if judgement.question.versus is None else "difference", "interval"):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column("verdict", no_wrap=True)
    if width >= WIDE:
        made.add_column("guarantee", overflow="fold")
    made.add_column("needs about", justify="right", no_wrap=True)
    if judgement.arms.when is not None:
        made.add_column("known at", no_wrap=True)
    arms, question = judgement.arms, judgement.question
    for value in (1, -1, 0):
        for i in np.flatnonzero(arms.verdict == value)[:each]:
            cells = [Text(_name(key[i])) for key in arms.segment]
            cells += [Text(_name(arms.arm[i])), Text(whole(arms.pulls[i])), Text(amount(arms.mean[i], question))]
            cells += [
                Text(f"{amount(arms.low[i], question)} to {amount(arms.high[i], question)}"),
                Text(judgement.words[value], style=STYLES[value]),
                *([Text(judgement.label if value else "", overflow="fold")] if width >= WIDE else []),
                Text("" if value else f"{whole(arms.needs[i])} more"),
            ]
            if arms.when is not None:
                cells.append(Text("" if arms.when[i] is None else str(arms.when[i])))
            made.add_row(*cells)
    return made


def left_out(judgement: Judgement, each: int = EACH) -> Iterator[str]:
    """What the terminal does not show."""
    for value in (1, -1, 0):
        more = int((judgement.arms.verdict == value).sum()) - each
        if more > 0:
            yield f"{more:,} more {judgement.words[value]}; --out writes all"


def check_folder(folder: Path) -> None:
    """Can results be written there? Checked before a log is read, without making the folder."""
    if find_spec("pyarrow") is None or find_spec("matplotlib") is None:
        raise MissingExtra("writing a judgement", "report")
    if folder.exists() and not folder.is_dir():
        raise UnusableFolder(f"{folder} is a file, not a folder. Give --out a folder; it is made if it does not exist.")
    parent = next((each for each in (folder, *folder.absolute().parents) if each.exists()), folder)
    if not os.access(parent, os.W_OK):
        raise UnusableFolder(f"can't write into {folder}: {parent} is not writable. Give --out another folder.")


def write(judgement: Judgement, folder: Path) -> list[Path]:
    """Write the table as Parquet and CSV, the forest plot as SVG and PNG, and the page; returns their paths."""
    check_folder(folder)
    figure = judgement.plot()
    writers: dict[str, Callable[[Path], None]] = {
        "arms.parquet": lambda path: _write_parquet(judgement, path),
        "arms.csv": lambda path: _write_csv(judgement, path),
        "forest.svg": lambda path: save(figure, path),
        "forest.png": lambda path: save(figure, path),
        "judgement.html": lambda path: write_text(path, page(judgement)),
    }
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        return [whole_file(folder / name, writer) for name, writer in writers.items()]


def _write_parquet(judgement: Judgement, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    parquet.write_table(pa.table(judgement.columns()), path)


def _write_csv(judgement: Judgement, path: Path) -> None:
    columns = judgement.columns()
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
