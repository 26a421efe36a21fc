"""Verdicts of `bet-mixture` from sums of log(1 + l_j (x - xi)) over an arm's rewards, added up by the engine.

The sums come out of the same scan as count and total. They do not depend on the order of the rows, nor on where the
rows were added up, so that the evidence is the same on every engine, to rounding. The bar is known before the scan,
and the sums hold for this bar alone: there is no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.compile import TOTALS, compiled
from goodarm.engine.totals import in_chunks
from goodarm.judgement.decide import Decided, needed
from goodarm.judgement.question import Question
from goodarm.problem import Bar, NonNegative, Problem
from goodarm.rules.identification.bet_mixture import from_sums
from goodarm.rules.identification.bet_mixture import sums as one_reward

Floats = NDArray[np.float64]
STEPS = 40
"""Number of halvings with which the rows still needed are found."""
MOST = 1e6
"""An arm that needs more than this many times its rows counts as never decided."""


def decide_by_sums(
    question: Question,
    pulls: Floats,
    totals: Floats,
    logs: Floats,
    problem: Problem,
    offset: Floats | float = 0.0,
    pending: Floats | float = 0.0,
) -> Decided:
    """Judge all arms by their sums of logarithms, together.

    logs    : shape (K, J), a sum per arm and bet, in the order of `bet_mixture.bets`
    pending : rewards that are still to come: 0 for the evidence that an arm is good, 1 for the evidence that it is bad
    """
    bar = problem.bar
    waiting = np.broadcast_to(pending, pulls.shape)[:, None]
    for_good = evidence(logs + waiting * one_reward(0.0, bar), bar)[0] if waiting.any() else evidence(logs, bar)[0]
    for_bad = evidence(logs + waiting * one_reward(1.0, bar), bar)[1] if waiting.any() else evidence(logs, bar)[1]
    levels = needed(question.criterion, (for_good, for_bad), problem, offset)
    verdict = np.where(for_good >= levels.now[0], 1, np.where(for_bad >= levels.now[1], -1, 0)).astype(np.int8)
    strength = np.where(verdict == 1, for_good, np.where(verdict == -1, for_bad, np.maximum(for_good, for_bad)))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = totals / pulls
    level = np.where(mean >= bar.threshold, levels.next[0], levels.next[1])
    needs = np.where(verdict == 0, _more(logs, pulls, mean >= bar.threshold, level, bar), 0.0)
    nothing = np.full(pulls.size, math.nan)
    return Decided(mean, nothing, nothing.copy(), verdict, strength, np.where(np.isnan(mean), math.nan, needs))


def notes(question: Question) -> tuple[str, ...]:
    """What readers must know about verdicts from sums."""
    said = ["bet-mixture adds up logarithms for this bar alone and has no interval"]
    if isinstance(question.scale.family, NonNegative) and question.scale.family.cap is None:
        said.append(
            "rewards have no ceiling, so that no arm can be called bad: a single large reward could lift any mean. To "
            "judge rewards cut at a cap as well, give `rewards='nonnegative:CAP'`"
        )
    return tuple(said)


def evidence(logs: Floats, bar: Bar) -> tuple[Floats, Floats]:
    """log E+ and log E- of every arm, shapes (K,)."""
    for_good, for_bad = np.empty(len(logs)), np.empty(len(logs))
    loop, rows = _loop(TOTALS.compiles(len(logs))), np.ascontiguousarray(logs)

    def work(part: slice) -> None:
        loop(rows[part], bar, for_good[part], for_bad[part])

    in_chunks(work, len(rows))
    return for_good, for_bad


@cache
def _loop(fast: bool) -> Callable[..., None]:
    own = from_sums

    def loop(logs: Floats, bar: Bar, for_good: Floats, for_bad: Floats) -> None:
        for i in range(for_good.size):
            for_good[i], for_bad[i] = own(logs[i], bar)

    built: Callable[..., None] = compiled(loop) if fast else loop
    return built


def _more(logs: Floats, pulls: Floats, above: NDArray[np.bool_], level: Floats, bar: Bar) -> Floats:
    """About how many more rows until a verdict, if the arm's rewards go on as they did."""

    def enough(times: Floats) -> NDArray[np.bool_]:
        both = evidence(logs * times[:, None], bar)
        return np.asarray(np.where(above, both[0], both[1]) >= level)

    few, many = np.ones(pulls.size), np.full(pulls.size, MOST)
    never = ~enough(many)
    for _ in range(STEPS):
        middle = np.sqrt(few * many)
        there = enough(middle)
        few, many = np.where(there, few, middle), np.where(there, middle, many)
    return np.where(never, math.inf, np.ceil((many - 1.0) * pulls))
