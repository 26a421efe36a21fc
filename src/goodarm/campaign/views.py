"""The rows that a campaign shows, derived from its fold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.arguments import check_whole
from goodarm.campaign import fold as states
from goodarm.campaign.audit import evidence_of, intervals, metrics, needed
from goodarm.campaign.doubts import doubt, refuted
from goodarm.campaign.fold import Book, Fold
from goodarm.campaign.rows import (
    FEWER,
    FOUND,
    ArmRow,
    Bounds,
    Finish,
    PendingTicket,
    Shown,
    Tally,
    Verdicts,
    figure,
    iso,
)
from goodarm.campaign.terms import Terms
from goodarm.campaign.tickets import spell
from goodarm.campaign.words import duration_words
from goodarm.errors import GoodarmError, InvalidValue
from goodarm.forecast import Forecast
from goodarm.problem import Bounded
from goodarm.question import OPEN
from goodarm.rules.parameters import take
from goodarm.wire import unknown_as_nan

if TYPE_CHECKING:
    from goodarm.planning import Remaining
    from goodarm.simulation.stop import Stop

SHOWN_STATUS = {states.PAUSED: "suspended"}
"""Words shown to people in place of the journal's."""


def arm_rows(fold: Fold, arms: Iterable[int], now: float | None = None) -> list[ArmRow]:
    """Rows of these arms at the time `now`, by default that of the newest entry."""
    wanted = list(arms)
    if not wanted:
        return []
    found = intervals(fold, (arm for arm in wanted if fold.books[arm].decision is None))
    late = overdue(fold, fold.at if now is None else now, wanted)
    return [_row(fold, arm, found.get(arm, (math.nan, math.nan)), late.get(arm, NOTHING)) for arm in wanted]


def announce(callbacks: Iterable[Callable[[ArmRow], None]], row: ArmRow) -> None:
    """Call every callback, even if some raise. The first error is raised afterwards."""
    errors: list[Exception] = []
    for callback in list(callbacks):
        try:
            callback(row)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _row(fold: Fold, arm: int, ends: tuple[float, float], late: Overdue) -> ArmRow:
    book, terms = fold.books[arm], fold.terms
    decision, question = book.decision, terms.question
    judged = question.judges(book.entry.id)
    if decision:
        kept = (decision[name] for name in ("low", "high", "evidence", "needed"))
        low, high, evidence, enough = map(unknown_as_nan, kept)
    else:
        low, high = ends
        evidence, enough = (each(fold, arm, OPEN) if judged else math.nan for each in (evidence_of, needed))
    if judged and _is_exact(fold, book):
        low = high = fold.estimate(arm)
    sign = question.sign(decision["verdict"]) if decision else 0
    states = decision.get("metrics", []) if decision else [state.as_json() for state in metrics(fold, arm)]
    return ArmRow(
        arm=book.entry.id,
        label=book.entry.label or book.entry.id,
        verdict=question.word(sign) if decision else question.undecided(book.entry.id),
        status=SHOWN_STATUS.get(book.status, book.status),
        guarantee=terms.label(decision["guarantee"] if decision else str(terms.made.guarantee)) + refuted(fold),
        pulls=book.told,
        pending=book.pending,
        total=question.shown_total(book.total),
        mean=fold.estimate(arm),
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
        sign=sign,
        cost=book.entry.price,
        metrics=states,
        failed=next((state["metric"] for state in states if state["failed"]), ""),
    )


def _is_exact(fold: Fold, book: Book) -> bool:
    """Whether every case of the arm, and of the arms it is compared with, is told. The estimate is then exact."""
    if fold.terms.cases is None:
        return False
    results = fold.terms.cases.count * fold.terms.repeats
    compared = (fold.books[fold.index[arm]] for arm in fold.terms.question.references)
    return all(each.told == results for each in (book, *compared))


def verdicts_of(fold: Fold, now: float, name: str = "") -> Verdicts:
    """All arms, decided and undecided."""
    tally = tally_of(fold, now)
    return Verdicts(
        tally.good,
        tally.bad,
        tally.open,
        arm_rows(fold, range(len(fold.books)), now),
        fold.terms.question.labels.estimate,
        Shown(name, fold.terms, tally),
    )


def tally_of(fold: Fold, now: float) -> Tally:
    """Counts over all arms. A retired arm without a verdict counts as neither good, bad nor undecided."""
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
    late = overdue(fold, now).values()
    used_up = not fold.ended and arms > good + bad + retired and fold.used_up
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
        ended=fold.ended or fold.found or used_up,
        held_back=sum(each.held_back != "" for each in late),
        waiting=sum(each.waiting for each in late),
        doubt=doubt(fold),
        answer=_answer(fold, undecided=arms - good - bad),
        spent=float(fold.spent),
        budget=fold.terms.budget,
        used_up=used_up,
    )


def _answer(fold: Fold, undecided: int) -> str:
    """The answer of a campaign with `stop_after`: the good arms are found, or certain not to exist.

    A suspended or retired arm without a verdict may be good, so there is no second answer while one exists.
    """
    if fold.terms.stop_after is None:
        return ""
    return FOUND if fold.found else "" if undecided else FEWER


def bounds_of(fold: Fold, arm: int | None = None) -> Bounds:
    """alpha and beta of the policy, at one arm if given; NaN where its rules have no such bound."""
    now = fold.step.bounds(arm)
    alpha, beta = (float(now.get(name, math.nan)) for name in ("alpha", "beta"))
    return Bounds(alpha if math.isfinite(alpha) else math.nan, beta, fold.terms.made.learner is not None)


def is_open(book: Book) -> bool:
    """Whether the arm has no verdict and is not retired."""
    return book.decision is None and book.status != states.RETIRED


def remaining_of(fold: Fold, draws: int) -> Remaining:
    """Expected further samples of each arm; 0 for those that are not undecided."""
    return forecast_of(fold, draws)(None)._replace(arms=tuple(book.entry.id for book in fold.books))


def forecast_of(fold: Fold, draws: int) -> Callable[[Stop | None], Remaining]:
    """The same as a function of a copy of the present state, which another thread can run."""
    from goodarm.planning import remaining  # imported late, so a first ask does not wait for it

    question = fold.terms.question
    if question.no_forecast:
        raise InvalidValue(question.no_forecast)
    rewards, times = fold.terms.rewards, fold.terms.repeats
    told = [book.told / times for book in fold.books]
    bounded = isinstance(rewards, Bounded)
    sums = [question.shown_total(book.total) for book in fold.books]
    totals = [min(total, book.told) / times if bounded else total for total, book in zip(sums, fold.books, strict=True)]
    still = np.array([is_open(book) for book in fold.books])
    ask = partial(
        remaining,
        told,
        totals,
        threshold=question.bar,
        delta=fold.terms.delta,
        draws=draws,
        scale=None if bounded else rewards.sigma(),
        cases=None if fold.terms.cases is None else fold.terms.cases.count,
    )

    def forecast(stop: Stop | None) -> Remaining:
        left = ask(stop=stop)
        median, low, high, expected, beyond = (
            np.where(still, each, 0.0) for each in (left.median, left.low, left.high, left.expected, left.beyond)
        )
        median, low, high, expected = (times * each for each in (median, low, high, expected))
        return left._replace(median=median, low=low, high=high, expected=expected, beyond=beyond)

    return forecast


def finish_of(fold: Fold) -> Finish | None:
    """Further samples until every arm is decided; before the first reward, the plan. None if there is no estimate."""
    return finishing(fold)(None)


def finishing(fold: Fold) -> Callable[[Stop | None], Finish | None]:
    """The same as a function of a copy of the present state, which another thread can run.

    Rewards whose spread is not declared (`bet-mixture` outside of a fixed test set) can't be forecast from the totals.
    The plan assumes arms without a model, so policies with one have none before their first reward.
    """
    terms, question = fold.terms, fold.terms.question
    open_arms = np.array([book.number for book in fold.books if is_open(book)], dtype=np.intp)
    by_spread = terms.made.identification.name == "bet-mixture" and terms.cases is None
    ends_early = terms.stop_after is not None or terms.budget is not None or fold.ended
    if question.no_forecast or by_spread or ends_early or not open_arms.size:
        return lambda stop: None
    times, bounded = terms.repeats, isinstance(terms.rewards, Bounded)
    pulls = np.array([book.told / times for book in fold.books], dtype=np.float64)
    totals = np.array([question.shown_total(book.total) / times for book in fold.books], dtype=np.float64)
    if not pulls.sum() and terms.cases is None:
        return (lambda stop: None) if terms.made.model is not None else partial(_planned, terms, len(fold.books))
    levels = np.array([-math.log(terms.delta * book.weight) for book in fold.books])
    return partial(_to_finish, terms, pulls, np.clip(totals, 0.0, pulls) if bounded else totals, levels, open_arms)


def _planned(terms: Terms, arms: int, stop: Stop | None) -> Finish | None:
    from goodarm.planning.quick import LIMIT, quick_plan  # imported late, so a first ask does not wait for it

    try:
        made = quick_plan(question=terms.question, arms=arms, delta=terms.delta, rewards=terms.rewards, seed=terms.seed)
    except GoodarmError:  # no plan exists for these rewards
        return None
    found = Forecast(made.median, made.low, made.high)
    if found.told and found.high < LIMIT:
        return Finish(*found, made.guess)
    return Finish(*made.to_half, made.guess, share=0.5) if made.to_half.told else None


def _to_finish(
    terms: Terms,
    pulls: NDArray[np.float64],
    totals: NDArray[np.float64],
    levels: NDArray[np.float64],
    open_arms: NDArray[np.intp],
    stop: Stop | None,
) -> Finish | None:
    from goodarm.planning.under_way import to_finish

    rule = terms.made.identification
    values = take(terms.made.setting.identification, rule.defaults)
    order, times = terms.made.sampling.prefers, terms.repeats
    found, near, look_bad, for_bad, half, ninety = to_finish(
        pulls, totals, terms.problem, rule, values, levels, open_arms, quick_first=order == "quick"
    )
    if not math.isfinite(found.low) or not (found.told or pulls[open_arms].all()):
        return None  # not even a lower end can be estimated for an arm without rewards
    high = found.high if found.told else math.inf
    waiting = look_bad if order == "good" and 2 * look_bad >= open_arms.size else 0
    if not pulls.sum():  # a fixed test set before its first reward
        return Finish(times * found.median, times * found.low, times * high, UNKNOWN_MEANS, near=near)
    ahead = Finish(times * found.median, times * found.low, times * high, near=near)
    ahead = ahead._replace(half=times * half, ninety=times * ninety)
    return ahead._replace(waiting=waiting, waiting_samples=times * for_bad) if waiting else ahead


UNKNOWN_MEANS = "means anywhere from 0 to 100%"
"""The assumption about the arms of a fixed test set before their first reward."""


def nearest(fold: Fold, many: int, now: float | None = None) -> list[ArmRow]:
    """The undecided arms closest to a verdict, closest first."""
    judges = fold.terms.question.judges
    still = [book.number for book in fold.books if is_open(book) and judges(book.entry.id)]
    rows = {arm: fold.step.row(arm) for arm in still}
    still.sort(key=lambda arm: -max(rows[arm].for_good, rows[arm].for_bad))
    return arm_rows(fold, still[:many], now)


# Pending tickets, and the effects of overdue ones: verdicts held back, and rewards that wait for them.
# By totals, every pending ticket counts at its worst, so an arm may lack a verdict only because of unanswered tickets.
# In the order of asking, told rewards wait behind them. The verdicts without these tickets are computed here for
# information only: voiding a ticket *because* a verdict would follow is a reason that depends on its reward.


class Overdue(NamedTuple):
    """Effects of the overdue tickets of one arm.

    tickets   : number of overdue tickets
    held_back : the verdict that the arm would have without these tickets; empty if none
    waiting   : told rewards that wait behind them, for rules in the order of asking
    """

    tickets: int
    held_back: str = ""
    waiting: int = 0


NOTHING = Overdue(0)


MANY_TICKETS = 1_000
"""Number of later tickets from which a ticket counts as overdue, if the terms have no `after`."""


def is_overdue(fold: Fold, ticket: int, at: float, now: float) -> bool:
    """Whether a reward has been missing for longer than `after`; without `after`, for more than 1,000 later tickets."""
    after = fold.terms.after
    if after is not None:
        return now - at > after
    return fold.units is None and fold.tickets - ticket > MANY_TICKETS


def overdue_tickets(fold: Fold, now: float) -> Counter[int]:
    """Number of overdue tickets of each arm."""
    counts: Counter[int] = Counter()
    for ticket, (arm, at) in fold.pending.items():
        if is_overdue(fold, ticket, at, now):
            counts[arm] += 1
    for ticket, block in fold.blocks.items():
        if is_overdue(fold, ticket, block.at, now):
            counts.update(block.out)
    return counts


def overdue(fold: Fold, now: float, arms: Iterable[int] | None = None) -> dict[int, Overdue]:
    """Effects of overdue tickets per arm; arms without any are left out."""
    counts = overdue_tickets(fold, now)
    wanted = counts if arms is None else [arm for arm in arms if arm in counts]
    return {arm: _overdue(fold, arm, counts[arm]) for arm in wanted}


def _overdue(fold: Fold, arm: int, tickets: int) -> Overdue:
    book = fold.books[arm]
    if fold.in_order:
        return Overdue(tickets, waiting=book.told - fold.terms.repeats * int(fold.step.row(arm).pulls))
    held = fold.step.verdict_without(arm, tickets) if book.decision is None else 0
    return Overdue(tickets, fold.terms.question.word(held) if held else "")


def pending_of(fold: Fold, now: float, limit: int | None) -> list[PendingTicket]:
    """The oldest tickets, or all. Tickets are numbered in the order of asking, so these have the smallest numbers."""
    most = None if limit is None else check_whole("limit", limit, 1)
    out = [*islice(fold.pending, most), *islice(fold.blocks, most)]
    return [_pending(fold, ticket, now) for ticket in sorted(out)[:most]]


LONG = 3600.0
"""Age in seconds from which a ticket without a time limit counts as abandoned."""


def abandoned(fold: Fold, now: float) -> str:
    """A hint about tickets whose worker seems to have died; empty if there are none.

    If the terms name a time after which tickets are overdue, the campaign deals with them itself.
    """
    oldest = pending_of(fold, now, 1)
    terms = fold.terms
    if fold.ended or terms.after is not None or terms.units is not None or not oldest or oldest[0].seconds < LONG:
        return ""
    many = len(fold.pending) + len(fold.blocks)
    tickets = "1 ticket is" if many == 1 else f"{many:,} tickets are"
    return (
        f"{tickets} out, the oldest for {duration_words(round(oldest[0].seconds, -2))}. They count at their worst "
        "until they are told. If their workers died, evaluate what campaign.waiting() lists, or withdraw a ticket with "
        'campaign.void(ticket, reason). Campaigns created with after="30min" and unanswered="void" do that themselves.'
    )


def _pending(fold: Fold, ticket: int, now: float) -> PendingTicket:
    if ticket in fold.blocks:
        arm, pulls, at = None, fold.blocks[ticket].pending, fold.blocks[ticket].at
    else:
        number, at = fold.pending[ticket]
        arm, pulls = fold.books[number].entry.id, 1
    age = max(now - at, 0.0)
    overdue = is_overdue(fold, ticket, at, now)
    case = fold.case_name(fold.cases.get(ticket))
    unit = None if fold.units is None else fold.units.open[ticket].unit
    return PendingTicket(spell(fold.terms.key, ticket), arm, pulls, iso(at), age, overdue, case, unit)


# In a notebook


def html(text: str, fold: Fold) -> str:
    """HTML with the text and a small table."""
    lines = "".join(f"<p>{escape(line)}</p>" for line in text.split("\n"))
    rows = "".join(
        f"<tr><td>{escape(row.label)}</td><td>{row.pulls:,}</td><td>{row.pending:,}</td><td>{figure(row.mean)}</td>"
        f"<td>{row.interval_words}</td><td>{row.evidence_words}</td></tr>"
        for row in nearest(fold, 10)
    )
    if not rows:
        return lines
    names = ("nearest to a verdict", "samples", "out", fold.terms.question.labels.estimate, "interval", "evidence")
    heads = "".join(f"<th>{head}</th>" for head in names)
    return f"{lines}<table><tr>{heads}</tr>{rows}</table>"
