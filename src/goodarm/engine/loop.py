"""The round for independent arms: beliefs -> choose -> reward -> evidence -> verdict.

This is its only definition. `rounds` builds it from plain functions, the `Parts`, and three kinds of callers run it:
the simulator (an arm is chosen, its reward drawn; compiled), a replay (arm and reward are read from a journal;
compiled), and a single step of a live campaign (arm and reward are told; plain Python). It is resumable: it runs until
a given round and leaves everything in `Tables` and the returned pool. Progress, Ctrl-C and thinned trajectories
therefore need no code here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.compile import borrowed, compiled
from goodarm.rules.beliefs import (
    MEAN,
    PULLS,
    SUSPENDED,
    TOTAL,
    VERDICT,
    WIDTH,
    Arm,
    Pool,
    Table,
    at_round,
    read_arm,
    read_arm_with_row,
    with_verdict,
    write_arm,
    write_arm_beside_row,
)
from goodarm.rules.identification.false_discovery import Ledger, decide_by_rank

ROUND, OPEN, FIT_DUE, UPKEEP_DUE, FRESH, WANTED = range(6)
"""Columns of `Tables.progress`: rounds played, open arms, the rounds of the next fit and of the model's next upkeep,
the first arm that was never pulled, and the number of good verdicts after which a simulated run ends (`NEVER`: no
limit)."""
NEVER = np.iinfo(np.int64).max
NO_TRACE: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
"""Placeholder for a trace if the arms of the rounds are not recorded."""


class Parts(NamedTuple):
    """The functions that make up a round."""

    prepare: Callable[..., None]
    """(kept, arms, pool, bar, parameters): prepare the selector from scratch for the next choice."""
    choose: Callable[..., int]
    """(kept, arms, pool, bar, generator, parameters, fresh, source) -> arm"""
    update: Callable[..., None]
    """(kept, i, arm, pool, bar, parameters): arm i has changed."""
    reward: Callable[..., float]
    """(i, pulls, source) -> reward"""
    as_asked: Callable[..., Pool]
    """(pool, source) -> the pool at the time of asking, on which a bet may depend"""
    observe: Callable[..., tuple[float, float, float]]
    """(arm, reward, pool, bar, *parameters) -> evidence"""
    decide: Callable[..., float]
    """(arm, pool, bar, parameters) -> verdict"""
    fit: Callable[..., Pool]
    """(arms, pool, bar, *parameters) -> Pool"""
    next_round: Callable[..., float]
    """(round, bar, *parameters) -> round"""


class Tables(NamedTuple):
    """The arrays that hold the state of a run."""

    arms: Table  # (K, 8 or more), rows of `Arm`
    decided_at: NDArray[np.int64]  # (K,), round of the verdict, 0 while open
    kept: Any  # the selector's working memory
    progress: NDArray[np.int64]  # (6,): see `ROUND`
    ledger: Ledger  # for e-BH; two empty lists under fwer
    called: NDArray[np.int64]  # scratch for e-BH


class Kind(NamedTuple):
    """Constants of the compiled code that differ between pairings.

    fdr     : verdicts by rank (e-BH) instead of one by one
    rows    : the identification rule keeps more than one number per arm
    outside : arms and rewards come from outside in any order, also for decided or suspended arms
    waits   : no verdict before every arm was pulled once (`IdentificationRule.waits`)
    """

    fdr: bool = False
    rows: bool = False
    outside: bool = False
    waits: bool = False


def rounds(parts: Parts, kind: Kind) -> Callable[..., tuple[Pool, bool]]:
    """The loop over the rounds of a pairing, as plain Python. Its second result is for models: whether upkeep is due.

    The round is one long function. Split into `choose` and `absorb` it made the simulator 40 to 60% slower, and with
    numba's inlining still 7 to 15%. Callers differ only in the parts and a few constants.
    """
    prepare, choose, update, reward, as_asked, observe, decide, fit, next_round = parts
    fdr, rows, outside, waits = kind
    read, write = (read_arm_with_row, write_arm_beside_row) if rows else (read_arm, write_arm)
    remember = row_stays if rows else number_changes
    told = all_of_it if outside else none_of_it

    def loop(
        tables: Tables, pool: Pool, source: Any, bar: Any, parameters: Any, generator: Any, until: int, trace: Any
    ) -> tuple[Pool, bool]:
        arms, decided_at, kept, progress = borrowed((tables.arms, tables.decided_at, tables.kept, tables.progress))
        ledger, called, source, lent = tables.ledger, tables.called, borrowed(source), borrowed(pool)
        choosing, observing, deciding, fitting, timing = parameters
        count = arms.shape[0]
        now, open_arms, due, fresh = progress[ROUND], progress[OPEN], progress[FIT_DUE], progress[FRESH]
        missing = NEVER if outside else progress[WANTED] - good_so_far(arms)
        while now < until and (outside or (open_arms > 0 and missing > 0)):
            now += 1
            present = at_round(lent, float(now))
            a = choose(kept, arms, present, bar, generator, choosing, fresh, told(source))
            before = read(arms, a)
            x = reward(a, before.pulls, source)
            n = before.pulls + 1.0
            s = before.total + x
            ready = fresh >= count
            if outside and abs(before.verdict) == 1.0:
                # a verdict is final: count the reward and change nothing else
                arms[a, PULLS], arms[a, TOTAL], arms[a, MEAN], arms[a, WIDTH] = n, s, s / n, 1.0 / math.sqrt(n)
            else:
                for_good, for_bad, memory = observe(before, x, as_asked(present, source), bar, *observing)
                memory = remember(before, memory)
                stood = before.verdict if outside else 0.0
                arm = Arm(n, s, s / n, 1.0 / math.sqrt(n), for_good, for_bad, memory, stood)
                if not fdr and (ready or not waits):
                    verdict = decide(arm, present, bar, deciding)
                    arm = with_verdict(arm, stood if outside and verdict == 0.0 else verdict)
                write(arms, a, arm)
                if ready:
                    update(kept, a, arm, present, bar, choosing)
                if fdr:
                    found, opened = decide_by_rank(arms, a, ledger, called, bar)
                    for j in range(found):
                        i = called[j]
                        decided_at[i] = now
                        missing -= 1 if arms[i, VERDICT] > 0.0 else 0
                        if ready:
                            update(kept, i, read(arms, i), present, bar, choosing)
                    open_arms -= opened
                elif arm.verdict != stood:
                    decided_at[a] = now
                    open_arms -= 0 if outside and stood == SUSPENDED else 1
                    missing -= 1 if arm.verdict > 0.0 else 0
            if trace.size > 0:
                trace[now - 1] = a
            while fresh < count and arms[fresh, PULLS] > 0.0:
                fresh += 1
            fitted = now >= due
            if fitted:
                pool = fit(arms, at_round(pool, float(now)), bar, *fitting)
                lent = borrowed(pool)
                due = np.int64(next_round(float(now), bar, *timing))
            if fresh >= count and (fitted or not ready):
                prepare(kept, arms, at_round(lent, float(now)), bar, choosing)
        progress[ROUND], progress[OPEN], progress[FIT_DUE], progress[FRESH] = now, open_arms, due, fresh
        return at_round(pool, float(now)), False

    return loop


def good_so_far(arms: Table) -> int:
    """Number of arms called good."""
    good = 0
    for i in range(len(arms)):
        if arms[i, VERDICT] > 0.0:
            good += 1
    return good


def number_changes(before: Arm, memory: float) -> float:
    """Memory of a rule with one number, which it returns."""
    return memory


def row_stays(before: Arm, memory: float) -> Any:
    """Memory of a rule with several numbers, which it writes into the arm's row. The return value is unused."""
    return before.memory


def all_of_it(source: Any) -> Any:
    """The source for an arm from outside, the same as for its reward."""
    return source


def none_of_it(source: Any) -> int:
    """The source for a chosen arm: none. Passing arrays would update reference counts in every round."""
    return 0


def nothing_changes(*arguments: Any) -> None:
    """Selector functions for replays, which choose nothing. The selector is prepared at the end, if at all."""


@cache
def build(parts: Parts, kind: Kind) -> Callable[..., tuple[Pool, bool]]:
    """The compiled loop of a pairing, compiled at its first call or loaded from the disk cache."""
    loop: Callable[..., tuple[Pool, bool]] = compiled(rounds(parts, kind))
    return loop
