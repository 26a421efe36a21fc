"""The purse: what is staked, what comes back, and that all of it together is a fair game at best.

V = cash + every open arm's account on the wrong side must not grow on average, whatever came before. This is checked
exactly, both rewards weighed by their probabilities, along games in which arms are good or bad. Purses that look
natural and are wrong must be caught by the same sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from goodarm import bernoulli, simulate
from goodarm.problem import Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification.learned_bets import learned_bets, observe
from goodarm.rules.identification.purse import MANY_ARMS, added, staked_late
from goodarm.rules.learners.ladder import PURSE, WEIGHTS, Ladder, late_stakes, start
from goodarm.testing.error_rates import LAW_LEVEL, Trial

XI = 0.3
BAR = Problem(threshold=XI, arms=1000, delta=0.1).bar._replace(purse=1.0)
HORIZON = 50_000.0


def sparse_ladder() -> Ladder:
    """As after a fit that found one arm in a hundred far above the bar, the others below."""
    ladder = start(BAR)
    table = ladder.table.copy()
    weights = np.where(np.arange(34) >= 28, 0.01 / 6.0, np.where(np.arange(34) < 17, 0.99 / 17.0, 0.0))
    table[WEIGHTS] = weights
    cut, scale = late_stakes(table, HORIZON, BAR)
    assert cut <= 28.0
    assert scale > 1.0
    return Ladder(table, HORIZON, cut, scale)


@dataclass
class Game:
    """A few arms of many, and the purse."""

    ladder: Ladder = field(default_factory=sparse_ladder)
    arms: list[Arm] = field(
        default_factory=lambda: [Arm(*[0.0] * 6, np.zeros(learned_bets.memory), 0.0) for _ in range(3)]
    )

    @property
    def cash(self) -> float:
        return float(self.ladder.table[PURSE, 0])

    def copy(self) -> Game:
        ladder = self.ladder._replace(table=self.ladder.table.copy())
        return Game(ladder, [arm._replace(memory=arm.memory.copy()) for arm in self.arms])

    def pull(self, i: int, reward: float) -> Game:
        arm = self.arms[i]
        good, bad, _ = observe(arm, reward, Pool(1.0, HORIZON, self.ladder), BAR)
        verdict = 1.0 if good >= BAR.budget else -1.0 if bad >= BAR.budget else 0.0
        self.arms[i] = arm._replace(
            pulls=arm.pulls + 1.0, total=arm.total + reward, for_good=good, for_bad=bad, verdict=verdict
        )
        return self

    def worth(self, wrong: float) -> float:
        """V where `wrong` is the wrong verdict of all arms; at a wrong verdict, nothing has come back yet."""
        total = self.cash
        for arm in self.arms:
            account = math.exp(arm.for_good if wrong > 0.0 else arm.for_bad) / BAR.arms if arm.memory[2] > 0.0 else 0.0
            total += account if arm.verdict == 0.0 else 0.0
            if arm.verdict == wrong:
                total += account - math.exp(arm.for_bad if wrong > 0.0 else arm.for_good) / BAR.arms
        return total


class WrongAccount(Game):
    """Gives back the account that won."""

    def pull(self, i: int, reward: float) -> Game:
        super().pull(i, reward)
        arm = self.arms[i]
        if arm.verdict != 0.0:
            change = arm.verdict * (math.exp(arm.for_good) - math.exp(arm.for_bad)) / BAR.arms
            self.ladder.table[PURSE, 0] += change
        return self

    def copy(self) -> Game:
        return WrongAccount(**vars(super().copy()))


class Holm(Game):
    """Divides delta among the arms that are still open: a correct verdict frees a share for the others."""

    def pull(self, i: int, reward: float) -> Game:
        super().pull(i, reward)
        if self.arms[i].verdict != 0.0:
            more = math.log(3.0 / 2.0)
            for j, arm in enumerate(self.arms):
                if j != i:
                    self.arms[j] = arm._replace(for_good=arm.for_good + more, for_bad=arm.for_bad + more)
        return self

    def copy(self) -> Game:
        return Holm(**vars(super().copy()))


class StakeThatSees(Game):
    """Stakes more on an arm once its reward is known to be a success."""

    def pull(self, i: int, reward: float) -> Game:
        before = self.arms[i]
        super().pull(i, reward)
        arm = self.arms[i]
        if reward == 1.0 and before.pulls > 0.0 and arm.verdict == 0.0 and self.cash * BAR.arms > 1.0:
            self.ladder.table[PURSE, 0] -= 1.0 / BAR.arms
            won = math.exp(arm.for_good - before.for_good)
            self.arms[i] = replace_accounts(arm, won)
        return self

    def copy(self) -> Game:
        return StakeThatSees(**vars(super().copy()))


def replace_accounts(arm: Arm, won: float) -> Arm:
    return arm._replace(for_good=added(arm.for_good, won), for_bad=added(arm.for_bad, 1.0))


def largest_gain(kind: Callable[[], Game], games: int = 60, pulls: int = 60) -> float:
    """The largest growth of V on average, in units of 1/K, over states of games in which arms are very good or bad."""
    rng, largest = np.random.default_rng(5), -math.inf
    for _ in range(games):
        game, means = kind(), rng.choice([0.05, 0.3, 0.95], size=3)
        for _ in range(pulls):
            still = [i for i, arm in enumerate(game.arms) if arm.verdict == 0.0]
            if not still:
                break
            i = int(rng.choice(still))
            for wrong in (1.0, -1.0):
                after = [game.copy().pull(i, reward).worth(wrong) for reward in (0.0, 1.0)]
                gain = (1.0 - XI) * after[0] + XI * after[1] - game.worth(wrong)
                largest = max(largest, gain * BAR.arms)
            game.pull(i, float(rng.random() < means[i]))
    return largest


@pytest.mark.slow
def test_the_purse_is_fair_at_best() -> None:
    assert largest_gain(Game) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("kind", [WrongAccount, Holm, StakeThatSees])
def test_a_purse_that_cheats_is_caught(kind: type[Game]) -> None:
    assert largest_gain(kind) > 1e-3


def test_who_stakes_late() -> None:
    few, many = BAR._replace(arms=MANY_ARMS - 1.0), BAR
    assert staked_late(Pool(1.0, 300.0 * many.arms), many)
    assert not staked_late(Pool(1.0, 300.0 * few.arms), few)
    assert not staked_late(Pool(1.0, 301.0 * many.arms), many)
    assert not staked_late(Pool(1.0, math.inf), many)
    assert not staked_late(Pool(1.0, 100.0 * many.arms), many._replace(purse=0.0))


def test_stakes_follow_hope() -> None:
    """An arm that looks good gets more than 1/K; one that looks bad, nothing after its first pull."""
    game = Game()
    for reward in [1.0] * 8:
        game.pull(0, reward)
    game.pull(1, 0.0)
    first = float(game.arms[1].memory[2])
    for reward in [0.0] * 8:
        game.pull(1, reward)
    assert game.arms[0].memory[2] > 1.0
    assert game.arms[1].memory[2] == first < 0.5
    assert game.cash == pytest.approx(1.0 - sum(arm.memory[2] for arm in game.arms) / BAR.arms)


def test_an_empty_purse_stakes_nothing() -> None:
    """Evidence 0 would be a stake of 1/K that nobody paid for."""
    game = Game()
    game.ladder.table[PURSE, 0] = 0.0
    arm = game.pull(0, 1.0).arms[0]
    assert math.exp(arm.for_good) == math.exp(arm.for_bad) == 0.0
    game.ladder.table[PURSE, 0] = 1.0
    arm = game.pull(0, 1.0).arms[0]
    assert math.exp(arm.for_bad) < arm.memory[2] == pytest.approx(1000.0 * (1.0 - game.cash))


def test_what_is_left_of_a_decided_arm_comes_back() -> None:
    game = Game()
    while game.arms[0].verdict == 0.0:
        before = game.cash
        staked = float(game.arms[0].memory[2])
        game.pull(0, 1.0)
    left = math.exp(game.arms[0].for_bad) / BAR.arms
    assert left > 0.0
    assert game.cash == pytest.approx(before - (game.arms[0].memory[2] - staked) / BAR.arms + left)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["uniform", "value"])
@pytest.mark.parametrize("centre", [XI, XI - 1e-4])
def test_many_arms_at_the_bar(sampling: str, centre: float) -> None:
    """A thousand arms at the bar, or just below it, beside twenty good ones: wrong runs within delta."""
    means = np.r_[np.full(20, 0.8), np.full(1180, centre)]
    trial = Trial(level=LAW_LEVEL, runs=60, delta=0.1)
    played = simulate(f"{sampling}+learned-bets", bernoulli(means, XI), horizon=60_000, runs=60, seed=8, delta=0.1)
    assert sum((run.verdicts == 1).sum() for run in played.runs) > 500
    assert played.wrong_runs < trial.critical


@pytest.mark.slow
def test_it_finds_more_where_good_arms_are_rare() -> None:
    rare = bernoulli(np.r_[np.full(40, 0.15), np.full(4960, 0.04)], 0.1)
    late, uniform = (
        simulate(f"value+learned-bets(late={late})", rare, horizon=100_000, runs=10, seed=9) for late in (1, 0)
    )
    assert late.exploit_score.mean > 1.02 * uniform.exploit_score.mean


@pytest.mark.slow
def test_the_false_discovery_rate_keeps_equal_stakes() -> None:
    means = np.r_[np.full(20, 0.5), np.full(1980, 0.2)]
    late, uniform = (
        simulate(f"value+learned-bets(late={late})", bernoulli(means, XI), horizon=10_000, runs=2, criterion="fdr")
        for late in (1, 0)
    )
    assert [run.verdicts.tolist() for run in late.runs] == [run.verdicts.tolist() for run in uniform.runs]
