"""The gradient that `dgai` learns from, against automatic differentiation and finite differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from goodarm.engine.compile import compiled
from goodarm.paper import soft_index
from goodarm.problem import Gaussian, Problem
from goodarm.rules.beliefs import FOR_GOOD, MEAN, PULLS, TOTAL, VERDICT, WIDTH, Pool, Table, read_arm
from goodarm.rules.learners import gradient
from goodarm.simulation.simulate import simulate

PROBLEMS = {
    "bounded": Problem(threshold=0.3, arms=40),
    "gaussian": Problem(threshold=1.0, arms=40, rewards=Gaussian(2.0)),
    "modelled": Problem(threshold=0.3, arms=40),
}


def table(kind: str, seed: int) -> tuple[Table, Pool, Any]:
    """A table of 40 arms in the middle of a run, some of them decided, one closed."""
    bar = PROBLEMS[kind].bar._replace(modelled=float(kind == "modelled"))
    draw = np.random.default_rng(seed)
    arms = np.zeros((40, 8))
    arms[:, PULLS] = np.floor(draw.uniform(1.0, 400.0, 40))
    means = bar.threshold + bar.spread * draw.normal(0.0, 0.2, 40)
    arms[:, TOTAL] = means * arms[:, PULLS]
    arms[:, MEAN], arms[:, WIDTH] = means, arms[:, PULLS] ** -0.5
    arms[:, FOR_GOOD] = draw.uniform(-2.0, 5.0, 40)
    arms[:5, VERDICT] = (1.0, 1.0, -1.0, -1.0, 2.0)
    return arms, Pool(5000.0, 1e5, gradient.start(bar)), bar


def log_rate(theta: Any, gamma: float, scores: Any, bonuses: Any, rates: Any) -> Any:
    """log E_p[w] as a function of log beta, for automatic differentiation."""
    import jax

    return jax.numpy.log(jax.nn.softmax(gamma * (scores + jax.numpy.exp(theta) * bonuses)) @ rates)


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("beta", [0.2, 1.0, 3.0])
def test_gradient_agrees_with_automatic_differentiation_and_with_differences(
    kind: str, beta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    for seed in range(5):
        arms, pool, bar = table(kind, seed)
        rows = [i for i in range(40) if arms[i, VERDICT] == 0.0]
        rates = np.array([gradient.critic(read_arm(arms, i), pool, bar) for i in rows])
        gamma = gradient.coldness_of(arms, bar, beta, 0.99)[0]
        given = (gamma, arms[rows, MEAN], bar.spread * arms[rows, WIDTH], rates)
        theta, step = math.log(beta), 1e-5
        automatic = float(jax.grad(log_rate)(theta, *given))
        difference = (log_rate(theta + step, *given) - log_rate(theta - step, *given)) / (2.0 * step)
        # in a run, arms of a relative probability below e^-15 are left out
        assert gradient.gradient_of(arms, pool, bar, beta, 0.99) == pytest.approx(automatic, abs=1e-3)
        with monkeypatch.context() as patched:
            patched.setattr(gradient, "NEGLIGIBLE", -math.inf)
            exact = gradient.gradient_of(arms, pool, bar, beta, 0.99)
        assert exact == pytest.approx(automatic, rel=1e-9, abs=1e-11)
        assert exact == pytest.approx(float(difference), rel=1e-5, abs=1e-6)


def test_coldness_is_the_papers() -> None:
    for seed in range(10):
        arms, _, bar = table("bounded", seed)
        rows = arms[:, VERDICT] == 0.0
        means, widths = arms[rows, MEAN], bar.spread * arms[rows, WIDTH]
        leader = soft_index.best_lower_bound(means, widths, 1.5)
        scores = soft_index.scores_of(means, widths, 1.5, leader)
        assert gradient.coldness_of(arms, bar, 1.5, 0.99)[0] == pytest.approx(soft_index.gamma_of(scores, 0.99))


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROBLEMS)
def test_compiled_step_is_the_plain_one(kind: str) -> None:
    arms, pool, bar = table(kind, 3)

    def step(arms: Table, pool: Pool, bar: Any) -> Pool:
        return gradient.fit(arms, pool, bar)

    plain, native = step(arms, pool, bar).learned, compiled(step)(arms, pool, bar).learned
    assert native.beta == pytest.approx(plain.beta, rel=1e-12)
    assert native.gradient == pytest.approx(plain.gradient, rel=1e-9)
    np.testing.assert_allclose(native.table, plain.table, rtol=1e-9)


def test_one_undecided_arm_has_no_gradient() -> None:
    arms, pool, bar = table("bounded", 0)
    arms[1:, VERDICT] = -1.0
    assert gradient.gradient_of(arms, pool, bar, 2.0, 0.99) == 0.0
    arms[:, VERDICT] = 1.0
    assert gradient.gradient_of(arms, pool, bar, 2.0, 0.99) == 0.0


def test_starts_far_apart_meet_and_rate_zero_stays() -> None:
    """From 1 and from 6, three times what lies between, the learned betas end close; with the wrong sign they part."""
    ends = []
    for beta in (1.0, 6.0):
        played = simulate(f"dgai(beta={beta})", "synth-small", horizon=30_000, runs=10, seed=2)
        ends.append(np.mean([math.log(run.learned["beta"]) for run in played.runs]))
    assert abs(ends[0] - ends[1]) < 0.5 * math.log(6.0)
    still = simulate("dgai(beta=3, rate=0)", "synth-small", horizon=3000, runs=1)
    assert still.runs[0].learned["beta"] == 3.0
    assert still.runs[0].learned["average"] != 0.0
