"""The state of a campaign, folded from its journal alone.

Only `Fold.apply` changes the state, for entries being written and for entries read back. The engine's live step applies
the rules. The fold keeps the rest: ids, tickets, times, and the verdicts recorded in the journal.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.arguments import exact
from goodarm.campaign import journal
from goodarm.campaign.arms import ArmEntry
from goodarm.campaign.cases import Draw, order_key
from goodarm.campaign.doubts import scatter_of
from goodarm.campaign.journal import Event
from goodarm.campaign.pairs import Pairs
from goodarm.campaign.repeats import Repeats
from goodarm.campaign.terms import SOURCE, Terms, rules_fingerprint
from goodarm.campaign.tickets import OpenBlock, Part, Queue
from goodarm.campaign.units import UnitBook
from goodarm.engine.evidence import Setup
from goodarm.engine.live.step import Asked, LiveStep
from goodarm.errors import DamagedJournal
from goodarm.question import Reward, Totals
from goodarm.rules.sampling import ChoiceRule

OPEN, PAUSED, RETIRED = "open", "paused", "retired"


def summand(amount: float) -> int | Fraction:
    """Convert an amount to an exact number. Whole numbers become integers, which add much faster than fractions.

    >>> summand(3.0), summand(0.5)
    (3, Fraction(1, 2))
    """
    found = exact(amount)
    return found.numerator if found.denominator == 1 else found


class Book:
    """Counts, status and verdict of one arm."""

    __slots__ = (
        "asked",
        "cost",
        "decision",
        "draw",
        "entry",
        "first",
        "last",
        "missing",
        "number",
        "status",
        "told",
        "total",
        "void",
        "weight",
    )

    def __init__(self, number: int, entry: ArmEntry, weight: float, nothing: Reward = 0.0) -> None:
        self.number = number
        self.entry = entry
        self.weight = weight
        self.cost = summand(entry.price)
        """Exact cost of a sample, so that sums don't depend on the order of additions."""
        self.status = OPEN
        self.asked = 0
        """Number of tickets handed out, excluding void ones."""
        self.told = 0
        """Number of rewards told, including expired tickets that count as reward 0."""
        self.total = nothing
        self.missing = 0
        self.void = 0
        self.first: int | None = None
        self.last: int | None = None
        self.decision: dict[str, Any] | None = None
        """The audit of the verdict once the journal has it."""
        self.draw: Draw | None = None
        """The order in which the arm draws the cases of a fixed test set."""

    @property
    def drawn(self) -> int:
        """Tickets handed out, void ones included."""
        return self.asked + self.void

    @property
    def pending(self) -> int:
        return self.asked - self.told

    @property
    def totals(self) -> Totals:
        return Totals(self.asked, self.told, self.pending, self.total)


class Fold:
    """The state of a campaign after an entry of its journal."""

    def __init__(self, created: Event) -> None:
        if created.kind != journal.CREATED or created.number != 1:
            raise DamagedJournal(
                f"the journal begins with entry {created.number} ({created.kind}), not with 'created'."
            )
        terms = self.terms = Terms.from_json(created.content)
        self.step = new_step(terms)
        shares = zip(terms.arms, terms.shares, strict=True)
        self.books: list[Book] = []
        for arm, weight in shares:
            self.add_book(arm, weight)
        self.index = {arm.id: i for i, arm in enumerate(terms.arms)}
        self.number, self.chain, self.at = created.number, created.chain, created.at
        self.started = created.at
        self.tickets = 0
        """Number of tickets and blocks handed out so far."""
        self.pending: dict[int, tuple[int, float]] = {}
        """Pending tickets: the arm, and the time of asking."""
        self.cases: dict[int, int] = {}
        """The case of each pending ticket, on a fixed test set."""
        self.blocks: dict[int, OpenBlock] = {}
        self.deadlines: deque[tuple[float, int]] = deque()
        self.late = 0
        self.scatter = scatter_of(terms.rewards, len(terms.arms))
        """Scatter of the rewards, compared with the declared scale."""
        self.doubted = False
        self.ended = False
        self.budget = None if terms.budget is None else exact(terms.budget)
        self.spent: int | Fraction = 0
        """Total cost of the samples asked for, excluding void ones."""
        self.good = 0
        """Number of good verdicts in the journal."""
        self.undeclared: list[int] = []
        """Arms that the rules have decided. Their verdict entries must come next."""
        self.disagreement = ""
        """The first entry at which the present rules decide differently from the journal; empty if there is none."""
        self.intervals: dict[int, tuple[Any, float, float]] = {}
        """Cache of intervals, the slowest part to compute."""
        self._set_up()

    def _set_up(self) -> None:
        terms = self.terms
        self.rules = rules_fingerprint(terms.made)
        """Fingerprint of the rules in this process. They may be newer than the rules the campaign started with."""
        self.same_rules = self.rules == terms.rules if terms.rules.startswith(SOURCE) else None
        """Whether these are the rules the campaign started with; None if the journal does not record them."""
        self.in_order = not terms.by_totals
        self.pairs = Pairs(self.index[terms.paired_with]) if terms.paired_with is not None else None
        """Results of the arms and the control on the same cases."""
        self.repeats = Repeats(terms.repeats) if terms.repeats > 1 else None
        """Cases with repetitions that are not all told yet."""
        self.units = None if terms.units is None else UnitBook(terms.units, terms.question.bar)
        """Units whose reward is still to be told."""
        self.lapses = terms.closes_after is not None
        self.queues: dict[int, Queue] = {}
        self.draws = isinstance(terms.made.sampling, ChoiceRule)
        """Whether choosing draws random numbers. If so, a replay chooses at every ask, to draw the same numbers."""
        self._chosen: int | None = None
        self._asked_block = False
        self._handlers: dict[str, Callable[[Event], Iterable[int]]] = {
            journal.ADDED: self._added,
            journal.ASKED: self._asked,
            journal.ROW: self._row,
            journal.TOLD: self._told,
            journal.GIVEN: self._given,
            journal.VOID: self._void,
            journal.MISSING: self._missing,
            journal.LATE: self._late,
            journal.BLOCK: self._block,
            journal.PART: self._part,
            journal.REST: self._rest,
            journal.VERDICT: self._verdict,
            journal.PAUSED: self._paused,
            journal.RESUMED: self._resumed,
            journal.RETIRED: self._retired,
            journal.ENDED: self._ended,
            journal.REQUEST: _nothing,
            journal.NOTE: _nothing,
        }

    def add_book(self, entry: ArmEntry, weight: float) -> Book:
        """Add the book of one more arm."""
        terms, book = self.terms, Book(len(self.books), entry, weight, self.terms.question.nothing)
        if terms.cases is not None:
            book.draw = Draw(terms.cases, order_key(terms.key, terms.seed, book.number))
        self.books.append(book)
        return book

    def next_cases(self, arm: int, count: int = 1) -> list[int]:
        """The next cases that this arm draws."""
        book, repeats = self.books[arm], self.repeats
        owed = None if repeats is None else repeats.case_owed(arm)
        if owed is not None:
            return [owed]
        if self.pairs is not None and arm == self.pairs.control:
            due = self.pairs.due(self._needs_control)
            return [] if due is None else [due]
        place = book.drawn if repeats is None else repeats.places.get(arm, 0)
        return [book.draw.case(place + j) for j in range(count)] if book.draw is not None else []

    def case_name(self, case: int | None) -> str | None:
        """The id of a case."""
        return None if case is None or self.terms.cases is None else self.terms.cases.name(case)

    @property
    def found(self) -> bool:
        """Whether the campaign has found the `stop_after` good arms, after which it hands out no more tickets."""
        return self.terms.stop_after is not None and self.good >= self.terms.stop_after

    def choose(self) -> int:
        """The arm that the policy asks for next, -1 if none. The choice is cached until the next entry."""
        if self._chosen is None:
            chosen = -1 if self.found else self._preferred()
            self._chosen = -1 if chosen >= 0 and self._too_dear(chosen) else chosen
        return self._chosen

    def _preferred(self) -> int:
        """The arm to ask for next, ignoring the budget; -1 if every arm is decided."""
        owing = None if self.repeats is None else self.repeats.owing(self._is_asked_for)
        if owing is not None:
            return owing
        if self.pairs is not None and self.pairs.due(self._needs_control) is not None:
            return self.pairs.control
        return self.step.choose()

    def _is_asked_for(self, arm: int) -> bool:
        return self.books[arm].decision is None and self.books[arm].status == OPEN

    def _too_dear(self, arm: int) -> bool:
        budget = self.budget
        return budget is not None and self.spent + self.books[arm].cost > budget

    @property
    def used_up(self) -> bool:
        """Whether the next sample would exceed the budget."""
        budget = self.budget
        if budget is None or self.found:
            return False
        cheapest, dearest = self._prices
        if self.spent + dearest <= budget or self.spent + cheapest > budget:
            return self.spent + dearest > budget
        chosen = self._preferred()
        return chosen >= 0 and self._too_dear(chosen)

    @property
    def _prices(self) -> tuple[int | Fraction, int | Fraction]:
        """The smallest and the largest cost of a sample."""
        costs = {book.entry.price for book in self.books}
        return exact(min(costs)), exact(max(costs))

    def _needs_control(self, arm: int) -> bool:
        return self.books[arm].decision is None and self.books[arm].status != RETIRED

    def choose_block(self, pulls: int) -> dict[int, int]:
        """Choose many samples, per arm. They become pending at once, so the next entry must be this block."""
        if self.found:
            return {}
        counts = self._affordable(pulls)
        self._asked_block = bool(counts.any())  # if no arm is undecided, no entry follows
        return {int(arm): int(counts[arm]) for arm in np.flatnonzero(counts)}

    def _affordable(self, pulls: int) -> NDArray[np.int64]:
        """Choose this many samples, or fewer if the budget covers fewer at the largest cost, in several steps."""
        budget = self.budget
        if budget is None:
            return self.step.choose_block(pulls)
        counts, left, (_, dearest) = np.zeros(len(self.books), dtype=np.int64), budget - self.spent, self._prices
        while pulls:
            piece = min(pulls, int(left / dearest))
            if not piece:
                arm = self.step.choose()
                if arm < 0 or self.books[arm].cost > left:
                    break
                piece = 1
            more = self.step.choose_block(piece)
            if not more.any():
                break
            left -= sum(self.books[arm].cost * int(more[arm]) for arm in np.flatnonzero(more).tolist())
            counts += more
            pulls -= int(more.sum())
        return counts

    def apply(self, event: Event) -> None:
        """Apply the next entry of the journal."""
        handler = self._handlers.get(event.kind)
        if handler is None:
            raise DamagedJournal(
                f"entry {event.number} is of a kind that this goodarm does not know: {event.kind!r}. Upgrade goodarm."
            )
        if self.undeclared and event.kind != journal.VERDICT:
            self.disagree(f"entry {event.number - 1} decides {self.books[self.undeclared[0]].entry.id!r}, by the rules")
        decided = handler(event)
        if decided:
            self.undeclared.extend(decided)
        self.jump_to(event)

    def jump_to(self, event: Event) -> None:
        """Note that this is the newest entry that was applied."""
        self._chosen = None
        self.number, self.chain, self.at = event.number, event.chain, event.at

    def disagree(self, where: str) -> None:
        if not self.disagreement:
            self.disagreement = where
        self.undeclared.clear()

    # tickets

    def _asked(self, event: Event) -> Iterable[int]:
        arm, ticket = event.arm or 0, event.ticket or 0
        book = self.books[arm]
        if book.draw is not None:
            self.cases[ticket] = self._drawn_case(event, book)
        if self.units is not None:
            self.units.asked(event)
        book.asked += 1
        self.spent += book.cost
        book.last = ticket
        if book.first is None:
            book.first = ticket
        if self.draws:
            self.choose()
        if self.repeats is None or self.repeats.ask(ticket, arm, self.cases[ticket]):
            self._draw(ticket, book)
        self.tickets = ticket
        self.pending[ticket] = (arm, event.at)
        if self.lapses:
            self.deadlines.append((event.at, ticket))
        return ()

    def _draw(self, ticket: int, book: Book) -> None:
        """Tell the rules that one more sample of an arm is pending; on a fixed test set, a case."""
        if self.pairs is not None:
            self.pairs.ask(ticket, book.number, self.cases[ticket])
            if book.number == self.pairs.control:
                return
        if self.in_order:
            known = self._known(book, self.cases.get(ticket))
            self.queues.setdefault(book.number, Queue()).join(ticket, book.number, known)
        self.step.ask(book.number)

    def _known(self, book: Book, case: int | None) -> Asked:
        """The information that the bet on a ticket may depend on."""
        known = self.step.ticket(book.number)
        return (
            known if book.entry.scores is None or case is None else known._replace(tenth=int(book.entry.scores[case]))
        )

    def _row(self, event: Event) -> Iterable[int]:
        assert self.units is not None
        self.units.row(event)
        return ()

    def _told(self, event: Event) -> Iterable[int]:
        return self._came_back(event, self.terms.question.in_entry(event))

    def _missing(self, event: Event) -> Iterable[int]:
        self.books[self.pending[event.ticket or 0][0]].missing += 1
        return self._came_back(event, self.terms.question.nothing)

    def _void(self, event: Event) -> Iterable[int]:
        return self._came_back(event, None)

    def _given(self, event: Event) -> Iterable[int]:
        self._asked(event)
        return self._came_back(event, self.terms.question.in_entry(event))

    def _came_back(self, event: Event, reward: Any) -> Iterable[int]:
        ticket = event.ticket or 0
        if self.units is not None:
            self.units.closed(event)
        arm, _ = self.pending.pop(ticket)
        book = self.books[arm]
        case = self.cases.pop(ticket, None)
        if reward is None:
            book.asked -= 1
            self.spent -= book.cost
            book.void += 1
            again = self.repeats is not None or (self.pairs is not None and arm == self.pairs.control)
            if book.draw is not None and case is not None and not again:
                book.draw.void.append(case)
        else:
            book.told += 1
            book.total = self.terms.question.plus(book.total, reward)
        if self.repeats is not None:
            whole = self.repeats.tell(ticket, reward)
            if whole is None:
                return ()
            ticket, reward = whole
        if not self.in_order:
            return self._voided(arm, 1) if reward is None else self.step.absorb(arm, reward)
        if self.pairs is None or case is None:
            self.queues[arm].resolve(ticket, reward)
            return self._leave(arm)
        decided: list[int] = []
        for pair in list(self.pairs.tell(ticket, arm, case, reward)):
            self.queues[pair.arm].resolve(pair.ticket, pair.reward)
            decided += self._leave(pair.arm)
        return decided

    def _leave(self, arm: int) -> list[int]:
        """Absorb the rewards of an arm that no earlier ticket holds back; returns the arms that they decide."""
        decided: list[int] = []
        for each in self.queues[arm].leave():
            if each.reward is not None:
                self._note_scatter(each.arm, each.reward)
            decided += (
                self._voided(each.arm, 1)
                if each.reward is None
                else self.step.absorb(each.arm, each.reward, each.asked)
            )
        return decided

    def _voided(self, arm: int, count: int) -> list[int]:
        """Withdraw samples of an arm. An arm that had run out of cases becomes available, unless it is suspended."""
        decided = self.step.void(arm, count)
        if self.books[arm].status != OPEN:
            self.step.suspend(arm)
        return decided

    def _drawn_case(self, event: Event, book: Book) -> int:
        """The case in an entry, checked to be the next one in the arm's order."""
        case, expected = event.content["case"], next(iter(self.next_cases(book.number)), -1)
        if case != expected:
            raise DamagedJournal(
                f"entry {event.number} draws case {case} for {book.entry.id!r}, whose order has {expected} there. "
                "goodarm did not write this entry; restore the store from a backup."
            )
        return expected

    def _note_scatter(self, arm: int, reward: float) -> None:
        """Compare a reward with the declared scale, in the order of asking."""
        if self.scatter is not None:
            row = self.step.row(arm)
            self.scatter.note(arm, row.pulls, row.total, reward)

    def _late(self, event: Event) -> Iterable[int]:
        self.late += 1
        return ()

    # blocks

    def _block(self, event: Event) -> Iterable[int]:
        ticket = event.ticket or 0
        block = OpenBlock({int(arm): int(count) for arm, count in event.content["arms"]}, event.at)
        block.cases = {arm: self.next_cases(arm, count) for arm, count in block.out.items() if self.terms.cases}
        for arm, count in block.out.items():
            book = self.books[arm]
            book.asked += count
            self.spent += count * book.cost
            book.last = ticket
            if book.first is None:
                book.first = ticket
        if not self._asked_block:
            self.step.ask_block(self._counts(list(block.out.items())))
        self._asked_block = False
        self.tickets = ticket
        self.blocks[ticket] = block
        if self.lapses:
            self.deadlines.append((event.at, ticket))
        return ()

    def _part(self, event: Event) -> Iterable[int]:
        block, question = self.blocks[event.ticket or 0], self.terms.question
        rows: Part = []
        for arm, told, given in event.content["arms"]:
            total = question.total(given, told)
            if total is None:
                raise ValueError(f"{given!r} is no sum of {told} rewards")
            rows.append((int(arm), int(told), total))
            block.take(int(arm), int(told))
            book = self.books[int(arm)]
            book.told += int(told)
            book.total = question.plus(book.total, total)
        self._forget_if_done(event.ticket or 0, block)
        return self._absorb_rows(rows)

    def _rest(self, event: Event) -> Iterable[int]:
        block = self.blocks.pop(event.ticket or 0)
        rest = [(arm, count) for arm, count in block.out.items() if count]
        if event.content["as"] == "zero":
            for arm, count in rest:
                self.books[arm].told += count
                self.books[arm].missing += count
            return self._absorb_rows([(arm, count, self.terms.question.nothing) for arm, count in rest])
        for arm, count in rest:
            book = self.books[arm]
            book.asked -= count
            self.spent -= count * book.cost
            book.void += count
            if book.draw is not None:
                book.draw.void += block.cases[arm]
        return [decided for arm, count in rest for decided in self._voided(arm, count)]

    def _absorb_rows(self, rows: Part) -> Iterable[int]:
        told = self._counts([(arm, count) for arm, count, _ in rows])
        totals = np.zeros((len(self.books), *np.shape(self.terms.question.nothing)))
        for arm, _, total in rows:
            totals[arm] = total
        return self.step.absorb_block(told, totals)

    def _counts(self, rows: list[tuple[int, int]]) -> NDArray[np.int64]:
        """Counts per arm as an array."""
        counts = np.zeros(len(self.books), dtype=np.int64)
        for arm, count in rows:
            counts[arm] = count
        return counts

    def _forget_if_done(self, ticket: int, block: OpenBlock) -> None:
        if block.done:
            del self.blocks[ticket]

    # arms and the campaign

    def _added(self, event: Event) -> Iterable[int]:
        entries = [ArmEntry.from_json(entry) for entry in event.content["arms"]]
        weights = [float(weight) for weight in event.content["weights"]]
        costs = [entry.price for entry in entries]
        self.step.add_arms(weights, [entry.tenths for entry in entries], costs)
        if self.scatter is not None:
            self.scatter.add(len(entries))
        for entry, weight in zip(entries, weights, strict=True):
            self.index[entry.id] = len(self.books)
            self.add_book(entry, weight)
        return ()

    def _verdict(self, event: Event) -> Iterable[int]:
        arm = event.arm or 0
        content = event.content
        if arm in self.undeclared:
            self.undeclared.remove(arm)
            if self.step.row(arm).verdict != self.terms.question.sign(content["verdict"]):
                self.disagree(
                    f"entry {event.number}: {self.books[arm].entry.id!r} is {content['verdict']} by the journal"
                )
        else:
            self.disagree(f"entry {event.number}: {self.books[arm].entry.id!r} is still open by the rules")
            self.step.suspend(arm)
        self.declare(event)
        return ()

    def declare(self, verdict: Event) -> None:
        """Record a verdict of the journal."""
        book, content = self.books[verdict.arm or 0], verdict.content
        self.good += book.decision is None and self.terms.question.sign(content["verdict"]) > 0
        book.decision = {**content, "number": verdict.number, "at": verdict.at}

    def estimate(self, arm: int) -> float:
        """The estimate that is compared with the bar: the mean, or the mean difference of pairs."""
        entry, question = self.books[arm].entry, self.terms.question
        if self.pairs is None or not question.judges(entry.id):
            return question.estimate(entry.id, self.totals_of)
        row = self.step.row(arm)
        return 2.0 * row.total / row.pulls - 1.0 if row.pulls else math.nan

    def totals_of(self, arm: str) -> Totals:
        """Totals of the arm with this id."""
        return self.books[self.index[arm]].totals

    def verdict_by_rules(self, arm: int) -> str:
        return self.terms.question.word(self.step.row(arm).verdict)

    def _paused(self, event: Event) -> Iterable[int]:
        return self._turn(event, PAUSED)

    def _resumed(self, event: Event) -> Iterable[int]:
        return self._turn(event, OPEN)

    def _retired(self, event: Event) -> Iterable[int]:
        return self._turn(event, RETIRED)

    def _turn(self, event: Event, status: str) -> Iterable[int]:
        arm = event.arm or 0
        self.books[arm].status = status
        if status == OPEN:
            self.step.reopen(arm)
        else:
            self.step.suspend(arm)
        return ()

    def _ended(self, event: Event) -> Iterable[int]:
        self.ended = True
        return ()


def new_step(terms: Terms) -> LiveStep:
    """The live step of a campaign that has just been created."""
    features = None
    if terms.made.model is not None:
        features = np.array([arm.features for arm in terms.arms], dtype=np.float64)
    horizon = math.inf if terms.horizon is None else float(terms.horizon)
    ids = [arm.id for arm in terms.arms]
    given = Setup(terms.made, terms.problem, ids, horizon, features, terms.seed, terms.weights, terms.costs)
    return terms.evidence.step(given)


def _nothing(event: Event) -> Iterable[int]:
    return ()
