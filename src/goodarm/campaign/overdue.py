"""Tickets that have been out for too long, and what they cost: verdicts held back, and rewards that wait for them.

By totals, every ticket that is out counts at its worst: an arm might have been decided long ago but for the tickets
that nobody answers. In the order of asking, told rewards wait behind them. What would follow without them is computed
here and decides nothing: to void a ticket *because* a verdict would follow is a reason that depends on its reward.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from goodarm.campaign.fold import Fold


class Cost(NamedTuple):
    """What the overdue tickets of one arm cost.

    tickets   : how many of them there are
    held_back : the verdict that would be there if they had never been asked for; empty if there would be none
    waiting   : told rewards that wait behind them, for rules in the order of asking
    """

    tickets: int
    held_back: str = ""
    waiting: int = 0


NOTHING = Cost(0)


def overdue_tickets(fold: Fold, now: float) -> Counter[int]:
    """How many tickets of each arm have been out for longer than `after`."""
    counts: Counter[int] = Counter()
    after = fold.terms.after
    if after is None:
        return counts
    for arm, at in fold.pending.values():
        if now - at > after:
            counts[arm] += 1
    for block in fold.blocks.values():
        if now - block.at > after:
            counts.update(block.out)
    return counts


def costs(fold: Fold, now: float, arms: Iterable[int] | None = None) -> dict[int, Cost]:
    """What they cost, arm by arm; arms without any are left out."""
    counts = overdue_tickets(fold, now)
    wanted = counts if arms is None else [arm for arm in arms if arm in counts]
    return {arm: _cost(fold, arm, counts[arm]) for arm in wanted}


def _cost(fold: Fold, arm: int, tickets: int) -> Cost:
    book = fold.books[arm]
    if fold.in_order:
        return Cost(tickets, waiting=book.told - int(fold.step.row(arm).pulls))
    held = fold.step.verdict_without(arm, tickets) if book.decision is None else 0
    return Cost(tickets, fold.terms.question.word(held) if held else "")
