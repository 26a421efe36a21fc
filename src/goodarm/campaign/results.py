"""The results of a campaign as a table: arm, case and reward of every ticket that has been told."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from goodarm.campaign import journal
from goodarm.campaign.terms import Terms
from goodarm.errors import MissingExtra
from goodarm.plain_table import plain_table
from goodarm.whole_files import write_whole

SHOWN = 60
"""Maximum number of rows in the printed table."""
LONGEST = 24
"""Maximum length of a case or unit in the printed table."""
TO_THE_SECOND = 19
"""Length of a time without its fraction and zone."""


class Result(NamedTuple):
    """The reward of one ticket.

    case    : the test case; None without a fixed test set
    unit    : the person, session or machine; None unless the campaign rewards units
    reward  : the told reward; {metric: number} with several bars; one per unit with `per_unit`
    told_at : time of the reward, or of the expiry of a ticket that counts as 0, as ISO 8601 in UTC
    asked   : journal entry that handed out the ticket. Sorting by it gives the order in which cases were drawn
    """

    arm: str
    case: str | None
    unit: str | None
    reward: float | dict[str, float]
    told_at: str
    asked: int


@dataclass(frozen=True)
class Results:
    """One row per rewarded ticket, in the order of asking. `print` shows a table.

    rows      : the rows; void tickets and late rewards don't count, so they have none
    columns   : names of the columns, in the table and in files
    in_blocks : rewards told in blocks. A block keeps only sums, so these rewards have no rows
    out       : tickets that await their reward

    >>> from goodarm import Campaign
    >>> campaign = Campaign.create("memory:", "prompts", ["a"], threshold=0.5, cases=["easy", "hard"])
    >>> for ticket in campaign.ask(2):
    ...     _ = campaign.tell(ticket, float(ticket.case == "easy"))
    >>> sorted((row.arm, row.case, row.reward) for row in campaign.results())
    [('a', 'easy', 1.0), ('a', 'hard', 0.0)]
    """

    rows: tuple[Result, ...]
    columns: tuple[str, ...]
    in_blocks: int
    out: int
    metrics: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.rows)

    @property
    def notes(self) -> list[str]:
        """Notes on results that the rows do not contain."""
        notes = []
        if self.in_blocks:
            notes.append(
                f"{self.in_blocks:,} rewards were told in blocks, which keep only sums per arm, so they have no rows "
                "here"
            )
        if self.out:
            tickets = "1 ticket awaits its reward" if self.out == 1 else f"{self.out:,} tickets await their reward"
            notes.append(f"{tickets}. Tell or void all tickets before you judge these results")
        return notes

    def as_json(self) -> dict[str, Any]:
        """All rows and counts as JSON."""
        rows = [dict(zip(self.columns, self._cells(row), strict=True)) for row in self.rows]
        return {"results": rows, "in_blocks": self.in_blocks, "out": self.out}

    def to_csv(self, path: str | Path) -> Path:
        """Write the table as CSV, with names as they are, so that `goodarm judge` can read it; returns the path."""
        return write_whole(path, self._write)

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        if find_spec("pandas") is None:
            raise MissingExtra("to_pandas", "frames")
        import pandas as pd

        return pd.DataFrame(map(self._cells, self.rows), columns=list(self.columns))

    def _write(self, path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(self.columns)
            writer.writerows(map(self._cells, self.rows))

    def _cells(self, row: Result) -> list[Any]:
        rewards = [row.reward[name] for name in self.metrics] if isinstance(row.reward, Mapping) else [row.reward]
        names = [name for name in ("case", "unit") if name in self.columns]
        return [row.arm, *(getattr(row, name) for name in names), *rewards, row.told_at, row.asked]

    def __str__(self) -> str:
        """A table for `print`, and the notes."""
        brief = (row._replace(told_at=row.told_at[:TO_THE_SECOND]) for row in islice(self.rows, SHOWN))
        shown = [[row.arm, *map(_text, self._cells(row)[1:])] for row in brief]
        lines = [plain_table(self.columns, shown)] if self.rows else ["no results yet"]
        if len(self.rows) > SHOWN:
            lines.append(f"and {len(self.rows) - SHOWN:,} more")
        return "\n".join([*lines, *self.notes])


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.6g}"
    text = "".join(sign if sign.isprintable() else "�" for sign in str(cell))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def results_of(history: Iterable[dict[str, Any]], terms: Terms) -> Results:
    """The results in a campaign's journal: each reward with the entry that handed out its ticket."""
    asked: dict[str, dict[str, Any]] = {}
    rows: list[Result] = []
    in_blocks = 0
    lost = terms.question.as_told(terms.question.nothing)
    for entry in history:
        kind = entry["kind"]
        if kind == journal.ASKED:
            asked[entry["ticket"]] = entry
        elif kind == journal.GIVEN:
            rows.append(_row(entry, entry, entry["reward"]))
        elif kind in (journal.TOLD, journal.MISSING):
            rows.append(_row(asked.pop(entry["ticket"]), entry, entry.get("reward", lost)))
        elif kind == journal.VOID:
            asked.pop(entry["ticket"], None)
        elif kind == journal.PART:
            in_blocks += sum(int(told) for told, _ in entry["content"]["arms"].values())
    rows.sort(key=lambda row: row.asked)
    metrics = tuple(terms.question.names)
    return Results(tuple(rows), _columns(terms, metrics), in_blocks, len(asked), metrics)


def _row(asked: Mapping[str, Any], told: Mapping[str, Any], reward: Any) -> Result:
    return Result(asked["arm"], asked.get("case"), asked.get("unit"), reward, told["at"], asked["number"])


def _columns(terms: Terms, metrics: Sequence[str]) -> tuple[str, ...]:
    """Columns of the table. A metric with the name of another column gets the prefix "reward "."""
    case, unit = ["case"] * (terms.cases is not None), ["unit"] * (terms.units is not None)
    others = {"arm", "case", "unit", "told_at", "asked"}
    rewards = [f"reward {name}" if name in others else name for name in metrics] or ["reward"]
    return ("arm", *case, *unit, *rewards, "told_at", "asked")
