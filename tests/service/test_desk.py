"""The desk: what waits together is written together, and answered only afterwards."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from goodarm.service.desk import Desk
from goodarm.service.problems import Refusal


class Ledger:
    """A list that is written in transactions, and counts them."""

    def __init__(self) -> None:
        self.entries: list[int] = []
        self.commits = 0
        self.fails = 0
        self.may_commit = threading.Event()
        self.may_commit.set()
        self.entered = threading.Event()
        self.closed = False

    @contextmanager
    def together(self, keys: list[str]) -> Iterator[None]:
        before = list(self.entries)
        self.entered.set()
        self.may_commit.wait(10)
        yield
        if self.fails:
            self.fails -= 1
            self.entries[:] = before
            raise OSError("the disk is full")
        self.commits += 1

    def add(self, value: int) -> int:
        if value < 0:
            raise ValueError(f"{value} is negative")
        self.entries.append(value)
        return len(self.entries)

    def close(self) -> None:
        self.closed = True


def desk_for(ledgers: dict[str, Ledger], most_waiting: int = 1000) -> Desk[Ledger]:
    made = Desk(lambda name: ledgers[name], Ledger.together, Ledger.close, most_waiting)
    made.start()
    return made


def test_operations_that_wait_share_a_transaction_and_each_has_its_own_answer() -> None:
    ledger = Ledger()
    desk = desk_for({"a": ledger})

    async def play() -> list[object]:
        ledger.may_commit.clear()
        first = asyncio.create_task(desk.write("a", lambda it: it.add(0)))
        await asyncio.to_thread(ledger.entered.wait, 10)
        rest = [asyncio.create_task(desk.write("a", lambda it, i=i: it.add(i))) for i in (1, -2, 3)]
        await asyncio.sleep(0.05)
        assert not first.done()
        ledger.may_commit.set()
        return list(await asyncio.gather(first, *rest, return_exceptions=True))

    answers = asyncio.run(play())
    desk.stop()
    assert ledger.entries == [0, 1, 3]
    assert ledger.commits == 2
    assert [answers[0], answers[1], answers[3]] == [1, 2, 3]
    assert str(answers[2]) == "-2 is negative"
    assert ledger.closed


def test_a_commit_that_fails_fails_all_of_its_operations_and_the_subject_is_opened_anew() -> None:
    ledger = Ledger()
    opened: list[str] = []

    def open(name: str) -> Ledger:
        opened.append(name)
        return ledger

    desk: Desk[Ledger] = Desk(open, Ledger.together, Ledger.close)
    desk.start()

    async def play() -> tuple[list[object], int]:
        await desk.write("a", lambda it: it.add(1))
        ledger.fails = 1
        failed = await asyncio.gather(desk.write("a", lambda it: it.add(2)), return_exceptions=True)
        return list(failed), await desk.write("a", lambda it: it.add(3))

    failed, length = asyncio.run(play())
    desk.stop()
    assert [str(error) for error in failed] == ["the disk is full"]
    assert (ledger.entries, length) == ([1, 3], 2)
    assert opened == ["a", "a"]


def test_a_subject_that_can_not_be_opened_is_told_to_everyone_who_waits_and_others_go_on() -> None:
    desk = desk_for({"a": Ledger()})

    async def play() -> list[object]:
        asked = [desk.read(name, lambda it: list(it.entries)) for name in ("no", "a", "no")]
        return list(await asyncio.gather(*asked, return_exceptions=True))

    wrong, right, wrong_too = asyncio.run(play())
    desk.stop()
    assert isinstance(wrong, KeyError)
    assert isinstance(wrong_too, KeyError)
    assert right == []


def test_more_than_may_wait_are_refused_at_once() -> None:
    ledger = Ledger()
    desk = desk_for({"a": ledger}, most_waiting=2)

    async def play() -> None:
        ledger.may_commit.clear()
        tasks = [asyncio.create_task(desk.write("a", lambda it: it.add(0)))]
        await asyncio.to_thread(ledger.entered.wait, 10)
        tasks += [asyncio.create_task(desk.write("a", lambda it: it.add(0))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="2 operations are already waiting"):
            await desk.write("a", lambda it: it.add(0))
        ledger.may_commit.set()
        await asyncio.gather(*tasks)

    asyncio.run(play())
    desk.stop()
    assert ledger.entries == [0, 0, 0]


def test_clients_that_were_answered_together_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goodarm.service.desk.GATHER_SHARE", 1e9)
    monkeypatch.setattr("goodarm.service.desk.GATHER_SECONDS", 30.0)  # never reached
    ledger = Ledger()
    desk = desk_for({"a": ledger})

    async def play() -> tuple[int, int]:
        ledger.may_commit.clear()
        begun = [asyncio.create_task(desk.write("a", lambda each: each.add(0)))]
        await asyncio.to_thread(ledger.entered.wait, 10)
        begun += [asyncio.create_task(desk.write("a", lambda each: each.add(1))) for _ in range(3)]
        await asyncio.sleep(0)
        ledger.may_commit.set()
        await asyncio.gather(*begun)  # one alone, then three together
        first = asyncio.create_task(desk.write("a", lambda each: each.add(2)))
        await asyncio.sleep(0.05)
        alone = ledger.commits
        await asyncio.gather(first, *(desk.write("a", lambda each: each.add(2)) for _ in range(2)))
        return alone, ledger.commits

    assert asyncio.run(play()) == (2, 3)
    assert desk.stop()


def test_a_subject_that_opens_slowly_delays_no_other_and_its_operations_keep_their_order() -> None:
    ledgers, may_open = {"slow": Ledger(), "quick": Ledger()}, threading.Event()

    def open_one(name: str) -> Ledger:
        if name == "slow":
            assert may_open.wait(60.0)
        return ledgers[name]

    desk = Desk(open_one, Ledger.together, Ledger.close, most_waiting=5)
    desk.start()

    async def play() -> None:
        slow = []
        for i in range(4):
            slow.append(asyncio.create_task(desk.write("slow", lambda it, i=i: it.add(i))))
            await asyncio.wait_for(desk.write("quick", lambda it, i=i: it.add(i)), 60.0)
        assert not any(each.done() for each in slow)
        assert desk.waiting == 4
        slow.append(asyncio.create_task(desk.read("slow", lambda it: len(it.entries))))
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="already waiting"):
            await desk.read("quick", lambda it: 0)
        may_open.set()
        assert await asyncio.gather(*slow) == [1, 2, 3, 4, 4]
        assert desk.waiting == 0

    asyncio.run(play())
    assert desk.stop()
    assert (ledgers["slow"].entries, ledgers["quick"].entries) == ([0, 1, 2, 3], [0, 1, 2, 3])


def test_a_subject_that_can_not_be_opened_is_tried_again_and_one_that_never_opens_does_not_hold_up_the_end() -> None:
    tried, closed, may_open = [], threading.Event(), threading.Event()

    def open_one(name: str) -> Ledger:
        tried.append(name)
        if name == "late":
            assert may_open.wait(60.0)
            return Ledger()
        raise LookupError(name)

    desk = Desk(open_one, Ledger.together, lambda it: closed.set())
    desk.start()

    async def play() -> None:
        for _ in range(2):
            with pytest.raises(LookupError):
                await desk.read("none", lambda it: 0)
        late = asyncio.create_task(desk.read("late", lambda it: 0))
        while "late" not in tried:
            await asyncio.sleep(0.01)
        assert await asyncio.to_thread(desk.stop)
        with pytest.raises(Refusal, match="stopping"):
            await late

    asyncio.run(play())
    may_open.set()
    assert closed.wait(60.0)
    assert tried == ["none", "none", "late"]
