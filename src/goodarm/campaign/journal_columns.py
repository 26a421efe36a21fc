"""Entries of a journal as columns, verified all at once: how a long one is read in seconds.

The chain of an entry is a hash of the stored chain before it and of the entry, so that all hashes of a chunk can be
computed without waiting for one another; the first that differs from what is stored is the first that was changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.campaign.journal import CHAIN_BYTES, KINDS, Row, changed_entry, missing_entry
from goodarm.errors import DamagedJournal

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

CODES = {kind: code for code, kind in enumerate(KINDS)}
"""A number for each kind of entry; kinds of a newer goodarm have none."""
UNKNOWN = -1
_LAYOUT = np.dtype([("number", "<i8"), ("ticket", "<i8"), ("arm", "<i8"), ("reward", "<f8"), ("at", "<f8")])


class JournalColumns(NamedTuple):
    """Entries as arrays of equal length; -1 and NaN where there is no ticket, arm or reward."""

    rows: list[Row]
    kinds: NDArray[np.int8]
    tickets: Integers
    arms: Integers
    rewards: Floats
    at: Floats

    def part(self, start: int, stop: int) -> JournalColumns:
        cut = slice(start, stop)
        return JournalColumns(
            self.rows[cut], self.kinds[cut], self.tickets[cut], self.arms[cut], self.rewards[cut], self.at[cut]
        )


def joined(parts: list[JournalColumns]) -> JournalColumns:
    """Entries that follow one another."""
    rows = [row for part in parts for row in part.rows]
    kinds, *others = (np.concatenate(columns) for columns in zip(*(part[1:] for part in parts), strict=True))
    tickets, arms, rewards, at = others
    return JournalColumns(rows, kinds, tickets, arms, rewards, at)


def verified_columns(chunks: Iterable[list[Row]], number: int, chain: bytes) -> Iterator[JournalColumns]:
    """The entries after `number`, whose chain was `chain`; the first that does not follow from them is named.

    Entries before a damaged one in the same chunk are not returned: nothing is done with such a journal.
    """
    for rows in chunks:
        if rows:
            yield _verified(rows, number, chain)
            number, chain = rows[-1][0], rows[-1][7]


def _verified(rows: list[Row], number: int, chain: bytes) -> JournalColumns:
    numbers, kinds, tickets, arms, rewards, payloads, at, chains = zip(*rows, strict=True)
    packed = np.empty(len(rows), dtype=_LAYOUT)
    packed["number"], packed["at"] = numbers, at
    packed["ticket"], packed["arm"] = _whole(tickets), _whole(arms)
    packed["reward"] = np.array(rewards, dtype=np.float64)
    packed["reward"][np.isnan(packed["reward"])] = np.nan  # one spelling
    bytes_, size = packed.tobytes(), _LAYOUT.itemsize
    plain = {kind: f"{kind}:".encode() for kind in set(kinds)}
    ends = [
        plain[kind] if payload is None else f"{kind}:{payload}".encode()
        for kind, payload in zip(kinds, payloads, strict=True)
    ]
    before = (chain, *chains[:-1])
    starts = range(0, len(bytes_), size)
    found = [
        blake2b(previous + bytes_[start : start + size] + end, digest_size=CHAIN_BYTES).digest()
        for previous, start, end in zip(before, starts, ends, strict=True)
    ]
    if found != list(chains) or numbers[0] != number + 1 or not (np.diff(packed["number"]) == 1).all():
        raise _first_damage(rows, found, number)
    codes = {kind: CODES.get(kind, UNKNOWN) for kind in plain}
    coded = np.array(list(map(codes.__getitem__, kinds)), dtype=np.int8)
    return JournalColumns(rows, coded, packed["ticket"], packed["arm"], packed["reward"], packed["at"])


def _first_damage(rows: list[Row], found: list[bytes], number: int) -> DamagedJournal:
    for row, chain in zip(rows, found, strict=True):
        if row[0] != number + 1:
            return missing_entry(number, row[0])
        if row[7] != chain:
            return changed_entry(row[0], row[1])
        number = row[0]
    raise AssertionError("no damage where some was found")  # pragma: no cover


def _whole(values: tuple[int | None, ...]) -> Integers:
    """Whole numbers, -1 for none."""
    try:
        return np.array(values, dtype=np.int64)
    except TypeError:
        return np.array([-1 if value is None else value for value in values], dtype=np.int64)
