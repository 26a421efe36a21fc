"""Pairing with a control on the same cases: known results of the control, and samples that wait for one.

An arm's sample on a case counts as a pair once both results on that case, the arm's and the control's, are known. The
control is evaluated once per case, when the first arm needs it, and its result is used for every arm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from goodarm.rules.identification.paired import paired_reward


class Pair(NamedTuple):
    """A ticket of an arm that is resolved: its paired reward, or None if it is void."""

    ticket: int
    arm: int
    reward: float | None


class Pairs:
    """Paired results. Cases, arms and tickets are numbers.

    >>> pairs = Pairs(control=0)
    >>> pairs.ask(1, arm=2, case=7); pairs.ask(2, arm=3, case=7)
    >>> pairs.due(lambda arm: True)
    7
    >>> list(pairs.tell(1, arm=2, case=7, reward=1.0))
    []
    >>> pairs.ask(3, arm=0, case=7); pairs.due(lambda arm: True)
    >>> list(pairs.tell(3, arm=0, case=7, reward=0.0))
    [Pair(ticket=1, arm=2, reward=1.0)]
    >>> list(pairs.tell(2, arm=3, case=7, reward=0.0))
    [Pair(ticket=2, arm=3, reward=0.5)]
    """

    def __init__(self, control: int) -> None:
        self.control = control
        self.results: dict[int, float] = {}
        """The control's results, by case."""
        self.out: set[int] = set()
        """Cases on which the control is being evaluated."""
        self.waiting: dict[int, dict[int, int]] = {}
        """Tickets, told or pending, and their arms, by the case that lacks a result of the control."""
        self.needed: dict[int, None] = {}
        """Cases of `waiting` whose control evaluation has not started, in the order of need."""
        self.told: dict[int, float] = {}
        """Results of those tickets that were told."""

    def ask(self, ticket: int, arm: int, case: int) -> None:
        """Record a ticket that is handed out."""
        if arm == self.control:
            self.out.add(case)
            self.needed.pop(case, None)
        elif case not in self.results:
            self.waiting.setdefault(case, {})[ticket] = arm
            if case not in self.out:
                self.needed[case] = None

    def due(self, undecided: Callable[[int], bool]) -> int | None:
        """The case on which the control must be evaluated next; None if no undecided arm waits for one."""
        for case in self.needed:
            if any(map(undecided, self.waiting[case].values())):
                return case
        return None

    def tell(self, ticket: int, arm: int, case: int, reward: float | None) -> Iterator[Pair]:
        """Record a result, or None for a void ticket; returns the pairs that it completes.

        If the control's own ticket is void, the case is due again.
        """
        if arm == self.control:
            self.out.discard(case)
            if reward is None:
                if case in self.waiting:
                    self.needed[case] = None
                return
            self.results[case] = reward
            for each, of_arm in self.waiting.pop(case, {}).items():
                if each in self.told:
                    yield Pair(each, of_arm, paired_reward(self.told.pop(each), reward))
        elif case in self.results:
            yield Pair(ticket, arm, None if reward is None else paired_reward(reward, self.results[case]))
        elif reward is None:
            tickets = self.waiting[case]
            del tickets[ticket]
            if not tickets:
                del self.waiting[case]
                self.needed.pop(case, None)
            yield Pair(ticket, arm, None)
        else:
            self.told[ticket] = reward

    def as_json(self) -> dict[str, Any]:
        """The state as JSON."""
        return {
            "results": list(self.results.items()),
            "waiting": [[case, list(tickets.items())] for case, tickets in self.waiting.items()],
            "told": list(self.told.items()),
            "out": sorted(self.out),
            "needed": list(self.needed),
        }

    def restore(self, content: dict[str, Any]) -> None:
        """The inverse of `as_json`."""
        self.results = dict(map(tuple, content["results"]))
        self.waiting = {case: dict(map(tuple, tickets)) for case, tickets in content["waiting"]}
        self.told = dict(map(tuple, content["told"]))
        self.out = set(content["out"])
        self.needed = dict.fromkeys(content["needed"])
