"""A judgement for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from goodarm.judgement import Judgement
from goodarm.judgement.words import LOOKS, Doubt, estimate, interval, needed, visible, whole

if TYPE_CHECKING:
    from rich.table import Table

EACH = 20
"""Maximum rows of bad arms, and of undecided arms, in the terminal."""
WIDE, WIDER, NARROWEST = 100, 132, 14
"""Terminal width in which the whole table fits, also with segments, times or a control; minimum letters of a name."""
LONGEST = 100
"""Maximum letters of a name in the terminal."""
STYLES = {1: "green", -1: "red", 0: ""}


def notes(judgement: Judgement) -> Iterator[str]:
    """Conditions of the guarantee, automatic choices, and other notes; warnings follow the sentence."""
    yield f"verdicts are {judgement.rule_guarantee} if"
    yield from (f"- {visible(each)}" for each in judgement.conditions)
    yield from (visible(note) for note in (*judgement.notes, LOOKS) if not isinstance(note, Doubt))


def segment_lines(judgement: Judgement, most: int = EACH) -> Iterator[str]:
    """The sentence of each segment, up to a maximum number of segments."""
    found = list(judgement.segments()) if judgement.by else []
    for by, arms in found[:most]:
        name = ", ".join(f"{visible(key)} {visible(str(value))}" for key, value in by.items())
        yield f"{name}: {judgement.sentence_of(arms)}."
    if len(found) > most:
        yield f"{len(found) - most:,} more segments; --json prints all, --out writes them"


def _name(text: object) -> str:
    """A name in a cell, truncated if very long."""
    shown = visible(str(text))
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def table(judgement: Judgement, each: int = EACH, width: int = WIDE) -> Table:
    """All good arms and the first of the others, with columns that fit the terminal.

    A narrow terminal omits the guarantee, which is the same for all arms and stated in the notes. With segments, times
    or a control it also omits the rows needed, and the guarantee needs a wider terminal.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    arms, question = judgement.arms, judgement.question
    wide, crowded = width >= WIDE, bool(judgement.by or question.kind.differences) or arms.when is not None
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in judgement.by:
        made.add_column(visible(name), overflow="fold")
    made.add_column("arm", style="bold", overflow="fold", min_width=NARROWEST)
    cells: dict[str, Callable[[int], Text]] = {
        visible(question.counted) if question.unit else "samples": lambda i: Text(whole(arms.pulls[i])),
        question.asked.labels.estimate: lambda i: Text(estimate(arms.mean[i], question)),
    }
    if not np.isnan(arms.low).all():
        cells["interval"] = lambda i: Text(interval(arms.low[i], arms.high[i], question))
    for name in cells:
        made.add_column(name, justify="right", no_wrap=True)
    cells["verdict"] = lambda i: Text(_verdict(judgement, i), style=STYLES[int(arms.verdict[i])])
    made.add_column("verdict", no_wrap=True)
    if width >= (WIDER if crowded else WIDE):
        cells["guarantee"] = lambda i: Text(judgement.guarantee if arms.verdict[i] else "", overflow="fold")
        made.add_column("guarantee", overflow="fold")
    if wide or not crowded:
        cells[question.needs_label] = lambda i: Text("" if arms.verdict[i] else needed(arms.needs[i]))
        made.add_column(question.needs_label, justify="right", no_wrap=True)
    if (when := arms.when) is not None:
        cells["known at"] = lambda i: Text("" if when[i] is None else str(when[i]))
        made.add_column("known at", no_wrap=True)
    for value in (1, -1, 0):
        for i in np.flatnonzero(arms.verdict == value)[: None if value == 1 else each]:
            names = [Text(_name(key[i])) for key in (*arms.segment, arms.arm)]
            made.add_row(*names, *(cell(int(i)) for cell in cells.values()))
    return made


def _verdict(judgement: Judgement, i: int) -> str:
    return judgement.arms.word(i, judgement.verdict_labels)


def left_out(judgement: Judgement, each: int = EACH) -> Iterator[str]:
    """Note on rows that the terminal does not show."""
    for value in (-1, 0):
        more = int((judgement.arms.verdict == value).sum()) - each
        if more > 0:
            yield f"{more:,} more {judgement.verdict_labels[value]}; --out writes all"
