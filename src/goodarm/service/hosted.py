"""A campaign at a server: its entries name the caller's token, asks have limits, and forecasts run in other threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from goodarm.campaign import Campaign, journal, operations, views
from goodarm.campaign.fold import Fold, new_step
from goodarm.campaign.journal import Event, Row
from goodarm.campaign.rows import Finish
from goodarm.campaign.session import Limits, Session
from goodarm.campaign.terms import Terms
from goodarm.errors import InvalidValue
from goodarm.simulation.stop import Stop

if TYPE_CHECKING:
    from goodarm.planning import Remaining

T = TypeVar("T")
MOST_CELLS = 2_000_000
"""Maximum number of draws times arms of a forecast, a few seconds of processor time."""
USUAL_DRAWS = 200
MANY_ARMS = 2_000
"""Number of arms above which a view with a row for each of them is computed in another thread, from a copy."""


class Due(NamedTuple):
    """A due estimate: the journal's number, and the function that computes it."""

    number: int
    estimate: Callable[[Stop], Finish | None]


class Guess(NamedTuple):
    """An estimate of the remaining samples, and when it was made."""

    again_at: float
    number: int
    value: Finish | None


REST = 20.0
"""Pause between two estimates, as a multiple of the time that the last one took. It limits the load."""
OUTDATED = 2
"""An estimate is outdated once the journal has grown by this factor."""


class Hosted(Campaign):
    """A campaign with the extra methods that a server needs, and what a server caches of it.

    kept_summary : the latest summary of `goodarm.service.views`
    """

    def __init__(self, session: Session, *, owns_store: bool) -> None:
        super().__init__(session, owns_store=owns_store)
        self.kept_summary: dict[str, Any] | None = None
        self._guess: Guess | None = None
        self._is_still = False

    @contextmanager
    def still(self) -> Iterator[None]:
        """Read what others have written now, and nothing more until the block ends. A view then shows one state."""
        before = self._is_still
        if not before:
            self._look()
        self._is_still = True
        try:
            yield
        finally:
            self._is_still = before

    def _look(self) -> Fold:
        return self._session.fold if self._is_still else super()._look()

    @cached_property
    def origin(self) -> tuple[str, str | None]:
        """When the campaign was created, and by whom: the first entry, and a note among the next two."""
        created, *following = self.history(limit=3)
        notes = [entry.get("content", {}) for entry in following if entry["kind"] == journal.NOTE]
        return created["at"], next((note.get("by") for note in notes if note.get("note") == journal.CREATED), None)

    @property
    def estimate(self) -> Finish | None:
        """The latest estimate of the samples until every arm is decided."""
        return None if self._guess is None or self._is_outdated(self._guess) else self._guess.value

    def estimate_due(self) -> Due | None:
        """The input of a new estimate; None if none is due.

        One is due if the last is outdated, or if something has changed and the last was short compared with the time
        since then.
        """
        number, guess = self.number, self._guess
        if guess is None or self._is_outdated(guess):
            return Due(number, self.finishing())
        is_early = guess.number == number or time.monotonic() < guess.again_at
        return None if is_early else Due(number, self.finishing())

    def keep_estimate(self, number: int, value: Finish | None, took: float) -> None:
        """Store an estimate that was computed in `took` seconds."""
        self._guess = Guess(time.monotonic() + REST * took, number, value)

    def share_estimate(self, copy: Hosted) -> None:
        """Give the latest estimate to a copy of this campaign, which makes none."""
        copy._guess = self._guess

    @property
    def is_large(self) -> bool:
        """Whether a row for each arm takes long to compute."""
        return len(self._session.fold.books) > MANY_ARMS

    @property
    def read_to(self) -> int:
        """The number of the last entry that was read, without reading further."""
        return self._session.fold.number

    def _is_outdated(self, guess: Guess) -> bool:
        """Whether the campaign has grown much since then, or rewards have replaced the plan's assumption."""
        if self.number > OUTDATED * guess.number:
            return True
        if guess.value is None or guess.value.guess == "":
            return False
        return any(book.told for book in self._session.fold.books)

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
