"""The differentiable index: its two lemmas as properties, and that it runs compiled as it runs in Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goodarm.engine.compile import register
from goodarm.paper.rules import ridge_radius
from goodarm.paper.soft_index import gamma_of, gather, pick, shrunk_belief, soft_index
from goodarm.problem import Problem
from goodarm.rules.beliefs import ARM_FIELDS, Arm, read_arm, write_arm

pytestmark = pytest.mark.slow

BAR = Problem(threshold=0.5, arms=10).bar


@st.composite
def beliefs(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    count = draw(st.integers(1, 12))
    means = draw(st.lists(st.floats(0.0, 1.0), min_size=count, max_size=count))
    widths = draw(st.lists(st.floats(1e-3, 1.0), min_size=count, max_size=count))
    return np.array(means), np.array(widths)


@given(beliefs(), st.floats(1e-3, 10.0))
def test_a_score_is_negative_exactly_where_the_upper_bound_lies_below_the_best_lower_bound(found, beta):
    means, widths = found
    index = soft_index(means, widths, beta, 0.99)
    best_lower = (means - beta * widths).max()
    distance = means + beta * widths - best_lower
    clear = np.abs(distance) > 1e-12  # beside an exact tie the two ways to compute it may round apart
    assert ((index.scores < 0.0) == (distance < 0.0))[clear].all()
    assert index.scores == pytest.approx(distance, abs=1e-12)


@given(beliefs(), st.floats(1e-3, 10.0), st.floats(0.01, 0.999))
def test_arms_that_may_be_best_have_at_least_the_level_of_coldness(found, beta, coldness):
    means, widths = found
    index = soft_index(means, widths, beta, coldness)
    assert index.probabilities.sum() == pytest.approx(1.0)
    assert index.probabilities[index.scores >= 0.0].sum() >= coldness - 1e-9
    assert index.coldness >= 0.0


@given(beliefs(), st.floats(1e-3, 10.0))
def test_the_largest_probability_belongs_to_the_largest_upper_bound(found, beta):
    means, widths = found
    index = soft_index(means, widths, beta, 0.99)
    upper = means + beta * widths
    assert upper[index.probabilities.argmax()] >= upper.max() - 1e-12


def test_the_printed_level_of_005_is_why_coldness_is_a_level_of_its_own():
    scores = np.array([0.5] + [-0.1] * 18)
    assert math.log(0.05 * 18 / 0.95) < 0.0  # as printed: gamma negative, the worst arms would be preferred
    assert gamma_of(scores, 0.05) == 0.0
    assert gamma_of(scores, 0.99) > 0.0


@given(st.floats(0.0, 1.0), st.integers(1, 1000), st.floats(0.0, 20.0), st.floats(-2.0, 5.0))
def test_the_radius_around_the_plain_mean_decides_as_the_bound_around_the_shrunk_mean(share, pulls, ridge, alpha):
    total = round(share * pulls)
    arm = Arm(float(pulls), float(total), total / pulls, 1.0 / math.sqrt(pulls), 0.0, 0.0, 0.0, 0.0)
    mean, width = shrunk_belief(arm, BAR, ridge)
    assert mean == pytest.approx(0.5 + (total - 0.5 * pulls) / (pulls + ridge))
    assert width == pytest.approx(1.0 / math.sqrt(pulls + ridge))
    shrunk = mean - alpha * width - 0.5
    plain = arm.mean - ridge_radius(arm, BAR, alpha, ridge) - 0.5
    assert shrunk * (1.0 + ridge / pulls) == pytest.approx(plain, abs=1e-9)


def table_of(means: list[float], pulls: int = 100) -> np.ndarray:
    arms = np.zeros((len(means), ARM_FIELDS))
    for i, mean in enumerate(means):
        write_arm(arms, i, Arm(float(pulls), mean * pulls, mean, 1.0 / math.sqrt(pulls), 0.0, 0.0, 0.0, 0.0))
    return arms


def test_only_open_arms_count():
    arms = table_of([0.6, 0.9, 0.4])
    arms[1, 7] = 1.0
    numbers, means, _ = gather(arms, BAR, 0.0, False)
    assert numbers.tolist() == [0, 2]
    assert means == pytest.approx([0.6, 0.4])
    assert gather(arms, BAR, 0.0, True)[0].tolist() == [0, 1, 2]


def test_an_arm_without_a_pull_lies_at_the_threshold_or_is_left_out_without_a_ridge():
    arms = np.vstack([table_of([0.6]), np.zeros((1, ARM_FIELDS))])
    assert shrunk_belief(read_arm(arms, 1), BAR, 4.0) == (0.5, 0.5)
    assert gather(arms, BAR, 0.0, False)[0].tolist() == [0]


def test_pick_follows_the_probabilities():
    p = np.array([0.2, 0.5, 0.3])
    uniforms = np.linspace(0.0, 1.0, 1000, endpoint=False)
    shares = np.bincount([pick(p, u) for u in uniforms], minlength=3) / 1000
    assert shares == pytest.approx(p, abs=2e-3)
    assert pick(np.array([0.5, 0.5 - 1e-12]), 1.0 - 1e-15) == 0  # rounding left a gap at the end


def test_compiled_and_python_agree_to_the_last_digits():
    from numba import njit

    def index_of(means, widths, beta, coldness):
        return soft_index(means, widths, beta, coldness)

    register([index_of])
    rng = np.random.default_rng(3)
    means, widths = rng.uniform(0.3, 0.7, 30), rng.uniform(0.01, 0.3, 30)
    compiled, plain = njit(index_of)(means, widths, 0.7, 0.99), soft_index(means, widths, 0.7, 0.99)
    assert compiled.leader == plain.leader
    assert compiled.coldness == pytest.approx(plain.coldness, rel=1e-14)
    assert compiled.probabilities == pytest.approx(plain.probabilities, rel=1e-12)
