"""Rules that draw at random have exactly the law they claim, also where plain rejection would never end.

Probabilities come from numerical integration; counts are compared with them by a chi-square test at level 1e-9.
"""

import math
from functools import cache

import numpy as np
import pytest
from numba import njit
from scipy import integrate, stats

from goodarm.engine.compile import register
from goodarm.problem import Bounded, Gaussian, Problem, Rewards
from goodarm.rules.beliefs import Pool
from goodarm.rules.sampling.murphy import choose as murphy
from goodarm.rules.sampling.thompson import choose as thompson
from goodarm.rules.sampling.top_two import choose as top_two
from goodarm.testing.error_rates import LAW_LEVEL

pytestmark = pytest.mark.slow

DRAWS = 50_000
POOL = Pool(10.0, 1e6)
COUNTS = {
    "a few pulls": ([(3, 2.0), (5, 2.0), (2, 1.0), (8, 5.0)], 0.5),
    "all below": ([(30, 6.0), (40, 10.0), (25, 3.0), (20, 5.0)], 0.5),
    "a decided arm among them": ([(30, 6.0), (9, 9.0), (40, 10.0), (20, 5.0)], 0.5),
    "rewards between 0 and 1": ([(6, 2.5), (7, 1.25), (4, 2.125)], 0.6),
}
FAR = {
    "far": ([(300, 30.0), (280, 25.0), (310, 33.0)], 0.5),
    "beyond the smallest float": ([(6000, 600.0), (6003, 601.0), (6001, 600.5)], 0.9),
}


def table(counts: list[tuple[int, float]], decided: int | None = None) -> np.ndarray:
    arms = np.zeros((len(counts), 8))
    for i, (pulls, total) in enumerate(counts):
        arms[i, :4] = pulls, total, total / pulls, 1.0 / math.sqrt(pulls)
    if decided is not None:
        arms[decided, 7] = 1.0
    return arms


def laws(arms: np.ndarray, rewards: Rewards) -> list[stats.rv_continuous | None]:
    """The posterior of each arm; None for a decided one."""
    found = []
    for pulls, total, mean, width, *_rest, verdict in arms:
        law = stats.beta(1.0 + total, 1.0 + pulls - total)
        if isinstance(rewards, Gaussian):
            law = stats.norm(mean, rewards.scale * width)
        found.append(None if verdict else law)
    return found


def leading(posteriors: list, above: float) -> np.ndarray:
    """P(arm j leads and exceeds `above`): the chance that all others are below, averaged over its tail probability."""
    found = []
    for j, law in enumerate(posteriors):
        if law is None:
            found.append(0.0)
            continue
        tail = law.sf(above)
        values = law.isf((np.arange(20_000) + 0.5) / 20_000 * tail)
        others = [other.cdf(values) for i, other in enumerate(posteriors) if i != j and other is not None]
        found.append(tail * np.prod(others, axis=0).mean())
    return np.array(found)


@cache
def compiled(choose):
    register([choose])

    @njit
    def count(arms, pool, bar, rng, parameters):
        counts = np.zeros(len(arms), dtype=np.int64)
        for _ in range(DRAWS):
            counts[choose(arms, pool, bar, rng, *parameters)] += 1
        return counts

    return count


def counts_of(choose, arms: np.ndarray, rewards: Rewards, threshold: float, *parameters: float) -> np.ndarray:
    """How often each arm is chosen."""
    bar = Problem(threshold=threshold, arms=len(arms), rewards=rewards).bar
    return compiled(choose)(arms, POOL, bar, np.random.default_rng(1), parameters)


def same_law(counts: np.ndarray, probabilities: np.ndarray) -> bool:
    expected = probabilities / probabilities.sum() * DRAWS
    assert (counts[expected == 0.0] == 0).all()
    counts, expected = counts[expected > 0.0], expected[expected > 0.0]
    return len(counts) == 1 or stats.chisquare(counts, expected).pvalue > LAW_LEVEL


@pytest.mark.parametrize("rewards", [Bounded(), Gaussian(0.4)], ids=["Beta", "normal"])
@pytest.mark.parametrize("name", COUNTS)
class TestLaws:
    def arms(self, name: str) -> tuple[np.ndarray, float]:
        counts, threshold = COUNTS[name]
        return table(counts, 1 if "decided" in name else None), threshold

    def test_thompson(self, name: str, rewards: Rewards) -> None:
        arms, threshold = self.arms(name)
        assert same_law(counts_of(thompson, arms, rewards, threshold), leading(laws(arms, rewards), -math.inf))

    def test_top_two(self, name: str, rewards: Rewards) -> None:
        """P(j) = p_j/2 + sum over the other leaders i of p_i/2 p_j/(1 - p_i); the cap on redraws is far away."""
        arms, threshold = self.arms(name)
        p = leading(laws(arms, rewards), -math.inf)
        pulled = [
            0.5 * p[j] + sum(0.5 * p[i] * p[j] / (1.0 - p[i]) for i in range(len(p)) if i != j) for j in range(len(p))
        ]
        assert same_law(counts_of(top_two, arms, rewards, threshold, 0.5), np.array(pulled))

    def test_murphy(self, name: str, rewards: Rewards) -> None:
        arms, threshold = self.arms(name)
        assert same_law(counts_of(murphy, arms, rewards, threshold), leading(laws(arms, rewards), threshold))


@pytest.mark.parametrize("name", FAR)
def test_murphy_far_from_the_threshold(name: str) -> None:
    """Two arms above at once are out of reach: P(j) is proportional to its tail, integrated in logarithms."""
    counts, threshold = FAR[name]
    logs = []
    for pulls, total in counts:
        a, b = 1.0 + total, 1.0 + pulls - total
        scaled = lambda x, a=a, b=b: math.exp(  # noqa: E731
            (a - 1) * math.log(x / threshold) + (b - 1) * math.log((1 - x) / (1 - threshold))
        )
        area = integrate.quad(scaled, threshold, threshold + (1 - threshold) * 40 / pulls, limit=200)[0]
        at_threshold = (a - 1) * math.log(threshold) + (b - 1) * math.log1p(-threshold)
        logs.append(math.log(area) + at_threshold - (math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)))
    assert max(logs) < -50.0
    probabilities = np.exp(np.array(logs) - max(logs))
    assert same_law(counts_of(murphy, table(counts), Bounded(), threshold), probabilities)


def test_murphy_far_from_the_threshold_with_normal_posteriors() -> None:
    arms = table([(400, 0.0), (400, 4.0), (400, 2.0)])
    logs = stats.norm.logsf((50.0 - arms[:, 2]) / (1.0 * arms[:, 3]))
    assert max(logs) < -1000.0
    assert same_law(counts_of(murphy, arms, Gaussian(1.0), 50.0), np.exp(logs - max(logs)))


def test_murphy_agrees_with_rejection() -> None:
    """Brute force: draw jointly until some mean exceeds the threshold."""
    arms = table([(10, 4.0), (12, 4.0), (9, 3.0)])
    rng = np.random.default_rng(2)
    draws = np.array([rng.beta(1 + s, 1 + n - s, 400_000) for n, s in arms[:, :2]])
    kept = draws[:, draws.max(axis=0) > 0.6]
    probabilities = np.bincount(kept.argmax(axis=0), minlength=3) / kept.shape[1]
    both = np.array([counts_of(murphy, arms, Bounded(), 0.6), probabilities * kept.shape[1]])
    assert stats.chi2_contingency(both).pvalue > LAW_LEVEL


def test_compiled_code_draws_the_same_numbers_as_python() -> None:
    """numba's own implementation of numpy's Generator, bit for bit: traces do not depend on who plays them."""

    def draws(rng: np.random.Generator) -> list[float]:
        out = []
        for j in range(2000):
            out.append(rng.beta(1.0 + j % 7, 1.0 + (j * j) % 11))
            out.append(rng.standard_normal())
            out.append(rng.standard_exponential())
            out.append(rng.random())
        return out

    assert draws(np.random.default_rng(5)) == njit(draws)(np.random.default_rng(5))
