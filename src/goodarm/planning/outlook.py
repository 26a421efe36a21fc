"""Results of simulated campaigns for one setting: samples until shares of the good arms are found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from goodarm.forecast import Forecast, in_range
from goodarm.problem import Problem
from goodarm.simulation.runs import Estimate, estimate

Floats = NDArray[np.float64]

SHARES = (0.5, 0.8, 0.9)
"""Shares of the good arms for which plans show samples."""


class Milestone(NamedTuple):
    """Samples until this share of the good arms is found, in one campaign."""

    share: float
    samples: Forecast


class Money(NamedTuple):
    """Cost of a campaign by each milestone, and until every arm is decided."""

    milestones: tuple[Forecast, ...]
    end: Forecast


class Finds(NamedTuple):
    """One simulated campaign: the rounds in which good arms were found, in order, and the number of good arms.

    `spent` is the money spent by these rounds.
    """

    rounds: Floats
    good_arms: int
    spent: Floats = np.zeros(0)

    def until(self, share: float) -> float:
        """The round by which this share of the good arms is found; inf if never.

        >>> Finds(np.array([5.0, 9.0, 40.0]), 4).until(0.5), Finds(np.array([5.0]), 4).until(0.5)
        (9.0, inf)
        """
        return self._at(share, self.rounds)

    def money(self, share: float) -> float:
        """The money spent by the time this share of the good arms is found."""
        return self._at(share, self.spent)

    def _at(self, share: float, found: Floats) -> float:
        needed = max(1, math.ceil(share * self.good_arms - 1e-9))
        return float(found[needed - 1]) if needed <= found.size else math.inf


@dataclass(frozen=True)
class Outlook:
    """One setting, simulated until every arm is decided or until the last round.

    lower_bound : rounds that every policy needs on average to decide all arms (median over draws of the means)
    milestones  : samples until half, 80% and 90% of the good arms are found; empty without good arms
    end         : samples until every arm is decided in one campaign
    rounds      : mean of `end` with a confidence interval; None if some campaign did not reach it
    decided     : share of the arms with a verdict by the last round, on average
    found       : share of the good arms that were called good by the last round; None without good arms
    found_once  : the same share in one campaign
    money       : cost of the samples by the milestones and the end; None if only samples are counted
    decided_at  : per campaign, the rounds of its verdicts in order
    finds       : per campaign, when good arms were found
    """

    words: str
    threshold: float
    delta: float
    last_round: int
    lower_bound: float
    milestones: tuple[Milestone, ...]
    end: Forecast
    rounds: Estimate | None
    decided: Estimate
    found: Estimate | None
    found_once: Forecast | None
    wrong_runs: int
    money: Money | None
    decided_at: tuple[Floats, ...] = field(repr=False, compare=False)
    finds: tuple[Finds, ...] = field(repr=False, compare=False)


class Played(Protocol):
    """Extract the results of one simulated campaign."""

    @property
    def rounds(self) -> int: ...
    @property
    def open_arms(self) -> int: ...
    @property
    def verdicts(self) -> NDArray[Any]: ...
    @property
    def verdict_rounds(self) -> NDArray[Any]: ...
    @property
    def means(self) -> NDArray[Any]: ...
    @property
    def spent(self) -> float: ...
    @property
    def verdict_spent(self) -> NDArray[Any]: ...


def outlook(
    words: str,
    problem: Problem,
    xi: float,
    last_round: int,
    lower_bound: float,
    runs: Sequence[Played],
    wrong_runs: int,
    price: float | None = None,
) -> Outlook:
    """Summarise the runs of a setting.

    xi    : the smallest of the `means` of a good arm
    price : money per unit of `spent`; None if only samples are counted
    """
    arms = problem.arms
    finds = tuple(_finds(runs, xi))
    with_good = [each for each in finds if each.good_arms]
    shares = [each.rounds.size / each.good_arms for each in with_good]
    to_the_end = all(run.open_arms == 0 for run in runs)
    return Outlook(
        words=words,
        threshold=xi,
        delta=problem.delta,
        last_round=last_round,
        lower_bound=lower_bound,
        milestones=tuple(Milestone(s, in_range([each.until(s) for each in with_good])) for s in SHARES)
        if with_good
        else (),
        end=in_range([float(run.rounds) if run.open_arms == 0 else math.inf for run in runs]),
        rounds=estimate(np.array([float(run.rounds) for run in runs])) if to_the_end else None,
        decided=_share([1.0 - run.open_arms / arms for run in runs]),
        found=_share(shares) if shares else None,
        found_once=in_range(shares) if shares else None,
        wrong_runs=wrong_runs,
        money=None if price is None else _money(runs, with_good, price),
        decided_at=tuple(np.sort(run.verdict_rounds[run.verdicts != 0]).astype(np.float64) for run in runs),
        finds=finds,
    )


def _finds(runs: Sequence[Played], xi: float) -> list[Finds]:
    found = []
    for run in runs:
        good = run.means >= xi
        which = (run.verdicts == 1) & good
        rounds, spent = (np.sort(at[which]).astype(np.float64) for at in (run.verdict_rounds, run.verdict_spent))
        found.append(Finds(rounds, int(good.sum()), spent))
    return found


def _money(runs: Sequence[Played], with_good: list[Finds], price: float) -> Money:
    ends = [price * run.spent if run.open_arms == 0 else math.inf for run in runs]
    reached = [in_range([price * each.money(share) for each in with_good]) for share in SHARES if with_good]
    return Money(tuple(reached), in_range(ends))


def _share(values: list[float]) -> Estimate:
    """Clip an estimate to [0, 1]."""
    mean, low, high, runs = estimate(np.array(values))
    return Estimate(mean, max(low, 0.0), min(high, 1.0), runs)
