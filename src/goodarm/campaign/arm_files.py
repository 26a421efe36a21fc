"""Read arms from a CSV file with a header, a text file with one id per line, or a comma-separated list."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from goodarm.arguments import percentage
from goodarm.errors import InvalidValue, UnreadableTable

ID_COLUMNS = ("id", "arm")
FEATURE = "feature"
"""Prefix of column names that hold features."""


def arms_from_text(text: str, say: Callable[[str], None] = lambda message: None) -> list[Any]:
    """Parse the value of --arms: the path of a .csv or .txt file, or ids separated by commas.

    say : receives a sentence if ids are read from a column of another name

    >>> arms_from_text("a,b, c")
    ['a', 'b', 'c']
    """
    path = Path(text)
    if path.suffix.lower() == ".csv":
        return arms_from_csv(path, say)
    if path.suffix.lower() == ".txt":
        return [line for line in _read(path).split("\n") if line.strip()]
    names = [part.strip() for part in text.split(",")]
    if not all(names):
        raise InvalidValue(f"the list of arms {text!r} has an empty id. Remove the superfluous comma.")
    return names


def arms_from_csv(path: Path, say: Callable[[str], None] = lambda message: None) -> list[dict[str, Any]]:
    """Columns id (or arm), label, weight, cost, feature...; all others become metadata.

    Without a column id or arm, the ids are the first column if it has distinct texts.
    """
    try:  # splitlines would split an id that contains one of its separators
        reader = csv.DictReader(io.StringIO(_read(path), newline=""))
        rows, names = list(reader), list(reader.fieldnames or ())
    except csv.Error as error:
        raise UnreadableTable(f"{path}: can't be read as CSV ({error}).") from None
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UnreadableTable(f"{path}: two columns are named {twice!r}. Rename one of them.")
    key = next((name for name in ID_COLUMNS if name in names), None)
    if key is None and _has_ids(names, rows):
        key = names[0]
        say(
            f"{path} has no column 'id': the ids are its column {key!r}, {len(rows):,} arms. If its first line is no "
            "header, add one."
        )
    if key is None or not rows:
        shown = ", ".join(map(str, names)) or "none"
        raise UnreadableTable(f"{path} needs a header line with a column 'id' and at least one arm; columns: {shown}.")
    return [_entry(row, key, path, line) for line, row in enumerate(rows, start=2)]


def _has_ids(names: Sequence[str], rows: Sequence[dict[str, Any]]) -> bool:
    """Whether the first column has a distinct text in each of several rows."""
    if len(rows) < 2 or any(sign in names[0] for sign in ";\t|"):
        return False
    texts = [row[names[0]] for row in rows]
    return len(set(texts)) == len(texts) and all(texts) and not all(map(_is_number, texts))


def _is_number(text: str) -> bool:
    return isinstance(percentage(text), float)


def _entry(row: dict[str, Any], key: str, path: Path, line: int) -> dict[str, Any]:
    if None in row or None in row.values():
        raise UnreadableTable(f"{path}, line {line}: the number of columns differs from the header's.")
    entry: dict[str, Any] = {"id": row[key]}
    if row.get("label"):
        entry["label"] = row["label"]
    try:
        entry |= {name: float(row[name]) for name in ("weight", "cost") if row.get(name)}
        features = [float(value) for name, value in row.items() if name.startswith(FEATURE)]
    except ValueError as error:
        raise UnreadableTable(f"{path}, line {line}: weight, cost and features must be numbers: {error}.") from None
    if features:
        entry["features"] = features
    known = (key, "label", "weight", "cost")
    rest = {name: value for name, value in row.items() if name not in known and not name.startswith(FEATURE)}
    return entry | ({"metadata": rest} if rest else {})


def read_costs(text: str) -> float | dict[str, float]:
    """Parse the value of --cost: one number for all arms, or id=cost pairs separated by commas.

    >>> read_costs("0.5"), read_costs("a=1, b=20")
    (0.5, {'a': 1.0, 'b': 20.0})
    """
    pairs = [part.rpartition("=") for part in text.split(",")]
    try:
        if all(sign for _, sign, _ in pairs):
            return {name.strip(): float(cost) for name, _, cost in pairs}
        return float(text)
    except ValueError:
        raise InvalidValue(f"can't read the cost {text!r}. Write a number, or costs by arm like a=1,b=20.") from None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UnreadableTable(
            f"{path}: there is no such file. Check the path, or list the arms separated by commas: a,b,c."
        ) from None
    except OSError as error:
        raise UnreadableTable(f"{path}: can't be read ({error.strerror or error}). Check the path.") from None
    except UnicodeDecodeError:
        raise InvalidValue(f"{path}: is not text in UTF-8.") from None
