"""Files of a log: those that a path names, their kind, and the dialect of CSV files."""

from __future__ import annotations

import codecs
import csv
import gzip
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path

from goodarm.errors import UnreadableTable

KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
PACKED = (".gz", ".zst")
SAMPLE = 1 << 20
SEPARATORS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class Files:
    """Files of one kind."""

    title: str
    paths: tuple[Path, ...]
    kind: str


@dataclass(frozen=True)
class Dialect:
    """Dialect of a CSV file.

    repeated : names of several columns; in `header`, all but the first get their number
    """

    separator: str
    encoding: str
    header: tuple[str, ...]
    repeated: frozenset[str] = frozenset()


def find_files(place: str | Path) -> Files:
    """The files that a path, a folder or a glob names."""
    text = str(place)
    if not text.strip():
        raise UnreadableTable(
            "the path of the log is empty. Give a file, a folder, a glob in quotes, or postgresql://..."
        )
    path = Path(text)
    if path.is_dir():
        found = sorted(each for each in path.rglob("*") if each.is_file() and kind_of(each) and each.name[0] != ".")
    elif path.is_file():
        found = [path]
    elif has_magic(text):
        found = sorted(Path(each) for each in glob(text, recursive=True) if Path(each).is_file())
    else:
        raise UnreadableTable(
            f"{text}: there is no such file or folder. Give a path, a glob in quotes, or postgresql://..."
        )
    if not found:
        raise UnreadableTable(f"{text}: there is no CSV, Parquet or JSON Lines file. Give another folder or glob.")
    kinds = {kind_of(each) for each in found}
    if None in kinds:
        wrong = next(each for each in found if kind_of(each) is None)
        raise UnreadableTable(
            f"{wrong}: unknown kind of table. Give .csv, .tsv, .parquet or .jsonl, optionally with .gz or .zst."
        )
    if len(kinds) > 1:
        raise UnreadableTable(f"{text}: files of several kinds ({', '.join(sorted(map(str, kinds)))}). Name one kind.")
    empty = [each for each in found if each.stat().st_size == 0]
    if empty:
        raise UnreadableTable(f"{empty[0]} is empty. Remove it, or give the log again.")
    return Files(text, tuple(found), str(kinds.pop()))


def kind_of(path: Path) -> str | None:
    """csv, parquet or json; None for anything else."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return KINDS.get(suffixes[-1]) if suffixes else None


def read_dialect(files: Files, separator: str | None, encoding: str | None) -> Dialect:
    """Separator, encoding and header of CSV files, from their first lines; all files must have the same header."""
    first = _dialect(files.paths[0], separator, encoding)
    for other in files.paths[1:]:
        header = _dialect(other, first.separator, encoding or first.encoding).header
        if header != first.header:
            raise UnreadableTable(
                f"{other} has the columns {', '.join(header)}; {files.paths[0]} has {', '.join(first.header)}. "
                "Judge files with the same header together."
            )
    return first


def _dialect(path: Path, separator: str | None, encoding: str | None) -> Dialect:
    raw = _first_bytes(path)
    coding = encoding or _encoding(raw)
    try:
        text = codecs.getincrementaldecoder(coding)("strict").decode(raw)
    except (LookupError, UnicodeDecodeError) as error:
        raise UnreadableTable(
            f"{path}: can't be read as {coding} ({error}). Give `encoding`, for example latin-1."
        ) from None
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or not lines[0].strip():
        raise UnreadableTable(f"{path}: the first line must name the columns, but it is empty.")
    mark = separator or max(SEPARATORS, key=lambda each: (lines[0].count(each), -SEPARATORS.index(each)))
    header = [name.strip() for name in next(csv.reader(lines, delimiter=mark))]
    repeated = frozenset(name for name in header if name and header.count(name) > 1)
    return Dialect(mark, "utf-8" if coding.startswith("utf-8") else coding, _unique(header), repeated)


def _unique(header: list[str]) -> tuple[str, ...]:
    """Unique names of the columns; empty and repeated ones get their number."""
    names: list[str] = []
    for j, name in enumerate(header):
        plain = name or f"column {j + 1}"
        names.append(plain if plain not in names else f"{plain} ({j + 1})")
    return tuple(names)


def _encoding(raw: bytes) -> str:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(raw)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def _first_bytes(path: Path) -> bytes:
    suffix = path.suffix.lower()
    if suffix == ".zst":
        return _first_bytes_of_zst(path)
    try:
        with gzip.open(path, "rb") if suffix == ".gz" else path.open("rb") as stream:
            return bytes(stream.read(SAMPLE))
    except (OSError, EOFError) as error:
        raise UnreadableTable(f"{path}: can't be read ({error}). Is the file complete?") from None


def _first_bytes_of_zst(path: Path) -> bytes:
    import duckdb

    try:
        found = duckdb.execute(
            f"SELECT line FROM read_csv({str(path)!r}, delim='\\0', header=false, columns={{'line': 'VARCHAR'}}, "
            "auto_detect=false, quote='', escape='') LIMIT 50"
        ).fetchall()
    except duckdb.Error as error:
        raise UnreadableTable(f"{path}: can't be read ({str(error).splitlines()[0]}).") from None
    return "\n".join(str(line) for (line,) in found).encode()
