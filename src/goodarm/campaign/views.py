"""The rows that a campaign shows, derived from its fold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from goodarm.campaign import fold as states
from goodarm.campaign.audit import evidence_of, needed
from goodarm.campaign.doubts import doubt
from goodarm.campaign.fold import Book, Fold
from goodarm.campaign.intervals import intervals
from goodarm.campaign.overdue import NOTHING, Cost, costs
from goodarm.campaign.rows import ArmRow, Tally, Verdicts, iso, unknown_as_nan
from goodarm.errors import InvalidValue
from goodarm.problem import Bounded
from goodarm.question import OPEN

if TYPE_CHECKING:
    from goodarm.planning import Remaining

SHOWN_STATUS = {states.PAUSED: "suspended"}
"""Words that people read where the journal has others."""


def arm_rows(fold: Fold, arms: Iterable[int], now: float | None = None) -> list[ArmRow]:
    """Several arms as they are now; without a time, as they were after the newest entry."""
    wanted = list(arms)
    found = intervals(fold, (arm for arm in wanted if fold.books[arm].decision is None))
    late = costs(fold, fold.at if now is None else now, wanted)
    return [_row(fold, arm, found.get(arm, (math.nan, math.nan)), late.get(arm, NOTHING)) for arm in wanted]


def announce(callbacks: Iterable[Callable[[ArmRow], None]], row: ArmRow) -> None:
    """Call all of them, though some raise: each hears of a verdict once. The first error is raised afterwards."""
    errors: list[Exception] = []
    for callback in list(callbacks):
        try:
            callback(row)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _row(fold: Fold, arm: int, ends: tuple[float, float], late: Cost) -> ArmRow:
    book, terms = fold.books[arm], fold.terms
    decision, question = book.decision, terms.question
    judged = question.judges(book.entry.id)
    if decision:
        kept = (decision[name] for name in ("low", "high", "evidence", "needed"))
        low, high, evidence, enough = map(unknown_as_nan, kept)
    else:
        low, high = ends
        evidence, enough = (each(fold, arm, OPEN) if judged else math.nan for each in (evidence_of, needed))
    return ArmRow(
        arm=book.entry.id,
        label=book.entry.label or book.entry.id,
        verdict=decision["verdict"] if decision else question.undecided(book.entry.id),
        status=SHOWN_STATUS.get(book.status, book.status),
        guarantee=decision["guarantee"] if decision else str(terms.made.guarantee),
        pulls=book.told,
        pending=book.pending,
        total=book.total,
        mean=question.estimate(book.entry.id, fold.totals_of),
        low=low,
        high=high,
        evidence=evidence,
        needed=enough,
        decided_at=iso(decision["at"]) if decision else None,
        weight=book.weight,
        missing=book.missing,
        void=book.void,
        metadata=book.entry.metadata,
        overdue=late.tickets,
        held_back=late.held_back,
        sign=question.sign(decision["verdict"]) if decision else 0,
    )


def verdicts_of(fold: Fold, now: float) -> Verdicts:
    """All arms, decided and open."""
    tally = tally_of(fold, now)
    return Verdicts(tally.good, tally.bad, tally.open, arm_rows(fold, range(len(fold.books)), now))


def tally_of(fold: Fold, now: float) -> Tally:
    """Counts over all arms. A retired arm without a verdict is neither good, bad nor open."""
    good = bad = suspended = retired = told = missing = void = 0
    question = fold.terms.question
    arms = len(fold.books) - len(question.references)
    for book in fold.books:
        sign = question.sign(book.decision["verdict"]) if book.decision else 0
        good += sign > 0
        bad += sign < 0
        undecided = not sign and question.judges(book.entry.id)
        retired += undecided and book.status == states.RETIRED
        suspended += undecided and book.status == states.PAUSED
        told += book.told
        missing += book.missing
        void += book.void
    pending = len(fold.pending) + sum(block.pending for block in fold.blocks.values())
    late = costs(fold, now).values()
    return Tally(
        arms=arms,
        good=good,
        bad=bad,
        open=arms - good - bad - retired,
        suspended=suspended,
        retired=retired,
        pending=pending,
        overdue=sum(each.tickets for each in late),
        told=told,
        missing=missing,
        void=void,
        late=fold.late,
        ended=fold.ended,
        held_back=sum(each.held_back != "" for each in late),
        waiting=sum(each.waiting for each in late),
        doubt=doubt(fold),
    )


def is_open(book: Book) -> bool:
    """Has the arm neither a verdict nor been retired?"""
    return book.decision is None and book.status != states.RETIRED


def remaining_of(fold: Fold, draws: int) -> Remaining:
    """Expected further pulls of each arm; 0 for those that are not open."""
    from goodarm.planning import remaining  # a first ask need not wait for it

    question = fold.terms.question
    if question.no_forecast:
        raise InvalidValue(question.no_forecast)
    rewards, told = fold.terms.rewards, [book.told for book in fold.books]
    bounded = isinstance(rewards, Bounded)
    totals = [min(book.total, book.told) if bounded else book.total for book in fold.books]
    left = remaining(
        told,
        totals,
        threshold=question.bar,
        delta=fold.terms.delta,
        draws=draws,
        scale=None if bounded else rewards.sigma(),
    )
    still = np.array([is_open(book) for book in fold.books])
    median, low, high, expected, beyond = (
        np.where(still, each, 0.0) for each in (left.median, left.low, left.high, left.expected, left.beyond)
    )
    return left._replace(median=median, low=low, high=high, expected=expected, beyond=beyond)


def pulls_to_finish(fold: Fold, draws: int = 25) -> float | None:
    """About how many more samples until no arm is undecided; None where that can't be estimated."""
    if fold.terms.question.no_forecast or not any(map(is_open, fold.books)):
        return None
    return float(remaining_of(fold, draws).median.sum())


def nearest(fold: Fold, many: int, now: float | None = None) -> list[ArmRow]:
    """The open arms with the most evidence, nearest to their verdict first."""
    judges = fold.terms.question.judges
    still = [book.number for book in fold.books if is_open(book) and judges(book.entry.id)]
    rows = {arm: fold.step.row(arm) for arm in still}
    still.sort(key=lambda arm: -max(rows[arm].for_good, rows[arm].for_bad))
    return arm_rows(fold, still[:many], now)
