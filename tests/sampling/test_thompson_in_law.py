"""The quick joint draw of `thompson` and `tt-ts` is in law the plain one, and its cheap bound never errs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, chi2_contingency, norm

from goodarm.beliefs import ARM_FIELDS, Table
from goodarm.problem import Bar, Gaussian, Problem
from goodarm.sampling.posterior import may_exceed
from goodarm.sampling.thompson import leader, leaders
from goodarm.testing import arm_after

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
            np.bincount([leaders(arms, bar, plain)[0] for _ in range(DRAWS)], minlength=6),
        ]
    )
    assert counts[0, 2] == counts[1, 2] == 0
    seen = counts.sum(axis=0) >= 10
    assert chi2_contingency(counts[:, seen]).pvalue > 1e-4, counts


def test_one_open_arm_needs_no_draw() -> None:
    arms = table([5.0, 5.0], [1.0, 2.0])
    arms[0, 7] = -1.0
    assert leader(arms, BARS["beta"], np.random.default_rng(0)) == (1, 1)


@given(
    st.floats(1.0, 1e5).map(round), st.floats(0.0, 1.0), st.floats(1e-4, 1.0 - 1e-4), st.floats(0.0, 200.0),
    st.sampled_from(sorted(BARS)),
)  # fmt: skip
def test_the_cheap_bound_never_rules_out_an_arm_that_exceeds(
    pulls: int, share: float, level: float, e: float, family: str
) -> None:
    bar: Bar = BARS[family]
    arm = arm_after(pulls=pulls, total=pulls * share)
    if family == "beta":
        log_tail = beta.logsf(level, 1.0 + arm.total, 1.0 + arm.pulls - arm.total)
    else:
        log_tail = norm.logsf(level, arm.mean, bar.sigma * arm.width)
    if np.isfinite(log_tail) and -e <= log_tail - 1e-9:
        assert may_exceed(arm, level, e, bar)
