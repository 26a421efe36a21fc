"""Comparison with a control: is an arm's mean at least the control's plus a margin? Evidence from the totals of both.

Policies can't name this rule, because it also needs the rewards of the control. `against_control` is the formula;
`versus` presents it as a rule by totals, so that `goodarm.engine.totals` computes evidence, intervals and further pulls
of many arms.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from goodarm.problem import Bar
from goodarm.rules.identification._base import EvidenceRule
from goodarm.verdict import Guarantee

Floats = NDArray[np.float64]

SMALLEST, STEPS = 0.02, 8
TILTS = (-6, -4, -2, -1, 0, 1, 2, 4, 6)
"""The larger of the two bets is 0.02, 0.04, ..., 2.56; the other one is 2^-|tilt| of it. If the control has
t times as many pulls, the bet on the arm should be t times as large as the bet against the control: tilts cover 1/64 to
64."""
DEEPEST = 6

BETS = SMALLEST * 2.0 ** np.arange(-DEEPEST, STEPS, dtype=np.float64)
DOWN = np.array([math.expm1(-bet) for bet in BETS])
UP = np.array([math.expm1(bet) for bet in BETS])
PAIRS = tuple((j + DEEPEST - max(tilt, 0), j + DEEPEST + min(tilt, 0)) for j in range(STEPS) for tilt in TILTS)
"""Indices of the bet against the control and the bet on the arm."""
CONTROL = np.array([pair[0] for pair in PAIRS])
ARM = np.array([pair[1] for pair in PAIRS])
COUNT, PLACES = len(PAIRS), len(BETS)
_PLAIN = tuple(1.0 / (1.0 + abs(tilt)) for _ in range(STEPS) for tilt in TILTS)
LOG_WEIGHTS = np.array([math.log(weight / math.fsum(_PLAIN)) for weight in _PLAIN])
LOOKS = 60
CLOSE = 1e-2
"""Precision of the minimum, in evidence. The lower end is used."""
NOTHING = 30.0
"""Log distance from the best bet beyond which bets are left out. This lowers the evidence by less than 1e-11."""


def log_bets(
    theta: float, pulls: float, total: float, control_pulls: float, control_total: float, margin: float
) -> tuple[float, float]:
    """log of the average bet if the control's mean is theta, and its slope in theta; convex in theta."""
    worth, slopes, terms = np.empty((2, PLACES)), np.empty((2, PLACES)), np.empty(COUNT)
    for j in range(PLACES):
        below, above = 1.0 + theta * DOWN[j], 1.0 + (theta + margin) * UP[j]
        worth[0, j] = -BETS[j] * control_total - control_pulls * math.log(below)
        worth[1, j] = BETS[j] * total - pulls * math.log(above)
        slopes[0, j] = -control_pulls * DOWN[j] / below
        slopes[1, j] = -pulls * UP[j] / above
    top = -math.inf
    for k in range(COUNT):
        terms[k] = LOG_WEIGHTS[k] + worth[0, CONTROL[k]] + worth[1, ARM[k]]
        top = max(top, terms[k])
    tail, slope = 0.0, 0.0
    for k in range(COUNT):
        if terms[k] > top - NOTHING:
            weight = math.exp(terms[k] - top)
            tail, slope = tail + weight, slope + weight * (slopes[0, CONTROL[k]] + slopes[1, ARM[k]])
    return float(top + math.log(tail)), float(slope / tail)


def better_by(pulls: float, total: float, control_pulls: float, control_total: float, margin: float) -> float:
    """log E+: evidence against "the arm's mean is at most the control's plus the margin", for rewards in [0, 1].

    E+ = min over theta in [max(0, -m), min(1, 1 - m)] of the average over bets (a, b) of
    exp(b S - a S_0 - N_0 log(1 - theta + theta e^-a) - N log(1 - (theta + m) + (theta + m) e^b)).

    Certified. For x in [0, 1], e^(l x) lies below its chord, so E e^(l x) <= 1 - mu + mu e^l. At theta = the control's
    mean, if the arm's mean is at most theta + m, every summand is a supermartingale that starts at 1, whatever rule
    chooses the pulls, and so is their average; the minimum over theta is no larger.

    The logarithm is convex in theta: regula falsi on its slope, and a bound from below by the tangents.

    >>> round(better_by(2000.0, 300.0, 2000.0, 200.0, 0.0), 2), round(better_by(2000.0, 200.0, 2000.0, 200.0, 0.0), 2)
    (8.06, -1.26)
    """
    first, last = max(0.0, -margin), min(1.0, 1.0 - margin)
    both = control_pulls + pulls
    theta = min(max((control_total + total - margin * pulls) / both, first), last)
    low = high = theta
    value_low, slope_low = log_bets(theta, pulls, total, control_pulls, control_total, margin)
    value_high, slope_high = value_low, slope_low
    step = math.sqrt((theta * (1.0 - theta) + 1.0 / both) / both)
    while slope_low > 0.0 and low > first:  # the minimum lies further down
        high, value_high, slope_high = low, value_low, slope_low
        low, step = max(low - step, first), 4.0 * step
        value_low, slope_low = log_bets(low, pulls, total, control_pulls, control_total, margin)
    while slope_high < 0.0 and high < last:
        low, value_low, slope_low = high, value_high, slope_high
        high, step = min(high + step, last), 4.0 * step
        value_high, slope_high = log_bets(high, pulls, total, control_pulls, control_total, margin)
    if slope_low >= 0.0:
        return value_low
    if slope_high <= 0.0:
        return value_high
    for look in range(LOOKS):
        # both tangents lie below the convex function: their crossing bounds its minimum from below
        crossing = (value_high - value_low + slope_low * low - slope_high * high) / (slope_low - slope_high)
        bound = value_low + slope_low * (crossing - low)
        if min(value_low, value_high) - bound <= CLOSE:
            return bound
        theta = low - slope_low * (high - low) / (slope_high - slope_low) if look % 3 < 2 else 0.5 * (low + high)
        value, slope = log_bets(theta, pulls, total, control_pulls, control_total, margin)
        if slope < 0.0:
            low, value_low, slope_low = theta, value, slope
        else:
            high, value_high, slope_high = theta, value, slope
    return value_low + slope_low * (high - low)


def against_control(
    pulls: float, total: float, control_pulls: float, control_total: float, margin: float
) -> tuple[float, float]:
    """(log E+, log E-): "better than the control by the margin" and "not better", E+ of 1 minus the rewards."""
    for_good = better_by(pulls, total, control_pulls, control_total, margin)
    for_bad = better_by(pulls, pulls - total, control_pulls, control_pulls - control_total, -margin)
    return for_good, for_bad


def one_side(
    side: float, pulls: float, total: float, bar: Bar, control_pulls: float = 1.0, control_mean: float = 0.5
) -> float:
    """log E+ (side 1) or log E- (side -1) from the arguments of `totals`."""
    own = 2.0 * total - pulls + pulls * control_mean
    control_total, margin = control_pulls * control_mean, 2.0 * bar.threshold - 1.0
    if side > 0.0:
        return better_by(pulls, own, control_pulls, control_total, margin)
    return better_by(pulls, pulls - own, control_pulls, control_pulls - control_total, -margin)


def totals(
    pulls: float, total: float, bar: Bar, control_pulls: float = 1.0, control_mean: float = 0.5
) -> tuple[float, float]:
    """Evidence against a control, as a rule by totals of (1 + reward - control's mean)/2, threshold (1 + margin)/2."""
    return (
        one_side(1.0, pulls, total, bar, control_pulls, control_mean),
        one_side(-1.0, pulls, total, bar, control_pulls, control_mean),
    )


versus = EvidenceRule(
    name="versus",
    reference="goodarm's own (docs/judge.md)",
    guarantee=Guarantee.CERTIFIED,
    totals=totals,
    one_side=one_side,
)


def as_if_paired(pulls: Floats, totals: Floats, control_mean: float) -> Floats:
    """The totals in the form that `versus` expects, for arms with these totals."""
    return 0.5 * (pulls + totals - pulls * control_mean)
