"""A campaign as a server holds it: entries carry the caller's token, asks have limits, forecasts run elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

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

MOST_CELLS = 2_000_000
"""Maximum number of draws times arms of a forecast: some seconds of one processor."""
USUAL_DRAWS = 200


class Hosted(Campaign):
    """What the desk opens."""

    def limit(self, limits: Limits) -> None:
        """Refuse asks beyond these limits."""
        self._session.limits = limits

    def act_for(self, by: str) -> None:
        """The token, by its id, whose changes follow; empty for none."""
        self._session.by = by

    def chunks(self, after: int) -> Iterator[list[Row]]:
        """The entries after a number as the store has them, for another thread: the state is not looked at."""
        return self._session.store.chunks(self._session.campaign, after, self._look().number)

    def as_people_read(self, row: Row) -> dict[str, Any]:
        """An entry as `history` shows it."""
        return operations.as_people_read(self._session.fold, Event._make(row))

    def number_of(self, arm: str) -> int:
        """The number of an arm in the journal."""
        return operations.number_of(self._session.fold, arm)

    def finishing(self) -> Callable[[Stop | None], Finish | None]:
        """How many more samples until no arm is undecided, as a function that another thread can run."""
        return views.finishing(self._look())

    def forecast(self, draws: int | None = None) -> Callable[[Stop | None], Remaining]:
        """What `remaining` computes, as a function for another thread.

        draws : None for as many as usual, fewer with very many arms
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
    """Compile what blocks need, on a step that is thrown away: otherwise the first block would wait for the compiler
    while it holds the store's lock."""
    step = new_step(terms)
    counts = step.choose_block(1)
    step.absorb_block(counts, np.zeros((len(counts), *np.shape(terms.question.nothing))))
