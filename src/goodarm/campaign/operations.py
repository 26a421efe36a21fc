"""Operations on a campaign within a transaction: check everything, then write. A refusal changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any

from goodarm.arguments import check_whole, shown
from goodarm.campaign import fold as states
from goodarm.campaign import journal
from goodarm.campaign.arms import ArmsGiven, read_arms
from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import Event, digest
from goodarm.campaign.requests import ASK, answered, keep
from goodarm.campaign.rows import iso
from goodarm.campaign.session import Session
from goodarm.campaign.terms import check_scores
from goodarm.campaign.tickets import Block, Ticket, check_part, read_part, read_ticket, refuse_lists, spell
from goodarm.campaign.units import OpenUnit, UnitBook, check_unit
from goodarm.campaign.words import duration_words
from goodarm.errors import InvalidValue, Refused, UnknownName, UnsoundPairing
from goodarm.problem import ScoredCases
from goodarm.question import Reward, read_reward

LARGEST_ASK = 1_000_000
LARGEST_BLOCK = 10**12
UNIT = "unit:"
"""Prefix of the keys of tickets that belong to units."""
NO_TICKET = ""
"""Ticket of an empty block, which has no entry in the journal."""


UnitRow = tuple[Any, Any, Any, str | None]
"""A row of a unit: unit, reward, denominator, and the row's id if it has one."""


def unit_rows(given: Any) -> list[UnitRow]:
    """Parse the caller's rows of units before a transaction begins."""
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str | Mapping) else [given]
    return [_unit_row(each) for each in listed]


def _unit_row(given: Any) -> UnitRow:
    if not isinstance(given, tuple | list) or not 2 <= len(given) <= 4:
        raise InvalidValue(
            f"a row of a unit is (unit, reward), (unit, reward, denominator) or (unit, reward, denominator, id); got "
            f"{shown(given)}."
        )
    fields: list[Any] = list(given)
    unit, reward, denominator, row = fields + [None, None, 1.0, None][len(fields) :]
    if row is not None and (not isinstance(row, str) or not row):
        raise InvalidValue(f"the id of a row must be a non-empty string; got {shown(row)}.")
    return check_unit(unit), reward, denominator, row


def checked_count(n: Any) -> int:
    return check_whole("n", n, 1)


def check_ask_of_unit(n: int, key: str | None) -> None:
    """Refuse to combine `unit` with `n` or `key`."""
    if n != 1 or key is not None:
        raise InvalidValue("a unit has one ticket, and its id serves as the key. Leave n and key out.")


def ask(session: Session, n: int, key: str | None) -> list[Ticket]:
    if n > LARGEST_ASK:
        raise InvalidValue(f"at most {LARGEST_ASK:,} tickets can be asked at once; got {n:,}. Use ask_block.")
    if session.fold.units is not None:
        raise _needs_units("ask without unit=")
    before = answered(session, key, ASK, n=n)
    if before is not None:
        return [Ticket(*ticket) for ticket in before["tickets"]]
    if session.fold.ended:
        return []
    _refuse_full(session, n)
    tickets = _hand_out(session, n)
    if key is not None:
        keep(session, key, ASK, n=n, tickets=_as_lists(tickets))
    return tickets


def ask_unit(session: Session, unit: Any) -> list[Ticket]:
    """The ticket of a unit, the same one every time; none if no arm is open."""
    _units_of(session.fold)
    key = UNIT + check_unit(unit)
    before = answered(session, key, ASK)
    if before is not None:
        return [Ticket(*ticket) for ticket in before["tickets"]]
    if session.fold.ended:
        return []
    _refuse_full(session, 1)
    tickets = _hand_out(session, 1, unit)
    if tickets:  # a unit that came while no arm was open may come again
        keep(session, key, ASK, n=1, tickets=_as_lists(tickets))
    return tickets


def tell_units(session: Session, given: Iterable[UnitRow]) -> list[str]:
    """Tell rows of units; returns the tickets of rows that do not count because their unit is closed or full.

    Everything is checked before anything is written.
    """
    fold = session.fold
    book = _units_of(fold)
    rows: list[tuple[int, float, float, str | None]] = []
    late: dict[str, None] = {}
    added: dict[int, OpenUnit] = {}
    seen: dict[tuple[int, str], tuple[float, float]] = {}
    for unit, reward, denominator, row in given:
        ticket = _ticket_of(session, unit)
        number = read_ticket(fold.terms.key, ticket, fold.tickets)
        now = added.get(number) or book.open.get(number)
        if row is not None and _told_before(session, seen, number, row, read_reward(reward), denominator):
            continue
        told = book.terms.row(now or OpenUnit(unit), reward, denominator, fold.terms.rewards)
        if now is None or told is None:
            late[ticket.ticket] = None
            continue
        added[number] = now.plus(*told)
        rows.append((number, *told, row))
        if row is not None:
            seen[number, row] = told
    for number, value, size, row in rows:
        content = {**({} if size == 1.0 else {"of": size}), **({} if row is None else {"row": row})}
        session.write(journal.ROW, ticket=number, arm=fold.pending[number][0], reward=value, content=content or None)
    return list(late)


def _told_before(
    session: Session, seen: Mapping[tuple[int, str], tuple[float, float]], ticket: int, row: str, *now: Any
) -> bool:
    """Whether a row with this id was told before. The same id with other numbers is refused."""
    before = seen.get((ticket, row))
    if before is None and (found := session.ending(ticket, digest(row))) is not None:
        before = found.reward or 0.0, float(found.content.get("of", 1.0))
    if before is not None and before != now:
        raise Refused(
            f"the row {row!r} was told {before[0]!r} before; it can't be told {now[0]!r} now. Use another id."
        )
    return before is not None


def close_units(session: Session, units: Iterable[Any]) -> None:
    """Tell the rewards of complete units. Units that are already closed don't change."""
    fold = session.fold
    book, given = _units_of(fold), list(units)
    if book.terms.window is not None and given:
        raise Refused(
            f"the window of {duration_words(book.terms.window)} closes every unit by itself: closing one earlier could "
            "depend on its rewards. Call close_units() without units to close those that are due."
        )
    numbers = [read_ticket(fold.terms.key, _ticket_of(session, unit), fold.tickets) for unit in given]
    for number in dict.fromkeys(numbers):
        if number in book.open:
            session.write(journal.TOLD, ticket=number, arm=fold.pending[number][0], reward=book.reward(number))


def _units_of(fold: Fold) -> UnitBook:
    if fold.units is None:
        raise InvalidValue(
            "this campaign has no units: each ticket is one reward. Create campaigns with per_unit='mean' (or any, "
            "sum, ratio) to make one reward of all rows of a unit."
        )
    return fold.units


def _ticket_of(session: Session, unit: Any) -> Ticket:
    found = answered(session, UNIT + check_unit(unit), ASK)
    if found is None:
        raise Refused(f"the unit {unit!r} has no ticket. Ask for it first: ask(unit={unit!r}).")
    return Ticket(*found["tickets"][0])


def _needs_units(call: str) -> Refused:
    """The refusal of a call that would create a reward from something other than a unit."""
    return Refused(
        f"each reward of this campaign belongs to a unit, so {call} is refused. Use ask(unit=...), "
        "tell_unit(unit, reward) and, without a window, close_units(unit)."
    )


def _hand_out(session: Session, n: int, unit: str | None = None) -> list[Ticket]:
    """Hand out `n` new tickets, or fewer if every arm is decided."""
    fold = session.fold
    tickets: list[Ticket] = []
    for _ in range(n):
        arm = fold.choose()
        if arm < 0:
            break
        number = fold.tickets + 1
        case = next(iter(fold.next_cases(arm)), None)
        content = {**({} if case is None else {"case": case}), **({} if unit is None else {"unit": unit})}
        session.write(journal.ASKED, number, arm, content=content or None)
        tickets.append(Ticket(spell(fold.terms.key, number), fold.books[arm].entry.id, fold.case_name(case)))
    return tickets


def _as_lists(tickets: list[Ticket]) -> list[list[str]]:
    """Tickets as JSON for the journal."""
    return [[value for value in ticket if value is not None] for ticket in tickets]


def step(session: Session, given: Any, reward: Any, key: str | None) -> tuple[list[str], list[int], list[Ticket]]:
    """Tell and ask. Returns the tickets told too late, the arms decided, and the next ticket.

    A key belongs to one ticket and reward. Repeating it returns the same answer, even after the campaign has ended.
    """
    fold = session.fold
    if fold.units is not None:
        raise _needs_units("step")
    question, told = fold.terms.question, str(getattr(given, "ticket", given))
    asked = {"told": told, "reward": question.as_told(question.reward(reward, fold.terms.rewards))}
    before = answered(session, key, "step", **asked)  # refuse before telling anything
    if before is not None:
        return [], before.get("decided", []), [Ticket(*ticket) for ticket in before["tickets"]]
    _refuse_full(session, 0)  # the told ticket frees a place for the next one
    late = tell(session, [(given, reward)])
    decided = list(session.decided)
    if late:  # the caller receives an error, so a new ticket would be lost
        return late, decided, []
    tickets = [] if fold.ended else _hand_out(session, 1)
    if key is not None:
        keep(session, key, "step", decided=decided, tickets=_as_lists(tickets), **asked)
    return [], decided, tickets


def tell(session: Session, pairs: Iterable[tuple[Any, Any]]) -> list[str]:
    """Write the rewards of tickets; returns the tickets that were told too late."""
    fold = session.fold
    if fold.units is not None:
        raise _needs_units("tell")
    question, rewards = fold.terms.question, dict[int, Reward]()
    late: list[tuple[int, Reward]] = []
    for given, reward in pairs:
        ticket = read_ticket(fold.terms.key, given, fold.tickets)
        if isinstance(given, Ticket) and ticket in fold.pending:
            _refuse_other_arm(fold, ticket, given)
        value = question.reward(reward, fold.terms.rewards)
        if rewards.setdefault(ticket, value) != value:
            raise Refused(
                f"the ticket {spell(fold.terms.key, ticket)} appears twice in this call, with different rewards."
            )
        if ticket not in fold.pending and _has_ended(session, ticket, value):
            late.append((ticket, value))
    overdue = {ticket for ticket, _ in late}
    for ticket, value in late:
        session.write(journal.LATE, ticket, None, *question.entry(value))
    for ticket, value in rewards.items():
        if ticket in fold.pending:
            session.write(journal.TOLD, ticket, fold.pending[ticket][0], *question.entry(value))
    return [spell(fold.terms.key, ticket) for ticket in sorted(overdue)]


def _refuse_other_arm(fold: Fold, ticket: int, given: Ticket) -> None:
    """Refuse a pending ticket that was handed out for another arm or case than the journal says.

    A store that was restored from an older copy reuses ticket numbers. The reward of an old ticket would count for the
    wrong arm.
    """
    arm, case = fold.books[fold.pending[ticket][0]].entry.id, fold.case_name(fold.cases.get(ticket))
    if (given.arm, given.case) != (arm, case):
        was, here = (name if of is None else f"{name!r} on {of!r}" for name, of in (given[1:], (arm, case)))
        raise Refused(
            f"the ticket {given.ticket} was handed out for {was}, and in this journal it is for {here}. Was the store "
            "restored from an older copy? Its ticket numbers are being reused. Ask for new tickets."
        )


def pairs_of(rewards: Any) -> list[tuple[Any, Any]]:
    """Parse the caller's tickets and rewards before a transaction begins."""
    given = rewards.items() if isinstance(rewards, Mapping) else rewards
    found = list(given) if isinstance(given, Iterable) else [given]
    for each in found:
        if not isinstance(each, tuple | list) or len(each) != 2:
            raise InvalidValue(
                f"rewards are told as pairs, [(ticket, reward), ...] or {{ticket: reward}}; got {shown(each)}."
            )
    return found


def _has_ended(session: Session, ticket: int, value: Reward) -> bool:
    """Whether a ticket that is not pending is late; False if the same reward was told. Other cases are refused."""
    fold = session.fold
    name = spell(fold.terms.key, ticket)
    if ticket in fold.blocks:
        raise Refused(f"{name} is a block; tell it with tell_block.")
    found = session.ending(ticket, "")
    if found is None:
        raise Refused(f"{name} is a block that was told in full; tell it with tell_block.")
    if found.kind == journal.MISSING:
        return True
    if found.kind in (journal.VOID, journal.REST):
        if fold.terms.unanswered == "void" and found.content.get("reason") == "unanswered":
            return True
        raise Refused(f"the ticket {name} is void ({found.content.get('reason')}); its reward can't count any more.")
    question = fold.terms.question
    if question.in_entry(found) != value:
        before, now = (question.as_told(each) for each in (question.in_entry(found), value))
        raise Refused(
            f"the ticket {name} was told {before!r} at {iso(found.at)}; it can't be told {now!r} now. "
            "Each ticket has one reward; repeating the same reward is allowed."
        )
    return False


def too_late(fold: Fold, ticket: str) -> str:
    """The reason for refusing a late reward."""
    within = duration_words(fold.terms.after or 0.0)
    how = "counts as 0" if fold.terms.unanswered == "zero" else "is void"
    return f"the ticket {ticket} was not told within {within} and {how}; the reward came too late and was noted."


def void(session: Session, given: Any, reason: str) -> None:
    fold = session.fold
    refuse_lists(given, void=True)
    ticket = read_ticket(fold.terms.key, given, fold.tickets)
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidValue("voiding a ticket requires a reason, which the audit shows; got none. Say why it was lost.")
    if ticket in fold.blocks:
        session.write(journal.REST, ticket=ticket, content={"as": "void", "reason": reason})
    elif ticket in fold.pending:
        _refuse_rows(fold, ticket)
        session.write(journal.VOID, ticket=ticket, arm=fold.pending[ticket][0], content={"reason": reason})
    else:
        found = session.ending(ticket, "")
        if found is None or found.kind not in (journal.VOID, journal.REST):
            how = "told in full" if found is None else found.kind
            raise Refused(f"the ticket {spell(fold.terms.key, ticket)} can't be voided: it is {how} already.")


def _refuse_rows(fold: Fold, ticket: int) -> None:
    """Refuse to void a unit that has rows: its rewards are known, so leaving it out could depend on them."""
    unit = None if fold.units is None else fold.units.open.get(ticket)
    if unit is not None and unit.rows:
        rows = "1 row" if unit.rows == 1 else f"{unit.rows:,} rows"
        raise Refused(
            f"the unit {unit.unit!r} has {rows}, whose rewards are known, so it can't be voided: leaving it out "
            "could depend on them. It counts once it is closed. Only units without rows can be voided."
        )


def tell_arm(session: Session, arm: str, reward: Any, key: str | None) -> None:
    fold = session.fold
    question, number = fold.terms.question, number_of(fold, arm)
    value = question.reward(reward, fold.terms.rewards)
    if fold.terms.cases is not None:
        raise Refused(
            "on a fixed test set every reward needs a ticket, because the verdicts rely on the campaign drawing the "
            "cases at random. Ask for tickets, or judge results that you already have with goodarm judge --case."
        )
    if fold.units is not None:
        raise _needs_units("tell_arm")
    as_told = question.as_told(value)
    if answered(session, key, "tell_arm", arm=arm, reward=as_told) is not None:
        return
    _refuse_ended(fold)
    _refuse_full(session, 0)
    session.write(journal.GIVEN, fold.tickets + 1, number, *question.entry(value))
    keep(session, key, "tell_arm", arm=arm, reward=as_told)


def ask_block(session: Session, n: int, key: str | None) -> Block:
    fold = session.fold
    if fold.units is not None:
        raise _needs_units("ask_block")
    before = answered(session, key, "ask_block", n=n)
    if before is not None:
        return _block_again(session, before)
    if fold.in_order:
        raise UnsoundPairing(
            f"{fold.terms.policy} counts rewards in the order of asking, which a block does not keep. "
            "Create the campaign with a rule by totals, for example 'value+gap-mixture'."
        )
    if n > LARGEST_BLOCK:
        raise InvalidValue(f"a block may have at most {LARGEST_BLOCK:,} pulls; got {n:,}.")
    fold.terms.problem.check_sums(sum(book.asked for book in fold.books) + n)
    if fold.ended:
        return Block(NO_TICKET, {})
    _refuse_full(session, 1)
    arms = [list(pair) for pair in fold.choose_block(n).items()]
    number = fold.tickets + 1
    content: dict[str, Any] = {"arms": arms}
    if fold.terms.cases is not None:
        content["cases"] = [fold.next_cases(arm, count) for arm, count in arms]
    if arms:
        session.write(journal.BLOCK, ticket=number, content=content)
    keep(session, key, "ask_block", n=n, ticket=number, entry=fold.number if arms else 0)
    return _block(fold, number, content) if arms else Block(NO_TICKET, {})


def _block_again(session: Session, before: Mapping[str, Any]) -> Block:
    """The block that answered an earlier request, read from its entry."""
    fold, entry = session.fold, before["entry"]
    if not entry:
        return Block(NO_TICKET, {})
    session.flush()
    found = next(iter(session.store.read(session.campaign, entry - 1, entry)))
    return _block(fold, before["ticket"], found.content)


def _block(fold: Fold, number: int, content: Mapping[str, Any]) -> Block:
    """The caller's view of a block, built from its entry."""
    ids = [fold.books[arm].entry.id for arm, _ in content["arms"]]
    cases = None
    if fold.terms.cases is not None:
        cases = {
            arm: [fold.terms.cases.name(case) for case in each] for arm, each in zip(ids, content["cases"], strict=True)
        }
    return Block(
        spell(fold.terms.key, number), dict(zip(ids, (count for _, count in content["arms"]), strict=True)), cases
    )


def tell_block(session: Session, given: Any, rewards: Mapping[str, Any], part: str) -> None:
    fold = session.fold
    ticket = read_ticket(fold.terms.key, given, fold.tickets)
    if not isinstance(part, str):
        raise InvalidValue(f"part must be a string that distinguishes it from the block's other parts; got {part!r}.")
    question = fold.terms.question
    rows = read_part(rewards, fold.index, question.total)
    listed = [[arm, told, question.as_told(total)] for arm, told, total in rows]
    before = session.ending(ticket, digest(part))
    if before is not None:
        if sorted(before.content["arms"], key=itemgetter(0)) != listed:
            raise Refused(
                f"the part {part!r} of the block was already told with other numbers. Give the new part another name."
            )
        return
    if ticket not in fold.blocks:
        name = spell(fold.terms.key, ticket)
        raise Refused(f"{name} is not a pending block: it was told in full, has ended, or is a single ticket.")
    check_part(fold.blocks[ticket], rows, [book.entry.id for book in fold.books])
    session.write(journal.PART, ticket=ticket, content={"part": part, "arms": listed})


def add_arms(session: Session, arms: ArmsGiven, key: str | None) -> None:
    fold = session.fold
    terms = fold.terms
    if answered(session, key, "add_arms", arms=[entry.id for entry in read_arms(arms)]) is not None:
        return
    entries = read_arms(arms, fold.index)
    _refuse_ended(fold)
    _refuse_full(session, 0)
    if not terms.reserve:
        raise Refused(
            "arms can't be added: the initial arms use all of delta, so adding arms would void the guarantee. Create "
            "campaigns with reserve=0.2 to keep a fifth of it for later arms, or start a new one."
        )
    if any(entry.weight is not None for entry in entries):
        raise InvalidValue(
            "later arms share the reserve in the order in which they are added, so they can't be given weights."
        )
    if terms.costs is None and terms.budget is None and any(entry.cost is not None for entry in entries):
        raise Refused("the campaign has neither costs nor a budget, so later arms can't have a cost. Leave it out.")
    if terms.made.model is not None:
        raise Refused(f"{terms.policy} models all arms jointly, so arms can't be added during the campaign.")
    if isinstance(terms.rewards, ScoredCases):
        check_scores(entries, terms.rewards.count)
    elif any(entry.scores is not None for entry in entries):
        raise InvalidValue("the arms of this campaign have no scores, so later arms can't have any.")
    later = len(fold.books) - len(terms.arms)
    weights = [terms.later_weight(later + j + 1) for j in range(len(entries))]
    session.write(journal.ADDED, content={"arms": [entry.as_json() for entry in entries], "weights": weights})
    keep(session, key, "add_arms", arms=[entry.id for entry in entries])


def turn(session: Session, arm: str, kind: str) -> None:
    """Suspend, resume or retire an arm. Repeating it changes nothing."""
    fold = session.fold
    number = number_of(fold, arm)
    fold.terms.question.check_suspending(arm)
    status = fold.books[number].status
    wanted = {journal.PAUSED: states.PAUSED, journal.RESUMED: states.OPEN, journal.RETIRED: states.RETIRED}[kind]
    if status == wanted:
        return
    if status == states.RETIRED:
        raise Refused(f"the arm {arm!r} was retired, which is final. Add it under another id to try it again.")
    session.write(kind, arm=number)


def number_of(fold: Fold, arm: Any) -> int:
    """The number of the arm with this id."""
    if not isinstance(arm, str) or arm not in fold.index:
        raise UnknownName("arm", str(arm), list(fold.index)[:1000])
    return fold.index[arm]


def as_people_read(fold: Fold, event: Event) -> dict[str, Any]:
    """An entry for people: arm ids in place of numbers, and tickets as they were handed out."""
    entry: dict[str, Any] = {"number": event.number, "kind": event.kind, "at": iso(event.at)}
    if event.ticket:
        entry["ticket"] = spell(fold.terms.key, event.ticket)
    if event.arm is not None:
        entry["arm"] = fold.books[event.arm].entry.id
    content = event.content
    if event.reward is not None:
        entry["reward"] = event.reward
    elif event.kind in journal.REWARDED:
        entry["reward"] = content.pop("reward")
    if "case" in content and event.kind == journal.ASKED:
        entry["case"] = fold.case_name(content.pop("case"))
    if "unit" in content and event.kind == journal.ASKED:
        entry["unit"] = content.pop("unit")
    if event.kind == journal.BLOCK and fold.terms.cases is not None:
        content["cases"] = [list(map(fold.terms.cases.name, each)) for each in content["cases"]]
    if event.kind in (journal.BLOCK, journal.PART):
        content["arms"] = {fold.books[int(arm)].entry.id: rest for arm, *rest in content["arms"]}
    if content:
        entry["content"] = content
    return entry


def _refuse_ended(fold: Fold) -> None:
    if fold.ended:
        raise Refused("the campaign has ended: it accepts nothing new. Create a new campaign to continue.")


def _refuse_full(session: Session, more: int) -> None:
    """Refuse to exceed a server's limits with `more` tickets. A block counts as one ticket."""
    fold, limits = session.fold, session.limits
    out = len(fold.pending) + len(fold.blocks)
    if limits.tickets is not None and out + more > limits.tickets:
        raise Refused(
            f"{out:,} tickets of {session.name!r} are out, and the server allows {limits.tickets:,}. Tell or void some "
            "first; campaigns with `after` and `unanswered` end overdue ones by themselves."
        )
    if limits.entries is not None and fold.number + max(more, 1) > limits.entries:
        raise Refused(
            f"the journal of {session.name!r} has {fold.number:,} entries, and the server allows {limits.entries:,}. "
            "Tickets that are out can still be told; start a new campaign for more, or use blocks."
        )
