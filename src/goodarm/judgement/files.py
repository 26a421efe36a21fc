"""Write verdicts to disk: the table, the figure and the page, each file completely or not at all."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goodarm.errors import InvalidValue, MissingExtra, UnusableFolder
from goodarm.forest import save
from goodarm.judgement.page import page
from goodarm.judgement.words import evidence_words
from goodarm.question import UNDECIDED
from goodarm.rules.identification.gap_mixture import is_certain
from goodarm.spreadsheet import cell
from goodarm.whole_files import explained, refuse_replacing, whole, write_text

if TYPE_CHECKING:
    from goodarm.judgement.written import Written


def check_folder(folder: Path) -> None:
    """Check that results can be written to a folder, without creating it. Called before a log is read."""
    if find_spec("pyarrow") is None or find_spec("matplotlib") is None:
        raise MissingExtra("writing a judgement", "report")
    if folder.exists() and not folder.is_dir():
        raise UnusableFolder(f"{folder} is a file, not a folder. Give --out a folder; it is created if missing.")
    parent = next((each for each in (folder, *folder.absolute().parents) if each.exists()), folder)
    if not os.access(parent, os.W_OK):
        raise UnusableFolder(f"can't write into {folder}: {parent} is not writable. Give --out another folder.")


FILES: dict[str, tuple[str, Callable[[Written, Path], None]]] = {
    ".xlsx": ("excel", lambda written, path: excel_file(written, path)),
    ".csv": ("", lambda written, path: csv_file(written, path)),
    ".parquet": ("report", lambda written, path: parquet_file(written, path)),
    ".html": ("", lambda written, path: write_text(path, page(written))),
}
"""Writers of single files by the ending of their names, and the extra that each needs."""
PACKAGES = {"excel": "openpyxl", "report": "pyarrow"}


def check_target(path: Path, inputs: Iterable[Path] = ()) -> None:
    """Check that results can be written to a file with a known ending, or to a folder; called before a log is read.

    inputs : files, folders and globs that are read, see `goodarm.whole_files.refuse_replacing`
    """
    for each in [path / "arms.csv", path / "arms.parquet"] if is_folder(path) else [path]:
        refuse_replacing(each, inputs)
    if is_folder(path):
        check_folder(path)
        return
    if path.suffix.lower() not in FILES:
        raise InvalidValue(
            f"can't write {path}: the ending {path.suffix} is unknown. Files of verdicts end in "
            f"{', '.join([*FILES][:-1])} or {[*FILES][-1]}. A folder must exist or have a name without an ending."
        )
    extra, _ = FILES[path.suffix.lower()]
    if extra and find_spec(PACKAGES[extra]) is None:
        raise MissingExtra(f"writing {path.name}", extra)
    if not path.absolute().parent.is_dir():
        raise UnusableFolder(f"can't write {path}: there is no folder {path.absolute().parent}. Create it first.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise UnusableFolder(f"can't write {path}: its folder is not writable. Give --out another file.")


def is_folder(path: Path) -> bool:
    """Whether a path for results is a folder: it exists as one, or has no ending.

    >>> is_folder(Path("judged")), is_folder(Path("v1.2 final")), is_folder(Path("x.pdf"))
    (True, True, False)
    """
    return path.is_dir() or not (
        path.suffix.lower() in FILES or re.fullmatch(r"\.[A-Za-z][A-Za-z0-9]{0,7}", path.suffix)
    )


def write(written: Written, folder: Path) -> list[Path]:
    """Write everything into a folder, or the table or the page into a file; returns the paths.

    In a folder: the table as Parquet and CSV, the forest plot as SVG and PNG, and the page. The ending of a file
                 determines its content: .xlsx, .csv and .parquet have the table, .html the page.
    """
    check_target(folder, written.inputs)
    if not is_folder(folder):
        _, of_file = FILES[folder.suffix.lower()]
        with explained(folder.parent):
            return [whole(folder, lambda part: of_file(written, part), written.inputs)]
    figure = written.plot()
    writers: dict[str, Callable[[Path], None]] = {
        "arms.parquet": lambda path: parquet_file(written, path),
        "arms.csv": lambda path: csv_file(written, path),
        "forest.svg": lambda path: save(figure, path),
        "forest.png": lambda path: save(figure, path),
        "judgement.html": lambda path: write_text(path, page(written)),
    }
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        return [whole(folder / name, writer, written.inputs) for name, writer in writers.items()]


def parquet_file(written: Written, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    parquet.write_table(pa.table(written.columns()), path)


def _for_people(written: Written) -> dict[str, Any]:
    """The table for files that people read, with the question's words for verdicts and estimates."""
    columns, words = written.columns(), {**written.words, 0: UNDECIDED}
    columns["verdict"] = [words[int(verdict)] for verdict in written.arms.verdict]
    decided = [bool(verdict) for verdict in written.arms.verdict]
    columns["guarantee"] = [each if done else "" for each, done in zip(columns["guarantee"], decided, strict=True)]
    found: dict[str, Any] = {}
    for name, values in columns.items():
        if name == "verdict":
            found["asked"] = [_asked(written)] * len(values)
        found[written.question.labels.estimate if name == "mean" else name] = values
    return found


def _asked(written: Written) -> str:
    """The good verdict in words. A mean that equals the threshold is good."""
    clears = written.captions.clears
    return f"at least {clears.removeprefix('above ')}" if clears.startswith("above ") else clears


def _plain(value: object) -> object:
    """A value for CSV: empty where there is none."""
    return "" if isinstance(value, float) and math.isnan(value) else cell(value)


def csv_file(written: Written, path: Path) -> None:
    columns = _for_people(written)
    columns["evidence"] = [math.inf if is_certain(each) else each for each in columns["evidence"]]
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(map(cell, columns))
        writer.writerows(map(_plain, row) for row in zip(*columns.values(), strict=True))


def excel_file(written: Written, path: Path) -> None:
    """A workbook: the table on one sheet; question, answer, guarantee and assumptions on another."""
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Font

    book = Workbook()
    arms, about = book.active, book.create_sheet("about")
    arms.title = "arms"
    columns, formats = _for_people(written), _formats(written)
    columns["evidence"] = [evidence_words(each) if is_certain(each) else each for each in columns["evidence"]]
    arms.append([_cell(written.captions.counted if name == "pulls" else name) for name in columns])
    for row in zip(*columns.values(), strict=True):
        arms.append([_cell(value) for value in row])
    for place, name in enumerate(columns, start=1):
        for (found,) in arms.iter_rows(min_row=2, min_col=place, max_col=place):
            found.number_format = formats.get(name, found.number_format)
        letter = arms.cell(row=1, column=place).column_letter
        arms.column_dimensions[letter].width = 30 if name in ("arm", "guarantee") else max(12, len(name) + 4)
    arms.freeze_panes, arms.auto_filter.ref = "A2", arms.dimensions
    for topic, line in _about(written):
        about.append([topic, _cell(line)])
        about.cell(row=about.max_row, column=2).alignment = Alignment(wrap_text=True, vertical="top")
    about.column_dimensions["A"].width, about.column_dimensions["B"].width = 16, 100
    for bold in (*arms[1], *about["A"]):
        bold.font = Font(bold=True)
    with path.open("wb") as stream:
        book.save(stream)


def _formats(written: Written) -> dict[str, str]:
    """Excel's number formats by column: shares as percentages, counts as whole numbers."""
    shares = "0.00%" if written.captions.percent else "#,##0.00##"
    ends = ("mean", "low", "high")
    names = [
        written.question.labels.estimate,
        *ends,
        *(f"{metric.metric} {end}" for metric in written.arms.metrics for end in ends),
    ]
    return dict.fromkeys(names, shares) | {"pulls": "#,##0", "needs": "#,##0", "evidence": "0.00"}


def _about(written: Written) -> Iterator[tuple[str, str]]:
    """Topics and lines of the second sheet."""
    yield "question", f"Which arms are {written.captions.clears}?"
    yield "answer", written.sentence
    yield "guarantee", f"{written.guarantee}: {written.captions.budget}"
    for number, condition in enumerate(written.conditions):
        yield "" if number else "assuming", condition
    yield "rule", written.rule
    yield "data", written.captions.data
    for number, note in enumerate((*written.notes, written.captions.looks)):
        yield "" if number else "notes", note


def _cell(value: object) -> object:
    """A value for Excel: empty for numbers that are not finite, and text that never becomes a formula."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        clean = "".join(letter for letter in value if letter.isprintable() or letter in "\t\n")
        return cell(clean)
    return value
