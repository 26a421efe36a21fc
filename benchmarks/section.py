"""What a benchmark returns, and the three ways to show it: a table for people, JSON, Markdown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Target:
    """A limit on the ratio of a row."""

    at_least: float | None = None
    at_most: float | None = None

    def met(self, ratio: float) -> bool:
        return not (
            (self.at_least is not None and ratio < self.at_least) or (self.at_most is not None and ratio > self.at_most)
        )

    def __str__(self) -> str:
        low = f">= {self.at_least:g}" if self.at_least is not None else ""
        high = f"<= {self.at_most:g}" if self.at_most is not None else ""
        return " and ".join(filter(None, (low, high)))


@dataclass(frozen=True)
class Row:
    """One line: what was measured, and how it compares."""

    cells: dict[str, Any]
    ratio: float | None = None
    target: Target | None = None

    @property
    def verdict(self) -> str:
        if self.target is None or self.ratio is None:
            return ""
        return "met" if self.target.met(self.ratio) else "not met"

    def texts(self) -> list[str]:
        ratio = "" if self.ratio is None else f"{self.ratio:,.3g}" if self.ratio < 1000 else f"{self.ratio:,.0f}"
        return [*map(_text, self.cells.values()), ratio, str(self.target or ""), self.verdict]

    def as_dict(self) -> dict[str, Any]:
        return {**self.cells, "ratio": self.ratio, "target": str(self.target or ""), "verdict": self.verdict}


@dataclass(frozen=True)
class Section:
    """A benchmark's result. `ratio` says what the column of that name is the ratio of."""

    name: str
    title: str
    ratio: str
    rows: list[Row]
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        return [*self.rows[0].cells, self.ratio, "target", ""]

    def shown_columns(self) -> list[int]:
        """Columns with something in them."""
        lines = [row.texts() for row in self.rows]
        return [j for j in range(len(self.columns)) if any(line[j] for line in lines)]

    def print(self, console: Console) -> None:
        shown = self.shown_columns()
        numeric = {j for j in shown if any(_is_number(list(row.cells.values())[j : j + 1]) for row in self.rows)}
        table = Table(title=f"{self.name}: {self.title}", title_justify="left", title_style="bold")
        for j in shown:
            right = j in numeric or self.columns[j] == self.ratio
            table.add_column(self.columns[j], justify="right" if right else "left")
        for row in self.rows:
            texts = row.texts()
            style = {"met": "green", "not met": "red"}.get(row.verdict)
            table.add_row(*(texts[j] for j in shown), style=style)
        console.print(table)
        for note in self.notes:
            console.print(note, style="dim", markup=False)
        console.print()

    def markdown(self) -> str:
        shown = self.shown_columns()
        lines = [[self.columns[j] for j in shown], ["---"] * len(shown)]
        lines += [[row.texts()[j] for j in shown] for row in self.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n\n".join([f"### `{self.name}`: {self.title}", table, *self.notes])

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "ratio": self.ratio,
            "rows": [row.as_dict() for row in self.rows],
            "notes": self.notes,
        }


Benchmark = Callable[[], Section]


def _is_number(values: list[Any]) -> bool:
    return any(isinstance(value, int | float) for value in values)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
