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
from goodarm.engine.control import ControlStep
from goodarm.engine.live import OFFSET, PENDING_COLUMN, TOLD_BAD, TOLD_GOOD
from goodarm.rules.beliefs import ARM_FIELDS, FOR_BAD, FOR_GOOD, PULLS, TOTAL, read_arm_with_row


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
    if counts:
        fold.step.refresh()
    wanted = counts if arms is None else [arm for arm in arms if arm in counts]
    return {arm: _cost(fold, arm, counts[arm]) for arm in wanted}


def _cost(fold: Fold, arm: int, tickets: int) -> Cost:
    book = fold.books[arm]
    if fold.in_order:
        return Cost(tickets, waiting=book.told - int(fold.step.state.arms[arm, PULLS]))
    return Cost(tickets, _without(fold, arm, tickets) if book.decision is None else "")


def _without(fold: Fold, arm: int, tickets: int) -> str:
    """The verdict that the arm would have without this many of its pending tickets; under fdr only what is certain.

    Against a control the tickets of two arms play a part, and no answer is given.
    """
    step = fold.step
    if isinstance(step, ControlStep):
        return ""
    row = step.state.arms[arm : arm + 1].copy()
    memory, budget = row[0, ARM_FIELDS:], step.assembly.bar.budget
    if step.parts.evidence is not None:
        if max(memory[TOLD_GOOD], memory[TOLD_BAD]) + memory[OFFSET] < budget:
            return ""  # the told rewards would not suffice even if nothing were out
        row[0, PENDING_COLUMN] -= tickets
        row[0, FOR_GOOD], row[0, FOR_BAD] = step.parts.evidence(
            row[0, PULLS], row[0, TOTAL], memory, step.assembly.bar, *step.assembly.parameters[1]
        )
    else:
        row[0, PENDING_COLUMN] -= tickets
    found = step.parts.decide(
        read_arm_with_row(row, 0), step.state.pool, step.assembly.bar, step.assembly.parameters[2]
    )
    sign = int(found)
    return fold.terms.question.word(sign) if sign else ""
