"""The fan-out: deltas in order, resumed where they were left; a slow client is dropped, the others never wait."""

from __future__ import annotations

import asyncio

import pytest

from goodarm.service.stream import QUEUE, Change, Client, Fanout

pytestmark = pytest.mark.slow


class Journal:
    """Numbers that grow."""

    def __init__(self) -> None:
        self.number = 0
        self.looks = 0

    async def look(self, name: str, after: int | None) -> Change | None:
        self.looks += 1
        if after is not None and after >= self.number:
            return None
        return Change(self.number, {"from": after, "to": self.number})


async def until(condition: object) -> None:
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.002)
    raise AssertionError("it did not happen")


def test_a_stream_begins_with_everything_or_where_it_was_left_and_goes_on() -> None:
    async def play() -> list[list[dict[str, object]]]:
        journal = Journal()
        journal.number = 5
        fanout = Fanout(journal.look, every=0.001)
        seen: list[list[dict[str, object]]] = [[], [], []]

        async def follow(i: int, after: int | None) -> None:
            async for change in fanout.follow("a", after):
                seen[i].append(change.data)

        tasks = [asyncio.create_task(follow(i, after)) for i, after in enumerate((None, 3, 5))]
        await until(lambda: len(seen[0]) == 1 and len(seen[1]) == 1)
        journal.number = 8
        await until(lambda: all(rows and rows[-1]["to"] == 8 for rows in seen))
        fanout.end()
        await asyncio.wait_for(asyncio.gather(*tasks), 10)
        await fanout.stop()
        assert fanout.clients == 0
        return seen

    everything, resumed, current = asyncio.run(play())
    assert everything == [{"from": None, "to": 5}, {"from": 5, "to": 8}]
    assert resumed[0] == {"from": 3, "to": 5}
    assert current == [{"from": 5, "to": 8}]


def test_a_client_that_does_not_read_is_dropped_and_another_hears_all() -> None:
    async def play() -> None:
        journal = Journal()
        fanout = Fanout(journal.look, every=0.0005)
        slow = fanout.follow("a", 0)
        waiting = asyncio.ensure_future(anext(slow))
        heard: list[int] = []

        async def quick() -> None:
            async for change in fanout.follow("a", 0):
                heard.append(change.number)

        task = asyncio.create_task(quick())
        await asyncio.sleep(0.01)
        for number in range(1, QUEUE + 10):
            journal.number = number
            await until(lambda: bool(heard) and heard[-1] == journal.number)
        await waiting
        assert [change async for change in slow] == []
        assert fanout.dropped == 1
        fanout.end()
        await asyncio.wait_for(task, 10)
        assert heard == list(range(1, QUEUE + 10))
        await fanout.stop()

    asyncio.run(play())


def test_a_full_queue_ends_with_the_end() -> None:
    async def play() -> None:
        client = Client()
        for number in range(QUEUE + 1):
            client.give(Change(number, {}))
        assert client.dropped
        assert client.queue.get_nowait() is None

    asyncio.run(play())


def test_a_look_that_fails_does_not_end_the_poller() -> None:
    async def play() -> None:
        journal, failures, told = Journal(), [3], []

        async def look(name: str, after: int | None) -> Change | None:
            if after == 0 and journal.number and failures[0]:
                failures[0] -= 1
                raise OSError("the store is away")
            return await journal.look(name, after)

        fanout = Fanout(look, every=0.001, log=told.append)
        stream = fanout.follow("a", 0)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.01)
        journal.number = 4
        assert (await asyncio.wait_for(waiting, 10)).number == 4
        assert told == ["no live update of 'a': the store is away"] * 3
        await stream.aclose()
        await fanout.stop()

    asyncio.run(play())


def test_a_change_is_encoded_once_for_300_streams() -> None:
    encoded = 0

    class Counted(dict[str, object]):
        def items(self):  # type: ignore[no-untyped-def]  # what json.dumps calls
            nonlocal encoded
            encoded += 1
            return super().items()

    async def play() -> int:
        number = 0

        async def look(name: str, after: int | None) -> Change | None:
            return None if after is not None and after >= number else Change(number, Counted(to=number))

        fanout, sent = Fanout(look, every=0.001), list[bytes]()

        async def follow() -> None:
            async for change in fanout.follow("a", 0):
                sent.append(change.event)

        tasks = [asyncio.create_task(follow()) for _ in range(300)]
        await until(lambda: fanout.clients == 300)
        number = 1
        await until(lambda: len(sent) == 300)
        await fanout.stop()
        await asyncio.gather(*tasks)
        return len(set(map(id, sent)))

    assert asyncio.run(play()) == 1
    assert encoded <= 1
