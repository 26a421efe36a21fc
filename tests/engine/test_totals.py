"""Many arms at once from their totals: the same numbers as the engine's rule gives, arm by arm."""

from __future__ import annotations

import math

import numpy as np
import pytest

from goodarm.engine.compile import ALWAYS, TOTALS, Patience
from goodarm.engine.totals import evidence_from_totals, interval_from_totals, more_pulls_needed
from goodarm.errors import UnsoundPairing
from goodarm.policies.names import identification_names, identification_rule
from goodarm.problem import Bar, Bounded, Gaussian, Problem, bar_at
from goodarm.rules.beliefs import Arm
from goodarm.rules.identification import EvidenceRule, IdentificationRule
from goodarm.testing.subject import arm_after
from goodarm.verdict import Guarantee

RULES = [identification_rule(name) for name in identification_names()]
BY_TOTALS = [rule for rule in RULES if rule.by_totals and rule.guarantee is Guarantee.CERTIFIED]
EVIDENCE = [rule for rule in BY_TOTALS if isinstance(rule, EvidenceRule)]


def bar_for(rule: IdentificationRule) -> Bar:
    return Problem(threshold=0.1, arms=50, rewards=Bounded() if Bounded in rule.families else Gaussian(0.5)).bar


def log(count: int) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(4)
    pulls = chance.integers(0, 3000, count).astype(float)
    return pulls, chance.binomial(pulls.astype(int), chance.uniform(0.0, 0.25, count)).astype(float)


@pytest.mark.parametrize("rule", EVIDENCE, ids=lambda rule: rule.name)
def test_evidence_is_what_the_rule_observes_reward_by_reward(rule: EvidenceRule) -> None:
    bar = bar_for(rule)
    rewards = np.random.default_rng(1).random(40) < 0.2
    arm, total = Arm(*[0.0] * len(Arm._fields)), 0.0
    for n, reward in enumerate(map(float, rewards), start=1):
        for_good, for_bad, _ = rule.observe(arm, reward, None, bar, *rule.defaults.values())
        total += reward
        arm = arm_after(pulls=n, total=total)
        got = evidence_from_totals(rule, np.array([float(n)]), np.array([total]), bar)
        assert (got[0][0], got[1][0]) == (for_good, for_bad)


@pytest.mark.slow
@pytest.mark.parametrize("rule", BY_TOTALS, ids=lambda rule: rule.name)
def test_compiled_and_plain_agree(rule: IdentificationRule) -> None:
    bar = bar_for(rule)
    pulls, totals = log(120)
    plain, native = (every(rule, pulls, totals, bar, patience) for patience in (TOTALS, ALWAYS))
    for a, b in zip(plain, native, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def every(
    rule: IdentificationRule, pulls: np.ndarray, totals: np.ndarray, bar: Bar, patience: Patience
) -> list[np.ndarray]:
    return [
        *evidence_from_totals(rule, pulls, totals, bar, patience=patience),
        *interval_from_totals(rule, pulls, totals, bar, bar.budget, patience=patience),
        more_pulls_needed(rule, pulls, totals, bar, bar.budget, patience=patience),
    ]


@pytest.mark.parametrize("rule", EVIDENCE, ids=lambda rule: rule.name)
def test_the_interval_ends_where_the_evidence_is_just_enough(rule: EvidenceRule) -> None:
    bar = bar_for(rule)
    pulls, totals = log(200)
    low, high = interval_from_totals(rule, pulls, totals, bar, bar.budget)
    for_good, for_bad = evidence_from_totals(rule, pulls, totals, bar)
    assert ((low >= bar.threshold) == (for_good >= bar.budget)).all()
    assert ((high <= bar.threshold) == (for_bad >= bar.budget)).all()
    assert (for_good >= bar.budget).sum() > 20 < (for_bad >= bar.budget).sum()
    for n, s, a, b in zip(pulls, totals, low, high, strict=True):
        if n > 0:
            assert a <= s / n <= b
        for end, side in ((a, 0), (b, 1)):
            if 0.0 < end < 1.0 and math.isfinite(end):
                at = rule.totals(n, s, bar_at(bar, end), *rule.defaults.values())[side]
                nearer = end + 1e-3 * (s / n - end)
                near = rule.totals(n, s, bar_at(bar, nearer), *rule.defaults.values())[side]
                assert near < bar.budget <= at


@pytest.mark.parametrize("rule", BY_TOTALS, ids=lambda rule: rule.name)
def test_so_many_more_pulls_of_the_same_mean_decide_and_far_fewer_do_not(rule: IdentificationRule) -> None:
    bar = bar_for(rule)
    pulls, totals = log(100)
    pulls, totals = pulls[pulls > 0], totals[pulls > 0]
    more = more_pulls_needed(rule, pulls, totals, bar, bar.budget)
    waiting = np.isfinite(more) & (more > 0)
    assert waiting.sum() > 5
    for share, decided in ((1.0, True), (0.9, False)):
        n = pulls[waiting] + np.floor(share * more[waiting] - (0.0 if decided else 1.0))
        low, high = interval_from_totals(rule, n, n * (totals / pulls)[waiting], bar, bar.budget)
        outside = (low >= bar.threshold) | (high <= bar.threshold)
        assert (outside == decided).all()


def test_an_arm_at_the_threshold_is_never_decided_and_one_without_pulls_is_unknown() -> None:
    rule = identification_rule("beta-mixture")
    bar = Problem(threshold=0.5, arms=2).bar
    more = more_pulls_needed(rule, np.array([10.0, 0.0]), np.array([5.0, 0.0]), bar, bar.budget)
    assert math.isinf(more[0])
    assert math.isnan(more[1])
    assert [end.tolist() for end in interval_from_totals(rule, np.zeros(1), np.zeros(1), bar, 3.0)] == [[0.0], [1.0]]


def test_an_arm_with_a_smaller_share_of_the_budget_has_a_wider_interval() -> None:
    bar = Problem(threshold=0.1, arms=10).bar
    for rule in BY_TOTALS:
        low, high = interval_from_totals(rule, np.full(2, 5000.0), np.full(2, 600.0), bar, np.array([3.0, 9.0]))
        assert low[1] < low[0]
        assert high[1] > high[0]


def test_rules_that_need_the_order_are_refused() -> None:
    with pytest.raises(UnsoundPairing, match="kt needs the rewards in their order"):
        evidence_from_totals(identification_rule("kt"), np.ones(1), np.ones(1), Problem(threshold=0.5, arms=1).bar)
