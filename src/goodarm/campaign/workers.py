"""`Campaign.run`: a pool of workers that ask, evaluate and tell until every arm is decided.

Each worker holds one ticket at a time. It tells the reward and asks for the next ticket in one transaction, so a killed
process loses only its current evaluations. Their tickets stay pending, and the next `run` starts with them.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from goodarm.arguments import check_whole, checked_number, shown
from goodarm.campaign.tickets import Ticket
from goodarm.errors import EvaluationFailed, GoodarmError, InvalidValue, LateReward, NotAReward
from goodarm.minutes import every_minute

if TYPE_CHECKING:
    from goodarm.campaign.campaign import Campaign
    from goodarm.campaign.rows import Tally

Evaluate = Callable[[Ticket], float] | Callable[[Ticket], Awaitable[float]]
Watch = Callable[["Tally"], None]
Result = TypeVar("Result")

MOST_RESUMED = 100_000
"""Maximum number of pending tickets of an earlier run to evaluate first."""
LONGEST_PAUSE = 60.0
"""Maximum number of seconds between two attempts at one evaluation."""


class Pool:
    """The workers of one `run`, in one event loop.

    evaluate : called with a ticket, returns its reward; a plain function runs in a thread
    workers  : maximum number of concurrent evaluations
    retries  : attempts after the first one that raised
    pause    : seconds before the first retry; each further wait is twice as long
    failed   : what to do when the last attempt raised. "stop": finish the running evaluations, then raise; "void":
               withdraw the ticket; a number: tell it as the reward
    resume   : evaluate pending tickets first
    limit    : maximum number of evaluations; None for no limit
    """

    def __init__(
        self,
        campaign: Campaign,
        evaluate: Evaluate,
        *,
        workers: int,
        retries: int,
        pause: float,
        failed: str | float,
        resume: bool,
        limit: int | None,
        watch: Watch | None,
    ) -> None:
        self.campaign, self.evaluate, self.watch = campaign, evaluate, watch
        self.workers = check_whole("workers", workers, 1)
        self.retries = check_whole("retries", retries, 0)
        self.pause = checked_number("pause", pause)
        self.left = None if limit is None else check_whole("limit", limit, 0)
        if isinstance(failed, str) and failed not in ("stop", "void"):
            raise InvalidValue(f"failed must be 'stop', 'void' or a reward; got {failed!r}.")
        self.failed = failed if isinstance(failed, str) else checked_number("failed", failed)
        self.out: deque[Ticket] = deque(_tickets_out(campaign) if resume else ())
        self.under_way = self.finished = 0
        self.stopping = False
        self.failure: BaseException | None = None

    async def run(self) -> None:
        """Start the workers and wait for them. Ctrl-C lets each one finish its evaluation and tell the reward."""
        self.threads = ThreadPoolExecutor(self.workers, thread_name_prefix="goodarm")
        self.changed = asyncio.Condition()
        tasks = [asyncio.ensure_future(self._worker()) for _ in range(self.workers)]
        try:
            await asyncio.shield(asyncio.gather(*tasks, return_exceptions=True))
        except asyncio.CancelledError:
            self.stopping = True
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        finally:
            self.stopping = True
            self.threads.shutdown(wait=False, cancel_futures=True)
        if self.failure is not None:
            raise self.failure

    async def _worker(self) -> None:
        try:
            ticket = await self._next()
            while ticket is not None:
                ticket = await self._evaluated(ticket)
        except BaseException as failure:
            self.failure = self.failure or failure
            self.stopping = True
            self.finished += 1
        async with self.changed:
            self.changed.notify_all()

    async def _next(self) -> Ticket | None:
        """The next ticket to evaluate; None if there is none and no running evaluation can lead to one."""
        while True:
            seen = self.finished
            if self.stopping or self.left == 0:
                return None
            self._start()
            ticket = self.out.popleft() if self.out else next(iter(await self.campaign.aask()), None)
            if ticket is not None:
                return ticket
            self._finish()
            if self.under_way == 0:
                return None
            async with self.changed:
                await self.changed.wait_for(lambda: self.finished > seen or self.under_way == 0)  # noqa: B023  called before `seen` changes

    async def _evaluated(self, ticket: Ticket) -> Ticket | None:
        """Evaluate one ticket and tell its reward; returns the next ticket."""
        following: Ticket | None = None
        try:
            reward = await self._attempts(ticket)
            if reward is None:
                await asyncio.to_thread(self.campaign.void, ticket, "the evaluation failed")
            elif self.stopping or self.left == 0 or self.out:
                await self._in_time(self.campaign.tell, ticket, reward)
            else:
                self._start()  # before the await: concurrent workers must not exceed the limit together
                following = await self._in_time(self.campaign.step, ticket, reward)
                if following is None:
                    self._finish()
        finally:
            self.under_way -= 1
            self.finished += 1
        if self.watch is not None:
            self.watch(await asyncio.to_thread(self.campaign.tally))
        async with self.changed:
            self.changed.notify_all()
        return following if following is not None else await self._next()

    def _start(self) -> None:
        self.under_way += 1
        self.left = None if self.left is None else self.left - 1

    def _finish(self) -> None:
        """Undo a start that found no ticket."""
        self.under_way -= 1
        self.left = None if self.left is None else self.left + 1

    async def _in_time(self, tell: Callable[[Ticket, float], Result], ticket: Ticket, reward: float) -> Result | None:
        """Tell a reward; None if it came too late, which the journal records."""
        try:
            return await asyncio.to_thread(tell, ticket, reward)
        except LateReward:
            return None

    async def _attempts(self, ticket: Ticket) -> float | None:
        """The reward of a ticket, with retries; None for a ticket to withdraw."""
        for attempt in range(self.retries + 1):
            try:
                return await self._evaluate(ticket)
            except NotAReward:
                raise  # another attempt would cost as much and return the same
            except Exception as failure:
                if attempt == self.retries or self.stopping:
                    return self._given_up(ticket, attempt + 1, failure)
            await asyncio.sleep(min(self.pause * 2.0**attempt, LONGEST_PAUSE))
        raise AssertionError("the last attempt returns")

    async def _evaluate(self, ticket: Ticket) -> float:
        found: Any
        if inspect.iscoroutinefunction(self.evaluate):
            found = await self.evaluate(ticket)
        else:
            found = await asyncio.get_running_loop().run_in_executor(self.threads, self.evaluate, ticket)
            if inspect.isawaitable(found):
                found = await found
        try:
            return float(found)
        except (TypeError, ValueError):
            raise NotAReward(
                f"evaluate returned {shown(found)}; return a number, True or False. The ticket {ticket.ticket} of "
                f"{ticket.arm!r} stays pending. Run again to continue."
            ) from None

    def _given_up(self, ticket: Ticket, attempts: int, failure: Exception) -> float | None:
        if self.failed == "void":
            return None
        if not isinstance(self.failed, str):
            return float(self.failed)
        raise EvaluationFailed(
            f"evaluating {ticket.arm!r} failed {attempts} times, at last with {type(failure).__name__}: {failure}. "
            f"Its ticket {ticket.ticket} stays pending. Run again to continue, or pass failed='void' or a reward."
        ) from failure


def _tickets_out(campaign: Campaign) -> list[Ticket]:
    return [Ticket(each.ticket, each.arm, each.case) for each in campaign.waiting(MOST_RESUMED) if each.arm is not None]


def complete(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to completion, even inside a running event loop, as in a notebook."""
    if not _in_event_loop():
        try:
            asyncio.run(work)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("The results so far are kept. Run again to continue.") from None
        except GoodarmError as refusal:
            raise refusal.with_traceback(None)  # noqa: B904  its cause, if any, is kept; frames of asyncio say nothing
        return
    failures: list[BaseException] = []

    def elsewhere() -> None:
        try:
            asyncio.run(work)
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=elsewhere, name="goodarm")
    thread.start()
    thread.join()
    for failure in failures:
        raise failure.with_traceback(None) if isinstance(failure, GoodarmError) else failure


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def progress_bar(campaign: Campaign) -> tuple[Watch, Callable[[], None]]:
    """Show the decided arms on a line of stderr; returns functions to update and to end it.

    Without a terminal there is one line per minute.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    screen = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bars = Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True)
    task = bars.add_task("decided", total=campaign.tally().arms)
    bars.start()
    say = every_minute()

    def update(tally: Tally) -> None:
        say(f"{campaign.name}: {tally.told:,} samples, {tally.good + tally.bad:,} of {tally.arms:,} arms decided")
        bars.update(task, completed=tally.good + tally.bad, description=f"{tally.told:,} samples, decided")

    return update, bars.stop
