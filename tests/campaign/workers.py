"""What other processes do in the tests: real ones, started apart and killed without warning."""

from __future__ import annotations

import os
import random
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from goodarm import Campaign
from goodarm.campaign import session
from goodarm.errors import GoodarmError, UnusableStore


def ask_and_tell(address: str, book: str, seed: int, pairs: int, batch: int = 1) -> None:
    """Ask, tell, and write down what was acknowledged, each line before the next operation begins."""
    rng = random.Random(seed)
    file = os.open(book, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with insisting(lambda: Campaign.open(address, "c")) as campaign:
        for turn in range(pairs):
            tickets = insisting(lambda key=f"{seed}-{turn}": campaign.ask(batch, key=key))
            rewards = [(ticket.ticket, float(rng.random() < 0.5)) for ticket in tickets]
            for ticket in tickets:
                os.write(file, f"asked {ticket.ticket} {ticket.arm}\n".encode())
            rng.shuffle(rewards)
            insisting(lambda rewards=rewards: campaign.tell_many(rewards))
            for ticket, reward in rewards:
                os.write(file, f"told {ticket} {reward}\n".encode())


def everything(address: str, book: str, seed: int) -> None:
    """Steps, blocks in parts, rewards without tickets, exports and imports, a snapshot every few entries; without end.

    Each line of the book is one acknowledged operation: what it was, its key, and what it must have left behind.
    """
    session.SNAPSHOT_EVERY = 20
    file = os.open(book, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with Campaign.open(address, "c") as campaign:
        (ticket,) = campaign.ask(1, key=f"first {seed}")
        for turn in range(10_000):
            key = f"{seed}-{turn}"
            following = campaign.step(ticket, 0.25)
            os.write(file, f"told {ticket.ticket} 0.25\n".encode())
            campaign.tell_arm("arm 0", 0.5, key=key)
            os.write(file, f"given {key} 0.5\n".encode())
            block = campaign.ask_block(20, key=f"block {key}")
            for arm, pulls in block.pulls.items():
                campaign.tell_block(block, {arm: (pulls, 0.5 * pulls)}, part=arm)
                os.write(file, f"part {block.ticket}/{arm} {pulls}\n".encode())
            entries = campaign.export(f"{book}.jsonl")
            Campaign.import_from(address, f"{book}.jsonl", f"copy {key}").close()
            os.write(file, f"copy {key} {entries}\n".encode())
            ticket = following or ticket


def insisting(operation: Callable[[], Any]) -> Any:
    """Try again while the store is away, as a client would: tells are idempotent, asks have a key."""
    for attempt in range(100):
        try:
            return operation()
        except UnusableStore:
            time.sleep(0.05 * (1 + attempt))
    raise SystemExit("the store did not come back")


def fill_the_disk(path: str, answer: str) -> None:
    """Write until no more fits, then lift the limit and go on."""
    limit = 400_000
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    with Campaign.open(f"sqlite:///{path}", "c") as campaign:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        acknowledged, message = 0, ""
        try:
            while True:
                campaign.tell_many([(ticket, 1.0) for ticket in campaign.ask(100)])
                acknowledged += 100
        except GoodarmError as error:
            message = f"{type(error).__name__}: {error}"
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        told = campaign.tally().told
        campaign.tell_many([(ticket, 1.0) for ticket in campaign.ask(100)])
        more = campaign.tally().told
        ok = campaign.check().ok
    Path(answer).write_text(f"{acknowledged} {told} {more} {ok}\n{message}")


def without_rights(path: str, answer: str) -> None:
    """Use a store as somebody who may only read it."""
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    lines = []
    try:
        with Campaign.open(f"sqlite:///{path}", "c") as campaign:
            lines.append(str(campaign.tally().told))
            campaign.ask()
            lines.append("asked")
    except GoodarmError as error:
        lines.append(f"{type(error).__name__}: {error}")
    Path(answer).write_text("\n".join(lines))
