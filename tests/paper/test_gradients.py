"""The analytic gradients in alpha and beta against JAX's automatic differentiation and against finite differences.

The objectives are written here a second time, as arrays, with i*, |L| and gamma given as the constants of the step that
they are. The same text runs in NumPy with extended precision (finite differences) and in JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from goodarm.paper.objectives import identification_objective, reward_objective, sampling_objective
from goodarm.paper.soft_index import soft_index

pytestmark = pytest.mark.slow

XI, SHARPNESS, ETA1, ETA2, COLDNESS = 0.5, 10.0, 2e-3, 1e-3, 0.99
STATES = range(25)
STEP = 1e-4


class State(NamedTuple):
    means: np.ndarray
    widths: np.ndarray
    truth: np.ndarray
    alpha: float
    beta: float


def random_state(seed: int) -> State:
    """Beliefs that scatter around the truth; not within reach of a kink of |C| or |D|, where no derivative exists."""
    rng = np.random.default_rng(seed)
    count = 3 if seed % 4 == 0 else 30  # two shapes only: JAX compiles every operation anew for each
    truth = rng.uniform(0.3, 0.7, count)
    widths = 1.0 / np.sqrt(rng.integers(1, 300, count) + 1.0)
    means = truth + 0.5 * widths * rng.standard_normal(count)
    kinks = np.concatenate([np.abs(truth - means) / widths, np.abs(truth - XI) / widths])
    while True:
        alpha, beta = rng.uniform(-0.5, 3.0), rng.uniform(0.05, 3.0)
        if min(np.abs(kinks - alpha).min(), np.abs(kinks - beta).min()) > 10.0 * STEP:
            return State(means, widths, truth, float(alpha), float(beta))


def softmax(xp: Any, x: Any) -> Any:
    w = xp.exp(x - x.max())
    return w / w.sum()


def sampling(xp: Any, state: State, beta: Any, through_gamma: bool = False) -> Any:
    m, u, mu = (xp.asarray(a) for a in state[:3])
    found = soft_index(state.means, state.widths, state.beta, COLDNESS)
    s = beta * (u + u[found.leader]) - (m[found.leader] - m)
    gamma = found.coldness * found.scores.max() / s.max() if through_gamma else found.coldness
    excess = xp.abs(mu - m) - beta * u
    return (softmax(xp, gamma * s) * mu).sum() - (ETA1 * excess + ETA2 * xp.abs(excess)).mean()


def sampling_through_gamma(xp: Any, state: State, beta: Any) -> Any:
    return sampling(xp, state, beta, True)


def identification(xp: Any, state: State, alpha: Any, by_gap: bool = False, side: float = 1.0) -> Any:
    m, u, mu = (xp.asarray(a) for a in state[:3])
    excess = side * (alpha * u - xp.abs(mu - (XI if by_gap else m)))
    called = 1.0 / (1.0 + xp.exp(-SHARPNESS * (m - alpha * u - XI)))
    return (called * (mu - XI)).sum() - (ETA1 * excess + ETA2 * xp.abs(excess)).mean()


def identification_by_gap(xp: Any, state: State, alpha: Any) -> Any:
    return identification(xp, state, alpha, True)


def identification_covering(xp: Any, state: State, alpha: Any) -> Any:
    return identification(xp, state, alpha, side=-1.0)


def reward(xp: Any, state: State, alpha: Any, beta: Any) -> Any:
    m, u, mu = (xp.asarray(a) for a in state[:3])
    leader = int(np.argmax(state.means - state.beta * state.widths))
    s = beta * (u + u[leader]) - (m[leader] - m)
    kept = 1.0 / (1.0 + xp.exp(-SHARPNESS * (m - alpha * u - XI)))
    return (softmax(xp, s * kept) * mu).sum()


def reward_in_alpha(xp: Any, state: State, alpha: Any) -> Any:
    return reward(xp, state, alpha, state.beta)


def reward_in_beta(xp: Any, state: State, beta: Any) -> Any:
    return reward(xp, state, state.alpha, beta)


def ours(name: str, state: State) -> tuple[float, float]:
    """Value and derivative as the package computes them."""
    m, u, mu, alpha, beta = state
    if name.startswith("sampling"):
        return sampling_objective(m, u, mu, beta, COLDNESS, ETA1, ETA2, float(name.endswith("gamma")))
    if name.startswith("identification"):
        reading = float(name.endswith("gap")), float(name.endswith("covering"))
        return identification_objective(m, u, mu, alpha, XI, SHARPNESS, ETA1, ETA2, *reading)
    value, slope_alpha, slope_beta = reward_objective(m, u, mu, alpha, beta, XI, SHARPNESS)
    return value, slope_alpha if name.endswith("alpha") else slope_beta


OBJECTIVES: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        sampling,
        sampling_through_gamma,
        identification,
        identification_by_gap,
        identification_covering,
        reward_in_alpha,
        reward_in_beta,
    )
}


def parameter(name: str, state: State) -> float:
    return state.alpha if name.startswith("identification") or name.endswith("alpha") else state.beta


def size_of_terms(name: str, state: State) -> float:
    """How large the terms are whose sum the derivative is: it may cancel, and rounding then shows."""
    gamma = soft_index(state.means, state.widths, state.beta, COLDNESS).coldness
    return float((gamma if name.startswith("sampling") else SHARPNESS) * state.widths.max())


def assert_equal(name: str, state: State, value: float, slope: float) -> None:
    found_value, found_slope = ours(name, state)
    assert found_value == pytest.approx(value, rel=1e-12, abs=1e-13)
    assert abs(found_slope - slope) <= 1e-8 * max(abs(slope), 1e-6 * size_of_terms(name, state))


@pytest.fixture(scope="module")
def jax() -> Iterator[Any]:
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradient_equals_automatic_differentiation(jax: Any, name: str) -> None:
    for seed in STATES:
        state = random_state(seed)
        value, slope = jax.value_and_grad(lambda x, s=state: OBJECTIVES[name](jax.numpy, s, x))(parameter(name, state))
        assert_equal(name, state, float(value), float(slope))


def finite_difference(function: Callable[[Any], Any], at: float) -> float:
    """Central differences of order 8, in extended precision."""
    h = np.longdouble(STEP)
    weights = (np.longdouble(4) / 5, -np.longdouble(1) / 5, np.longdouble(4) / 105, -np.longdouble(1) / 280)
    centre = np.longdouble(at)
    return float(sum(w * (function(centre + j * h) - function(centre - j * h)) for j, w in enumerate(weights, 1)) / h)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradient_equals_finite_differences(name: str) -> None:
    if np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps:
        pytest.skip("this platform has no extended precision")
    for seed in STATES:
        state = random_state(seed)
        at = parameter(name, state)
        slope = finite_difference(lambda x, s=state: OBJECTIVES[name](np, s, x), at)
        assert_equal(name, state, float(OBJECTIVES[name](np, state, np.longdouble(at))), slope)


def test_a_wrong_gradient_is_caught() -> None:
    state = random_state(0)
    value, slope = ours("sampling", state)
    with pytest.raises(AssertionError):
        assert_equal("sampling", state, value, -slope)
    with pytest.raises(AssertionError):
        assert_equal("sampling", state, value, slope * (1.0 + 1e-6))


def test_reward_gradient_is_gamma_times_the_covariance_of_width_and_mean() -> None:
    state = random_state(1)
    found = soft_index(state.means, state.widths, state.beta, COLDNESS)
    p, phi = found.probabilities, state.widths + state.widths[found.leader]
    covariance = (p * phi * state.truth).sum() - (p * phi).sum() * (p * state.truth).sum()
    _, slope = sampling_objective(state.means, state.widths, state.truth, state.beta, COLDNESS, 0.0, 0.0, 0.0)
    assert slope == pytest.approx(found.coldness * covariance, rel=1e-9)


def test_equal_weights_make_the_penalty_a_hinge() -> None:
    """-eta C - eta |C| = -2 eta max(C, 0): it pushes beta up when the bound is violated, and never tightens it."""
    means, widths, truth = np.array([0.5, 0.6]), np.array([0.1, 0.1]), np.array([0.55, 0.65])
    covered, violated = 2.0, 0.1
    plain = [sampling_objective(means, widths, truth, b, COLDNESS, 0.0, 0.0, 0.0)[1] for b in (covered, violated)]
    hinge = [sampling_objective(means, widths, truth, b, COLDNESS, 1e-3, 1e-3, 0.0)[1] for b in (covered, violated)]
    assert hinge[0] == pytest.approx(plain[0], abs=1e-15)
    assert hinge[1] - plain[1] == pytest.approx(2e-3 * 0.1)
