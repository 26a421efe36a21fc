"""A campaign at a server: its entries name the caller's token, asks have limits, and forecasts run in other threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from goodarm.campaign import Campaign, operations, views
from goodarm.campaign.fold import new_step
from goodarm.campaign.journal import Event, Row
from goodarm.campaign.rows import Finish
from goodarm.campaign.session import Limits
from goodarm.campaign.terms import Terms
from goodarm.errors import InvalidValue
from goodarm.simulation.stop import Stop

if TYPE_CHECKING:
    from goodarm.planning import Remaining

T = TypeVar("T")
MOST_CELLS = 2_000_000
"""Maximum number of draws times arms of a forecast, a few seconds of processor time."""
USUAL_DRAWS = 200


class Hosted(Campaign):
    """A campaign with the extra methods that a server needs."""

    def limit(self, limits: Limits) -> None:
        """Refuse asks beyond these limits."""
        self._session.limits = limits

    def act_for(self, by: str, operation: Callable[[Self], T]) -> T:
        """Run an operation and record the id of the caller's token in its entries."""
        self._session.by = by
        try:
            return operation(self)
        finally:
            self._session.by = ""

    @contextmanager
    def together(self, keys: Sequence[str]) -> Iterator[None]:
        """Commit several operations together; `keys` are their idempotency keys."""
        with self._writing():
            self._session.expect(keys)
            yield

    def chunks(self, after: int) -> Iterator[list[Row]]:
        """Stored entries after a number. It does not use the fold, so any thread may call it."""
        return self._session.store.chunks(self._session.campaign, after, self._look().number)

    def as_people_read(self, row: Row) -> dict[str, Any]:
        """An entry as `history` shows it."""
        return operations.as_people_read(self._session.fold, Event._make(row))

    def number_of(self, arm: str) -> int:
        """The number of an arm in the journal."""
        return operations.number_of(self._session.fold, arm)

    def finishing(self) -> Callable[[Stop | None], Finish | None]:
        """A function for another thread that estimates the samples until every arm is decided."""
        return views.finishing(self._look())

    def arm_ids(self) -> list[str]:
        """The ids of all arms, in their order."""
        return [book.entry.id for book in self._look().books]

    def forecast(self, draws: int | None = None) -> Callable[[Stop | None], Remaining]:
        """A function for another thread that computes `remaining`.

        draws : number of draws; None for the default, which is lower with very many arms
        """
        fold, most = self._look(), self.most_draws
        if draws is not None and draws > most:
            raise InvalidValue(
                f"draws may be at most {most:,} with {len(fold.books):,} arms at a server; got {draws}. Ask for fewer."
            )
        return views.forecast_of(fold, draws or min(USUAL_DRAWS, most))

    @property
    def most_draws(self) -> int:
        """Maximum number of draws of a forecast."""
        return max(MOST_CELLS // len(self._session.fold.books), 1)


def rehearse_block(terms: Terms) -> None:
    """Compile the code for blocks on a temporary step. A first block must not compile under the store's lock."""
    step = new_step(terms)
    counts = step.choose_block(1)
    step.absorb_block(counts, np.zeros((len(counts), *np.shape(terms.question.nothing))))
