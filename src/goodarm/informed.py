"""The informed limit: the best expected score of a player who knows the distribution of the means.

For every price path l(t) >= 0 of a pull,

    E[score] <= integral of l(t) dt + K V_l,

where V_l is the largest expected value of one arm if each pull at time t costs l(t). The constraint "one pull per
round" then holds only on average, with l(t) as its Lagrange multiplier. V_l is computed by dynamic programming over
(N, S) and time, and the bound is minimised over the paths l(t) = (T - t) a (1 + t/b)^-c.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goodarm.errors import InvalidValue
from goodarm.numerics import bernoulli_kl
from goodarm.problem import Bounded

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

ATOMS, BLOCKS = 64, 24
FAR = 3.0
"""Maximum pulls of one arm, as a multiple of the pulls that the oracle spends on its last certified arm."""
EXACT, FEW = 200, 30.0
"""Limits of single-pull steps: 200 pulls with about 30 successes and 30 failures."""
PER_STAGE, WIDE = 150, 120
"""Grid of later steps, which combine pulls: 150 steps per factor of 4, and 241 totals around the threshold."""


class Layer(NamedTuple):
    """One arm after N pulls on a grid of totals S: expected values, and the targets of the next step."""

    pulls: float  # pulls of the next step
    chance: Floats  # probability of going up
    worth: Floats  # expected mean above the threshold, at least 0
    hope: Floats  # the same if it is known whether the arm is good
    certain: NDArray[np.bool_]  # whether the evidence has reached log(K/delta)
    down: Places  # grid index after a step that does not go up
    up: Places


class Stage(NamedTuple):
    """Steps of one length. `first` and `last` are the totals on the grid before the first and after the last step."""

    steps: list[Layer]
    first: Floats
    last: Floats


def informed_limit(means: ArrayLike, threshold: float, delta: float, horizon: float) -> float:
    """The best expected exploit score of a player who knows the distribution of the means, but not each arm's mean.

    Args:
        means: mu, the means of the K arms, in [0, 1]; their order does not matter.
        threshold: xi.
        delta: error probability, in (0, 1).
        horizon: T, rounds.

    Returns:
        The bound for 0/1 rewards and verdicts by the mixture of the true distribution at K/delta, by numerical
        calculation: means in 64 bins, time in 24 blocks (short ones first) taken at their middles, and after the first
        200 pulls of an arm several pulls in one step up or down with the same mean and variance. An arm that is still
        open after three times the pulls that the oracle spends on its last one is decided for free, so this truncation
        can only raise the limit. It is a reference value: better evidence than that mixture, such as bets sized to
        reach the budget exactly, can exceed it slightly.

    >>> round(informed_limit([0.3] * 90 + [0.7] * 10, threshold=0.5, delta=0.05, horizon=5000), -2)
    8700.0

    Reference: P. Whittle, "Restless bandits", Journal of Applied Probability 25A, 1988, for the price of a pull.
    """
    mu = np.asarray(means, dtype=np.float64)
    if mu.ndim != 1 or mu.size == 0 or not ((mu >= 0.0) & (mu <= 1.0)).all():
        raise InvalidValue(f"means must be a list of at least one number in [0, 1]; got {means!r}.")
    if not 0.0 < delta < 1.0:
        raise InvalidValue(f"delta, the error probability, must lie in (0, 1); got {delta}.")
    Bounded().check_threshold(threshold)
    if not (mu > threshold).any():
        return 0.0
    stages = _stages(mu, threshold, math.log(mu.size / delta), horizon)
    edges = horizon * (np.arange(BLOCKS + 1) / BLOCKS) ** 2  # short blocks first, when most verdicts fall
    times, lengths = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)

    def bound(path: Floats) -> float:
        price = (horizon - times) * np.exp(path[0]) * (1.0 + times / horizon * np.exp(-path[1])) ** -np.exp(path[2])
        return float(price @ lengths + mu.size * _best_of_one(stages, horizon - times, price))

    gap = float(mu.max()) - threshold
    steep = 0.3 * gap * bernoulli_kl(float(mu.max()), threshold) / math.log(mu.size / delta)
    return _smallest(bound, np.array([math.log(steep), 0.0, 0.0]))


def _stages(mu: Floats, xi: float, budget: float, horizon: float) -> list[Stage]:
    """One arm whose mean is drawn from `mu`, from no pull to the maximum number of pulls."""
    atoms, weights = _atoms(mu)
    furthest = min(FAR * _last_cost(mu[mu > xi], xi, budget, horizon), horizon)
    pulls = min(math.ceil(max(EXACT, FEW / min(xi, 1.0 - xi))), math.ceil(furthest), 20 * EXACT)
    totals = [np.arange(n + 1, dtype=np.float64) for n in range(pulls + 1)]
    widest = int(pulls * atoms.max() + 6.0 * math.sqrt(pulls * atoms.max()) + 5.0)
    totals = [each[: widest + 1] for each in totals]
    steps = []
    for n, total in enumerate(totals[:-1]):
        place = np.arange(total.size)
        up = np.minimum(place + 1, totals[n + 1].size - 1)
        steps.append(_step(float(n), total, 1.0, atoms, weights, xi, budget, place, up))
    stages = [Stage(steps, totals[0], totals[-1])]
    place = np.arange(2 * WIDE + 1)
    down, up = np.maximum(place - 1, 0), np.minimum(place + 1, 2 * WIDE)
    while pulls < furthest:
        stride = 3.0 * pulls / PER_STAGE
        offset: Floats = (place - WIDE).astype(np.float64) * math.sqrt(stride * xi * (1.0 - xi))
        counts = [pulls + stride * n for n in range(PER_STAGE + 1)]
        steps = [_step(n, n * xi + offset, stride, atoms, weights, xi, budget, down, up) for n in counts[:-1]]
        stages.append(Stage(steps, pulls * xi + offset, counts[-1] * xi + offset))
        pulls = round(counts[-1])
    last = _step(float(pulls), stages[-1].last, 0.0, atoms, weights, xi, budget, place, place)
    return [*stages, Stage([last], stages[-1].last, stages[-1].last)]


def _step(
    pulls: float,
    total: Floats,
    stride: float,
    atoms: Floats,
    weights: Floats,
    xi: float,
    budget: float,
    down: Places,
    up: Places,
) -> Layer:
    """Posterior quantities after `pulls` pulls, at each total."""
    inside = np.clip(total, 0.0, pulls)[:, None]
    ratios = inside * np.log(atoms / xi) + (pulls - inside) * np.log((1.0 - atoms) / (1.0 - xi))
    good = atoms > xi
    evidence = np.logaddexp.reduce(ratios[:, good] + np.log(weights[good] / weights[good].sum()), axis=1)
    posterior = weights * np.exp(ratios - ratios.max(axis=1, keepdims=True))
    posterior /= posterior.sum(axis=1, keepdims=True)
    mean = posterior @ atoms
    # one pull is a reward 1 or 0; several are a step of one standard deviation up or down
    chance = mean if stride == 1.0 else 0.5 + 0.5 * (mean - xi) * math.sqrt(stride / (xi * (1.0 - xi)))
    hope = posterior @ np.maximum(atoms - xi, 0.0)
    return Layer(stride, np.clip(chance, 0.0, 1.0), np.maximum(mean - xi, 0.0), hope, evidence >= budget, down, up)


def _last_cost(good: Floats, xi: float, budget: float, horizon: float) -> float:
    """Pulls that the oracle spends on the last arm it certifies within the horizon."""
    costs = np.sort(budget / np.array([max(bernoulli_kl(float(mean), xi), 1e-300) for mean in good]))
    within = costs[np.cumsum(costs) <= horizon]
    return float(within[-1] if within.size else costs[0])


def _atoms(mu: Floats) -> tuple[Floats, Floats]:
    """Means in at most 64 bins of equal width in logits, and their weights."""
    inside = np.clip(mu, 1e-9, 1.0 - 1e-9)
    logits = np.log(inside / (1.0 - inside))
    low, width = logits.min(), max(float(np.ptp(logits)), 1e-12)
    bins = np.minimum((ATOMS * (logits - low) / width).astype(np.int64), ATOMS - 1)
    count = np.bincount(bins, minlength=ATOMS)
    held = count > 0
    return np.bincount(bins, weights=inside, minlength=ATOMS)[held] / count[held], count[held] / mu.size


def _best_of_one(stages: list[Stage], left: Floats, price: Floats) -> float:
    """V_l by backward induction over steps and blocks of time: wait, pull, or stop."""
    left, price = left[:, None], price[:, None]
    end = stages[-1].steps[0]
    ahead = left * np.where(end.certain, end.worth, end.hope)
    known = stages[-1].first
    for stage in stages[-2::-1]:
        ahead = np.array([np.interp(stage.last, known, row) for row in ahead])
        for step in reversed(stage.steps):
            failed = ahead[:, step.down]
            going_on = failed + step.chance * (ahead[:, step.up] - failed) - step.pulls * price
            ahead = np.maximum(np.maximum.accumulate(going_on[::-1], axis=0)[::-1], 0.0)
            ahead[:, step.certain] = left * step.worth[step.certain]
        known = stage.first
    return float(ahead[0, 0])


def _smallest(bound: Callable[[Floats], float], start: Floats) -> float:
    """Minimum by coordinate search: steps along the three axes, halved if none improves."""
    at, best, step = start, bound(start), np.array([1.0, 1.0, 0.5])
    while step[0] > 0.06:
        moved = False
        for axis in range(3):
            for sign in (1.0, -1.0):
                trial = at.copy()
                trial[axis] += sign * step[axis]
                found = bound(trial)
                if found < best:
                    at, best, moved = trial, found, True
                    break
        if not moved:
            step = step / 2.0
    return best
