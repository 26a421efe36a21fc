"""A judgement for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from goodarm.judgement import Judgement
from goodarm.judgement.words import Doubt, estimate, interval, looks, needed, visible, whole

if TYPE_CHECKING:
    from rich.table import Table

EACH = 20
"""Maximum number of rows of bad arms, and of undecided arms, in the terminal."""
WIDE, WIDER, NARROWEST = 100, 132, 14
"""Terminal width in which the whole table fits, also with segments, times or a control; minimum letters of a name."""
SEGMENT, SPACES = 8, 2
"""Minimum letters of a segment's value, and the number of spaces of a column."""
LONGEST = 100
"""Maximum letters of a name in the terminal."""
STYLES = {1: "green", -1: "red", 0: ""}


def notes(judgement: Judgement) -> Iterator[str]:
    """Conditions of the guarantee, automatic choices, and other notes; warnings follow the sentence."""
    yield f"verdicts are {judgement.rule_guarantee} if"
    yield from (f"- {visible(each)}" for each in judgement.conditions)
    yield from (visible(note) for note in (*judgement.notes, looks(judgement.options)) if not isinstance(note, Doubt))


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
    or a control it also omits the rows needed, and the guarantee needs a wider terminal. With several segments it may
    omit the samples, and then the mean. The interval and the verdict are never cut.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    arms, options = judgement.arms, judgement.options
    wide, crowded = width >= WIDE, bool(judgement.by or options.kind.differences) or arms.when is not None
    rows = [
        int(i) for value in (1, -1, 0) for i in np.flatnonzero(arms.verdict == value)[: None if value == 1 else each]
    ]
    cells: dict[str, Callable[[int], Text]] = {
        visible(options.counted) if options.unit else "samples": lambda i: Text(whole(arms.pulls[i])),
        options.question.labels.estimate: lambda i: Text(estimate(arms.mean[i], options)),
    }
    numbers = list(cells)
    if not np.isnan(arms.low).all():
        cells["interval"] = lambda i: Text(interval(arms.low[i], arms.high[i], options))
    cells["verdict"] = lambda i: Text(_verdict(judgement, i), style=STYLES[int(arms.verdict[i])])
    if width >= (WIDER if crowded else WIDE):
        cells["guarantee"] = lambda i: Text(judgement.guarantee if arms.verdict[i] else "", overflow="fold")
    if wide or not crowded:
        cells[options.needs_label] = lambda i: Text("" if arms.verdict[i] else needed(arms.needs[i]))
    if (when := arms.when) is not None:
        cells["known at"] = lambda i: Text("" if when[i] is None else str(when[i]))
    taken = {name: _widest(name, (cell(i).plain for i in rows)) + SPACES for name, cell in cells.items()}
    taken["guarantee"] = len("guarantee") + SPACES if "guarantee" in cells else 0
    headings = [*map(visible, judgement.by), "arm"]
    keys = [[_name(key[i]) for i in rows] for key in (*arms.segment, arms.arm)]
    leasts = [*(SEGMENT for _ in judgement.by), NARROWEST]
    natural = [_widest(heading, each_key) for heading, each_key in zip(headings, keys, strict=True)]

    def room() -> int:
        return width - SPACES * len(headings) - sum(taken[name] for name in cells)

    for name in numbers:
        if room() < sum(min(letters, least) for letters, least in zip(natural, leasts, strict=True)):
            del cells[name]
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for heading, most in zip(headings, shared(natural, max(room(), len(headings))), strict=True):
        made.add_column(heading, style="bold" if heading is headings[-1] else "", overflow="fold", max_width=most)
    for name in cells:
        left = name in ("verdict", "guarantee", "known at")
        made.add_column(name, justify="left" if left else "right", no_wrap=name != "guarantee", overflow="fold")
    for j, i in enumerate(rows):
        made.add_row(*(Text(each_key[j]) for each_key in keys), *(cell(i) for cell in cells.values()))
    return made


def _widest(heading: str, texts: Iterable[str]) -> int:
    return max(len(heading), *map(len, texts), 0)


def shared(natural: Sequence[int], room: int) -> list[int]:
    """Widths of columns in this room: those that need less than an equal share get what they need.

    >>> shared([4, 30, 20], 40), shared([4, 8], 40)
    ([4, 18, 18], [4, 8])
    """
    found, left = list(natural), room
    for done, place in enumerate(sorted(range(len(natural)), key=natural.__getitem__)):
        found[place] = min(natural[place], max(1, left // (len(natural) - done)))
        left -= found[place]
    return found


def _verdict(judgement: Judgement, i: int) -> str:
    return judgement.arms.word(i, judgement.verdict_labels)


def left_out(judgement: Judgement, each: int = EACH) -> Iterator[str]:
    """Note on rows that the terminal does not show."""
    for value in (-1, 0):
        more = int((judgement.arms.verdict == value).sum()) - each
        if more > 0:
            yield f"{more:,} more {judgement.verdict_labels[value]}; --out writes all"
