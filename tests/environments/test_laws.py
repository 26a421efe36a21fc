"""Rewards have the law they claim: mean, variance and distribution function, at a level of 1e-9 a test."""

import numpy as np
import pytest
from numba import njit
from scipy import stats

from goodarm.engine.compile import register
from goodarm.environments.laws import bernoulli_reward, beta_reward, gaussian_reward
from goodarm.streams import reward_key, run_key
from goodarm.testing.error_rates import LAW_LEVEL

COUNT = 40_000


def rewards(law, mean: float, extra: float, *, along: str) -> np.ndarray:
    """Rewards of one arm pull by pull, of neighbouring arms, or of neighbouring runs."""
    register([law, reward_key])

    @njit
    def draw(keys: np.ndarray, streams: np.ndarray, pulls: np.ndarray) -> np.ndarray:
        means, numbers, out = np.array([mean]), np.array([extra]), np.empty(len(keys))
        for j in range(len(keys)):
            out[j] = law(0, means, numbers, reward_key(keys[j], streams[j], pulls[j]))
        return out

    zeros, ramp = np.zeros(COUNT), np.arange(COUNT)
    keys = np.full(COUNT, run_key(0, 0)) if along != "runs" else np.array([run_key(0, r) for r in range(COUNT)])
    streams = ramp if along == "arms" else ramp * 0
    return draw(keys, streams, ramp.astype(float) if along == "pulls" else zeros)


@pytest.mark.slow
@pytest.mark.parametrize("along", ["pulls", "arms", "runs"])
@pytest.mark.parametrize("mean", [0.0, 0.003, 0.5, 1.0])
def test_bernoulli(mean: float, along: str) -> None:
    seen = rewards(bernoulli_reward, mean, 0.0, along=along)
    assert set(np.unique(seen)) <= {0.0, 1.0}
    if mean in (0.0, 1.0):
        assert (seen == mean).all()
    else:
        assert stats.binomtest(int(seen.sum()), COUNT, mean).pvalue > LAW_LEVEL


@pytest.mark.slow
@pytest.mark.parametrize("along", ["pulls", "arms"])
def test_gaussian(along: str) -> None:
    seen = rewards(gaussian_reward, 1.2, 0.7, along=along)
    assert stats.kstest(seen, stats.norm(1.2, 0.7).cdf).pvalue > LAW_LEVEL
    # the variance: sum of squares over sigma^2 is chi-square
    squares = ((seen - 1.2) ** 2).sum() / 0.7**2
    assert LAW_LEVEL < stats.chi2(COUNT).cdf(squares) < 1.0 - LAW_LEVEL


@pytest.mark.slow
@pytest.mark.parametrize(("mean", "concentration"), [(0.5, 4.0), (0.02, 1.0), (0.1, 0.3), (0.9, 2.0), (0.5, 200.0)])
def test_beta(mean: float, concentration: float) -> None:
    seen = rewards(beta_reward, mean, concentration, along="pulls")
    assert ((seen >= 0.0) & (seen <= 1.0)).all()
    law = stats.beta(concentration * mean, concentration * (1.0 - mean))
    assert stats.kstest(seen, law.cdf).pvalue > LAW_LEVEL
    z = (seen.mean() - mean) / (law.std() / np.sqrt(COUNT))
    assert 2.0 * stats.norm.sf(abs(z)) > LAW_LEVEL


@pytest.mark.slow
def test_neighbouring_rewards_are_independent() -> None:
    """Serial correlation of pulls, arms and runs is that of white noise."""
    for along in ("pulls", "arms", "runs"):
        seen = rewards(gaussian_reward, 0.0, 1.0, along=along)
        for lag in (1, 2, 7):
            z = (seen[:-lag] * seen[lag:]).sum() / np.sqrt(COUNT - lag)
            assert 2.0 * stats.norm.sf(abs(z)) > LAW_LEVEL, (along, lag)
