"""Reward laws around a mean: Bernoulli, Gaussian and Beta, each as a plain function and as an environment."""

from __future__ import annotations

import math

import numpy as np

from goodarm.arguments import check_real
from goodarm.environments._base import Environment, Floats, MeansOrDraw, means_of
from goodarm.errors import InvalidValue
from goodarm.problem import Bounded, Gaussian
from goodarm.streams import uniform


def bernoulli_reward(arm: int, means: Floats, extra: Floats, key: np.uint64) -> float:
    """1 with probability `mean`, else 0."""
    return 1.0 if uniform(key, 0) < means[arm] else 0.0


def normal(key: np.uint64, j: int) -> float:
    """The j-th standard normal number of a key, by Box & Muller's transform."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, 2 * j)))
    return radius * math.cos(2.0 * math.pi * uniform(key, 2 * j + 1))


def gaussian_reward(arm: int, means: Floats, extra: Floats, key: np.uint64) -> float:
    """N(mean, extra[0]^2)."""
    return means[arm] + extra[0] * normal(key, 0)  # type: ignore[no-any-return]  # an element of an array is Any


def log_gamma_draw(shape: float, key: np.uint64, offset: int) -> float:
    """Logarithm of a Gamma(shape) number, by Marsaglia & Tsang's method with the boost U^(1/shape) below shape 1."""
    d = shape + 1.0 - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    j = offset
    while True:
        x = normal(key, j)
        v = (1.0 + c * x) ** 3.0 if 1.0 + c * x > 0.0 else 0.0
        u = uniform(key, 2 * j + 1_000_001)
        j += 1
        if v > 0.0 and math.log(1.0 - u) < 0.5 * x * x + d - d * v + d * math.log(v):
            break
    return math.log(d * v) + math.log(1.0 - uniform(key, 2 * offset + 2_000_001)) / shape


def beta_reward(arm: int, means: Floats, extra: Floats, key: np.uint64) -> float:
    """Beta(c mean, c (1 - mean)) with concentration c = extra[0]: bounded and not 0/1."""
    mean, c = means[arm], extra[0]
    if mean <= 0.0 or mean >= 1.0:
        return mean  # type: ignore[no-any-return]  # an element of an array is Any
    x = log_gamma_draw(c * mean, key, 0)
    y = log_gamma_draw(c * (1.0 - mean), key, 100_000)
    return 1.0 / (1.0 + math.exp(y - x)) if y - x < 700.0 else 0.0


def bernoulli(
    means: MeansOrDraw, threshold: float, *, horizon: int = 1_000_000, name: str = "bernoulli"
) -> Environment:
    """0/1 rewards with the given means, or with means that a function draws anew in each run.

    >>> bernoulli([0.1, 0.6, 0.7], threshold=0.5).arms
    3
    >>> bernoulli(lambda rng: rng.beta(2, 8, size=100), threshold=0.3).reading
    '0/1 rewards, means drawn anew in each run'
    """
    arms, draw, words = means_of(means, bounded=True)
    return Environment(name, arms, threshold, draw, bernoulli_reward, horizon=horizon, reading=f"0/1 rewards, {words}")


def gaussian(
    means: MeansOrDraw, threshold: float, *, scale: float = 1.0, horizon: int = 1_000_000, name: str = "gaussian"
) -> Environment:
    """Gaussian rewards of standard deviation `scale`; the means given, or drawn by a function as for `bernoulli`."""
    rewards = Gaussian(scale)  # refuses a wrong scale
    arms, draw, words = means_of(means, bounded=False)
    reading = f"Gaussian rewards of standard deviation {scale:g}, {words}"
    extra = np.array([scale])
    return Environment(name, arms, threshold, draw, gaussian_reward, rewards, horizon, extra, reading)


def beta(
    means: MeansOrDraw, threshold: float, *, concentration: float = 4.0, horizon: int = 1_000_000, name: str = "beta"
) -> Environment:
    """Rewards Beta(c mean, c (1 - mean)): between 0 and 1, and rarely at either end for c above 2.

    The means are given, or drawn by a function as for `bernoulli`.
    """
    check_real(concentration=concentration)
    if not (math.isfinite(concentration) and concentration > 0.0):
        raise InvalidValue(f"concentration must be a positive number; got {concentration}.")
    arms, draw, words = means_of(means, bounded=True)
    reading = f"Beta rewards of concentration {concentration:g}, {words}"
    extra = np.array([concentration])
    return Environment(name, arms, threshold, draw, beta_reward, Bounded(), horizon, extra, reading)
