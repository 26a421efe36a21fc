"""`bet-mixture`: sums in any order, fair for every law it accepts and over all orders of cases; twins that fail."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import goodarm
from goodarm.errors import InvalidValue, UnsoundPairing
from goodarm.policies import policy
from goodarm.problem import Cases, GradedCases, NonNegative, Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import bet_mixture as module
from goodarm.rules.identification.bet_mixture import LOG_WEIGHTS, STEPS, bet_mixture, bets, from_sums, observe, sums
from goodarm.rules.identification.gap_mixture import CERTAIN, GAPS, totals
from goodarm.testing.reference import pulled
from goodarm.testing.rule_checks import NOTHING


def played(rewards, problem: Problem, rule=observe) -> list[tuple[float, float]]:
    """Evidence after each reward."""
    row, total, found = np.zeros(2 * STEPS), 0.0, []
    for n, x in enumerate(rewards):
        good, bad, _ = rule(Arm(float(n), total, 0.0, 0.0, 0.0, 0.0, row, 0.0), x, Pool(1.0), problem.bar)
        total += x
        found.append((good, bad))
    return found


def test_the_weights_of_a_side_sum_to_one() -> None:
    assert math.fsum(map(math.exp, LOG_WEIGHTS)) == pytest.approx(1.0, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(rewards=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30), threshold=st.floats(0.05, 0.95))
def test_sums_in_any_order_from_any_number_of_machines(rewards: list[float], threshold: float) -> None:
    problem = Problem(threshold=threshold, arms=3)
    half = len(rewards) // 2
    machines = [
        sum((sums(x, problem.bar) for x in part), np.zeros(2 * STEPS)) for part in (rewards[:half], rewards[half:])
    ]
    assert from_sums(machines[1] + machines[0], problem.bar) == pytest.approx(played(rewards, problem)[-1], abs=1e-8)
    assert played(sorted(rewards), problem)[-1] == pytest.approx(played(rewards, problem)[-1], abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(
    rewards=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40),
    threshold=st.floats(0.02, 0.98),
    rounded=st.booleans(),
)
def test_evidence_is_at_least_that_of_gap_mixture_and_the_same_on_0_1_rewards(
    rewards: list[float], threshold: float, rounded: bool
) -> None:
    """So `judge` may choose between them by the rewards: whichever it uses is at most one supermartingale."""
    seen = [float(round(x)) for x in rewards] if rounded else rewards
    bar = Problem(threshold=threshold, arms=3).bar
    by_sums = from_sums(sum((sums(x, bar) for x in seen), np.zeros(2 * STEPS)), bar)
    by_totals = totals(float(len(seen)), math.fsum(seen), bar)
    for mine, other in zip(by_sums, by_totals, strict=True):
        assert mine >= other - 1e-9
        assert not rounded or mine == pytest.approx(other, abs=1e-9)


def test_on_0_1_rewards_a_bet_is_a_likelihood_ratio() -> None:
    xi = 0.3
    for step, bet in enumerate(bets(Problem(threshold=xi, arms=1).bar)[:STEPS]):
        mean = 1.0 / (1.0 + (1.0 - xi) / xi * math.exp(-GAPS[step]))
        assert 1.0 + bet * (1.0 - xi) == pytest.approx(mean / xi)
        assert 1.0 - bet * xi == pytest.approx((1.0 - mean) / (1.0 - xi))


@pytest.mark.parametrize("threshold", [1e-6, 0.4, 1.0, 250.0])
@pytest.mark.parametrize("cap", [None, 10.0])
@pytest.mark.parametrize("size", [1.0, 2.0, 30.0, 1e6])
def test_rewards_of_0_or_more_are_a_fair_game(threshold: float, cap: float | None, size: float) -> None:
    """0 or a jackpot of `size` thresholds, of mean exactly the threshold: the expected factor is at most 1."""
    cap = None if cap is None else cap * threshold
    bar = Problem(threshold=threshold, arms=1, rewards=NonNegative(cap)).bar
    chance, jackpot = 1.0 / size, threshold * size
    expected = (1.0 - chance) * np.exp(sums(0.0, bar)) + chance * np.exp(sums(jackpot, bar))
    assert (expected[:STEPS] <= 1.0 + 1e-9).all()
    if cap is None:
        assert (expected[STEPS:] == 1.0).all()
    else:  # bad is a statement about the capped mean: a jackpot that the cap leaves alone keeps the game fair
        assert (expected[STEPS:] <= 1.0 + 1e-9).all() or jackpot > cap


def test_without_a_cap_no_arm_is_bad() -> None:
    problem = Problem(threshold=1.0, arms=1, rewards=NonNegative())
    assert played([0.0] * 500, problem)[-1][1] == pytest.approx(0.0, abs=1e-12)
    capped = Problem(threshold=1.0, arms=1, rewards=NonNegative(cap=20.0))
    assert played([0.0] * 500, capped)[-1][1] >= capped.bar.budget


def test_a_cap_can_only_make_good_later() -> None:
    rewards = np.random.default_rng(1).pareto(1.5, size=400).tolist()
    free = played(rewards, Problem(threshold=1.0, arms=1, rewards=NonNegative()))[-1][0]
    capped = played(rewards, Problem(threshold=1.0, arms=1, rewards=NonNegative(cap=5.0)))[-1][0]
    assert capped <= free


def test_which_rules_decide_on_rewards_without_a_ceiling() -> None:
    assert policy("ucb", rewards=NonNegative()).identification is bet_mixture
    assert policy("ucb", rewards=GradedCases(10)).identification is bet_mixture
    assert policy("value", rewards=GradedCases(10)).identification.name == "learned-bets"
    assert policy("ucb", rewards=Cases(10)).identification.name == "gap-mixture"
    with pytest.raises(UnsoundPairing, match="0 or more"):
        policy("ucb+gap-mixture", rewards=NonNegative())


@pytest.mark.parametrize(
    ("cap", "threshold"), [(-1.0, 1.0), (2.0, 2.0), (float("inf"), 1.0), (None, 0.0), (None, -1.0)]
)
def test_rewards_that_make_no_sense(cap: float | None, threshold: float) -> None:
    with pytest.raises(InvalidValue):
        Problem(threshold=threshold, arms=1, rewards=NonNegative(cap))


SETS = [
    ((0.1, 0.2, 0.5, 0.5, 0.9, 0.8), 0.5),
    ((1.0, 1.0, 0.0, 0.0, 1.0, 0.0), 0.5),
    ((0.9, 0.95, 1.0, 0.3, 0.85, 1.0), 5.0 / 6.0),
]


def expected_evidence(results, threshold: float, rule=observe) -> tuple[float, float]:
    """The largest mean of E+ and of E- over all orders, after any number of draws, at a set whose mean is the bar."""
    problem = Problem(threshold=threshold, arms=1, rewards=GradedCases(len(results)))
    found = np.array([played(order, problem, rule)[:-1] for order in itertools.permutations(results)])
    means = np.exp(np.minimum(found, 60.0)).mean(axis=0)
    return means[:, 0].max(), means[:, 1].max()


@pytest.mark.parametrize(("results", "threshold"), SETS)
def test_cases_are_a_fair_game_over_all_orders(results: tuple[float, ...], threshold: float) -> None:
    """A hair above the mean of the set for E+, so that no certainty is reached; E- at the mean itself."""
    assert expected_evidence(results, threshold + 1e-7)[0] <= 1.0 + 1e-4
    assert expected_evidence(results, threshold)[1] <= 1.0 + 1e-9


def best_bet(arm, reward, pool, bar):
    """A twin: the largest of the bets in place of their average."""
    observe(arm, reward, pool, bar)
    return max(arm.memory[:STEPS]), max(arm.memory[STEPS:]), 0.0


def bet_that_peeks(arm, reward, pool, bar):
    """A twin: what is left of the set is counted after the draw, not before."""
    seen = arm._replace(pulls=arm.pulls + 1.0, total=arm.total + reward)
    return observe(seen, reward, pool, bar) if arm.pulls + 2.0 < bar.cases else (0.0, 0.0, 0.0)


@pytest.mark.parametrize("twin", [best_bet, bet_that_peeks])
def test_broken_twins_gain_on_average(twin) -> None:
    results, threshold = SETS[0]
    assert max(expected_evidence(results, threshold + 1e-7, twin)) > 1.05


def test_the_last_case_decides() -> None:
    for results in itertools.product((0.0, 0.3, 1.0), repeat=4):
        good, bad = played(results, Problem(threshold=0.5, arms=1, rewards=GradedCases(4)))[-1]
        assert (good == CERTAIN) == (sum(results) / 4 >= 0.5)
        assert (bad == CERTAIN) == (sum(results) / 4 < 0.5)


@pytest.mark.slow
def test_on_0_1_cases_it_is_near_the_hypergeometric_evidence() -> None:
    rng, stops = np.random.default_rng(2), {}
    results = np.array([rng.permutation(np.arange(200) < total) for total in (60, 85, 118, 130)]).astype(float)
    for name, family in (("gap-mixture", Cases(200)), ("bet-mixture", GradedCases(200))):
        environment = goodarm.matrix(results, 0.5)
        found = goodarm.simulate(f"uniform+{name}", replace(environment, rewards=family), runs=10, seed=3, workers=1)
        assert found.wrong_runs <= 2
        stops[name] = np.mean([run.rounds for run in found.runs])
    assert stops["bet-mixture"] < 1.2 * stops["gap-mixture"]


def test_the_reference_and_the_rule_agree() -> None:
    made, problem = policy("uniform+bet-mixture"), Problem(threshold=0.4, arms=2)
    arm = NOTHING._replace(memory=np.zeros(2 * STEPS))
    for x in (0.2, 0.9, 0.4):
        arm = pulled(made, arm, x, Pool(1.0), problem.bar)
    assert (arm.for_good, arm.for_bad) == pytest.approx(played([0.2, 0.9, 0.4], problem)[-1])
    assert module.bet_mixture.memory == 2 * STEPS
