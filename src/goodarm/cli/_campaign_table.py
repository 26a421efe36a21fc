"""Output of `goodarm campaign`: tables of arms, journal entries, and the live view."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import typer

from goodarm.campaign.rows import figure
from goodarm.cli._show import console, on_one_line

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from goodarm.campaign import ArmRow, Campaign

SIGNS = {1: "+", -1: "-", 0: " "}
STYLES = {1: "green", -1: "red", 0: ""}
NEAREST = 12


def table(rows: Iterable[ArmRow], estimate: str, title: str | None = None) -> Table:
    """A table with one row per arm; `estimate` is the question's name for the estimate."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        collapse_padding=True,
        title=title,
        title_justify="left",
    )
    made.add_column("arm", overflow="fold")
    made.add_column("verdict", no_wrap=True)
    for heading in ("samples", "out", estimate, "interval", "evidence"):
        made.add_column(heading, justify="right", no_wrap=heading not in ("out", "evidence"))
    for row in rows:
        made.add_row(
            Text(on_one_line(row.label)),
            Text(f"{SIGNS[row.sign]} {on_one_line(row.verdict_words)}", style=STYLES[row.sign]),
            f"{row.pulls:,}",
            _out(row),
            figure(row.mean),
            row.interval_words,
            row.evidence_words,
        )
    return made


def _out(row: ArmRow) -> str:
    """Pending tickets, and the verdicts that overdue ones hold back."""
    words = [f"{row.pending:,}", f"({row.overdue:,} overdue)" if row.overdue else ""]
    return " ".join(filter(None, [*words, f"hold back {row.held_back}" if row.held_back else ""]))


def entry_text(entry: dict[str, Any], as_json: bool) -> str:
    """An entry of the journal on one line."""
    if as_json:
        return json.dumps(entry)
    words = [f"{entry['number']:>8}", entry["at"], f"{entry['kind']:<8}"]
    words += [on_one_line(str(entry[name])) for name in ("ticket", "arm", "reward") if name in entry]
    content = entry.get("content", {})
    if entry["kind"] == "verdict":
        words.append(content["verdict"])
    elif "reason" in content:
        words.append(on_one_line(content["reason"]))
    return "  ".join(words)


def watch_json(campaign: Campaign, every: float) -> None:
    """Print one JSON object per change until every arm is decided."""
    shown = -1
    while True:
        number = campaign.number
        if number != shown:
            shown = number
            tally = campaign.tally()
            typer.echo(json.dumps({"number": number, "headline": campaign.headline(), **tally._asdict()}))
            if tally.open == 0 or tally.ended:
                return
        time.sleep(every)


def watch_table(campaign: Campaign, every: float) -> None:
    """Show the live view until every arm is decided."""
    from rich.live import Live

    with Live(_view(campaign), console=console(), auto_refresh=False) as live:
        shown = campaign.number
        while not _over(campaign):
            time.sleep(every)
            if campaign.number != shown:
                shown = campaign.number
                live.update(_view(campaign), refresh=True)


def _over(campaign: Campaign) -> bool:
    tally = campaign.tally()
    return tally.open == 0 or tally.ended


def _view(campaign: Campaign) -> Group:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    tally = campaign.tally()
    decided = tally.good + tally.bad
    bar = ProgressBar(total=tally.arms, completed=decided, width=60)
    progress = Text(f"{decided:,} of {tally.arms:,} arms decided")
    rows = table(campaign.nearest(NEAREST), campaign.terms.question.labels.estimate, "closest to a verdict")
    return Group(Text(str(campaign)), progress, bar, rows)
