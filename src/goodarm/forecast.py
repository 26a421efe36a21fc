"""The forecaster: simulates a range for the further samples of each arm until its verdict.

Judgements on logs, running campaigns and quick plans use it. It has two parts:
- `likely_means` draws the arms' means. The law of the means is unknown, so each simulated path draws it from its
  posterior given all arms, on a grid of gaps to the threshold. Each arm's mean is then drawn given that law and its own
  rewards. These rewards count only once, because the law is learned from the other arms.
- `waits` continues each arm with these means until its evidence decides, and counts the samples.

A forecast is not part of the guarantee. `python -m benchmarks forecasts` measures the coverage of its range.
The code is plain numpy, so the first answer of a process does not wait for a compiler.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from goodarm.problem import Bounded, GradedCases, Problem, SubGaussian

Floats = NDArray[np.float64]
Boundary = Callable[[Floats, Any], tuple[Floats, Floats]]
"""(pulls, arms) -> the largest mean that is called bad and the smallest that is called good, of these arms; -inf and
inf if a verdict is unreachable."""

LOW, HIGH = 0.1, 0.9
"""Quantiles of a range: one in ten below the first, nine in ten at or below the second."""
FARTHEST, NEAREST, CELLS = 9.0, 1e-4, 64
"""Gaps of the grid, in logits or standard deviations of a reward, and cells on each side of the threshold."""
CENTRES = np.array([-3.0, -2.0, -1.4, -1.0, -0.7, -0.45, -0.25, -0.1, 0.0, 0.1, 0.25, 0.45, 0.7, 1.0, 1.4, 2.0, 3.0])
SPREADS = np.geomspace(0.02, 3.0, 12)
"""Normal laws of the means on the scale of the gaps, from which the mixture starts: their centres and deviations."""
APART, TIGHT, ABOVE = np.geomspace(0.05, 2.0, 12), (0.1, 0.3), (0.1, 0.3, 0.5, 0.7, 0.9)
"""Laws with a group of arms on either side: their gap, its relative deviations, and the share of arms above."""
STRENGTHS = (1.0, 4.0, 16.0)
"""Candidate weights of the initial law, in arms; one is drawn at random."""
SWEEPS = 4
"""Number of sweeps in which the cell of each arm is redrawn."""
CHAINS = 50
"""Maximum number of drawn laws of the means; draws use them in rotation."""
LEARNED_FROM = 120
"""Maximum number of arms from which the spread of the means is learned; a random sample if there are more."""
STEP, GROWTH = 0.005, 1.2
"""First step of a simulated path as a share of the arm's samples. Each further step is `GROWTH` times longer."""
OVERSHOOT = 0.5826
"""Mean overshoot of a random walk, in standard deviations of a step: -zeta(1/2)/sqrt(2 pi)."""
PRICE = 0.3
"""Evidence that `by_formula` adds to the needed evidence, because random paths touch a boundary before the mean
path."""
NORMAL = 12.0
"""Variance of the number of successes above which a normal law replaces the binomial one."""


class Forecast(NamedTuple):
    """A range: the value exceeds `low` with probability 0.9 and `high` with probability 0.1.

    inf if it lies beyond the horizon of the simulation. This is not a confidence interval for a mean, which would
    shrink with the number of simulations.
    """

    median: float
    low: float
    high: float

    @property
    def told(self) -> bool:
        """Whether the range is narrow enough to show."""
        return math.isfinite(self.high) and self.high <= WIDEST * max(self.low, 1.0)

    def as_json(self) -> dict[str, float] | None:
        """As JSON, with null for infinity."""
        return self._asdict() if self.told else None


WIDEST = 1000.0
"""Maximum ratio of the ends of a range that is shown."""


def in_range(values: list[float] | Floats) -> Forecast:
    """Quantiles by rank, which also count paths that never end (inf).

    One more value lies at or below the k-th smallest of R with probability k/(R + 1) or more. So nine in ten lie at or
    below rank ceil(0.9 (R + 1)), and at most one in ten below rank floor(0.1 (R + 1)). With fewer than nine values
    there is no such rank for `high`, which is then the largest value.

    >>> in_range([30.0, 10.0, 20.0, math.inf])
    Forecast(median=20.0, low=10.0, high=inf)
    >>> in_range([float(k) for k in range(1, 21)])
    Forecast(median=10.0, low=2.0, high=19.0)
    """
    ordered, many = np.sort(np.asarray(values, dtype=np.float64)), len(values)
    ranks = (
        math.ceil(0.5 * many),
        max(1, math.floor(LOW * (many + 1) + 1e-9)),
        min(many, math.ceil(HIGH * (many + 1) - 1e-9)),
    )
    median, low, high = (float(ordered[rank - 1]) for rank in ranks)
    return Forecast(median, low, high)


# Draws of the means


class Scale(NamedTuple):
    """The scale on which gaps are measured: logits for rewards in [0, 1], otherwise standard deviations of a reward."""

    bounded: bool
    deviation: float
    bar: float

    def mean(self, place: Floats) -> Floats:
        """The mean at a place on the scale."""
        if self.bounded:
            return np.asarray(1.0 / (1.0 + np.exp(-place)))
        return np.asarray(self.deviation * place)


_RATIO = (FARTHEST / NEAREST) ** (1.0 / (CELLS - 1))
_ABOVE = NEAREST * _RATIO ** np.arange(CELLS)
GRID: Floats = np.concatenate([-_ABOVE[::-1], _ABOVE])
"""Gaps at the centres of the cells, negative ones first."""
HALF_CELL = 0.5 * math.log(_RATIO)
"""The logarithm of half a cell's ratio."""


def likely_means(
    pulls: Floats,
    totals: Floats,
    problem: Problem,
    draws: int,
    chance: Generator,
    which: NDArray[np.intp] | None = None,
    variance: Floats | None = None,
) -> Floats:
    """Draws of the arms' means given all rewards so far, shape (draws, number of arms in `which`).

    pulls, totals : pulls and totals of all arms; arms with a verdict also inform about the spread of the means
    which         : arms whose means are drawn; all if None
    variance      : variance of one reward of each arm; if None, that of 0/1 rewards or of the declared scale
    """
    which = np.arange(pulls.size) if which is None else which
    seen = np.flatnonzero(pulls > 0.0)
    learned = np.sort(chance.choice(seen, LEARNED_FROM, replace=False)) if seen.size > LEARNED_FROM else seen
    xi, bounded = problem.threshold, isinstance(problem.rewards, Bounded)
    declared = np.full(pulls.size, problem.rewards.spread(xi) ** 2)
    of_reward = declared if variance is None else np.asarray(np.maximum(variance, 1e-300))
    deviation = math.sqrt(float(np.median(of_reward)))
    scale = Scale(bounded, deviation, math.log(xi / (1.0 - xi)) if bounded else xi / deviation)
    likelihood = _likelihood(pulls, totals, of_reward, learned, scale, variance is None)
    law, cells = _laws_of_the_means(likelihood, min(draws, CHAINS), chance)
    own = _likelihood(pulls, totals, of_reward, which, scale, variance is None)
    place = {arm: i for i, arm in enumerate(learned.tolist())}
    chain = np.arange(draws) % len(law)
    found = np.empty((draws, which.size))
    for i, (arm, weights) in enumerate(zip(which.tolist(), own, strict=True)):
        others = law
        if arm in place:  # weights from the other arms; the arm's own rewards are in its likelihood
            others = law.copy()
            others[np.arange(len(law)), cells[:, place[arm]]] -= 1.0
        found[:, i] = GRID[_drawn((others * weights)[chain], chance)]
    inside = np.exp(HALF_CELL * chance.uniform(-1.0, 1.0, found.shape))
    return scale.mean(scale.bar + found * inside)


def _drawn(weights: Floats, chance: Generator) -> NDArray[np.intp]:
    """One cell per row, by its weights."""
    sums = np.cumsum(np.maximum(weights, 0.0), axis=1)
    below = (sums < chance.random((len(sums), 1)) * sums[:, -1:]).sum(axis=1)
    return np.asarray(np.minimum(below, weights.shape[1] - 1), dtype=np.intp)


def _likelihood(pulls: Floats, totals: Floats, variance: Floats, which: Any, scale: Scale, plain: bool) -> Floats:
    """Likelihood of each cell, largest 1, shape (arms, cells): binomial, or normal where a variance is known."""
    n, s, v = pulls[which, None], totals[which, None], variance[which, None]
    place = scale.bar + GRID
    if scale.bounded and plain:
        log = s * place - n * np.logaddexp(0.0, place)
    else:
        mean = np.divide(s, n, out=np.zeros_like(s), where=n > 0.0)
        log = -n * (mean - scale.mean(place)) ** 2 / (2.0 * v)
    return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)))


def _laws_of_the_means(likelihood: Floats, chains: int, chance: Generator) -> tuple[Floats, NDArray[np.intp]]:
    """Draws of the law of the means: weights of the cells, shape (chains, cells), and each arm's cell, (chains, arms).

    The law is a Dirichlet process around one of `_laws`, which is drawn by its likelihood; its concentration is drawn
    from `STRENGTHS`. Each chain draws the cell of one arm after the other given those of the other arms (Neal 2000,
    algorithm 3, on a grid), starting from the law alone. An arm in a cell adds 1 to the weight of that cell.
    """
    laws, rows = _laws(), np.arange(chains)
    fit = np.log(np.maximum(likelihood @ laws.T, 1e-300)).sum(axis=0)
    chosen = chance.choice(len(laws), size=chains, p=np.exp(fit - fit.max()) / np.exp(fit - fit.max()).sum())
    base = laws[chosen] * chance.choice(STRENGTHS, size=(chains, 1))
    weights, cells = base.copy(), np.empty((chains, len(likelihood)), dtype=np.intp)
    for i, own in enumerate(likelihood):
        cells[:, i] = _drawn(base * own, chance)
        weights[rows, cells[:, i]] += 1.0
    for _ in range(SWEEPS):
        for i, own in enumerate(likelihood):
            weights[rows, cells[:, i]] -= 1.0
            cells[:, i] = _drawn(weights * own, chance)
            weights[rows, cells[:, i]] += 1.0
    return weights, cells


@cache
def _laws() -> Floats:
    """Weights of the cells under laws of the gaps: normal ones, and two groups of arms; shape (laws, cells)."""
    gaps = GRID
    centre, spread = (each.reshape(-1, 1) for each in np.meshgrid(CENTRES, SPREADS))
    normal = np.exp(-0.5 * ((gaps - centre) / spread) ** 2) / spread
    apart, tight, share = (each.reshape(-1, 1) for each in np.meshgrid(APART, TIGHT, ABOVE))
    groups = np.exp(-0.5 * ((np.abs(gaps) / apart - 1.0) / tight) ** 2) * np.where(gaps > 0.0, share, 1.0 - share)
    weights = np.concatenate([normal, groups]) * np.abs(gaps)  # cells are as wide as their gap is large
    weights = weights[weights.sum(axis=1) > 1e-300]
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


# Times of verdicts


def waits(
    means: Floats,
    pulls: Floats,
    totals: Floats,
    problem: Problem,
    boundary: Boundary,
    chance: Generator,
    limit: Floats | float,
    variance: Floats | None = None,
) -> Floats:
    """Further samples of each arm until its verdict, given its means; inf beyond the limit; same shape as `means`.

    means         : shape (draws, arms)
    pulls, totals : pulls and totals of the arms, shape (arms,)
    variance      : variance of one reward of each arm, for normal rewards; None for 0/1 rewards and a declared scale

    Between two evaluations the sum of the rewards is modelled as a Brownian bridge, whose probability of crossing the
    boundary is known. A discrete walk crosses like a continuous one with a boundary farther away (Siegmund 1985,
    section X.2).
    """
    draws, arms = means.shape
    found = np.full(means.size, math.inf)
    mu, arm = means.ravel(), np.tile(np.arange(arms), draws)
    n0, most = pulls[arm], np.broadcast_to(limit, (arms,))[arm].astype(np.float64)
    walk = _Walk(problem, mu, n0, totals[arm], variance if variance is None else variance[arm], chance)
    live, more = np.arange(means.size), np.zeros(means.size)
    total, before = totals[arm].astype(np.float64), _distance(boundary, n0, totals[arm], arm)
    found[(before <= 0.0).any(axis=0)] = 0.0
    live = np.flatnonzero(found > 0.0)
    before, total, more = before[:, live], total[live], more[live]
    while live.size:
        ahead = np.minimum(np.maximum(np.maximum(1.0, np.floor(STEP * n0[live])), np.floor(GROWTH * more)), most[live])
        ahead = np.maximum(ahead, np.minimum(more + 1.0, most[live]))
        total = total + walk.rewards(live, more, ahead - more, total)
        after = _distance(boundary, n0[live] + ahead, total, arm[live])
        crossed = (after <= 0.0).any(axis=0)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            width = walk.deviation[live]
            wide = np.stack([before, after]) + OVERSHOOT * width
            room = np.where(ahead - more > 1.0, width**2 * (ahead - more), 0.0)
            slips = chance.random(after.shape) < np.exp(-2.0 * wide[0] * wide[1] / room)
        crossed |= (slips & np.isfinite(before) & np.isfinite(after)).any(axis=0)
        between = more + chance.random(live.size) * (ahead - more)
        found[live[crossed]] = np.ceil(between)[crossed]
        goes_on = ~crossed & (ahead < most[live])
        live, more, total, before = live[goes_on], ahead[goes_on], total[goes_on], after[:, goes_on]
    return found.reshape(means.shape)


def _distance(boundary: Boundary, n: Floats, total: Floats, arm: Any) -> Floats:
    """Distance of the total from the verdicts bad and good, shape (2, ...); 0 or less once reached."""
    bad, good = boundary(n, arm)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(n > 0.0, np.stack([total - bad * n, good * n - total]), math.inf))


class _Walk:
    """Sums of future rewards of many arms."""

    def __init__(
        self, problem: Problem, mu: Floats, n0: Floats, s0: Floats, variance: Floats | None, chance: Generator
    ) -> None:
        rewards = problem.rewards
        self.mu, self.n0, self.chance = mu, n0, chance
        self.successes = isinstance(rewards, Bounded) and variance is None
        self.cases = float(rewards.count) if isinstance(rewards, GradedCases) else math.inf
        if variance is None:
            variance = mu * (1.0 - mu) if isinstance(rewards, Bounded) else np.full(mu.shape, rewards.sigma() ** 2)
        self.variance, self.deviation = variance, np.sqrt(np.maximum(variance, 1e-300))
        if self.cases < math.inf:
            left = np.maximum(self.cases - n0, 0.0)
            self.in_all = s0 + chance.binomial(left.astype(np.int64), mu)

    def rewards(self, live: Any, more: Floats, count: Floats, total: Floats) -> Floats:
        """Sum of the next `count` rewards."""
        if self.cases < math.inf:
            left = np.maximum(self.cases - self.n0[live] - more, 0.0)
            won = np.clip(np.rint(self.in_all[live] - total), 0.0, left)
            draw = self.chance.hypergeometric(
                won.astype(np.int64), (left - won).astype(np.int64), np.minimum(count, left).astype(np.int64)
            )
            return np.asarray(draw, dtype=np.float64)
        mu, variance = self.mu[live], self.variance[live]
        found = count * mu + np.sqrt(count * variance) * self.chance.standard_normal(live.size)
        if self.successes:
            found = np.clip(np.rint(found), 0.0, count)
            few = np.flatnonzero(count * variance < NORMAL)
            found[few] = self.chance.binomial(count[few].astype(np.int64), mu[few])
        return np.asarray(found)


def by_evidence(
    evidence: Callable[[Floats, Floats], tuple[Floats, Floats]], problem: Problem, levels: Floats, most: float
) -> Boundary:
    """The boundary of a rule by totals: the mean that solves its evidence, at some numbers of pulls, and interpolated.

    evidence : (pulls, totals) -> (log E+, log E-)
    levels   : evidence that each arm needs; many different ones are rounded up to eight
    most     : largest number of pulls
    """
    steps = np.unique(levels)
    if steps.size > 8:
        steps = np.unique(np.quantile(steps, np.linspace(0.0, 1.0, 8)[1:], method="higher"))
    place = np.minimum(np.searchsorted(steps, levels), steps.size - 1)  # the step of each arm's level
    counts = np.unique(np.concatenate([np.arange(1.0, 13.0), np.floor(np.geomspace(13.0, max(most, 20.0), 36))]))
    if isinstance(problem.rewards, GradedCases):
        counts = np.unique(np.minimum(counts, problem.rewards.count))
    n = np.tile(counts, steps.size)
    wanted = np.repeat(steps, counts.size)
    ends = [_solved(evidence, side, n, wanted, problem).reshape(steps.size, counts.size) for side in (-1, 1)]
    xi, log_counts = problem.threshold, np.log(counts)

    def boundary(pulls: Floats, arm: Any) -> tuple[Floats, Floats]:
        x, row = np.log(np.maximum(pulls, 1.0)), place[arm]
        found = []
        for side, end in zip((-1, 1), ends, strict=True):
            at = np.empty(x.shape)
            for j in range(steps.size):
                gap = np.where(np.isfinite(end[j]), np.abs(end[j] - xi) * np.sqrt(counts), 1e12)
                at = np.where(row == j, np.interp(x, log_counts, gap), at)
            gap = at / np.sqrt(np.maximum(pulls, 1.0))
            found.append(np.where(at < 1e9, xi + side * gap, side * math.inf))
        return found[0], found[1]

    return boundary


def _solved(evidence: Callable[..., Any], side: int, n: Floats, level: Floats, problem: Problem) -> Floats:
    """The mean nearest to the threshold with enough evidence, by bisection in its gap; inf or -inf if there is none."""
    xi, bounded = problem.threshold, isinstance(problem.rewards, Bounded)
    which = 0 if side > 0 else 1
    farthest = (1.0 - xi if side > 0 else xi) if bounded else 1e3 * problem.rewards.spread(xi)
    few, many = np.zeros(n.size), np.full(n.size, farthest)
    never = ~(evidence(n, n * (xi + side * many))[which] >= level)
    x = np.minimum(np.sqrt(2.0 * (level + 2.0) / n) * problem.rewards.spread(xi), 0.5 * farthest)
    for _ in range(14):
        enough = evidence(n, n * (xi + side * x))[which] >= level
        few, many = np.where(enough, few, x), np.where(enough, x, many)
        x = np.where(few > 0.0, np.sqrt(np.maximum(few, 1e-300) * many), 0.5 * many)
    return np.where(never, side * math.inf, xi + side * many)


def by_formula(problem: Problem, levels: Floats, variance: Floats | None = None) -> Boundary:
    """The boundary of bets that must learn the distance of the mean from the threshold.

    A verdict comes at the smallest n with X - log(1 + 2 X)/2 >= level + `PRICE`, where X is n kl(m, xi) for 0/1
    rewards, and n d^2/(2 (v + d^2)) with d = m - xi for rewards of variance v: the gain of the best fixed bet.
    On a fixed test set X is divided by 1 - n/N.
    """
    needed = levels.astype(np.float64)
    for _ in range(60):
        needed = levels + PRICE + 0.5 * np.log1p(2.0 * needed)
    rewards, xi = problem.rewards, problem.threshold
    cases = float(rewards.count) if isinstance(rewards, GradedCases) else math.inf
    if isinstance(rewards, Bounded) and variance is None:

        def evidence(n: Floats, total: Floats) -> tuple[Floats, Floats]:
            x = n * kl(total / n, xi) / np.maximum(1.0 - n / cases, 1e-12)
            return x, x

        return by_evidence(evidence, problem, needed, min(1e12, cases))
    of_reward = np.broadcast_to(rewards.sigma() ** 2 if variance is None else variance, needed.shape)
    plain = 0.0 if isinstance(rewards, SubGaussian) else 2.0

    def boundary(pulls: Floats, arm: Any) -> tuple[Floats, Floats]:
        room = pulls - plain * needed[arm]
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.where(room > 0.0, np.sqrt(2.0 * needed[arm] * of_reward[arm] / room), math.inf)
        return xi - gap if math.isfinite(rewards.ceiling) or plain == 0.0 else np.full(gap.shape, -math.inf), xi + gap

    return boundary


def kl(mean: Floats, xi: float) -> Floats:
    """Relative entropy of 0/1 rewards of these means against means of xi."""
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(mean > 0.0, mean * np.log(mean / xi), 0.0)
        down = np.where(mean < 1.0, (1.0 - mean) * np.log((1.0 - mean) / (1.0 - xi)), 0.0)
    found: Floats = np.maximum(up + down, 0.0)
    return found
