"""Cases drawn once: the exact error of `gap-mixture` on finite sets, and broken twins that it must catch."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from goodarm.problem import Bar, Cases, Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import EvidenceRule
from goodarm.rules.identification.bet_mixture import bet_mixture
from goodarm.rules.identification.gap_mixture import gap_mixture, log_average, smallest_good
from goodarm.testing import Violation
from goodarm.testing.exact_error import (
    evidence_of_cases,
    exact_error_of_cases,
    require_exact_error_of_cases,
    require_fair_over_all_orders,
    verdicts_on_cases,
    walked,
)
from goodarm.testing.identification import identification_checks
from goodarm.verdict import Guarantee


@pytest.mark.parametrize(
    ("threshold", "cases", "arms"),
    [
        (0.8, 100, 1),
        (0.5, 200, 1),
        (0.5, 200, 40),
        (0.03, 300, 1),
        (0.97, 300, 1),
        (0.56, 750, 1),
        (0.5, 1000, 1),
        (0.5, 1, 1),
        (0.9, 7, 1),
        (1e-9, 30, 1),
    ],
)
def test_the_error_is_at_most_delta_and_every_arm_is_decided(threshold: float, cases: int, arms: int) -> None:
    require_exact_error_of_cases(gap_mixture, threshold, cases, arms)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.81])
def test_at_every_total(threshold: float) -> None:
    """Small sets: no total is wrong too often, not only those next to the bar; delta is large so that some are."""
    cases, delta, worst = 40, 0.3, 0.0
    bar = Problem(threshold=threshold, arms=1, delta=delta, rewards=Cases(cases)).bar
    verdicts = verdicts_on_cases(*evidence_of_cases(gap_mixture, bar), bar)
    for total in range(cases + 1):
        error = walked(verdicts, total)
        worst = max(worst, error.bad if total / cases >= threshold else error.good)
    assert 0.1 < worst <= delta


def test_it_is_the_sum_over_all_orders() -> None:
    """All orders of nine cases with four successes, played one by one."""
    threshold, cases, delta = 0.5, 9, 0.4
    bar = Problem(threshold=threshold, arms=1, delta=delta, rewards=Cases(cases)).bar
    found = {1: 0, -1: 0, 0: 0}
    orders = list(itertools.combinations(range(cases), 4))
    for places in orders:
        total, verdict = 0.0, 0
        for n in range(cases):
            total += n in places
            good, bad = gap_mixture.totals(n + 1.0, total, bar)
            verdict = verdict or (1 if good >= bar.budget else -1 if bad >= bar.budget else 0)
        found[verdict] += 1
    exact = exact_error_of_cases(gap_mixture, threshold, cases, delta=delta)
    assert exact.good == pytest.approx(found[1] / len(orders), abs=1e-12)
    assert exact.bad == pytest.approx(found[-1] / len(orders), abs=1e-12)


def as_if_endless(pulls: float, total: float, bar: Bar) -> tuple[float, float]:
    """A threshold that forgets N. Its errors are rare, but the last case does not decide what it must decide."""
    endless = Bar(
        bar.threshold, bar.delta, bar.arms, bar.sigma, bar.spread, bar.budget, bar.bounded, 0.0, 0.0, math.inf, 1.0
    )
    return log_average(1.0, pulls, total, endless), log_average(-1.0, pulls, total, endless)


def one_case_off(pulls: float, total: float, bar: Bar) -> tuple[float, float]:
    """The null total T0 - 1 in place of T0: an arm that misses the bar by one case is called good at the last one."""
    lower = (smallest_good(bar.threshold, bar.cases) - 1.0) / bar.cases
    shifted = Bar(
        lower, bar.delta, bar.arms, bar.sigma, bar.spread, bar.budget, bar.bounded, 0.0, 0.0, bar.cases, bar.ceiling
    )
    return log_average(1.0, pulls, total, shifted), log_average(-1.0, pulls, total, bar)


def impossible_both_ways(pulls: float, total: float, bar: Bar) -> tuple[float, float]:
    """0/0 read as infinity: too many failures for the null, pending ones among them, look like certain success."""
    good, bad = log_average(1.0, pulls, total, bar), log_average(-1.0, pulls, total, bar)
    lost, null = pulls - total, smallest_good(bar.threshold, bar.cases) - 1.0
    return (1e9 if lost > bar.cases - null else good), bad


def twin(name, totals):
    return EvidenceRule(name=name, guarantee=Guarantee.CERTIFIED, families=(Cases,), totals=totals)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (twin("a threshold that forgets N", as_if_endless), "leaves an arm undecided"),
        (twin("a null that is one case too low", one_case_off), "account for the remaining cases"),
        (twin("0/0 is infinite", impossible_both_ways), r"E\+ moves the wrong way"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_broken_rules_are_caught(rule: EvidenceRule, message: str) -> None:
    with pytest.raises(Violation, match=message):
        require_exact_error_of_cases(rule, 0.5, 200)


@pytest.mark.slow
def test_the_kit_covers_fixed_test_sets() -> None:
    names = [check.name for check in identification_checks("gap-mixture")]
    assert "exact error on 100 cases, threshold 0.8, 1 arms" in names
    for rule in ("bet-mixture", "learned-bets"):
        (fair,) = [check for check in identification_checks(rule) if "all orders" in check.name]
        fair()
    assert not any("cases" in check.name for check in identification_checks("kt"))


def bets_after_the_draw(arm: Arm, reward: float, pool: Pool, bar: Bar) -> tuple[float, float, float]:
    """A null of what is left after the draw, and not before it: each bet sees its own result."""
    seen = Arm(arm.pulls + 0.9, arm.total + 0.9 * reward, 0.0, 0.0, arm.for_good, arm.for_bad, arm.memory, 0.0)
    return bet_mixture.observe(seen, reward, pool, bar)


def test_a_null_of_what_is_left_after_the_draw_is_caught() -> None:
    broken = replace(bet_mixture, name="after the draw", observe=bets_after_the_draw, sums=None, from_sums=None)
    with pytest.raises(Violation, match="not a fair game"):
        require_fair_over_all_orders(broken)


def test_draws_with_replacement_are_caught() -> None:
    error = exact_error_of_cases(
        gap_mixture, 0.5, 200, draw=lambda drawn, successes, total, cases: np.full(successes.shape, total / cases)
    )
    assert error.good > 0.4  # 5% is allowed


def test_a_case_drawn_twice_is_caught() -> None:
    assert exact_error_of_cases(gap_mixture, 0.5, 200, weight=2).good > 0.3
