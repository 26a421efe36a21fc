"""Counter-based random numbers. The n-th reward of arm i in run r is the same for every policy.

A key names one reward: (run, arm's stream, n). `uniform(key, j)` is its j-th random number. The mixing function is the
finaliser of SplitMix64 (Steele, Lea & Flood 2014). Compiled code only: Python's own integers do not wrap around.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
STEP_ARM = np.uint64(0x9E3779B97F4A7C15)
STEP_PULL = np.uint64(0xD1342543DE82EF95)
STEP_DRAW = np.uint64(0xF1357AEA2E62A9C5)
SHIFT_30, SHIFT_27, SHIFT_31, SHIFT_11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
UNIT = 1.0 / 9007199254740992.0  # 2^-53


def mix(z: np.uint64) -> np.uint64:
    """A bijection of 64-bit words that maps neighbours to distant values."""
    z = (z ^ (z >> SHIFT_30)) * MULTIPLIER_1
    z = (z ^ (z >> SHIFT_27)) * MULTIPLIER_2
    return z ^ (z >> SHIFT_31)


def reward_key(run: np.uint64, stream: int, pulls: float) -> np.uint64:
    """The key of the reward that follows `pulls` earlier ones on this arm's stream."""
    return mix(run + np.uint64(stream) * STEP_ARM) + np.uint64(pulls) * STEP_PULL


def uniform(key: np.uint64, j: int) -> float:
    """The j-th number of a key, uniform on [0, 1)."""
    return float(mix(key + np.uint64(j) * STEP_DRAW) >> SHIFT_11) * UNIT


ENVIRONMENT, REWARDS, POLICY = 0, 1, 2
"""Roles of random streams. Each run has one stream per role, spawned by (seed, run, role)."""


def generator(seed: int, run: int, role: int) -> Generator:
    """The random generator of one role in one run."""
    return default_rng(SeedSequence(seed, spawn_key=(run, role)))


def derived_seed(seed: int, text: str) -> int:
    """A 128-bit seed derived from a seed and a text. It differs from every seed that users choose.

    >>> derived_seed(1, "test") == derived_seed(1, "test"), derived_seed(1, "test") == derived_seed(2, "test")
    (True, False)
    """
    return int.from_bytes(hashlib.sha256(f"{seed} {text}".encode()).digest()[:16], "big")


def run_key(seed: int, run: int) -> np.uint64:
    """The 64-bit key of all rewards of one run."""
    return metric_key(seed, run, 0)


def metric_key(seed: int, run: int, metric: int) -> np.uint64:
    """The key of one metric of the rewards in a run; that of metric 0 is the run's key."""
    place = (run, REWARDS, metric) if metric else (run, REWARDS)
    return np.uint64(SeedSequence(seed, spawn_key=place).generate_state(1, np.uint64)[0])
