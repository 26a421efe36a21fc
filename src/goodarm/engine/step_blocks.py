"""Blocks of a live step: so many asks, or so many told rewards, at once. By totals only: counts merge in any order.

What `Step` does for one arm in Python is done here for many, compiled, with the same bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goodarm.engine.control import ControlStep
from goodarm.engine.live import PENDING_COLUMN, worst_case
from goodarm.engine.loop import FIT_DUE, FRESH, ROUND
from goodarm.engine.native import asking, judging, showing
from goodarm.engine.step import Step
from goodarm.errors import InvalidValue
from goodarm.rules.beliefs import MEAN, PULLS, TOTAL, WIDTH, Pool, at_round
from goodarm.rules.identification import EvidenceRule
from goodarm.rules.sampling import ChoiceRule

Counts = NDArray[np.int64]

FEW = 16
"""Up to so many arms are judged in Python: loading compiled code would take longer."""


def ask_block(step: Step | ControlStep, pulls: int) -> Counts:
    """So many asks at once; returns the pulls of each arm. Fewer in all only where no arm is open."""
    if isinstance(step, ControlStep):
        return step.ask_block(pulls)
    _only_totals(step)
    state, parts = step.state, step.parts
    counts = np.zeros(len(state.arms), dtype=np.int64)
    pool = at_round(state.pool, float(step.asks))
    ask_many = asking(parts.prepare, parts.select, parts.update)
    done = ask_many(state.tables, pool, step.assembly.bar, step.generator, step.assembly.parameters[0], pulls, counts)
    _noted(step, counts, int(done))
    return counts


def note_block(step: Step | ControlStep, counts: Counts) -> None:
    """A block that was asked for by somebody else: so many more pulls of each arm are under way."""
    if isinstance(step, ControlStep):
        step.note_block(counts)
        return
    if isinstance(step.policy.sampling, ChoiceRule):  # choose again, so that the random numbers stay in step
        chosen = ask_block(step, int(counts.sum()))
        step.state.arms[:, PENDING_COLUMN] += counts - chosen  # rules of another version may have chosen otherwise
        return
    asked, tables = np.flatnonzero(counts), step.state.tables
    tables.arms[asked, PENDING_COLUMN] += counts[asked]
    _noted(step, counts, int(counts.sum()))
    if tables.progress[FRESH] < len(tables.arms):
        step._make_ready()
    else:
        _show(step, asked, at_round(step.state.pool, float(step.asks)))


def absorb_block(step: Step | ControlStep, told: ArrayLike, totals: ArrayLike) -> list[int]:
    """Rewards of many pulls at once: per arm how many, and their sum; returns the arms decided by them."""
    if isinstance(step, ControlStep):
        return step.absorb_block(told, totals)
    _only_totals(step)
    counts, sums = np.asarray(told, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    arms, progress = step.state.arms, step.state.tables.progress
    if (counts > arms[:, PENDING_COLUMN]).any():
        arm = int(np.argmax(counts > arms[:, PENDING_COLUMN]))
        raise InvalidValue(
            f"arm {arm} has {arms[arm, PENDING_COLUMN]:g} pulls under way, and {counts[arm]:g} were told."
        )
    there = np.flatnonzero(counts)
    arms[there, PENDING_COLUMN] -= counts[there]
    arms[there, PULLS] += counts[there]
    arms[there, TOTAL] += sums[there]
    arms[there, MEAN] = arms[there, TOTAL] / arms[there, PULLS]
    arms[there, WIDTH] = 1.0 / np.sqrt(arms[there, PULLS])
    progress[ROUND] += int(counts.sum())
    decided = judge_many(step, there)
    if progress[ROUND] >= progress[FIT_DUE]:
        step._fit()
    return decided


def judge_many(step: Step, arms: Counts) -> list[int]:
    """Verdicts that follow from changed totals of many arms."""
    rule, state = step.policy.identification, step.state
    if len(arms) <= FEW or not (isinstance(rule, EvidenceRule) and step.by_totals):
        return step._judge(arms.tolist())
    stale = np.array(sorted(step.stale) if step.fdr else [], dtype=np.int64)
    decided = np.empty(len(state.arms), dtype=np.int64)
    judge = judging(worst_case(rule), step.parts.decide, step.fdr)
    _, observing, deciding, *_ = step.assembly.parameters
    many = judge(state.tables, stale, arms, state.pool, step.assembly.bar, observing, deciding, decided)
    step.stale.difference_update(stale.tolist(), arms.tolist())
    _show(step, np.union1d(arms, decided[:many]), state.pool)
    found: list[int] = decided[:many].tolist()
    return found


def _noted(step: Step, counts: Counts, pulls: int) -> None:
    step.asks += pulls
    step.stale.update(np.flatnonzero(counts).tolist())
    if step.fdr:
        step.refresh()


def _show(step: Step, arms: Counts, pool: Pool) -> None:
    """Let the selector see arms that have changed."""
    show = showing(step.parts.update)
    show(step.state.tables, arms, pool, step.assembly.bar, step.assembly.parameters[0])


def _only_totals(step: Step) -> None:
    if not step.by_totals or step.assembly.estimator is not None:
        raise InvalidValue(
            "blocks need a rule by totals, rewards in [0, 1] and no model of the arms, since their order is lost; "
            f"{step.policy.name} does not meet all of this. Use 'value+gap-mixture', or ask and tell one by one."
        )
