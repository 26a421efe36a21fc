"""The loop: beliefs -> choose -> reward -> evidence -> verdict, compiled once per pairing of rules.

`build` closes a loop over plain functions and hands it to numba. The loop is resumable: it runs until a given round
and leaves everything it needs in `State`, so that progress, Ctrl-C and thinned trajectories need no code in here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.compile import compiled
from goodarm.rules.beliefs import (
    ARM_FIELDS,
    POOL_FIELDS,
    Arm,
    Pool,
    Row,
    Table,
    read_arm,
    read_pool,
    write_arm,
    write_pool,
)
from goodarm.rules.identification.false_discovery import Ledger, empty_ledger, settle
from goodarm.streams import reward_key


class Parts(NamedTuple):
    """The functions that a loop is made of."""

    prepare: Callable[..., None]
    """(tree, arms, pool, bar, parameters): make the selector ready for the next choice, from scratch."""
    select: Callable[..., int]
    """(tree, arms, pool, bar, generator, parameters) -> arm"""
    update: Callable[..., None]
    """(tree, i, arm, pool, bar, parameters): arm i has changed."""
    observe: Callable[..., tuple[float, float, float]]
    """(arm, reward, pool, bar, *parameters) -> evidence"""
    decide: Callable[..., float]
    """(arm, pool, bar, parameters) -> verdict"""
    reward: Callable[..., float]
    """(i, means, extra, key) -> reward"""
    fit: Callable[..., Pool]
    """(arms, pool, bar, *parameters) -> Pool"""
    next_round: Callable[..., float]
    """(round, bar, *parameters) -> round"""


class State(NamedTuple):
    """Everything that a run needs to go on."""

    arms: Table  # (K, 8), rows of `Arm`
    decided_at: NDArray[np.int64]  # (K,), round of the verdict, 0 while open
    tree: Table  # the selector's own
    pool: Row  # (9,), a `Pool`
    progress: NDArray[np.int64]  # (3,): round, open arms, round of the next fit
    ledger: Ledger  # e-BH's own; two empty lists otherwise
    settled: NDArray[np.int64]  # scratch for e-BH


def new_state(arms: int, tree: Table, pool: Pool, first_fit: float, fdr: bool) -> State:
    """The state before the first round."""
    row = np.zeros(POOL_FIELDS)
    write_pool(row, pool)
    due = np.iinfo(np.int64).max if math.isinf(first_fit) else int(first_fit)
    return State(
        arms=np.zeros((arms, ARM_FIELDS)),
        decided_at=np.zeros(arms, dtype=np.int64),
        tree=tree,
        pool=row,
        progress=np.array([0, arms, due], dtype=np.int64),
        ledger=empty_ledger(arms if fdr else 0),
        settled=np.zeros(arms if fdr else 0, dtype=np.int64),
    )


def _python_loop(parts: Parts, fdr: bool, print_of_rules: str) -> Callable[..., None]:
    prepare, select, update, observe, decide, reward, fit, next_round = parts

    def loop(
        state: State, means: Row, extra: Row, streams: NDArray[np.int64], run: np.uint64, bar: Any, parameters: Any,
        generator: Any, until: int, trace: NDArray[np.int64],
    ) -> None:  # fmt: skip
        print_of_rules  # noqa: B018  a closure variable: numba's disk cache is keyed by it
        arms, decided_at, tree, pool_row, progress, ledger, settled = state
        choosing, observing, deciding, fitting, timing = parameters
        count = arms.shape[0]
        now, open_arms, due = progress[0], progress[1], progress[2]
        pool = read_pool(pool_row, float(now))
        while now < until and open_arms > 0:
            now += 1
            pool = at_round(pool, float(now))
            # each arm once, then as the rule says
            a = now - 1 if now <= count else select(tree, arms, pool, bar, generator, choosing)
            before = read_arm(arms, a)
            x = reward(a, means, extra, reward_key(run, streams[a], before.pulls))
            for_good, for_bad, memory = observe(before, x, pool, bar, *observing)
            n = before.pulls + 1.0
            s = before.total + x
            arm = Arm(n, s, s / n, 1.0 / math.sqrt(n), for_good, for_bad, memory, 0.0)
            if not fdr:
                arm = with_verdict(arm, decide(arm, pool, bar, deciding))
            write_arm(arms, a, arm)
            if trace.size > 0:
                trace[now - 1] = a
            if now > count:
                update(tree, a, arm, pool, bar, choosing)
            if fdr:
                found = settle(arms, a, ledger, settled, bar)
                for j in range(found):
                    decided_at[settled[j]] = now
                    if now > count:
                        update(tree, settled[j], read_arm(arms, settled[j]), pool, bar, choosing)
                open_arms -= found
            elif arm.verdict != 0.0:
                decided_at[a] = now
                open_arms -= 1
            if now >= due:
                pool = fit(arms, pool, bar, *fitting)
                due = np.int64(next_round(float(now), bar, *timing))
                if now >= count:
                    prepare(tree, arms, pool, bar, choosing)
            elif now == count:
                prepare(tree, arms, pool, bar, choosing)
        write_pool(pool_row, pool)
        progress[0], progress[1], progress[2] = now, open_arms, due

    return loop


def at_round(pool: Pool, now: float) -> Pool:
    """The same pool at another time."""
    return Pool(
        now, pool.horizon, pool.prior_mean, pool.prior_strength, pool.prior_variance,
        pool.alpha, pool.beta, pool.past_alpha, pool.past_beta,
    )  # fmt: skip


def with_verdict(arm: Arm, verdict: float) -> Arm:
    """The same arm with a verdict."""
    return Arm(arm.pulls, arm.total, arm.mean, arm.width, arm.for_good, arm.for_bad, arm.memory, verdict)


_loops: dict[tuple[Parts, bool], Callable[..., None]] = {}


def build(parts: Parts, fdr: bool) -> Callable[..., None]:
    """The compiled loop of a pairing; compiled when first called, from the disk cache when nothing has changed."""
    key = (parts, fdr)
    if key not in _loops:
        _loops[key] = compiled(lambda mark: _python_loop(parts, fdr, mark))
    return _loops[key]
