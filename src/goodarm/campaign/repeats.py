"""Repeated evaluation of a case: the result of the case is the mean of its repetitions.

The tickets of a case are handed out one after the other. The first ticket represents the case: the rules see one
sample, whose reward is the mean once every repetition is told. A void repetition is asked for again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Begun(NamedTuple):
    """A case whose repetitions are not all told.

    owed  : repetitions that must still be asked for
    told  : repetitions whose result is known
    total : sum of their results
    """

    arm: int
    case: int
    owed: int
    told: int
    total: float


class Repeats:
    """Repetitions of cases. Arms, cases and tickets are numbers.

    >>> repeats = Repeats(2)
    >>> repeats.ask(1, arm=0, case=7), repeats.owing(lambda arm: True), repeats.case_owed(0)
    (True, 0, 7)
    >>> repeats.ask(2, arm=0, case=7), repeats.owing(lambda arm: True)
    (False, None)
    >>> repeats.tell(2, 1.0), repeats.tell(1, 0.0)
    (None, (1, 0.5))
    """

    def __init__(self, times: int) -> None:
        self.times = times
        self.begun: dict[int, Begun] = {}
        """Started cases, by the ticket that represents them."""
        self.leads: dict[int, int] = {}
        """For each pending ticket, the ticket that represents its case."""
        self.places: dict[int, int] = {}
        """Number of cases that each arm has started."""
        self.owed: dict[int, None] = {}
        """Started cases with repetitions still to ask for, oldest first."""

    def _lead_owed(self, arm: int) -> int | None:
        return next((lead for lead in self.owed if self.begun[lead].arm == arm), None)

    def owing(self, wanted: Callable[[int], bool]) -> int | None:
        """The arm whose next ticket is a repetition; None if no wanted arm has one left to ask for."""
        return next((arm for lead in self.owed if wanted(arm := self.begun[lead].arm)), None)

    def case_owed(self, arm: int) -> int | None:
        """The case of the arm's next repetition."""
        lead = self._lead_owed(arm)
        return None if lead is None else self.begun[lead].case

    def ask(self, ticket: int, arm: int, case: int) -> bool:
        """Record a newly issued ticket; returns whether it is the first of its case."""
        lead = self._lead_owed(arm)
        first = lead is None
        if lead is None:
            lead = ticket
            self.begun[lead] = Begun(arm, case, self.times, 0, 0.0)
            self.places[arm] = self.places.get(arm, 0) + 1
        self._owe(lead, -1)
        self.leads[ticket] = lead
        return first

    def _owe(self, lead: int, more: int) -> None:
        case = self.begun[lead] = self.begun[lead]._replace(owed=self.begun[lead].owed + more)
        if case.owed:
            self.owed.setdefault(lead)
        else:
            self.owed.pop(lead, None)

    def tell(self, ticket: int, reward: float | None) -> tuple[int, float] | None:
        """Record a result, or None for a void ticket. The last one returns the case's first ticket and the mean."""
        lead = self.leads.pop(ticket)
        case = self.begun[lead]
        if reward is None:
            self._owe(lead, 1)
            return None
        case = self.begun[lead] = case._replace(told=case.told + 1, total=case.total + reward)
        if case.told < self.times:
            return None
        del self.begun[lead]
        return lead, case.total / self.times

    def as_json(self) -> dict[str, Any]:
        """The state as JSON."""
        return {
            "begun": [[lead, *case] for lead, case in self.begun.items()],
            "leads": list(self.leads.items()),
            "places": list(self.places.items()),
            "owed": list(self.owed),
        }

    def restore(self, content: dict[str, Any]) -> None:
        """The inverse of `as_json`."""
        self.begun = {lead: Begun(*case) for lead, *case in content["begun"]}
        self.leads = dict(map(tuple, content["leads"]))
        self.places = dict(map(tuple, content["places"]))
        self.owed = dict.fromkeys(content["owed"])
