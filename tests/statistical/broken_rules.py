"""Rules that break their promise on purpose, each in one place: the checks must fail for every one of them."""

import math

from goodarm.problem import Bar
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import EvidenceRule, IdentificationRule, ModelRule, RadiusRule
from goodarm.rules.identification._base import ANY_SUB_GAUSSIAN
from goodarm.rules.identification.betting import observe as betting_observe
from goodarm.rules.identification.gap_mixture import STEPS, log_ratio
from goodarm.rules.identification.kt import observe as kt_observe
from goodarm.rules.identification.learned_bets import LANDING, learned_bets
from goodarm.rules.identification.learned_bets import observe as learned_observe
from goodarm.rules.identification.learned_bets_normal import observe as normal_observe
from goodarm.rules.identification.normal_mixture import log_mixture
from goodarm.rules.identification.self_normalised import factor as model_factor
from goodarm.rules.learners.ladder import DRIFT, SLOPE, WEIGHTS, Ladder, ladder_learner
from goodarm.rules.learners.prior import prior_learner
from goodarm.verdict import Guarantee

Evidence = tuple[float, float, float]


def without_log_k(arm: Arm, reward: float, pool: Pool, bar: Bar) -> Evidence:
    """`kt` against log(1/delta): the budget is not divided among the arms."""
    head_start = math.log(bar.arms) if arm.pulls == 0.0 else 0.0
    good, bad, memory = kt_observe(arm, reward, pool, bar)
    return good + head_start, bad + head_start, memory


def looking_twice(arm: Arm, reward: float, pool: Pool, bar: Bar) -> Evidence:
    """`kt` that counts every reward twice."""
    good, bad, memory = kt_observe(arm, reward, pool, bar)
    return 2.0 * good - arm.for_good, 2.0 * bad - arm.for_bad, memory


def having_seen(arm: Arm, reward: float) -> Arm:
    """The arm as if the reward had been counted before the bet on it was made."""
    return Arm(
        arm.pulls + 1.0, arm.total + reward, arm.mean, arm.width, arm.for_good, arm.for_bad, arm.memory, arm.verdict
    )


def kt_that_peeks(arm: Arm, reward: float, pool: Pool, bar: Bar) -> Evidence:
    """`kt` whose guess includes the reward that it is about to be scored on."""
    return kt_observe(having_seen(arm, reward), reward, pool, bar)


def learned_bets_that_peek(arm: Arm, reward: float, pool: Pool, bar: Bar) -> Evidence:
    """`learned-bets` whose guesses include the reward that they are about to be scored on."""
    if arm.pulls == 0.0:
        arm.memory[0], arm.memory[1] = 1.0, 1.0
    return learned_observe(having_seen(arm, reward), reward, pool, bar)


def normal_bets_that_peek(arm: Arm, reward: float, pool: Pool, bar: Bar) -> Evidence:
    """`learned-bets-normal` whose guess includes the reward that it is about to be scored on."""
    return normal_observe(having_seen(arm, reward), reward, pool, bar)


def landing_that_sees(arm: Arm, reward: float, pool: Pool, bar: Bar) -> Evidence:
    """`learned-bets` whose landing sees its reward: a success, and the last bets become one that reaches all."""
    good, bad, memory = learned_observe(arm, reward, pool, bar)
    missing, won = bar.budget - arm.for_good, good - arm.for_good
    if 0.0 < missing < LANDING * won:
        good = bar.budget
    return good, bad, memory


def deadline_that_sees(arm: Arm, reward: float, pool: Pool, bar: Bar) -> Evidence:
    """`learned-bets` that chooses its gaps by its reward: boldly, as if the end were near, if it is a success."""
    last = pool.round + 20.0 if reward > bar.threshold else math.inf
    return learned_observe(arm, reward, Pool(pool.round, last, pool.learned), bar)


def gradient_step_that_sees(arm: Arm, reward: float, pool: Pool, bar: Bar) -> Evidence:
    """`learned-bets` whose weights take a gradient step on the very reward that the bet is scored on.

    An exponentiated step of rate 10 on the reward's own log-likelihood, w_g e^(10 (slope_g x + drift_g)). Made after
    the bet, it would be learning. Made before it, the bet has seen its reward.
    """
    ladder = pool.learned
    table = ladder.table.copy()
    mass = 0.0
    for g in range(table.shape[1]):
        table[WEIGHTS, g] *= math.exp(min(10.0 * (table[SLOPE, g] * reward + table[DRIFT, g]), 50.0))
        mass += table[WEIGHTS, g]
    for g in range(table.shape[1]):
        table[WEIGHTS, g] /= mass
    stepped = Ladder(table, ladder.left, ladder.cut, ladder.scale)
    return learned_observe(arm, reward, Pool(pool.round, pool.horizon, stepped), bar)


def half_the_variance(arm: Arm, reward: float, pool: Pool, bar: Bar) -> Evidence:
    """`normal-mixture` that believes in half the variance."""
    n = arm.pulls + 1.0
    surplus, variance = arm.total + reward - n * bar.threshold, 0.5 * bar.sigma * bar.sigma * n
    rho = 500.0 * bar.sigma * bar.sigma / (2.0 * bar.budget + math.log1p(2.0 * bar.budget))
    return log_mixture(surplus, variance, rho), log_mixture(-surplus, variance, rho), 0.0


def the_best_gap(pulls: float, total: float, bar: Bar) -> tuple[float, float]:
    """`gap-mixture` with the largest of its likelihood ratios in place of their average: chosen after the rewards."""
    good, bad = -math.inf, -math.inf
    for step in range(STEPS):
        good = max(good, log_ratio(step, 1.0, pulls, total, bar))
        bad = max(bad, log_ratio(step, -1.0, pulls, total, bar))
    return good, bad


def one_look(arm: Arm, pool: Pool, bar: Bar) -> float:
    """`hoeffding` without its union over pulls: good for one look, not for all of them."""
    return math.sqrt(2.0 * bar.sigma * bar.sigma * bar.budget / arm.pulls)


def fixed_sample(arm: Arm, pool: Pool, bar: Bar) -> float:
    """Hoeffding's bound at one number of pulls that is fixed beforehand, looked at after every pull."""
    return math.sqrt(math.log(2.0 * bar.arms / bar.delta) / (2.0 * arm.pulls))


def for_one_arm(arm: Arm, pool: Pool, bar: Bar) -> float:
    """A union over all numbers of pulls, and none over the arms."""
    looks = 3.0 * math.log(1.0 + math.log(arm.pulls))
    return math.sqrt((math.log(1.0 / bar.delta) + looks) / (2.0 * arm.pulls))


def with_a_fixed_delta(arm: Arm, pool: Pool, bar: Bar) -> float:
    """`stitched` with 0.05 written where delta belongs: cautious enough at 0.1, not at 0.001."""
    n = max(arm.pulls, 16.0)
    rate = math.log(math.log(n / 8.0)) + 0.72 * math.log(5.2 * bar.arms / 0.05)
    return 1.7 * bar.sigma * math.sqrt(n * rate) / arm.pulls


def with_a_head_start(arm: Arm, reward: float, pool: Pool, bar: Bar) -> Evidence:
    """`kt` that starts at log(K/10) with more than ten arms."""
    head_start = max(math.log(bar.arms / 10.0), 0.0) if arm.pulls == 0.0 else 0.0
    good, bad, memory = kt_observe(arm, reward, pool, bar)
    return good + head_start, bad + head_start, memory


def bolder_with_time(arm: Arm, reward: float, pool: Pool, bar: Bar) -> Evidence:
    """`kt` that counts each reward 1.5 times from 64 pulls on."""
    good, bad, memory = kt_observe(arm, reward, pool, bar)
    if arm.pulls < 64.0:
        return good, bad, memory
    return 1.5 * good - 0.5 * arm.for_good, 1.5 * bad - 0.5 * arm.for_bad, memory


def with_a_floor(arm: Arm, reward: float, pool: Pool, bar: Bar) -> Evidence:
    """`betting` whose evidence never falls below e^-4: an arm is forgiven what it lost."""
    good, bad, memory = betting_observe(arm, reward, pool, bar)
    return max(good, -4.0), max(bad, -4.0), memory


def model_with_a_fixed_delta(log_det: float, regulariser: float, pool: Pool, bar: Bar, norm: float = math.nan) -> float:
    """`self-normalised` with 0.05 written where delta belongs."""
    return bar.sigma * math.sqrt(2.0 * math.log(20.0) + log_det) + math.sqrt(regulariser) * norm


def one_direction(log_det: float, regulariser: float, pool: Pool, bar: Bar, norm: float = math.nan) -> float:
    """`self-normalised` without its determinant: right for one arm at one time, not for all arms at all times."""
    return model_factor(0.0, regulariser, pool, bar, norm, 0.0)


CERTIFIED = Guarantee.CERTIFIED
BROKEN: list[IdentificationRule] = [
    EvidenceRule(name="kt without log K", guarantee=CERTIFIED, observe=without_log_k),
    EvidenceRule(name="kt that looks twice", guarantee=CERTIFIED, observe=looking_twice),
    EvidenceRule(name="kt that peeks", guarantee=CERTIFIED, observe=kt_that_peeks),
    EvidenceRule(
        name="learned-bets that peek",
        guarantee=CERTIFIED,
        observe=learned_bets_that_peek,
        learner=ladder_learner,
        memory=learned_bets.memory,
    ),
    EvidenceRule(
        name="learned-bets whose gradient step sees its reward",
        guarantee=CERTIFIED,
        observe=gradient_step_that_sees,
        learner=ladder_learner,
        memory=learned_bets.memory,
    ),
    EvidenceRule(
        name="learned-bets-normal that peek", guarantee=CERTIFIED, observe=normal_bets_that_peek, learner=prior_learner
    ),
    EvidenceRule(
        name="landing that sees its reward",
        guarantee=CERTIFIED,
        observe=landing_that_sees,
        learner=ladder_learner,
        memory=learned_bets.memory,
    ),
    EvidenceRule(
        name="deadline that sees its reward",
        guarantee=CERTIFIED,
        observe=deadline_that_sees,
        learner=ladder_learner,
        memory=learned_bets.memory,
    ),
    EvidenceRule(
        name="normal-mixture, half the variance",
        guarantee=CERTIFIED,
        observe=half_the_variance,
        families=ANY_SUB_GAUSSIAN,
    ),
    EvidenceRule(
        name="gap-mixture of the best gap", guarantee=CERTIFIED, totals=the_best_gap, families=ANY_SUB_GAUSSIAN
    ),
    RadiusRule(name="hoeffding for one look", guarantee=CERTIFIED, radius=one_look, families=ANY_SUB_GAUSSIAN),
    RadiusRule(name="fixed sample", guarantee=CERTIFIED, radius=fixed_sample),
    RadiusRule(name="for one arm", guarantee=CERTIFIED, radius=for_one_arm),
    RadiusRule(name="stitched with a fixed delta", guarantee=CERTIFIED, radius=with_a_fixed_delta),
    EvidenceRule(name="kt with a head start", guarantee=CERTIFIED, observe=with_a_head_start),
    EvidenceRule(name="kt, bolder with time", guarantee=CERTIFIED, observe=bolder_with_time),
    EvidenceRule(name="betting with a floor", guarantee=CERTIFIED, observe=with_a_floor),
]

BROKEN_BY_MODEL: list[IdentificationRule] = [
    ModelRule(
        name=name,
        guarantee=Guarantee.CERTIFIED_UNDER_MODEL,
        families=ANY_SUB_GAUSSIAN,
        factor=factor,
        models=("linear",),
    )
    for name, factor in (
        ("self-normalised with a fixed delta", model_with_a_fixed_delta),
        ("self-normalised in one direction", one_direction),
    )
]
