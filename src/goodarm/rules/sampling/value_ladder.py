"""`value-ladder`: the most worth per pull that an arm can bring if one gives up on it in time."""

from __future__ import annotations

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool, Row
from goodarm.rules.learners.ladder import COST, WORTH, Ladder, ladder_learner, likelihoods
from goodarm.rules.learners.prior import boldness_for
from goodarm.rules.sampling._base import IndexRule
from goodarm.rules.sampling.value import worth_per_pull

TOO_LATE = 1e-9
"""What a verdict counts that the rounds left don't allow for: less than any other, and not nothing."""
HOPELESS = 0.5


def index(arm: Arm, pool: Pool, bar: Bar) -> float:
    """Most worth per pull over the ways to go on with the arm: hope for a mean of at least mu_g, and stop in time.

    With p_h the posterior probability of the ladder's mean mu_h, d_h = kl(mu_h, xi) and rem = log(K/delta) - log E+ +
    1/2, hoping for mu_g means: an arm as good as that is pulled until its verdict, rem/d_h pulls for a worth of
    mu_h - xi; a worse one is given up after about 2 nats of evidence against mu_g, or at the verdict of an arm at mu_g:

    index = max_g sum_{h>=g} p_h (mu_h - xi) / ( sum_{h>=g} p_h rem/d_h + sum_{h<g} p_h min(rem/d_g, 2/kl(mu_h, mu_g)) )

    over the mu_g above the threshold whose rem/d_g fits into the rounds that were left at the last fit. This stands in
    for the Gittins index of an arm seen as a job of random length, the most worth per pull over all times to stop.
    Where a model gives mean and width, the index is that of `value`.
    """
    if bar.modelled > 0.0:
        return worth_per_pull(arm.mean, boldness_for(pool.horizon, bar.arms) * arm.width, arm, bar)
    ladder: Ladder = pool.learned
    posterior = likelihoods(arm.pulls, arm.total, ladder)
    for h in range(posterior.size):
        posterior[h] *= ladder.weights[h]
    return best_hope(posterior, 1.0, 1.0, bar.budget - arm.for_good + 0.5, ladder)


def best_hope(posterior: Row, side: float, power: float, missing: float, ladder: Ladder) -> float:
    """max_g of worth per pull, as `index` says, on one side of the threshold (1 above, -1 below); every second g.

    A verdict on an arm of mean mu_h is worth |mu_h - xi|^power: `power` is 1 or 0.
    """
    last, half = posterior.size - 1, posterior.size // 2
    far = 0  # the farthest step on the other side that is still possible
    while far < last and posterior[far if side > 0.0 else last - far] == 0.0:
        far += 1
    best, gained, pulled = 0.0, 0.0, 0.0
    for step in range(last, half - 1, -1):
        g = step if side > 0.0 else last - step
        chance = posterior[g]
        gained += chance * abs(ladder.steps[WORTH, g]) if power > 0.0 else chance
        pulled += chance * ladder.steps[COST, g]
        if gained > 0.0 and step % 2 == 0:
            most = missing * ladder.steps[COST, g]
            wasted = 0.0
            for other in range(far, step):
                h = other if side > 0.0 else last - other
                wasted += posterior[h] * min(most, ladder.leaving[g, h])
            found = gained / (missing * pulled + wasted)
            best = max(best, found if most <= ladder.left else TOO_LATE * found)
            if found < HOPELESS * best:
                break  # smaller hopes cost ever more pulls
    return best


value_ladder = IndexRule(
    name="value-ladder",
    reference="goodarm (docs/learning.md); Gittins 1979, JRSS B 41(2), for the order of jobs of random length",
    learner=ladder_learner,
    index=index,
)
