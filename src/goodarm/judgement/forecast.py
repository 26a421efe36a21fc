"""Forecast of the further rows that decide half of the undecided arms, at the present shares of traffic."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from goodarm.engine.totals import evidence_from_totals
from goodarm.forecast import Boundary, Forecast, by_evidence, by_formula, in_range, likely_means, waits
from goodarm.judgement.options import LogOptions
from goodarm.judgement.shares import Shares
from goodarm.judgement.sources._base import Floats, Sums
from goodarm.problem import NonNegative, Problem
from goodarm.rules.identification import RadiusRule
from goodarm.rules.identification.bet_mixture import STEPS, bets, log_shares
from goodarm.verdict import Criterion

DRAWS, MOST_ARMS = 50, 100
"""Number of simulated continuations of the log, and maximum number of undecided arms in each (a random sample)."""
FARTHEST = 1000.0
"""Horizon of the forecast, as a multiple of the rows so far."""
SEEN = 5.0
"""Minimum data for a forecast: expected successes or failures, whichever are rarer, of all undecided arms if they were
at the bar; for other rewards, rows."""

NEVER = 1e30
"""Gap of an unreachable verdict."""


def rows_to_half(options: LogOptions, sums: Sums, verdict: NDArray[np.int8], shares: Shares) -> Forecast | None:
    """Further rows until half of the undecided arms have a verdict; None if there is no forecast.

    There is none for ratios of sums (propensities, `per_unit="ratio"`), for rules by a radius, against a control, and
    for several bars.
    """
    undecided = np.flatnonzero(verdict == 0)
    if not options.kind.own_mean:
        return None
    problem, rule = options.problem(sums.pulls.size), options.identification
    rarer = min(problem.threshold, 1.0 - problem.threshold) if options.scale.bounded else 1.0
    if not undecided.size or rarer * sums.pulls[undecided].sum() < SEEN:
        return None
    if sums.weight is not None or isinstance(rule, RadiusRule):
        return None
    chance = default_rng(0)
    pulls = sums.pulls.astype(np.float64)
    totals = np.clip(sums.total, 0.0, pulls) if options.scale.bounded else sums.total
    which = undecided[pulls[undecided] > 0.0]
    if 2 * which.size < undecided.size:
        return None
    size = math.ceil(undecided.size / 2) / undecided.size
    if which.size > MOST_ARMS:
        which = np.sort(chance.choice(which, MOST_ARMS, replace=False))
    bar, variance = problem.bar, None
    called = 1 + max(int((verdict > 0).sum()), int((verdict < 0).sum()))  # under `fdr` more verdicts need less evidence
    gained = math.log(called) if options.criterion is Criterion.FDR else 0.0
    levels, most = (
        np.broadcast_to(bar.budget - shares.offset - gained, pulls.shape),
        (FARTHEST + 1.0) * float(pulls.max()),
    )
    if sums.logs is not None:
        totals = _cut_at_the_ceiling(totals, sums, problem)
        if totals.sum() <= 0.0:
            return None
        variance = variance_from_sums(sums, problem, options)
        boundary = boundary_by_sums(pulls, totals, sums.logs, problem, levels, most, which)
    elif rule.by_totals:
        boundary = by_evidence(lambda n, s: evidence_from_totals(rule, n, s, bar), problem, levels, most)
    else:
        boundary = by_formula(problem, levels)
    means = likely_means(pulls, totals, problem, DRAWS, chance, which, variance)
    if isinstance(problem.rewards, NonNegative):
        means = np.maximum(means, 0.0)
    rows = float(sums.rows.sum() if options.unit is not None else pulls.sum())
    per_row = pulls[which] / rows
    more = waits(
        means,
        pulls[which],
        totals[which],
        problem,
        lambda n, arm: boundary(n, which[arm]),
        chance,
        np.ceil(FARTHEST * pulls[which]),
        None if variance is None else variance[which],
    )
    until = np.sort(np.maximum(more, 1.0) / per_row, axis=1)  # an undecided arm needs at least one more
    found = in_range(until[:, math.ceil(size * which.size) - 1])
    return found if found.told else None


def boundary_by_sums(
    pulls: Floats, totals: Floats, logs: Floats, problem: Problem, levels: Floats, most: float, which: NDArray[np.intp]
) -> Boundary:
    """The boundary of `bet-mixture`, from each arm's own sums of log(1 + l_j (x - xi)); only for the arms in `which`.

    An arm with mean m gains g_j per row with bet j. If rewards other than 0 become more or less frequent, so that the
    mean is mu, it gains z_j + (g_j - z_j) mu/m, where z_j = log(1 - l_j xi) is the gain of a reward of 0. At the arm's
    present mean this is its present evidence, and it accounts for the grid of bets: highly variable rewards may call
        for a bet smaller than the smallest one. An arm with few rows borrows the average gains of all arms.
    """
    bar, xi = problem.bar, problem.threshold
    logs = np.pad(logs, ((0, 0), (0, 2 * STEPS - logs.shape[1])))  # without a ceiling there are no bets on a low mean
    few, rows = _borrowed(problem), pulls[which, None] + _borrowed(problem)
    gain = (logs[which] + few * logs.sum(axis=0) / pulls.sum()) / rows
    mean = (totals[which, None] + few * totals.sum() / pulls.sum()) / rows
    of_zero = np.log1p(-bets(bar) * xi)
    counts = np.unique(np.floor(np.geomspace(1.0, max(most, 20.0), 64)))
    shares, needed = log_shares(bar), levels[which, None]
    gaps = []
    for side in (-1.0, 1.0):
        own = slice(0, STEPS) if side > 0.0 else slice(STEPS, 2 * STEPS)

        def enough(gap: Floats, own: slice = own, side: float = side) -> NDArray[np.bool_]:
            more = ((xi + side * gap) / mean)[..., None] * (gain - of_zero)[:, None, own]
            terms = shares + counts[:, None] * (of_zero[own] + more)
            top = terms.max(axis=-1)
            return np.asarray(top + np.log(np.exp(terms - top[..., None]).sum(axis=-1)) >= needed)

        farthest = min(bar.ceiling - xi, 1e3 * xi) if side > 0.0 else xi
        low, high = np.full((which.size, counts.size), 1e-6 * farthest), np.full((which.size, counts.size), farthest)
        never = ~enough(high)
        for _ in range(20):
            middle = np.sqrt(low * high)
            there = enough(middle)
            low, high = np.where(there, low, middle), np.where(there, middle, high)
        gaps.append(np.where(never, NEVER, high * np.sqrt(counts)))
    place = np.full(pulls.size, -1)
    place[which] = np.arange(which.size)
    log_counts = np.log(counts)

    def boundary(n: Floats, arm: NDArray[np.intp]) -> tuple[Floats, Floats]:
        x = np.log(np.maximum(n, 1.0))
        left = np.clip(np.searchsorted(log_counts, x, side="right") - 1, 0, counts.size - 2)
        part = np.clip((x - log_counts[left]) / (log_counts[left + 1] - log_counts[left]), 0.0, 1.0)
        row, found = place[arm], []
        for side, gap in zip((-1.0, 1.0), gaps, strict=True):
            before, after = gap[row, left], gap[row, left + 1]
            at = before * (1.0 - part) + after * part
            found.append(np.where(at < 1e-6 * NEVER, xi + side * at / np.sqrt(np.maximum(n, 1.0)), side * math.inf))
        return found[0], found[1]

    return boundary


def _cut_at_the_ceiling(totals: Floats, sums: Sums, problem: Problem) -> Floats:
    """The totals of min(x, ceiling), on which the evidence is based, from the two smallest bets -l and -2 l.

    With D the sum of min(x, ceiling) - xi, and Q that of its squares, their sums of logarithms are about
    -l D - l^2 Q/2 and -2 l D - 2 l^2 Q, since l is at most 0.002/(ceiling - xi).
    """
    if sums.logs is None or not isinstance(problem.rewards, NonNegative) or math.isinf(problem.bar.ceiling):
        return totals
    smallest, double = sums.logs[:, STEPS], sums.logs[:, STEPS + 1]
    beyond = (4.0 * smallest - double) / (2.0 * bets(problem.bar)[STEPS])
    return np.asarray(np.maximum(sums.pulls * problem.threshold + beyond, 0.0))


def _borrowed(problem: Problem) -> float:
    """Number of pooled rows (of all arms) with which an arm's own rows are mixed."""
    return 300.0 if isinstance(problem.rewards, NonNegative) else 30.0


def variance_from_sums(sums: Sums, problem: Problem, options: LogOptions) -> Floats:
    """The variance of one reward of each arm, from its sums for `bet-mixture`.

    log(1 + l d) is about l d - (l d)^2/2 for the smallest bet l. An arm with few rows gets the pooled variance.
    """
    assert sums.logs is not None
    possible = np.where(np.asarray(options.bets) == 0.0, math.inf, np.abs(options.bets))
    smallest, n = int(np.argmin(possible)), np.maximum(sums.pulls, 1.0)
    bet = options.bets[smallest]
    beyond = _cut_at_the_ceiling(sums.total, sums, problem) - n * problem.threshold
    squares = np.maximum(2.0 * (bet * beyond - sums.logs[:, smallest]) / bet**2, 0.0)
    own = np.maximum(squares / n - (beyond / n) ** 2, 0.0)
    of_all = max(float((n * own).sum() / n.sum()), 1e-6 * problem.rewards.spread(problem.threshold) ** 2)
    few = _borrowed(problem)
    return np.asarray((n * own + few * of_all) / (n + few))
