"""A campaign at a server, with the methods of `Campaign`. A program switches to it by changing the store's address."""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Self
from urllib.parse import quote

import numpy as np

from goodarm.arguments import check_whole, checked_number, percentage, read_duration
from goodarm.campaign.arms import ArmsGiven, read_arms
from goodarm.campaign.campaign import Campaign
from goodarm.campaign.cases import read_cases, read_scores
from goodarm.campaign.check import Check
from goodarm.campaign.connection import TOKEN, Connection
from goodarm.campaign.journal import Head
from goodarm.campaign.operations import check_ask_of_unit, checked_count, pairs_of, unit_rows
from goodarm.campaign.requests import check_key
from goodarm.campaign.rows import ArmRow, Bounds, Finish, PendingTicket, Shown, Tally, Told, Verdicts
from goodarm.campaign.stores import Store
from goodarm.campaign.terms import Terms
from goodarm.campaign.tickets import Block, Ticket, TicketGiven, as_text, refuse_lists
from goodarm.campaign.units import check_unit
from goodarm.campaign.views import announce
from goodarm.campaign.words import details
from goodarm.errors import InvalidValue, Refused
from goodarm.planning import Remaining
from goodarm.problem import read_rewards, rewards_text
from goodarm.question import SHARES, RewardGiven, amounts, as_sent, read_reward
from goodarm.whole_files import refuse_replacing, write_whole

PIECE = 10_000
"""Entries of the journal fetched at a time."""
MOST_PENDING = 100_000
"""Pending tickets that a server lists in one answer."""


class ServedCampaign(Campaign):
    """Returned by `Campaign.open("http://…", name)`. Every call is one request, retried until it is answered."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._path = f"/api/v1/campaigns/{quote(name, safe='')}"
        self._hold_closed = False
        self._listeners: list[Callable[[ArmRow], None]] = []
        self._heard = 0

    @classmethod
    def make(
        cls,
        address: str,
        token: str | None,
        name: str,
        arms: ArmsGiven,
        terms: Mapping[str, Any],
        key: str | None = None,
        exist_ok: bool = False,
        patience: float | str | timedelta | None = None,
    ) -> Self:
        """Create a campaign at a server; `terms` are the arguments of `Campaign.create`."""
        given = {key: value for key, value in terms.items() if value is not None}
        if exist_ok:
            given["exist_ok"] = True
        if "rewards" in given and amounts(read_rewards(given["rewards"])) is not SHARES:
            given["question"].check_percentages(rewards_text(read_rewards(given["rewards"])))
        given["question"] = given["question"].as_json()
        given["delta"] = checked_number("delta", percentage(given["delta"]))
        if "policy" in given and not isinstance(given["policy"], str):
            given["policy"] = given["policy"].name
        if "rewards" in given:
            given["rewards"] = rewards_text(read_rewards(given["rewards"]))
        for what in {"after", "window"} & given.keys():
            if isinstance(given[what], timedelta | int | float):
                given[what] = f"{read_duration(given[what], what)}s"
        for what in {"horizon", "seed", "stop_after", "repeats"} & given.keys():
            given[what] = check_whole(what, given[what])  # JSON can't hold numpy numbers
        for what in {"budget", "unit_limit"} & given.keys():
            given[what] = checked_number(what, given[what])
        entries = [arm.as_json() for arm in read_arms(arms)]
        if "cases" in given:
            cases = read_cases(given["cases"])
            given["cases"] = cases.as_json()
            if "scores" in given:
                scores = read_scores(given.pop("scores"), [entry["id"] for entry in entries], cases)
                entries = [arm.as_json() for arm in read_arms([{**e, "scores": scores[e["id"]]} for e in entries])]
        with _connected(address, token, patience) as connection:
            connection.post("/api/v1/campaigns", {"name": name, "arms": entries, **given}, _key(key))
            return cls(connection, name)

    @classmethod
    def hold(cls, address: str, token: str | None, name: str, patience: float | str | timedelta | None = None) -> Self:
        """Open a campaign at a server; raises now if it does not exist."""
        with _connected(address, token, patience) as connection:
            held = cls(connection, name)
            held._get("")
            return held

    # asking and telling

    def ask(self, n: int = 1, *, key: str | None = None, unit: str | None = None) -> list[Ticket]:
        if unit is None:
            answer = self._post("/ask", {"n": checked_count(n)}, key=_key(key))
        else:
            check_ask_of_unit(checked_count(n), key)
            answer = self._post("/ask", {"unit": check_unit(unit)})
        return [Ticket(**ticket) for ticket in answer["tickets"]]

    def tell(self, ticket: TicketGiven, reward: RewardGiven) -> Told:
        return Told.from_json(self._post("/tell", {"ticket": as_text(ticket), "reward": as_sent(reward)}))

    def tell_many(self, rewards: Mapping[TicketGiven, RewardGiven] | Iterable[tuple[TicketGiven, RewardGiven]]) -> Told:
        listed = [{"ticket": as_text(ticket), "reward": as_sent(reward)} for ticket, reward in pairs_of(rewards)]
        return Told.from_json(self._post("/tell-many", {"rewards": listed})) if listed else Told([], [])

    def step(self, ticket: TicketGiven, reward: RewardGiven, *, key: str | None = None) -> Ticket | None:
        return self.tell_and_ask(ticket, reward, key=key)[1]

    def tell_and_ask(
        self, ticket: TicketGiven, reward: RewardGiven, *, key: str | None = None
    ) -> tuple[Told, Ticket | None]:
        body = {"ticket": as_text(ticket), "reward": as_sent(reward)}
        answer = self._post("/step", body, key=_key(key))
        following = answer["ticket"]
        return Told.from_json(answer), None if following is None else Ticket(**following)

    def void(self, ticket: TicketGiven | Block, reason: str) -> None:
        refuse_lists(ticket, void=True)
        self._post("/void", {"ticket": as_text(ticket), "reason": reason})

    def tell_arm(self, arm: str, reward: RewardGiven, *, key: str | None = None) -> Told:
        return Told.from_json(self._post("/tell-arm", {"arm": arm, "reward": as_sent(reward)}, key=_key(key)))

    def tell_unit(self, unit: str, reward: float, denominator: float = 1.0, *, row: str | None = None) -> Told:
        return self.tell_units([(unit, reward, denominator, row)])

    def tell_units(self, rows: Iterable[Sequence[Any]]) -> Told:
        listed = [
            {"unit": unit, "reward": read_reward(reward), "denominator": denominator, "row": _key(row)}
            for unit, reward, denominator, row in unit_rows(rows)
        ]
        return Told.from_json(self._post("/tell-units", {"rows": listed})) if listed else Told([], [])

    def close_units(self, *units: str) -> Told:
        return Told.from_json(self._post("/close-units", {"units": [check_unit(unit) for unit in units]}))

    def ask_block(self, n: int, *, key: str | None = None) -> Block:
        return Block(**self._post("/ask-block", {"n": checked_count(n)}, key=_key(key)))

    def tell_block(self, block: Block | str, rewards: Mapping[str, tuple[int, RewardGiven]], part: str = "") -> Told:
        body = {"ticket": as_text(block), "rewards": {arm: list(told) for arm, told in rewards.items()}, "part": part}
        return Told.from_json(self._post("/tell-block", body))

    # arms

    def add_arms(self, arms: ArmsGiven, *, key: str | None = None) -> None:
        self._post("/arms", {"arms": [arm.as_json() for arm in read_arms(arms)]}, key=_key(key))

    def suspend(self, arm: str) -> None:
        self._post("/suspend", {"arm": arm})

    def resume(self, arm: str) -> None:
        self._post("/resume", {"arm": arm})

    def retire(self, arm: str) -> None:
        self._post("/retire", {"arm": arm})

    def end(self, reason: str = "") -> None:
        self._post("/end", {"reason": reason})

    def note(self, content: Mapping[str, Any]) -> int:
        self._needs_the_store("note")

    # looking

    def verdicts(self) -> Verdicts:
        rows = self.arms()
        tally = self.tally()
        shown = Shown(self.name, self.terms, tally)
        return Verdicts(tally.good, tally.bad, tally.open, rows, self.terms.question.labels.estimate, shown)

    def arms(self) -> list[ArmRow]:
        return [ArmRow.from_json(row) for row in self._get("/arms")["arms"]]

    def arm(self, arm: str) -> ArmRow:
        return ArmRow.from_json(self._get(f"/arms/{quote(arm, safe='')}"))

    def nearest(self, many: int = 10) -> list[ArmRow]:
        still = [row for row in self.arms() if row.verdict == "open" and row.status == "open"]
        return sorted(still, key=lambda row: row.needed - row.evidence)[:many]

    def waiting(self, limit: int | None = None) -> list[PendingTicket]:
        return [PendingTicket(**row) for row in self._get(f"/waiting?limit={limit or MOST_PENDING}")["tickets"]]

    def audit(self, arm: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self._get(f"/arms/{quote(arm, safe='')}")["audit"]
        return found

    def history(self, after: int = 0, limit: int | None = None) -> Iterator[dict[str, Any]]:
        left = math.inf if limit is None else limit
        following: int | None = after
        while following is not None and left > 0:
            piece = self._get(f"/history?after={following}&limit={int(min(PIECE, left))}")
            yield from piece["events"]
            left -= len(piece["events"])
            following = piece["next"]

    def remaining(self, draws: int = 200) -> Remaining:
        left = self._get(f"/remaining?draws={draws}")
        limit = left.pop("limit")
        arms = tuple(left.pop("arms", ()))
        found = {name: np.array(values, dtype=np.float64) for name, values in left.items()}
        return Remaining(**found, limit=limit, arms=arms)

    def finish(self) -> Finish | None:
        found = self._get("")["finish"]
        return None if found is None else Finish.from_json(found)

    def tally(self) -> Tally:
        return Tally(**self._get("")["tally"])

    def bounds(self, arm: str | None = None) -> Bounds:
        path = "" if arm is None else f"/arms/{quote(arm, safe='')}"
        return Bounds.from_json(self._get(path)["bounds"])

    def headline(self) -> str:
        return str(self._get("")["sentence"])

    def head(self) -> Head:
        return Head(**self._get("/head"))

    def check(self, head: Head | None = None) -> Check:
        since = "" if head is None else f"?head={head}"
        return Check(**{name: value for name, value in self._get(f"/check{since}").items() if value is not None})

    def export(self, path: str | Path) -> int:
        target = Path(path)
        if target.suffix not in (".jsonl", ".parquet"):
            raise InvalidValue(f"a campaign is exported to a file that ends in .jsonl or .parquet; got {str(path)!r}.")
        self._refuse_closed()
        number = self.number
        refuse_replacing(target)
        content = self._connection.call("GET", f"{self._path}/export?format={target.suffix[1:]}")
        write_whole(target, lambda part: part.write_bytes(content))
        return number

    @property
    def name(self) -> str:
        return self._name

    @property
    def store(self) -> Store:
        self._needs_the_store("store")

    @cached_property
    def terms(self) -> Terms:
        first = next(self.history(limit=1))
        return Terms.from_json(first["content"])

    @property
    def number(self) -> int:
        return int(self._get("")["number"])

    # opening and closing

    def on_verdict(self, callback: Callable[[ArmRow], None]) -> None:
        if not self._listeners:
            self._heard = self.number
        self._listeners.append(callback)

    def transaction(self) -> Any:
        self._needs_the_store("transaction")

    def close(self) -> None:
        if not self._hold_closed:
            self._hold_closed = True
            self._connection.close()

    def __str__(self) -> str:
        summary = self._get("")
        return "\n".join([f"{self.name}: {summary['sentence']}", *details(Tally(**summary["tally"]))])

    def __repr__(self) -> str:
        return f"<Campaign {self.name!r} at {self._connection.address}>"

    def _repr_html_(self) -> str:
        from html import escape

        return "".join(f"<p>{escape(line)}</p>" for line in str(self).split("\n"))

    def _get(self, rest: str) -> Any:
        self._refuse_closed()
        answer = self._connection.get(self._path + rest)
        self._call_listeners()
        return answer

    def _post(self, rest: str, body: Any, *, key: str | None = None) -> Any:
        self._refuse_closed()
        answer = self._connection.post(self._path + rest, body, key)
        self._call_listeners()
        return answer

    def _refuse_closed(self) -> None:
        if self._hold_closed:
            raise Refused(f"the campaign {self.name!r} was closed here. Open it again: Campaign.open(store, name).")

    def _call_listeners(self) -> None:
        """Announce the verdicts since the last call, whichever client told the rewards."""
        listeners, self._listeners = self._listeners, []  # a callback may use the campaign itself
        try:
            following: int | None = self._heard if listeners else None
            while following is not None:
                piece = self._connection.get(f"{self._path}/history?after={following}&limit={PIECE}&kind=verdict")
                for event in piece["events"]:
                    row = self.arm(event["arm"])
                    self._heard = event["number"]
                    announce(listeners, row)
                self._heard = max(self._heard, piece["last"])
                following = piece["next"]
        finally:
            self._listeners = listeners + self._listeners

    def _needs_the_store(self, what: str) -> NoReturn:
        raise Refused(f"{what} is not served over HTTP. Open the campaign with the store's own address for it.")


@contextmanager
def _connected(address: str, token: str | None, patience: float | str | timedelta | None) -> Iterator[Connection]:
    """A connection that is closed if the request fails."""
    connection = Connection(address, token or os.environ.get(TOKEN) or None, patience=patience)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def _key(given: str | None) -> str:
    """A key by which the server recognises a repeated request: the caller's key or a new one."""
    return uuid.uuid4().hex if given is None else check_key(given)
