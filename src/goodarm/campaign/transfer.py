"""Export and import a campaign with its chain, as JSON Lines or Parquet, to move it between stores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import Event, verified
from goodarm.campaign.stores import Store
from goodarm.errors import DamagedJournal, InvalidValue, MissingExtra, Refused, UnusableStore
from goodarm.simulation.stop import Stop
from goodarm.whole_files import whole

FORMAT = 1
ROWS = 50_000


def export(store: Store, campaign: int, name: str, path: str | Path, stop: Stop | None = None) -> int:
    """Write the whole journal to a file that ends in .jsonl or .parquet; returns the number of entries.

    stop : a set token ends the export, and no file is left
    """
    target = Path(path)
    write = {".jsonl": _write_jsonl, ".parquet": _write_parquet}.get(target.suffix)
    if write is None:
        raise InvalidValue(f"a campaign is exported to a file that ends in .jsonl or .parquet; got {str(path)!r}.")
    numbers: list[int] = []
    try:
        whole(target, lambda part: numbers.append(write(part, name, _until(stop, store.read(campaign)))))
    except OSError as error:
        raise UnusableStore(f"{target} can't be written: {error}. No partial file was left.") from None
    return numbers[0]


def _until(stop: Stop | None, events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        if stop is not None:
            stop.check()
        yield event


def restore(store: Store, name: str, path: str | Path) -> int:
    """Import an exported campaign into a store, checking the chain of every entry; returns the number of entries."""
    source = Path(path)
    read = {".jsonl": _read_jsonl, ".parquet": _read_parquet}.get(source.suffix)
    if read is None:
        raise InvalidValue(f"a campaign is imported from a file that ends in .jsonl or .parquet; got {str(path)!r}.")
    with _readable(source):
        events = verified(read(source))
        first = next(events, None)
        if first is None:
            raise DamagedJournal(f"{path}: the file has no entries.")
        Fold(first)
        with store.transaction(None):
            if store.find(name) is not None:
                raise Refused(f"there is a campaign {name!r} in {store.address} already. Import under another name.")
            return _append(store, store.add(name), first, events)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Explain a file that is missing, truncated or of another kind."""
    try:
        yield
    except OSError as error:
        raise UnusableStore(f"{path} can't be read: {error}.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedJournal(f"{path} is not an exported campaign: {error}.") from None


def _append(store: Store, campaign: int, first: Event, others: Iterator[Event]) -> int:
    store.append(campaign, [first])
    number = first.number
    while rows := list(islice(others, ROWS)):
        store.append(campaign, rows)
        number = rows[-1].number
    return number


def exported_name(path: str | Path) -> str:
    """The campaign's name in the file."""
    source = Path(path)
    with _readable(source):
        if source.suffix == ".parquet":
            head: dict[str, Any] = json.loads(_parquet().read_schema(source).metadata[b"goodarm"])
        else:
            with source.open(encoding="utf-8") as lines:
                head = json.loads(lines.readline())
        return str(head["name"])


def _head(name: str) -> dict[str, Any]:
    return {"goodarm campaign": FORMAT, "name": name}


def _check_head(head: Any) -> None:
    found = head.get("goodarm campaign") if isinstance(head, dict) else None
    if not isinstance(found, int):
        raise ValueError("its first line is not a campaign's")
    if found > FORMAT:
        raise DamagedJournal(f"the file was written by a newer goodarm (format {found}). Upgrade goodarm.")


def _write_jsonl(path: Path, name: str, events: Iterable[Event]) -> int:
    number = 0
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(_head(name)) + "\n")
        for event in events:
            file.write(json.dumps({**event._asdict(), "chain": event.chain.hex()}, separators=(",", ":")) + "\n")
            number = event.number
    return number


def _read_jsonl(path: Path) -> Iterator[Event]:
    with path.open(encoding="utf-8") as lines:
        _check_head(json.loads(lines.readline()))
        for line in lines:
            row = json.loads(line)
            yield Event(**{**row, "chain": bytes.fromhex(row["chain"])})


def _write_parquet(path: Path, name: str, events: Iterable[Event]) -> int:
    import pyarrow as pa

    kinds = [pa.int64(), pa.string(), pa.int64(), pa.int64(), pa.float64(), pa.string(), pa.float64(), pa.binary()]
    schema = pa.schema(list(zip(Event._fields, kinds, strict=True)), metadata={"goodarm": json.dumps(_head(name))})
    number, rest = 0, iter(events)
    with _parquet().ParquetWriter(path, schema) as writer:
        while rows := list(islice(rest, ROWS)):
            columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
            writer.write_table(pa.table(columns, schema=schema))
            number = rows[-1].number
    return number


def _read_parquet(path: Path) -> Iterator[Event]:
    file = _parquet().ParquetFile(path)
    _check_head(json.loads((file.schema_arrow.metadata or {}).get(b"goodarm", b"null")))
    for batch in file.iter_batches(batch_size=ROWS):
        yield from map(Event._make, zip(*(batch.column(name).to_pylist() for name in Event._fields), strict=True))


def _parquet() -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra("a campaign as Parquet", "report") from None
    return parquet
