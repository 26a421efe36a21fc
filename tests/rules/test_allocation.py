"""`track-and-stop`: shares are optimal, samples follow them, and it decides hard linear problems with fewer samples."""

from __future__ import annotations

import numpy as np
import pytest

from goodarm import bernoulli, policy, simulate
from goodarm.engine.compile import compiled
from goodarm.environments import Environment
from goodarm.environments.laws import bernoulli_reward
from goodarm.errors import UnsoundPairing
from goodarm.rules.learners import allocation

DECIDES = "self-normalised(norm=1)@linear"


def test_shares_of_independent_arms_go_with_the_inverse_square_of_the_gaps() -> None:
    gaps = np.array([0.1, 0.2, 0.3, 0.05])
    found = allocation.optimal_shares(np.eye(4), 1.0 / gaps**2)
    np.testing.assert_allclose(found, gaps**-2.0 / (gaps**-2.0).sum(), rtol=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_nearly_optimal_and_even_ones_are_not(seed: int) -> None:
    draw = np.random.default_rng(seed)
    columns, gaps = draw.normal(size=(4, 30)), draw.uniform(0.02, 0.3, 30)
    w = allocation.optimal_shares(columns, gaps**-2.0)
    assert w.sum() == pytest.approx(1.0)
    inverse = np.linalg.inv((columns * w) @ columns.T)
    even = np.linalg.inv(columns @ columns.T / 30)
    worst = [float((gaps**-2.0 * np.einsum("ji,jk,ki->i", columns, each, columns)).max()) for each in (inverse, even)]
    # no shares of 20,000 random ones that are near are better than 3%, and even ones are far off
    near = w * draw.lognormal(0.0, 0.3, size=(20_000, 30))
    near /= near.sum(axis=1, keepdims=True)
    designs = np.einsum("ji,ni,ki->njk", columns, near, columns)
    terms = gaps**-2.0 * np.einsum("ji,njk,ki->ni", columns, np.linalg.inv(designs), columns)
    assert worst[0] <= 1.03 * terms.max(axis=1).min()
    assert worst[1] > 1.5 * worst[0]


@pytest.mark.slow
def test_compiled_shares_are_the_plain_ones_and_a_flat_design_is_no_error() -> None:
    draw = np.random.default_rng(3)
    columns, precision = draw.normal(size=(3, 12)), draw.uniform(1.0, 100.0, 12)
    columns[:, 6:] = 0.0  # arms without features
    precision[:2] = 0.0  # decided
    columns[2] = 2.0 * columns[1]  # the arms span two dimensions of three
    plain = allocation.optimal_shares(columns, precision)
    np.testing.assert_allclose(compiled(allocation.optimal_shares)(columns, precision), plain, rtol=1e-4, atol=1e-9)
    assert np.isfinite(plain).all()
    assert plain[6:].max() < 1e-3
    np.testing.assert_allclose(allocation.optimal_shares(columns, np.zeros(12)), np.full(12, 1.0 / 12))


def short_arms() -> Environment:
    """Five long arms along the axes, and short ones near the threshold, of which the long ones tell most."""
    draw = np.random.default_rng(1)
    theta = draw.choice([-1.0, 1.0], 5) * draw.uniform(0.15, 0.3, 5)
    short = draw.standard_normal((55, 5))
    short *= 0.3 / np.linalg.norm(short, axis=1)[:, None]
    features = np.vstack([np.eye(5), short[np.abs(short @ theta) > 0.015]])
    means = 0.5 + features @ theta
    return Environment(
        "short", len(means), 0.5, lambda generator: means, bernoulli_reward, describe=lambda: features, horizon=300_000
    )


@pytest.mark.slow
def test_fewer_samples_than_the_widest_arm_needs_where_decided_arms_tell_most() -> None:
    where = short_arms()
    ours, widest = (simulate(f"{name}+{DECIDES}", where, runs=5, seed=3) for name in ("track-and-stop", "widest"))
    assert ours.wrong_runs == 0
    assert all(run.open_arms == 0 for run in ours.runs)
    assert ours.stopped_at.mean < 0.4 * widest.stopped_at.mean  # 0.16 over ten runs of this seed
    long_ones = ours.runs[0].pulls[:5].sum() / ours.runs[0].rounds
    assert long_ones > 0.5, "decided arms are sampled as long as they tell about the others"


@pytest.mark.slow
def test_samples_follow_the_shares() -> None:
    """With own evidence, undecided arms get samples in proportion to the inverse square of their gaps."""
    where = bernoulli([0.52, 0.54, 0.44, 0.7], 0.5, horizon=20_000)
    run = simulate("track-and-stop+none", where, seed=2).runs[0]
    gaps = np.array([0.02, 0.04, 0.06, 0.2])
    shares = gaps**-2.0 / (gaps**-2.0).sum()
    assert np.abs(run.pulls / run.rounds - shares).max() < 0.15
    assert run.pulls.argmin() == 3


@pytest.mark.slow
def test_a_decided_arm_is_left_alone_where_each_arm_decides_for_itself() -> None:
    run = simulate("track-and-stop", bernoulli([0.9, 0.55, 0.45], 0.5, horizon=3000), seed=1, trace=True).runs[0]
    for arm in np.flatnonzero(run.verdicts):
        assert arm not in run.trace[run.verdict_rounds[arm] :]


@pytest.mark.parametrize("model", ["kernel", "mixed", "neural"])
def test_other_models_are_refused(model: str) -> None:
    with pytest.raises(UnsoundPairing, match=f"@{model} is not. Use @linear"):
        policy(f"track-and-stop@{model}")
