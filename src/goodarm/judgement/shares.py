"""Division of delta among the arms of a log, and the conditions under which each division is valid.

An arm with share w is decided at evidence log(1/(w delta)). The shares sum to at most 1, so the union over the arms
keeps the probability of any wrong verdict below delta (and weighted e-BH the false discovery rate). A share must be
known, or fixed by a rule, before the arm's first reward. A log shows only the arms that have appeared so far, so this
is a condition on the log. There are four divisions:

fixed          1/K each, K the arms in the log. Holds if the set of arms was fixed in advance and every look saw all of
               them. A look at K' < K arms spends delta/K' on each, so arms that appear between looks break it.
max-arms       1/N each, N declared. Holds if at most N arms are ever judged.
ledger         `goodarm.judgement.ledger`: the shares of earlier looks are kept in a file.
by-appearance  1/(k (k + 1)) for the k-th arm in the order of first appearance. The sum over all k is 1, so any number
               of arms may come, whatever makes them come: k is known when the arm appears.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import InvalidValue
from goodarm.judgement.ledger import Ledger
from goodarm.judgement.log_columns import LogColumns
from goodarm.judgement.question import Question
from goodarm.judgement.sources._base import Floats, Sums

LATE = 0.1
"""Share of the rows after which an arm's first appearance counts as late."""


@dataclass(frozen=True)
class Shares:
    """The share of delta of each arm.

    case   : "fixed", "max-arms", "ledger" or "by-appearance"
    offset : log(K w) with K arms and share w, one per arm; 0 where all shares are 1/K
    """

    case: str
    offset: Floats


@contextmanager
def shared(question: Question, columns: LogColumns, sums: Sums, judged: NDArray[np.bool_]) -> Iterator[Shares]:
    """The shares of the arms that get a verdict. A ledger is locked during the block, and written on success."""
    arms = int(judged.sum())
    if question.ledger is not None:
        names = [key for key, kept in zip(zip(*sums.segment, sums.arm, strict=True), judged, strict=True) if kept]
        with Ledger(question.ledger).look(question.terms(columns), names, int(sums.rows.sum())) as share:
            yield Shares("ledger", np.log(arms * np.array([share[name] for name in names])))
    elif question.max_arms is not None:
        if arms > question.max_arms:
            raise InvalidValue(
                f"the log has {arms:,} arms to judge, more than `max_arms={question.max_arms}`. "
                "The number must be fixed before the first look, and include all arms that will ever be judged."
            )
        yield Shares("max-arms", np.full(arms, np.log(arms / question.max_arms)))
    elif question.by_appearance:
        assert sums.first is not None
        names = [key for key, kept in zip(zip(*sums.segment, sums.arm, strict=True), judged, strict=True) if kept]
        place = {name: j for j, name in enumerate(sorted(names))}  # arms with the same time: by name
        order = np.lexsort((np.array([place[name] for name in names]), sums.first[judged]))
        k = np.empty(arms)
        k[order] = np.arange(1.0, arms + 1.0)
        yield Shares("by-appearance", np.log(arms / (k * (k + 1.0))))
    else:
        yield Shares("fixed", np.zeros(arms))
