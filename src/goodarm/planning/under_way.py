"""`remaining`: expected further samples of each arm of a running campaign."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import ArrayLike, NDArray

from goodarm.arguments import check_real, checked_number, percentage, shown
from goodarm.engine.totals import evidence_from_totals
from goodarm.errors import InvalidValue
from goodarm.forecast import HIGH, LOW, Boundary, Forecast, by_evidence, by_formula, in_range, likely_means, waits
from goodarm.plain_table import plain_table
from goodarm.problem import Bounded, Gaussian, GradedCases, Problem, Rewards
from goodarm.rules.identification import EvidenceRule, IdentificationRule
from goodarm.rules.identification.gap_mixture import gap_mixture
from goodarm.simulation.stop import Stop

Floats = NDArray[np.float64]

DRAWS, WORK = 60, 30_000
"""Number of simulated continuations of a campaign, and maximum number of arms in all of them together (a random
sample)."""
FEWEST_ARMS = 500
CELLS = 100_000
"""Draws times arms per batch, which bounds memory and the delay of an interruption."""


class Remaining(NamedTuple):
    """Further samples until the verdict, one entry per arm, given the rewards of all arms.

    median, low, high : quantiles 0.5, 0.1, 0.9; `limit` if the verdict lies beyond it
    expected          : mean of min(pulls, limit). Without a limit it would be infinite for every arm, since a mean may
                        lie arbitrarily close to the threshold
    beyond            : probability that the arm is still undecided after `limit` more pulls
    good              : probability that the arm is good
    arms              : ids of the arms of a campaign; empty if only totals were given
    """

    median: Floats
    low: Floats
    high: Floats
    expected: Floats
    beyond: Floats
    good: Floats
    limit: float
    arms: tuple[str, ...] = ()

    def __str__(self) -> str:
        """A table with one row per arm, in samples; "over" where a number reaches `limit`."""
        names = self.arms or tuple(str(i) for i in range(len(self.median)))
        rows = [
            [name, *(self._samples(each[i]) for each in (self.median, self.low, self.high)), f"{self.good[i]:.0%}"]
            for i, name in enumerate(names)
        ]
        return plain_table(["arm", "samples left", "low", "high", "good with probability"], rows)

    def _samples(self, value: float) -> str:
        return f"{'over ' if value >= self.limit else ''}{value:,.0f}"


def remaining(
    pulls: ArrayLike,
    totals: ArrayLike,
    *,
    threshold: float | str,
    delta: float = 0.05,
    prior: tuple[float, float] | None = None,
    limit: float = 1e6,
    draws: int = 200,
    seed: int = 0,
    scale: float | None = None,
    cases: int | None = None,
    stop: Stop | None = None,
) -> Remaining:
    """Estimate the further samples of each arm from its pulls and sum of rewards so far (`goodarm.forecast`).

    The spread of the means is learned from all arms, unless a prior is given; each arm's mean mu is drawn from its
    posterior, and rewards of that mean are drawn until `gap-mixture` decides. Rules with slower evidence, such as
    `hoeffding`, need more.

    prior : (A, B) of a Beta prior
    limit : horizon of the forecast, in further pulls of one arm
    draws : number of draws of each arm's mean
    scale : rewards are in [0, 1] if it is None; otherwise Gaussian of that scale, and the prior a normal one,
            (mean, deviation)
    cases : number of cases N of a fixed test set, each drawn at most once per arm. Then mu is the mean of the set, and
            an arm never needs more than its N - n cases left
    stop  : a token by which another thread can interrupt the computation

    An arm far from the threshold needs no more pulls, an arm near it some hundreds, and an arm at it thousands:

    >>> left = remaining([100, 100, 100], [90, 60, 50], threshold=0.5, prior=(1, 1))
    >>> left.median.round(-2).tolist()
    [0.0, 200.0, 2600.0]
    >>> remaining([100, 100, 94], [90, 60, 47], threshold=0.5, prior=(1, 1), cases=100).high.tolist()
    [0.0, 0.0, 6.0]
    """
    n, s = _checked(pulls, totals, limit, draws, scale is None)
    rewards = _rewards(scale, cases, n)
    bar = checked_number("threshold", percentage(threshold))
    problem = Problem(threshold=bar, arms=n.size, delta=delta, rewards=rewards)
    levels = np.full(n.size, problem.bar.budget)
    chance = default_rng(seed)
    if prior is None:
        mu = likely_means(n, s, problem, draws, chance)
    else:
        mu = _posterior(n, s, problem, prior, draws, chance)
    still = np.full(n.size, limit) if cases is None else np.minimum(cases - n, limit)
    boundary = boundary_of(gap_mixture, (), problem, levels, float(n.max()) + limit)
    left = np.empty_like(mu)
    for first in range(0, n.size, step := max(CELLS // draws, 1)):
        part = slice(first, first + step)
        more = waits(mu[:, part], n[part], s[part], problem, boundary, chance, still[part])
        left[:, part] = np.minimum(more, still[part])
        if stop is not None:
            stop.check()
    low, median, high = np.quantile(left, [LOW, 0.5, HIGH], axis=0)
    return Remaining(
        median, low, high, left.mean(axis=0), (left >= limit).mean(axis=0), (mu >= bar).mean(axis=0), limit
    )


class ToFinish(NamedTuple):
    """Samples until the undecided arms are decided, all but `near` of them.

    look_bad : number of undecided arms that lie below the bar with probability 0.9 or more
    for_bad  : median number of samples until all of these arms are decided
    half     : samples of the half of the arms that is expected to need the fewest, the median; inf if it can't be told
    ninety   : the same for nine in ten of them
    """

    samples: Forecast
    near: int
    look_bad: int
    for_bad: float
    half: float = math.inf
    ninety: float = math.inf


def to_finish(
    pulls: Floats,
    totals: Floats,
    problem: Problem,
    rule: IdentificationRule,
    values: tuple[float, ...],
    levels: Floats,
    undecided: NDArray[np.intp],
    quick_first: bool,
    seed: int = 0,
) -> ToFinish:
    """Samples until these arms are decided.

    This is the sum over the arms, so it does not depend on the order in which the policy asks for them. It depends on
    the policy's identification rule: a rule by totals is simulated exactly, others by a formula. Arms that may lie on
    the bar can make the sum infinite. A policy that decides the quickest arms first reaches them last, so the slowest
    arms can be left out: as few as possible, and less than half. Any other policy may spend most samples on an arm at
    the bar while the others wait, so the sum of the others says nothing about the next verdicts.

    levels      : evidence that each arm needs
    quick_first : whether the policy decides the quickest arms first (`SamplingRule.prefers`)
    """
    chance = default_rng(seed)
    draws = int(min(DRAWS, max(20, WORK / undecided.size)))
    which = undecided
    if undecided.size > max(FEWEST_ARMS, WORK // draws):
        which = np.sort(chance.choice(undecided, max(FEWEST_ARMS, WORK // draws), replace=False))
    means = likely_means(pulls, totals, problem, draws, chance, which)
    limit = np.full(pulls.size, FARTHEST)
    if isinstance(problem.rewards, GradedCases):
        limit = np.minimum(limit, problem.rewards.count - pulls)
    boundary = boundary_of(rule, values, problem, levels, FARTHEST)
    own = waits(
        means, pulls[which], totals[which], problem, lambda n, arm: boundary(n, which[arm]), chance, limit[which]
    )
    if isinstance(problem.rewards, GradedCases):
        own = np.minimum(own, limit[which])
    every = in_range(sums_over(own, undecided.size, chance))
    below = np.flatnonzero((means < problem.threshold).mean(axis=0) >= HIGH)
    look_bad = round(undecided.size * below.size / which.size)
    for_bad = float(np.median(sums_over(own[:, below], look_bad, chance))) if below.size else 0.0
    longest = np.argsort(-np.minimum(own, FARTHEST).mean(axis=0), kind="stable")
    others = default_rng(seed)
    half, ninety = (_of_the_quickest(own, longest, share, undecided.size, others) for share in (0.5, 0.9))
    if every.told or not quick_first:
        return ToFinish(every, 0, look_bad, for_bad, half, ninety)
    for left_out in range(1, (which.size + 1) // 2):
        near = round(undecided.size * left_out / which.size)
        found = in_range(sums_over(own[:, longest[left_out:]], undecided.size - near, chance))
        if found.told and found.high <= WIDEST * found.low:
            return ToFinish(found, near, look_bad, for_bad, half, ninety)
    return ToFinish(every, 0, look_bad, for_bad, half, ninety)


def _of_the_quickest(own: Floats, longest: NDArray[np.intp], share: float, arms: int, chance: Generator) -> float:
    """The median of the samples that this share of the arms needs; inf if there is no such share of so few arms."""
    kept, many = math.ceil(share * longest.size), math.ceil(share * arms)
    if kept in (0, longest.size):
        return math.inf
    found = float(np.median(sums_over(own[:, longest[longest.size - kept :]], many, chance)))
    return found if found < FARTHEST else math.inf


def boundary_of(
    rule: IdentificationRule, values: tuple[float, ...], problem: Problem, levels: Floats, most: float
) -> Boundary:
    """The decision boundary of a rule: its evidence by totals, or a formula for other rules and rewards."""
    if not (isinstance(rule, EvidenceRule) and rule.by_totals and type(problem.rewards) is not GradedCases):
        return by_formula(problem, levels)
    bar = problem.bar
    return by_evidence(lambda n, s: evidence_from_totals(rule, n, s, bar, values), problem, levels, most)


WIDEST = 10.0
"""Maximum ratio of the ends of a range that leaves out the slowest arms. Wider ranges are not shown."""
FARTHEST = 1e9
"""Horizon of the forecast, in further samples of one arm."""


def sums_over(waits: Floats, arms: int, chance: Generator) -> Floats:
    """The sum over this many arms in each draw. If fewer were simulated, they represent the rest."""
    draws, simulated = waits.shape
    if simulated == arms:
        return np.asarray(waits.sum(axis=1))
    return np.array([chance.choice(waits.ravel(), arms).sum() for _ in range(draws)])


def _rewards(scale: float | None, cases: int | None, n: Floats) -> Rewards:
    if cases is None:
        return Bounded() if scale is None else Gaussian(scale)
    if scale is not None:
        raise InvalidValue(f"on a fixed test set rewards lie in [0, 1]; leave out scale={scale!r}.")
    rewards = GradedCases(cases)
    if (n > cases).any() or (n % 1.0).any():
        raise InvalidValue(f"pulls must be whole numbers of at most {cases:,} cases per arm; got {shown(n.tolist())}.")
    return rewards


def _posterior(
    n: Floats, s: Floats, problem: Problem, prior: tuple[float, float], draws: int, chance: Generator
) -> Floats:
    """Draws of each arm's mean under a given prior: Beta for rewards in [0, 1], otherwise normal; shape (draws, K)."""
    a, b = prior
    if isinstance(problem.rewards, Bounded):
        if not (0.0 < a < math.inf and 0.0 < b < math.inf):
            raise InvalidValue(
                f"prior must be two positive numbers, the parameters of a Beta distribution; got {prior}."
            )
        return chance.beta(a + s, b + n - s, size=(draws, n.size))
    if not (math.isfinite(a) and 0.0 < b < math.inf):
        raise InvalidValue(f"prior must be a mean and a positive deviation; got {prior}.")
    variance = problem.rewards.sigma() ** 2
    known = 1.0 / b**2 + n / variance
    return chance.normal((a / b**2 + s / variance) / known, 1.0 / np.sqrt(known), size=(draws, n.size))


def _checked(pulls: ArrayLike, totals: ArrayLike, limit: float, draws: int, bounded: bool) -> tuple[Floats, Floats]:
    check_real(limit=limit, draws=draws)
    try:
        n, s = np.asarray(pulls, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidValue(
            f"pulls and totals must be lists of one number per arm; got {shown(pulls)} and {shown(totals)}."
        ) from None
    if n.ndim != 1 or n.size == 0 or n.shape != s.shape:
        raise InvalidValue(f"pulls and totals must be lists of one number per arm; got shapes {n.shape} and {s.shape}.")
    if not bounded and not (np.isfinite(n) & (n >= 0.0) & np.isfinite(s)).all():
        raise InvalidValue(f"pulls must be numbers of at least 0, and totals numbers; got {shown(n)} and {shown(s)}.")
    wrong = ~((n >= 0.0) & (s >= 0.0) & (s <= n) & np.isfinite(n)) if bounded else np.zeros(n.size, dtype=bool)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InvalidValue(f"the total of an arm must lie between 0 and its pulls; arm {i} has {s[i]:g} of {n[i]:g}.")
    if not (limit >= 1.0 and draws >= 1):
        raise InvalidValue(f"limit and draws must be at least 1; got {limit} and {draws}.")
    return n, s
