"""What is out: tickets and blocks that somebody has and has not told, oldest first."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from goodarm.arguments import check_whole
from goodarm.campaign.fold import Fold
from goodarm.campaign.rows import iso
from goodarm.campaign.tickets import spell


class WaitingTicket(NamedTuple):
    """A ticket, or a block, that is out.

    arm      : None for a block
    pulls    : rewards that are missing; 1 for a ticket
    asked_at : as ISO 8601 in UTC; `seconds` ago
    overdue  : whether it has been out for longer than the campaign's `after`
    """

    ticket: str
    arm: str | None
    pulls: int
    asked_at: str
    seconds: float
    overdue: bool
    case: str | None = None


def waiting_of(fold: Fold, now: float, limit: int) -> list[WaitingTicket]:
    """Tickets are numbered in the order of asking, so that the smallest numbers are the oldest."""
    most = check_whole("limit", limit, 1)
    out = [*islice(fold.pending, most), *islice(fold.blocks, most)]
    return [_waiting(fold, ticket, now) for ticket in sorted(out)[:most]]


def _waiting(fold: Fold, ticket: int, now: float) -> WaitingTicket:
    if ticket in fold.blocks:
        arm, pulls, at = None, fold.blocks[ticket].pending, fold.blocks[ticket].at
    else:
        number, at = fold.pending[ticket]
        arm, pulls = fold.books[number].entry.id, 1
    age = max(now - at, 0.0)
    overdue = fold.terms.after is not None and age > fold.terms.after
    case = fold.case_name(fold.cases.get(ticket))
    return WaitingTicket(spell(fold.terms.key, ticket), arm, pulls, iso(at), age, overdue, case)
