"""Comparison with a control for rewards that are not 0/1: evidence from counts, sums and sums of squares of both.

Means of returning users, and amounts within a wide range, vary far less than 0/1 rewards of the same mean could. This
evidence takes their actual variance into account. `versus` needs no squares, and is the better test for 0/1 rewards.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BETS = 2.0 ** np.arange(-10.0, 7.0)
TILTS = (-4, -2, -1, 0, 1, 2, 4)
"""If the control has t times as many rewards, the bet against it should be t times smaller: tilts cover 1/16 to 16."""
DEEPEST = max(TILTS)
LADDER = 2.0 ** np.arange(-10.0 - DEEPEST, 7.0 + DEEPEST)
ON_ARM = np.repeat(np.arange(BETS.size), len(TILTS)) + DEEPEST
ON_CONTROL = ON_ARM + np.tile(TILTS, BETS.size)
_PLAIN = np.tile([1.0 / (1.0 + abs(tilt)) for tilt in TILTS], BETS.size)
LOG_WEIGHTS = np.log(_PLAIN / _PLAIN.sum())
BOLDEST = 0.95
"""Bets that would lose more than this share of the capital at once are left out."""
CELLS, ZOOMS = 12, 14
CLOSE = 0.02
"""Precision of the minimum, in evidence. The lower end is used."""
ARMS_AT_ONCE = 256


class Moments(NamedTuple):
    """Number of rewards in [0, 1], their sum and the sum of their squares."""

    pulls: Floats
    total: Floats
    squares: Floats

    def turned(self) -> Moments:
        """The moments of 1 minus the rewards."""
        return Moments(self.pulls, self.pulls - self.total, self.pulls - 2.0 * self.total + self.squares)


def better_by_squares(arms: Moments, control: Moments, margin: Floats | float) -> Floats:
    """log E+ of each arm: evidence against "its mean is at most the control's plus the margin".

    For a control's mean theta and c = theta + margin, a bet b on the arm and a bet a against the control,
    E+ = min over theta of the average over bets of exp(A_b(c) + C_a(theta)), with
    A_b(c) = b (S - N c) - c^-2 psi(b c) sum (x - c)^2 for b c <= 0.95, psi(l) = -log(1 - l) - l, and
    C_a(theta) the same for 1 minus the control's rewards, at 1 - theta.

    Certified. log(1 + l y) >= l y - psi(l) y^2 for y >= -1 and 0 <= l < 1 (Fan, Grama & Liu 2015). With y = (x - c)/c
    and l = b c this bounds A_b(c) by the sum of log(1 + b (x - c)). At theta = the control's mean, if the arm's mean is
    at most c, the product of all factors 1 + b (x - c) of the arm and 1 + a (theta - x) of the control is a
    nonnegative supermartingale that starts at 1, for any order of the rewards and any rule that chooses the pulls. So
    is the average over bets, and E+ is at most that average.

    The minimum is bounded from below on cells of theta. On a cell, c^-2 psi(b c) is largest at the larger c, and the
    control's factor at the smaller theta. With these factors A_b + C_a is concave in theta, so its minimum lies at an
    end of the cell. Cells that may hold the minimum are cut further.

    control : moments of one control for all arms, or of one per arm
    """
    count = arms.pulls.size
    found = np.empty(count)
    margins = np.broadcast_to(np.asarray(margin, dtype=np.float64), (count,))
    for start in range(0, count, ARMS_AT_ONCE):
        part = slice(start, start + ARMS_AT_ONCE)
        against = control if control.pulls.size == 1 else Moments(*(each[part] for each in control))
        found[part] = _smallest(Moments(*(each[part] for each in arms)), against, margins[part])
    return found


def against_control_by_squares(arms: Moments, control: Moments, margin: Floats | float) -> tuple[Floats, Floats]:
    """(log E+, log E-) for "better than the control by the margin" and "not better".

    >>> one = Moments(*(np.array([each]) for each in (2000.0, 300.0, 60.0)))
    >>> control = Moments(*(np.array([each]) for each in (2000.0, 200.0, 30.0)))
    >>> [round(float(side[0]), 1) for side in against_control_by_squares(one, control, 0.0)]
    [67.6, -1.8]
    """
    return (
        better_by_squares(arms, control, margin),
        better_by_squares(arms.turned(), control.turned(), -np.asarray(margin, dtype=np.float64)),
    )


def _smallest(arms: Moments, control: Moments, margin: Floats) -> Floats:
    low, high = np.maximum(0.0, -margin), np.minimum(1.0, 1.0 - margin)
    outside = np.full(low.size, math.inf)  # the smallest bound of a cell that was left out
    bound = outside
    for _ in range(ZOOMS):
        ends = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, CELLS + 1)
        at_left, at_right = ends[:, :-1], ends[:, 1:]
        bounds = _on_cells(arms, control, margin, at_left, at_right)
        least = _on_cells(arms, control, margin, ends, ends).min(axis=1)
        bound = np.minimum(outside, bounds.min(axis=1))
        if (least - bound <= CLOSE).all():
            break
        open_cells = bounds < np.minimum(least - CLOSE, bounds.min(axis=1) + 1e3)[:, None]
        open_cells[np.arange(low.size), bounds.argmin(axis=1)] = True
        first = open_cells.argmax(axis=1)
        last = CELLS - 1 - open_cells[:, ::-1].argmax(axis=1)
        places = np.arange(CELLS)
        left_out = (places < first[:, None]) | (places > last[:, None])
        outside = np.minimum(outside, np.where(left_out, bounds, math.inf).min(axis=1))
        rows = np.arange(low.size)
        low, high = at_left[rows, first], at_right[rows, last]
    return bound


def _on_cells(arms: Moments, control: Moments, margin: Floats, left: Floats, right: Floats) -> Floats:
    """A lower bound of the log of the average bet on each cell [left, right]; exact where both are equal."""
    own, other = (Moments(*(each[:, None] for each in of)) for of in (arms, control.turned()))
    arm_rate, control_rate = _rate(right + margin[:, None]), _rate(1.0 - left)
    worth = [
        _bets(own, theta + margin[:, None], arm_rate)[..., ON_ARM]
        + _bets(other, 1.0 - theta, control_rate)[..., ON_CONTROL]
        for theta in (left, right)
    ]
    terms = LOG_WEIGHTS + np.minimum(*worth)
    top = terms.max(axis=-1)
    held = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(held + np.log(np.exp(terms - held[..., None]).sum(axis=-1)))


def _rate(c: Floats) -> Floats:
    """c^-2 psi(b c) of every bet of the ladder; infinite where the bet is too bold."""
    part = np.minimum(np.maximum(c, 0.0)[..., None] * LADDER, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = (-np.log1p(-part) - part) / np.square(part)
    series = 0.5 + part / 3.0 + np.square(part) / 4.0  # for small l, where the logarithm loses its digits
    return np.where(part > BOLDEST, math.inf, np.square(LADDER) * np.where(part > 1e-4, whole, series))


def _bets(of: Moments, c: Floats, rate: Floats) -> Floats:
    """b (S - N c) - rate sum (x - c)^2 for every bet of the ladder."""
    beyond = (of.total - of.pulls * c)[..., None]
    spread = np.maximum(of.squares - 2.0 * c * of.total + of.pulls * np.square(c), 1e-12)[..., None]
    return LADDER * beyond - rate * spread
