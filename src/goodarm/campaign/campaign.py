"""`Campaign`: ask which arm to sample next, tell its reward, and get each verdict as soon as it is certified."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from goodarm.arguments import as_written, check_whole, warn_of_delta
from goodarm.campaign import journal, operations, requests, transfer, views
from goodarm.campaign.arms import ArmsGiven, CostsGiven, check_metadata, with_costs
from goodarm.campaign.cases import CasesGiven, ScoresGiven
from goodarm.campaign.check import Check, check
from goodarm.campaign.doubts import warn_once
from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import Head
from goodarm.campaign.results import Results, results_of
from goodarm.campaign.rows import ArmRow, Bounds, Finish, PendingTicket, Tally, Told, Verdicts
from goodarm.campaign.session import Clock, Session
from goodarm.campaign.stores import Store, held, is_server
from goodarm.campaign.terms import Terms, agreed, check_name
from goodarm.campaign.tickets import Block, Ticket, TicketGiven
from goodarm.campaign.words import details, headline
from goodarm.errors import AbandonedTickets, InvalidValue, LateReward, Refused
from goodarm.policies import LIVE_POLICY, Policy
from goodarm.problem import Bounded, Rewards
from goodarm.question import Bars, BarsGiven, QuestionGiven, RewardGiven, asked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from goodarm.campaign.served import ServedCampaign
    from goodarm.campaign.workers import Evaluate
    from goodarm.planning import Remaining


class Campaign:
    """A live campaign. Rewards may arrive late, out of order, in batches, or never.

    >>> campaign = Campaign.create("memory:", "headlines", ["a", "b"], threshold=0.5)
    >>> while campaign.verdicts().open:
    ...     for ticket in campaign.ask(10):
    ...         _ = campaign.tell(ticket, 1.0 if ticket.arm == "a" else 0.0)
    >>> [(row.arm, row.verdict) for row in campaign.arms()]
    [('a', 'good'), ('b', 'bad')]
    >>> print(campaign)
    headlines: 1 of 2 above 50%, 1 below, 0 undecided; every arm is decided; the probability of any wrong verdict is \
at most 5%
    ...
    """

    def __init__(self, session: Session, *, owns_store: bool) -> None:
        self._session = session
        self._owns_store = owns_store
        self._closed = False
        self._callbacks: list[Callable[[ArmRow], None]] = []

    @classmethod
    def create(
        cls,
        store: str | Store,
        name: str,
        arms: ArmsGiven,
        threshold: float | str | None = None,
        delta: float | str = 0.05,
        policy: str | Policy = LIVE_POLICY,
        rewards: Rewards | str = Bounded(),
        horizon: int | None = None,
        reserve: float = 0.0,
        after: float | str | timedelta | None = None,
        unanswered: str = "wait",
        seed: int = 0,
        metadata: Mapping[str, Any] | None = None,
        *,
        control: str | None = None,
        margin: float | str = 0.0,
        question: QuestionGiven | None = None,
        bars: BarsGiven | Bars | None = None,
        criterion: str | None = None,
        cases: CasesGiven | None = None,
        scores: ScoresGiven | None = None,
        repeats: int = 1,
        stop_after: int | None = None,
        exist_ok: bool = False,
        cost: CostsGiven | None = None,
        budget: float | None = None,
        per_unit: str | None = None,
        window: float | str | timedelta | None = None,
        unit_limit: float | None = None,
        clock: Clock = time.time,
        token: str | None = None,
        patience: float | str | timedelta | None = None,
        key: str | None = None,
        by: str = "",
    ) -> Self:
        """Create a campaign in a store, and open it.

        control, margin : in place of a threshold: an arm is good if its mean is at least that of the arm `control` plus
                          `margin`
        bars       : in place of a threshold, several metrics with their bars: "correct >= 0.9, slow <= 0.05". A reward
                     is then a record, {"correct": 1, "slow": 0}; good arms clear every bar
        question   : in place of all of the above: the question as an object of `goodarm.question`, or its JSON fields
        arms       : ids, {id: label}, or dictionaries with id, label, metadata, features, weight
        rewards    : the range or family of the rewards, as an object or as text: "bounded:0,1600", "nonnegative:100"
        horizon    : approximate number of samples, for policies that plan with it. You may exceed it
        reserve    : the share of delta that is kept for arms added later
        after      : the time after which a ticket is overdue: seconds, or text like "30min"
        unanswered : treatment of overdue tickets: "wait", "zero" or "void" (docs/campaign.md)
        cases      : a fixed test set. Each arm draws each case at most once. Give ids, their number, or a CSV or JSON
                     Lines file with one case per row. Then rewards are 0 (failed) or 1 (passed), and the bar applies to
                     the share of these cases that an arm passes
        scores     : a cheap judge's score in [0, 1] for every arm and case, known before the first reward: {arm: scores
                     in the order of the cases}, {arm: {case: score}}, or a file or dataframe with the columns arm, case
                     and score. Rewards are then labels, and fewer of them are needed if the judge is good
        repeats    : number of evaluations of an arm on each case; their mean is the reward. For models whose answers
                     vary
        stop_after : end the campaign after this many good arms. 1 finds one good arm or shows that there is none
        exist_ok   : open the campaign if it already exists with the same terms, instead of raising an error
        cost       : cost of a sample, for all arms or {id: cost}. Sampling maximises progress per unit of cost
        budget     : maximum total cost of all samples. The campaign ends when the next sample would exceed it
        per_unit   : combine all rows of a person, session or machine into one reward: their "mean", "any" (1 if one is
                     above 0), "sum" or "ratio" (rewards over rows, or over denominators). Ask with `unit=`
        window     : time after its ask during which a unit's rows count: seconds, or text like "7d". Afterwards the
                     unit is closed. Without a window, call `close_units` when a unit is complete
        unit_limit : for ratios, the largest number of rows, or sum of denominators, of a unit
        clock      : function that returns the time in seconds since 1970
        token      : a token from `goodarm token create`, if the store is a server (http://…); or set GOODARM_TOKEN
        patience   : how long a server's client retries a request, in seconds or as text like "5min"; by default it
                     sends a request at most 8 times, waiting 6 to 11 seconds in total
        key        : any string; repeating the call with the same name and key opens the existing campaign
        by         : creator's name for the journal; a server writes the id of the caller's token
        """
        given: dict[str, Any] = {
            "question": asked(question, threshold=threshold, control=control, margin=margin, bars=bars),
            "delta": delta,
            "policy": policy,
            "rewards": rewards,
            "horizon": horizon,
            "reserve": reserve,
            "after": after,
            "unanswered": unanswered,
            "seed": seed,
            "metadata": metadata,
            "criterion": criterion,
            "cases": cases,
            "scores": scores,
            "repeats": repeats,
            "stop_after": stop_after,
            "budget": budget,
            "per_unit": per_unit,
            "window": window,
            "unit_limit": unit_limit,
        }
        if isinstance(store, str | Path):  # a server passes a `Store`, and its callers don't see warnings
            warn_of_delta(delta)
        if cost is not None:
            arms = with_costs(arms, cost)
        if is_server(store):
            return cast(Self, _served().make(str(store), token, name, arms, given, key, exist_ok, patience))
        try:
            terms = agreed(arms, **given)
        except InvalidValue as error:
            raise as_written(error, threshold) from None
        check_name(name)
        events = requests.opening(terms, float(clock()), key, by)
        with held(store) as opened:
            with opened.transaction(None):
                found = opened.find(name)
                if found is None:
                    opened.append(opened.add(name), events)
                elif exist_ok:
                    requests.refuse_other_terms(opened, found, name, terms)
                elif not requests.created_it(opened, found, key, terms):
                    raise Refused(
                        f"the store already has a campaign {name!r}. Open it with Campaign.open(store, {name!r}), pass "
                        "exist_ok=True to create or open it, or choose another name."
                    )
            return cls(Session(opened, name, clock), owns_store=opened is not store)

    @classmethod
    def open(
        cls,
        store: str | Store,
        name: str,
        *,
        clock: Clock = time.time,
        token: str | None = None,
        patience: float | str | timedelta | None = None,
    ) -> Self:
        """Open an existing campaign, created by any process, in a store or at a server (http://…)."""
        if is_server(store):
            return cast(Self, _served().hold(str(store), token, name, patience))
        with held(store, create=False) as opened:
            campaign = cls(Session(opened, name, clock), owns_store=opened is not store)
            fold = campaign._session.fold  # read now, to report a damaged journal here
            if found := views.abandoned(fold, float(clock())):
                warnings.warn(f"{name}: {found}", AbandonedTickets, stacklevel=2)
            return campaign

    # asking and telling

    def ask(self, n: int = 1, *, key: str | None = None, unit: str | None = None) -> list[Ticket]:
        """Tickets for the next `n` samples. The list is empty once every arm is decided or the campaign has ended.

        key : any string. The same key returns the same tickets, so you can repeat a request whose answer was lost
        unit : in a campaign with `per_unit`, the id of a person, session or machine. It gets one ticket, however often
               it comes back
        """
        count = operations.checked_count(n)
        if unit is None:
            with self._writing():
                return operations.ask(self._session, count, key)
        operations.check_ask_of_unit(count, key)
        with self._writing():
            return operations.ask_unit(self._session, unit)

    def tell(self, ticket: TicketGiven, reward: RewardGiven) -> Told:
        """Tell the reward of a ticket. Repeating the same reward changes nothing; a different one is refused."""
        with self._writing() as fold:
            late = operations.tell(self._session, [(ticket, reward)])
            told = Told(self._own_verdicts(), late)
        if late:
            raise LateReward(operations.too_late(fold, late[0]))
        return told

    def tell_many(self, rewards: Mapping[TicketGiven, RewardGiven] | Iterable[tuple[TicketGiven, RewardGiven]]) -> Told:
        """Tell many rewards in one transaction: all of them, or none if one is refused. Late ones are only recorded."""
        pairs = operations.pairs_of(rewards)
        with self._writing():
            late = operations.tell(self._session, pairs)
            return Told(self._own_verdicts(), late)

    def step(self, ticket: TicketGiven, reward: RewardGiven, *, key: str | None = None) -> Ticket | None:
        """Tell and ask in one transaction. Returns the next ticket, the same one for the same key, or None."""
        return self.tell_and_ask(ticket, reward, key=key)[1]

    def tell_and_ask(
        self, ticket: TicketGiven, reward: RewardGiven, *, key: str | None = None
    ) -> tuple[Told, Ticket | None]:
        """Like `step`, and also returns the verdicts. The same key returns the same answer again."""
        with self._writing() as fold:
            late, decided, following = operations.step(self._session, ticket, reward, key)
            told = Told(views.arm_rows(fold, decided) if decided else [], late)
        if late:
            raise LateReward(operations.too_late(fold, late[0]))
        return told, following[0] if following else None

    def void(self, ticket: TicketGiven | Block, reason: str) -> None:
        """Withdraw a ticket, as if it had never been asked for. The reason must not depend on its reward."""
        with self._writing():
            operations.void(self._session, ticket, reason)

    def tell_arm(self, arm: str, reward: RewardGiven, *, key: str | None = None) -> Told:
        """Tell a reward that has no ticket. The guarantee holds only if you tell every such reward, not a selection.

        key : any string; a reward repeated with the same key counts once
        """
        with self._writing():
            operations.tell_arm(self._session, arm, reward, key)
            return Told(self._own_verdicts(), [])

    def tell_unit(self, unit: str, reward: float, denominator: float = 1.0, *, row: str | None = None) -> Told:
        """Tell one row of a unit. It counts when the unit is closed; `late` names the ticket if it will never count.

        row : an id of the row; a row repeated with the same id counts once
        """
        return self.tell_units([(unit, reward, denominator, row)])

    def tell_units(self, rows: Iterable[Sequence[Any]]) -> Told:
        """Tell many rows in one transaction: (unit, reward), (unit, reward, denominator) or (…, denominator, id).

        `late` names the tickets of rows that do not count: their unit is closed, or a ratio has reached `unit_limit`.
        """
        read = operations.unit_rows(rows)
        with self._writing():
            late = operations.tell_units(self._session, read)
            return Told(self._own_verdicts(), late)

    def close_units(self, *units: str) -> Told:
        """Close complete units: tell the reward of each, computed from all of its rows.

        With a window, due units are closed before the next ask or tell. If there is no traffic, call this without
        arguments to close them.
        """
        with self._writing():
            operations.close_units(self._session, units)
            return Told(self._own_verdicts(), [])

    def ask_block(self, n: int, *, key: str | None = None) -> Block:
        """Ask for `n` samples in one journal entry, as a count per arm. The same key returns the same block."""
        count = operations.checked_count(n)
        with self._writing():
            return operations.ask_block(self._session, count, key)

    def tell_block(self, block: Block | str, rewards: Mapping[str, tuple[int, RewardGiven]], part: str = "") -> Told:
        """Tell the rewards of a block, {arm: (told, total)}, all at once or in parts. A part told twice counts once."""
        with self._writing():
            operations.tell_block(self._session, block, rewards, part)
            return Told(self._own_verdicts(), [])

    # asking and telling from asyncio, and with a pool of workers

    async def aask(self, n: int = 1, *, key: str | None = None, unit: str | None = None) -> list[Ticket]:
        """`ask` in a separate thread, without blocking the event loop."""
        from asyncio import to_thread  # imported late, so a process that only asks and tells does not load it

        return await to_thread(self.ask, n, key=key, unit=unit)

    async def atell(self, ticket: TicketGiven, reward: RewardGiven) -> Told:
        """`tell` in a separate thread, without blocking the event loop."""
        from asyncio import to_thread

        return await to_thread(self.tell, ticket, reward)

    def run(
        self,
        evaluate: Evaluate,
        *,
        workers: int = 8,
        retries: int = 2,
        pause: float = 1.0,
        failed: str | float = "stop",
        resume: bool = True,
        limit: int | None = None,
        progress: bool = True,
    ) -> Verdicts:
        """Ask, evaluate and tell with a pool of workers until every arm is decided; returns the verdicts.

        evaluate : function that gets a ticket and returns its reward: a plain one, which runs in threads, or an async
                   one
        workers  : maximum number of concurrent evaluations
        retries  : number of retries of an evaluation that raised, after `pause` seconds, then twice that, and so on
        failed   : what to do when the last attempt raised. "stop" finishes the running evaluations and raises; "void"
                   withdraws the ticket, which is valid only if the failure has nothing to do with the result; a number
                   is told as the reward
        resume   : evaluate pending tickets first, such as those of a killed run. Pass False if other processes work
                   on the same campaign, and let lost tickets expire
        limit    : maximum number of evaluations
        progress : show the decided arms on a terminal

        Ctrl-C lets every worker finish its evaluation and tell the reward. A second Ctrl-C abandons async evaluations.

        >>> campaign = Campaign.create("memory:", "prompts", ["a", "b"], threshold=0.5)
        >>> found = campaign.run(lambda ticket: 1.0 if ticket.arm == "a" else 0.0, workers=2, progress=False)
        >>> found.good, found.bad
        (1, 1)
        """
        from goodarm.campaign import workers as workers_pool  # it needs asyncio

        watch, stop = workers_pool.progress_bar(self) if progress else (None, lambda: None)
        try:
            pool = workers_pool.Pool(
                self,
                evaluate,
                workers=workers,
                retries=retries,
                pause=pause,
                failed=failed,
                resume=resume,
                limit=limit,
                watch=watch,
            )
            workers_pool.complete(pool.run())
        finally:
            stop()
        return self.verdicts()

    # arms

    def add_arms(self, arms: ArmsGiven, *, key: str | None = None) -> None:
        """Add arms, each with a share of the reserved delta. Repeating the call with the same key adds them once."""
        with self._writing():
            operations.add_arms(self._session, arms, key)

    def suspend(self, arm: str) -> None:
        """Do not ask for this arm until it is resumed."""
        self._turn(arm, journal.PAUSED)

    def resume(self, arm: str) -> None:
        """Ask for a suspended arm again."""
        self._turn(arm, journal.RESUMED)

    def retire(self, arm: str) -> None:
        """Never ask for this arm again. It gets no verdict."""
        self._turn(arm, journal.RETIRED)

    def _turn(self, arm: str, kind: str) -> None:
        with self._writing():
            operations.turn(self._session, arm, kind)

    def end(self, reason: str = "") -> None:
        """End the campaign. It hands out no more tickets; rewards of pending tickets may still be told."""
        check_metadata({"reason": reason}, "the reason")
        with self._writing() as fold:
            if not fold.ended:
                self._session.write(journal.ENDED, content={"reason": reason} if reason else None)

    def note(self, content: Mapping[str, Any]) -> int:
        """Add a note to the journal; returns the number of its entry. Notes don't affect the campaign."""
        check_metadata(content, "a note")
        with self._writing() as fold:
            self._session.write(journal.NOTE, content=dict(content))
            return fold.number

    # looking

    def verdicts(self) -> Verdicts:
        """Counts of good, bad and undecided arms, and one row per arm. `to_html`, `to_excel` and `save` write files."""
        return views.verdicts_of(self._look(), self._now(), self.name)

    def arms(self) -> list[ArmRow]:
        """One row per arm, in the order in which they were given."""
        fold = self._look()
        return views.arm_rows(fold, range(len(fold.books)), self._now())

    def arm(self, arm: str) -> ArmRow:
        """One arm."""
        fold = self._look()
        return views.arm_rows(fold, [operations.number_of(fold, arm)], self._now())[0]

    def nearest(self, many: int = 10) -> list[ArmRow]:
        """The undecided arms closest to a verdict, closest first."""
        return views.nearest(self._look(), many, self._now())

    def waiting(self, limit: int | None = None) -> list[PendingTicket]:
        """Pending tickets and blocks, oldest first: all of them, or at most `limit`."""
        return views.pending_of(self._look(), float(self._session.clock()), limit)

    def audit(self, arm: str) -> dict[str, Any] | None:
        """The journal's record of a verdict and the data behind it; None while the arm is undecided."""
        fold = self._look()
        return fold.books[operations.number_of(fold, arm)].decision

    def history(self, after: int = 0, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Journal entries after a given number, in order, with the arms' ids and the tickets as handed out."""
        start = check_whole("after", after, 0)
        many = None if limit is None else check_whole("limit", limit, 0)
        fold = self._look()
        until = fold.number if many is None else min(start + many, fold.number)
        for event in self._session.store.read(self._session.campaign, start, until):
            yield operations.as_people_read(fold, event)

    def results(self) -> Results:
        """One row per rewarded ticket: arm, case, reward and time. `print` shows a table, `to_csv` writes it."""
        return results_of(self.history(), self.terms)

    def remaining(self, draws: int = 200) -> Remaining:
        """Expected number of further samples of each arm (see `goodarm.planning.remaining`); 0 for decided arms."""
        return views.remaining_of(self._look(), draws)

    def finish(self) -> Finish | None:
        """Number of further samples until every arm is decided, as a range; None if there is no estimate.

        Before the first reward this is a guess, under the assumption about the means in `Finish.guess`. If the means
        lie closer to the bar, the campaign needs many times as many samples. Policies with a model of the arms have no
        such guess.
        """
        return views.finish_of(self._look())

    def tally(self) -> Tally:
        """Counts of arms and tickets by state."""
        return views.tally_of(self._look(), self._now())

    def bounds(self, arm: str | None = None) -> Bounds:
        """Current alpha and beta of the policy; for `dgai` and others, the values learned so far (docs/learning.md).

        arm : arm to evaluate the bounds at; by default the undecided arm with the most samples
        """
        fold = self._look()
        return views.bounds_of(fold, None if arm is None else operations.number_of(fold, arm))

    def headline(self) -> str:
        """The campaign in one sentence: verdicts so far, samples still needed, and the guarantee."""
        fold = self._look()
        return headline(fold.terms, views.tally_of(fold, self._now()), views.finish_of(fold))

    def plot(self) -> Figure:
        """The forest plot: each arm's interval and the bar. Needs the extra `report`."""
        from goodarm.campaign.written import forest_of
        from goodarm.forest import draw

        return draw(forest_of(str(self).partition("\n")[0], self.terms, self.arms()))

    def head(self) -> Head:
        """The number and chain of the newest entry. Save it outside the store: `check` compares the journal with it."""
        fold = self._look()
        return Head(fold.number, fold.chain.hex())

    def check(self, head: Head | None = None) -> Check:
        """Replay the journal from the first entry and compare chain, choices, evidence and verdicts.

        head : an earlier head. The check reports whether entries up to it were changed or removed
        """
        self._refuse_closed()
        return check(self._session.store, self._session.campaign, head=head)

    def export(self, path: str | Path) -> int:
        """Write the journal, chain included, to a .jsonl or .parquet file; returns the number of entries."""
        self._refuse_closed()
        return transfer.export(self._session.store, self._session.campaign, self.name, path)

    @classmethod
    def import_from(
        cls, store: str | Store, path: str | Path, name: str | None = None, *, clock: Clock = time.time
    ) -> Self:
        """Import an exported campaign into a store, under its own or another name, and open it."""
        check_name(chosen := transfer.exported_name(path) if name is None else name)
        with held(store) as opened:
            transfer.restore(opened, chosen, path)
            return cls(Session(opened, chosen, clock), owns_store=opened is not store)

    @property
    def name(self) -> str:
        return self._session.name

    @property
    def store(self) -> Store:
        return self._session.store

    @property
    def terms(self) -> Terms:
        """The terms that the campaign was created with."""
        return self._session.fold.terms

    @property
    def number(self) -> int:
        """The number of the journal's newest entry."""
        return self._look().number

    # callbacks, transactions and closing

    def on_verdict(self, callback: Callable[[ArmRow], None]) -> None:
        """Register a callback. It is called once per future verdict, from any process, after the commit."""
        self._look()
        self._session.verdicts_seen.clear()
        self._callbacks.append(callback)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit several operations together. A refused operation does not undo the others."""
        with self._writing():
            yield

    def close(self) -> None:
        """Release the store. The campaign itself continues: you can open it again, or `end` it permanently."""
        if not self._closed:
            self._closed = True
            if self._owns_store:
                self._session.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def __str__(self) -> str:
        fold = self._look()
        tally = views.tally_of(fold, self._now())
        first = f"{self.name}: {headline(fold.terms, tally, views.finish_of(fold))}"
        return "\n".join([first, *details(tally)])

    def __repr__(self) -> str:
        return f"<Campaign {self.name!r} in {self._session.store.address}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks: the sentence, and the arms closest to a verdict."""
        return views.html(str(self), self._look())

    def _now(self) -> float:
        return float(self._session.clock())

    def _look(self) -> Fold:
        self._refuse_closed()
        fold = self._session.refresh()
        if self._session.verdicts_seen:
            self._call_back()
        return fold

    def _refuse_closed(self) -> None:
        if self._closed:
            raise Refused(f"the campaign {self.name!r} was closed here. Open it again: Campaign.open(store, name).")

    @contextmanager
    def _writing(self) -> Iterator[Fold]:
        self._refuse_closed()
        with self._session.transaction() as fold:
            yield fold
        if fold.scatter is not None:
            warn_once(fold)
        if self._session.verdicts_seen:
            self._call_back()

    def _own_verdicts(self) -> list[ArmRow]:
        """Rows of the arms that the current operation has decided; usually there are none."""
        decided = self._session.decided
        return views.arm_rows(self._session.fold, decided) if decided else []

    def _call_back(self) -> None:
        """Runs outside the transaction: a callback may be slow, use the campaign, or raise. Later verdicts wait."""
        while (event := self._session.next_verdict()) is not None:
            views.announce(self._callbacks, views.arm_rows(self._session.fold, [event.arm or 0])[0])


def _served() -> type[ServedCampaign]:
    from goodarm.campaign.served import ServedCampaign

    return ServedCampaign
