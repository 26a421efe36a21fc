"""The purse: error budget that is staked on arms when they look promising, instead of 1/K on every arm beforehand.

A purse holds cash C, 1 at first. Each arm has two accounts A+ and A-, empty at first. A stake x moves x from C into
both accounts of an arm; its rewards multiply the accounts by fair bets; the arm is good once A+ >= 1/delta, bad once
A- >= 1/delta, and then the balance of its other account returns to C.

**Theorem.** P(any wrong verdict) <= delta, for every way of staking that depends only on the past.
**Proof.** One of an arm's two verdicts is wrong. Let W be the account that gives this verdict. Up to the first wrong
verdict, consider V = C + the sum of W over the open arms. A stake of x moves x from C to W, whichever side is wrong, so
V does not change. A pull multiplies one W by a factor of expectation at most 1 given the past, so V does not grow on
average. A correct verdict moves W into C, so V does not change. So V is a nonnegative supermartingale that starts at 1,
and a wrong verdict means V >= 1/delta: by Ville's inequality its probability is at most delta. QED

Stakes of 1/K on every arm at the start are the union bound, log(K/delta) for each. With many arms and few pulls for
each, most arms can't be certified in time, and the stakes on them are lost. Weights of arms and arms that come later in
a live campaign are stakes as well. They are known beforehand, so the same proof covers them.

Accounts are kept as log(A K), so that a verdict needs log(K/delta) as everywhere else. A refund requires the value of
the whole account, which is not known while rewards are pending. Live campaigns and policies with a model of the arms
therefore stake 1/K. So does every policy that controls the false discovery rate, which needs evidence of expectation 1
for each arm.
"""

from __future__ import annotations

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Row
from goodarm.rules.learners.ladder import PURSE, STEPS, WEIGHTS, Ladder

MANY_ARMS, FEW_PULLS = 1000.0, 300.0
"""Stake late only with at least this many arms and at most this many pulls for each."""
AT_FIRST = 0.2
"""Share of 1/K that every arm gets with its first pull."""
EMPTY = -1000.0
"""log(A K) of an account on which nothing was staked: e^-1000 is 0."""


def staked_late(pool: Pool, bar: Bar) -> bool:
    """Whether to stake shares late: there are many arms, few pulls for each, and the caller allows it."""
    return bar.purse > 0.0 and bar.arms >= MANY_ARMS and pool.horizon <= FEW_PULLS * bar.arms


def stake(arm: Arm, chances: Row, ladder: Ladder, bar: Bar) -> tuple[float, float]:
    """Both accounts, as log(A K), after the stake before this pull. Takes the stake out of the purse.

    chances : the likelihoods of the ladder's steps, given the arm's rewards

    The first stake is 0.2/K. After the first fit, the total stake on an arm rises to P(mu >= cut)/(p0 kappa K), if the
    purse has enough. P is conditional on the arm's rewards, p0 is the prior probability, `cut` is the mean from which
    on arms can be certified in time, and kappa = 1 + log(T/K)/2 allows for arms that look good only for a while. If
    many arms can be certified, the total is 1/K.
    """
    table = ladder.table
    for_good, for_bad, staked = arm.for_good, arm.for_bad, arm.memory[2]
    target = AT_FIRST
    if ladder.scale > 0.0:
        hope, all_of_it = 0.0, 0.0
        cut = max(int(ladder.cut), 0)
        for g in range(min(cut, 2 * STEPS)):
            all_of_it += table[WEIGHTS, g] * chances[g]
        for g in range(cut, 2 * STEPS):
            chance = table[WEIGHTS, g] * chances[g]
            all_of_it += chance
            hope += chance
        target = max(target, ladder.scale * hope / all_of_it)
    elif ladder.cut >= 0.0:
        target = 1.0
    if staked == 0.0:
        for_good, for_bad = EMPTY, EMPTY
    more = min(target - staked, table[PURSE, 0] * bar.arms)
    if more <= 0.0:
        return for_good, for_bad
    table[PURSE, 0] -= more / bar.arms
    arm.memory[2] = staked + more
    return added(for_good, more), added(for_bad, more)


def added(account: float, more: float) -> float:
    """log(e^account + more), where e^account may be far smaller or larger."""
    if account > 0.0:
        return account + math.log1p(more * math.exp(-account))
    return math.log(math.exp(account) + more)


def refund(for_good: float, for_bad: float, ladder: Ladder, bar: Bar) -> None:
    """Return the other account of an arm that has just been decided to the purse."""
    if for_good >= bar.budget:
        ladder.table[PURSE, 0] += math.exp(for_bad) / bar.arms
    elif for_bad >= bar.budget:
        ladder.table[PURSE, 0] += math.exp(for_good) / bar.arms
