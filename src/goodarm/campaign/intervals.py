"""The interval that decides: thresholds that an arm's evidence has not refuted, at the arm's own weight.

Tickets that are out are counted at their worst, as the evidence counts them: as 0 for the lower end, as 1 for the
upper.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.campaign.fold import Fold
from goodarm.campaign.terms import Terms
from goodarm.engine.from_totals import interval_from_totals, more_pulls_needed
from goodarm.engine.live import OFFSET_COLUMN
from goodarm.rules.identification import RadiusRule
from goodarm.rules.identification.versus import as_if_paired, versus
from goodarm.rules.parameters import take
from goodarm.verdict import Basis, Guarantee

Floats = NDArray[np.float64]
FEW = 0
"""Differences from a control take a tenth of a second per arm in plain Python: they are always compiled."""


def intervals(fold: Fold, arms: Iterable[int]) -> dict[int, tuple[float, float]]:
    """Low and high of each arm; (nan, nan) for rules whose evidence needs the order of the rewards."""
    wanted = list(arms)
    if not has_intervals(fold):
        return dict.fromkeys(wanted, (math.nan, math.nan))
    kept = fold.intervals
    seen = {arm: _seen_with_control(fold, arm) for arm in wanted}
    stale = [arm for arm in wanted if arm not in kept or kept[arm][0] != seen[arm]]
    for arm, ends in fresh_intervals(fold, stale).items():
        kept[arm] = (seen[arm], *ends)
    return {arm: kept[arm][1:] for arm in wanted}


def fresh_intervals(fold: Fold, arms: list[int]) -> dict[int, tuple[float, float]]:
    """Computed anew: the same bits for an arm in every process, whatever was looked at before."""
    if not arms or not has_intervals(fold):
        return dict.fromkeys(arms, (math.nan, math.nan))
    if fold.terms.control_number is not None:
        return differences(fold, arms)
    seen = [_seen(fold, arm) for arm in arms]
    (low, _), (_, high) = (_ends(fold, arms, [_worst(each, side) for each in seen]) for side in (0, 1))
    return {arm: (float(low[j]), float(high[j])) for j, arm in enumerate(arms)}


def differences(fold: Fold, arms: list[int]) -> dict[int, tuple[float, float]]:
    """Of the differences from the control: what is out counts at its worst on both sides; the control has none."""
    control = fold.terms.control_number or 0
    found = dict.fromkeys(arms, (math.nan, math.nan))
    others = [arm for arm in arms if arm != control]
    own, held = [_seen(fold, arm) for arm in others], _seen(fold, control)
    if not others or held[0] + held[2] == 0.0:
        return found
    ends = []
    for side in (0, 1):
        pulls, totals = (np.array(column) for column in zip(*(_worst(each, side) for each in own), strict=True))
        n0, s0 = _worst(held, 1 - side)
        paired, values = as_if_paired(pulls, totals, s0 / n0), (n0, s0 / n0)
        bar, needed = fold.terms.problem.bar, _needed(fold, others)
        ends.append(interval_from_totals(versus, pulls, paired, bar, needed, values, few=FEW)[side])
    return found | {arm: (2.0 * float(ends[0][j]) - 1.0, 2.0 * float(ends[1][j]) - 1.0) for j, arm in enumerate(others)}


def more_needed(fold: Fold, arms: Iterable[int]) -> Floats:
    """About how many more pulls each arm needs if its mean stays what it is now; nan where nobody knows."""
    wanted = list(arms)
    if not has_intervals(fold) or fold.terms.control is not None:
        return np.full(len(wanted), np.nan)
    told = [_told(fold, arm) for arm in wanted]
    pulls, totals = (np.array(column, dtype=np.float64) for column in zip(*told, strict=True))
    return more_pulls_needed(*_question(fold, pulls, totals, wanted))


def has_intervals(fold: Fold) -> bool:
    return decides_by_intervals(fold.terms)


def decides_by_intervals(terms: Terms) -> bool:
    """Is the evidence on an arm a function of its own totals, so that an interval can be computed from them?"""
    made = terms.made
    rule = made.identification
    by_totals = rule.by_totals and made.decided_by is Basis.OWN and rule.guarantee is not Guarantee.NONE
    return by_totals and not (isinstance(rule, RadiusRule) and rule.by_model)


def _told(fold: Fold, arm: int) -> tuple[float, float]:
    """Pulls and total as the evidence has them; for rules in the order of asking, those that have been folded."""
    if fold.in_order:
        row = fold.step.state.arms[arm]
        return float(row[0]), float(row[1])
    return float(fold.books[arm].told), fold.books[arm].total


def _needed(fold: Fold, arms: list[int]) -> Floats:
    """What refutes a threshold at the arm's own share of delta."""
    terms = fold.terms
    if terms.control is None:
        return np.array([-math.log(terms.delta * fold.books[arm].weight) for arm in arms])
    rows = fold.step.state.arms
    return np.array([terms.problem.bar.budget - float(rows[arm, OFFSET_COLUMN]) for arm in arms])


def _seen_with_control(fold: Fold, arm: int) -> tuple[float, ...]:
    """What an interval depends on."""
    control = fold.terms.control_number
    return _seen(fold, arm) if control is None else (*_seen(fold, arm), *_seen(fold, control))


def _seen(fold: Fold, arm: int) -> tuple[float, float, int]:
    """Pulls, total, and tickets that are counted at their worst."""
    return (*_told(fold, arm), 0 if fold.in_order else fold.books[arm].pending)


def _worst(seen: tuple[float, float, int], pending_as: int) -> tuple[float, float]:
    pulls, total, pending = seen
    return pulls + pending, total + pending * pending_as


def _ends(fold: Fold, arms: list[int], seen: list[tuple[float, float]]) -> tuple[Floats, Floats]:
    pulls, totals = (np.array(column, dtype=np.float64) for column in zip(*seen, strict=True))
    return interval_from_totals(*_question(fold, pulls, totals, arms))


def _question(fold: Fold, pulls: Floats, totals: Floats, arms: list[int]) -> tuple[Any, ...]:
    terms = fold.terms
    rule = terms.made.identification
    needed = _needed(fold, arms)
    return rule, pulls, totals, terms.problem.bar, needed, take(terms.made.setting.identification, rule.defaults)
