"""Forecast of the further rows that decide half of the undecided arms, at the present shares of traffic."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from goodarm.engine.totals import evidence_from_totals
from goodarm.forecast import Boundary, Forecast, by_evidence, by_formula, in_range, likely_means, waits
from goodarm.judgement.question import Question
from goodarm.judgement.shares import Shares
from goodarm.judgement.sources._base import Floats, Sums
from goodarm.problem import NonNegative, Problem
from goodarm.rules.identification import RadiusRule
from goodarm.verdict import Criterion

DRAWS, MOST_ARMS = 50, 100
"""Number of simulated continuations of the log, and maximum number of undecided arms in each (a random sample)."""
FARTHEST = 1000.0
"""Horizon of the forecast, as a multiple of the rows so far."""
SEEN = 5.0
"""Minimum data for a forecast: expected successes or failures, whichever are rarer, of all undecided arms if they were
at the bar; for other rewards, rows."""


def rows_to_half(question: Question, sums: Sums, verdict: NDArray[np.int8], shares: Shares) -> Forecast | None:
    """Further rows until half of the undecided arms have a verdict; None if there is no forecast.

    There is none for ratios of sums (propensities, `per_unit="ratio"`), for rules by a radius, against a control, and
    for several bars.
    """
    undecided = np.flatnonzero(verdict == 0)
    if question.threshold is None:
        return None
    rarer = min(question.bar, 1.0 - question.bar) if question.scale.bounded else 1.0
    if not undecided.size or rarer * sums.pulls[undecided].sum() < SEEN:
        return None
    if sums.weight is not None or isinstance(question.identification, RadiusRule):
        return None
    chance = default_rng(0)
    pulls = sums.pulls.astype(np.float64)
    totals = np.clip(sums.total, 0.0, pulls) if question.scale.bounded else sums.total
    which = undecided[pulls[undecided] > 0.0]
    if 2 * which.size < undecided.size:
        return None
    size = math.ceil(undecided.size / 2) / undecided.size
    if which.size > MOST_ARMS:
        which = np.sort(chance.choice(which, MOST_ARMS, replace=False))
    problem = question.problem(pulls.size)
    variance = variance_from_sums(sums, problem, question)
    boundary = _boundary(question, problem, _levels(question, problem, verdict, shares), variance, float(pulls.max()))
    means = likely_means(pulls, totals, problem, DRAWS, chance, which, variance)
    rows = float(sums.rows.sum() if question.unit is not None else pulls.sum())
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
    until = np.sort(more / per_row, axis=1)
    found = in_range(until[:, math.ceil(size * which.size) - 1])
    return found if found.told else None


def _levels(question: Question, problem: Problem, verdict: NDArray[np.int8], shares: Shares) -> Floats:
    """Evidence that each arm needs; under `fdr` with one more arm called than at present."""
    called = max(int((verdict > 0).sum()), int((verdict < 0).sum())) + 1
    gained = math.log(called) if question.criterion is Criterion.FDR else 0.0
    return np.broadcast_to(problem.bar.budget - shares.offset - gained, (problem.arms,))


def _boundary(question: Question, problem: Problem, levels: Floats, variance: Floats | None, most: float) -> Boundary:
    rule = question.identification
    if variance is not None or not rule.by_totals:
        return by_formula(problem, levels, variance)
    bar = problem.bar
    return by_evidence(lambda n, s: evidence_from_totals(rule, n, s, bar), problem, levels, (FARTHEST + 1.0) * most)


def variance_from_sums(sums: Sums, problem: Problem, question: Question) -> Floats | None:
    """The variance of one reward of each arm, from its sums for `bet-mixture`; None for other rules.

    log(1 + l d) is about l d - (l d)^2/2 for the smallest bet l. An arm with few rows gets the variance of all.
    """
    if sums.logs is None:
        return None
    bet, n = question.bets[0], np.maximum(sums.pulls, 1.0)
    beyond = sums.total - n * problem.threshold
    squares = np.maximum(2.0 * (bet * beyond - sums.logs[:, 0]) / bet**2, 0.0)
    own = np.maximum(squares / n - (beyond / n) ** 2, 0.0)
    of_all = max(float((n * own).sum() / n.sum()), 1e-6 * problem.rewards.spread(problem.threshold) ** 2)
    few = 30.0 if not isinstance(problem.rewards, NonNegative) else 300.0
    return np.asarray((n * own + few * of_all) / (n + few))
