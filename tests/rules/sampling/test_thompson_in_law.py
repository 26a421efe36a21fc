"""The quick joint draw of `thompson` and `tt-ts` is in law the plain one, and its cheap bound never errs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest, chi2_contingency, kstest

from goodarm.problem import Bar, Gaussian, Problem
from goodarm.rules.beliefs import ARM_FIELDS, Table, read_arm
from goodarm.rules.sampling.posterior import draw, draw_above_rarely, least_exponent
from goodarm.rules.sampling.thompson import leader
from goodarm.rules.sampling.top_two import other_leader
from goodarm.testing import arm_after

pytestmark = pytest.mark.slow

DRAWS = 4000


def table(pulls: list[float], totals: list[float]) -> Table:
    arms = np.zeros((len(pulls), ARM_FIELDS))
    arms[:, 0], arms[:, 1] = pulls, totals
    arms[:, 2], arms[:, 3] = arms[:, 1] / arms[:, 0], arms[:, 0] ** -0.5
    return arms


BARS = {
    "beta": Problem(threshold=0.5, arms=6).bar,
    "normal": Problem(threshold=0.5, arms=6, rewards=Gaussian(scale=0.5)).bar,
}


def plain_leader(arms: Table, bar: Bar, generator: np.random.Generator) -> int:
    """Every open arm drawn, the largest taken."""
    values = [draw(read_arm(arms, i), bar, generator) if arms[i, 7] == 0.0 else -np.inf for i in range(len(arms))]
    return int(np.argmax(values))


@pytest.mark.parametrize("family", BARS)
@pytest.mark.parametrize(
    "totals", [[3.0, 5.0, 8.0, 30.0, 0.0, 51.0], [0.0, 0.0, 0.0, 0.0, 1.0, 2.0], [1.5, 4.5, 8.5, 40.5, 1.0, 60.5]]
)
def test_the_quick_draw_leads_with_the_same_probabilities(family: str, totals: list[float]) -> None:
    """Two-sample chi-square at level 1e-4: false alarms once in ten thousand runs of this seed's choice."""
    arms, bar = table([5.0, 10.0, 12.0, 60.0, 1.0, 100.0], totals), BARS[family]
    arms[2, 7] = 1.0  # decided: must never lead
    quick, plain = np.random.default_rng(1), np.random.default_rng(2)
    counts = np.array(
        [
            np.bincount([leader(arms, bar, quick)[0] for _ in range(DRAWS)], minlength=6),
            np.bincount([plain_leader(arms, bar, plain) for _ in range(DRAWS)], minlength=6),
        ]
    )
    assert counts[0, 2] == counts[1, 2] == 0
    seen = counts.sum(axis=0) >= 10
    assert chi2_contingency(counts[:, seen]).pvalue > 1e-4, counts


@pytest.mark.parametrize(
    ("pulls", "total", "level"),
    [
        (200, 120.0, 0.64),
        (200, 120.0, 0.7),
        (50, 1.0, 0.05),
        (50, 0.0, 0.03),
        (8, 7.5, 0.99),
        (300, 2.5, 0.03),
        (40, 20.0, 0.3),
        (5, 1.0, 0.0),
        (5, 1.0, 1.0),
    ],
)
def test_draws_above_a_level_have_the_law_of_draws(pulls: int, total: float, level: float) -> None:
    """How often it exceeds: exact binomial test at 1e-5. Where: Kolmogorov's test at 1e-5."""
    law = beta(1.0 + total, 1.0 + pulls - total)
    generator, arm = np.random.default_rng(5), arm_after(pulls=pulls, total=total)
    bar = BARS["beta"]
    q = least_exponent(arm, level, bar)
    values = np.array(
        [
            draw_above_rarely(arm, level, q, bar, generator) if generator.standard_exponential() >= q else -np.inf
            for _ in range(20_000)
        ]
    )
    above = values[values > level]
    assert binomtest(len(above), len(values), law.sf(level)).pvalue > 1e-5
    if len(above):
        assert kstest(1.0 - law.sf(above) / law.sf(level), "uniform").pvalue > 1e-5


def test_without_an_arm_the_others_lead_as_they_would_alone() -> None:
    arms, bar = table([30.0, 12.0, 8.0], [20.0, 6.0, 4.0]), BARS["beta"]
    quick, plain = np.random.default_rng(6), np.random.default_rng(7)
    counts = np.array(
        [
            np.bincount([leader(arms, bar, quick, 0)[0] for _ in range(DRAWS)], minlength=3)[1:],
            np.bincount([plain_leader(arms[1:], bar, plain) for _ in range(DRAWS)], minlength=2),
        ]
    )
    assert chi2_contingency(counts).pvalue > 1e-4, counts


def plain_other(arms: Table, first: int, bar: Bar, generator: np.random.Generator, redraws: int) -> int:
    for _ in range(redraws):
        other = plain_leader(arms, bar, generator)
        if other != first:
            return other
    return first


@pytest.mark.parametrize("family", BARS)
@pytest.mark.parametrize(
    ("pulls", "totals"),
    [
        ([200.0, 90.0, 40.0, 100.0, 300.0, 20.0], [124.0, 41.0, 18.0, 40.0, 135.0, 7.0]),  # far ahead
        ([30.0, 12.0, 8.0, 100.0, 1.0, 20.0], [20.0, 6.0, 4.0, 55.0, 0.0, 8.0]),  # crowded behind it
    ],
)
def test_quick_redraws_find_the_same_challengers(family: str, pulls: list[float], totals: list[float]) -> None:
    """As above; ten redraws, so that "none" has a share too. Arm 3 is decided."""
    arms, bar = table(pulls, totals), BARS[family]
    arms[3, 7] = -1.0
    quick, plain = np.random.default_rng(3), np.random.default_rng(4)
    counts = np.array(
        [
            np.bincount([other_leader(arms, 0, bar, quick, 10) for _ in range(DRAWS)], minlength=6),
            np.bincount([plain_other(arms, 0, bar, plain, 10) for _ in range(DRAWS)], minlength=6),
        ]
    )
    assert counts[0, 3] == counts[1, 3] == 0
    seen = counts.sum(axis=0) >= 10
    assert seen.sum() > 2
    assert chi2_contingency(counts[:, seen]).pvalue > 1e-4, counts


def test_one_open_arm_needs_no_draw() -> None:
    arms = table([5.0, 5.0], [1.0, 2.0])
    arms[0, 7] = -1.0
    assert leader(arms, BARS["beta"], np.random.default_rng(0)) == (1, 1)


@given(st.floats(1.0, 1e5).map(round), st.floats(0.0, 1.0), st.floats(1e-4, 1.0 - 1e-4))
def test_the_cheap_bound_never_rules_out_an_arm_that_exceeds(pulls: int, share: float, level: float) -> None:
    arm = arm_after(pulls=pulls, total=pulls * share)
    log_tail = beta.logsf(level, 1.0 + arm.total, 1.0 + arm.pulls - arm.total)
    if np.isfinite(log_tail):
        assert least_exponent(arm, level, BARS["beta"]) <= -log_tail + 1e-9
