"""Assumptions about the means before the first reward: a gap, a table, or a prior."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from goodarm.arguments import check_real, check_whole, percentage
from goodarm.environments._base import Environment, fixed
from goodarm.environments.columns import Source
from goodarm.environments.laws import bernoulli_reward
from goodarm.environments.table import table
from goodarm.errors import InvalidValue
from goodarm.problem import Cases

Floats = NDArray[np.float64]

MOST_ARMS = 100_000
MOST_CELLS = 10_000_000
"""Maximum number of arms times cases."""

_PRIOR = re.compile(r"(beta|uniform):([^,]+),([^,]+)")


@dataclass(frozen=True)
class MeansGuess:
    """The arms and the law of their means, with a description in `words`."""

    arms: int
    draw: Callable[[Generator], Floats] = field(repr=False, compare=False)
    words: str
    gap: float | None = None

    def environment(self, threshold: float) -> Environment:
        """0/1 rewards with these means."""
        return Environment("plan", self.arms, threshold, self.draw, bernoulli_reward, reading=self.words)

    def on_cases(self, threshold: float, count: int) -> Environment:
        """A fixed test set: each arm passes its mean's share of `count` cases, rounded to a whole case.

        An arm draws its cases in random order, so which ones it passes does not matter: here the first ones.

        >>> guess_means(0.8, 3, gap=0.1).on_cases(0.8, 50).draw(np.random.default_rng(0)).tolist()
        [0.9, 0.9, 0.7]
        """
        cells = self.arms * count
        if cells > MOST_CELLS:
            raise InvalidValue(
                f"a plan simulates at most {MOST_CELLS:,} cells; {self.arms:,} arms on {count:,} cases have {cells:,}. "
                f"Plan for a sample, `arms={max(MOST_CELLS // count, 1)}`: what an arm takes grows only with the "
                "logarithm of their number."
            )

        def draw(generator: Generator) -> Floats:
            found: Floats = np.round(self.draw(generator) * count) / count
            return found

        return Environment(
            "plan",
            self.arms,
            threshold,
            draw,
            passed,
            Cases(count),
            horizon=cells,
            extra=np.zeros(cells),  # the simulator reads the number of cases from its size
            columns=count,
            reading=self.words,
        )


def passed(arm: int, means: Floats, extra: Floats, case: int) -> float:
    """1 if the arm passes this case."""
    count = extra.size // means.size
    return 1.0 if case + 0.5 < means[arm] * count else 0.0


def guess_means(
    threshold: float,
    arms: int | None = None,
    *,
    gap: float | None = None,
    means: Source | None = None,
    prior: str | None = None,
) -> MeansGuess:
    """The given guess; by default half of the arms lie above and half below, a quarter of the way to 0 or 1.

    >>> guess_means(0.02, 4, gap=0.005).draw(np.random.default_rng(0)).round(3).tolist()
    [0.025, 0.025, 0.015, 0.015]
    >>> guess_means(0.02, 4, prior="beta:1,50").words
    'means drawn from Beta(1, 50)'
    """
    if sum(each is not None for each in (gap, means, prior)) > 1:
        raise InvalidValue("give one of `gap`, `means` and `prior`: each says where the means lie.")
    if means is not None:
        return _from_table(threshold, arms, means)
    if arms is not None:
        check_whole("arms", arms)
    if arms is None or arms < 1:
        raise InvalidValue(f"arms must be the number of arms, at least 1; got {arms}.")
    if arms > MOST_ARMS:
        raise InvalidValue(
            f"a plan simulates at most {MOST_ARMS:,} arms; got {arms:,}. Plan for a sample, `arms={MOST_ARMS}`: "
            "what an arm takes grows only with the logarithm of their number."
        )
    if prior is not None:
        return _from_prior(arms, prior)
    return _from_gap(threshold, arms, gap)


def _from_gap(threshold: float, arms: int, gap: float | None) -> MeansGuess:
    room = min(threshold, 1.0 - threshold)
    if gap is not None:
        check_real(gap=gap)
    size = room / 4.0 if gap is None else gap
    if not 0.0 < size <= room:
        raise InvalidValue(
            f"gap must be positive and keep threshold ± gap within [0, 1], so at most {room:g} here; got {size:g}."
        )
    above = (arms + 1) // 2
    values = np.repeat([threshold + size, threshold - size], [above, arms - above])
    chosen = " (the default assumption: give `gap`, `means` or `prior`)" if gap is None else ""
    return MeansGuess(arms, fixed(values), f"half of the means {size:g} above the threshold, half below{chosen}", size)


def _from_table(threshold: float, arms: int | None, means: Source) -> MeansGuess:
    found = table(means, threshold)
    if arms is not None and arms != found.arms:
        many = f"{found.arms} arm{'s' * (found.arms != 1)}"
        raise InvalidValue(f"the table of means has {many}, not {arms}. Leave the number of arms out.")
    return MeansGuess(found.arms, found.draw, f"means of {found.name}")


def _from_prior(arms: int, prior: str) -> MeansGuess:
    match = _PRIOR.fullmatch(str(prior).replace(" ", ""))
    try:
        family, *ends = match.groups() if match else ("", "0", "0")
        first, second = (float(percentage(end) if family == "uniform" else end) for end in ends)
    except ValueError:
        family, first, second = "", 0.0, 0.0
    if family == "beta" and 0.0 < first < np.inf and 0.0 < second < np.inf:
        even = first == second == 1.0
        words = "means spread evenly over 0 to 100%" if even else f"means drawn from Beta({first:g}, {second:g})"
        return MeansGuess(arms, lambda rng: rng.beta(first, second, arms), words)
    if family == "uniform" and 0.0 <= first < second <= 1.0:
        words = f"means drawn evenly from [{first:g}, {second:g}]"
        return MeansGuess(arms, lambda rng: rng.uniform(first, second, arms), words)
    raise InvalidValue(
        f"can't read the prior {prior!r}. Write beta:A,B with positive A and B, for example beta:1,50 (mean A/(A+B)), "
        "or uniform:LOW,HIGH within [0, 1]."
    )


def guess_real_means(threshold: float, arms: int, *, gap: float | None, prior: str) -> MeansGuess:
    """For rewards on the real line: half of the means `gap` above and half below, or drawn from normal:MEAN,SD.

    >>> guess_real_means(10.0, 4, gap=None, prior="normal:10,2").words
    'means drawn from a normal distribution around 10 with standard deviation 2'
    """
    if gap is not None:
        check_real(gap=gap)
        if not 0.0 < gap < np.inf:
            raise InvalidValue(f"gap must be a positive number; got {gap:g}.")
        above = (arms + 1) // 2
        values = np.repeat([threshold + gap, threshold - gap], [above, arms - above])
        return MeansGuess(arms, fixed(values), f"half of the means {gap:g} above the threshold, half below", gap)
    family, _, rest = prior.replace(" ", "").partition(":")
    try:
        mean, deviation = map(float, rest.split(","))
    except ValueError:
        mean, deviation = np.nan, np.nan
    if family != "normal" or not (np.isfinite(mean) and 0.0 < deviation < np.inf):
        raise InvalidValue(
            f"can't read the prior {prior!r}. For these rewards write normal:MEAN,SD, as in normal:10,2.5."
        )
    words = f"means drawn from a normal distribution around {mean:g} with standard deviation {deviation:g}"
    return MeansGuess(arms, lambda rng: rng.normal(mean, deviation, arms), words)
