"""Assumptions about the means before the first reward: a gap, a table, or a prior."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from goodarm.arguments import check_real, check_whole, checked_number, percentage
from goodarm.environments._base import Environment, fixed
from goodarm.environments.columns import Source
from goodarm.environments.laws import bernoulli_reward
from goodarm.environments.table import table
from goodarm.errors import InvalidValue, UnknownName
from goodarm.problem import Cases
from goodarm.question import Bars

Floats = NDArray[np.float64]

MOST_ARMS = 100_000
MOST_CELLS = 10_000_000
"""Maximum number of arms times cases."""

_PRIOR = re.compile(r"(beta|uniform):([^,]+),([^,]+)")


@dataclass(frozen=True)
class MeansGuess:
    """The arms and the law of their means, with a description in `words`.

    draw   : a draw of the means, shape (arms,); with several bars, (arms, metrics)
    labels : names of the arms, if they have any
    costs  : cost of a sample of each arm, if a table has it
    """

    arms: int
    draw: Callable[[Generator], Floats] = field(repr=False, compare=False)
    words: str
    gap: float | None = None
    labels: tuple[str, ...] = ()
    costs: tuple[float, ...] = ()

    def environment(self, threshold: float) -> Environment:
        """0/1 rewards with these means."""
        return Environment("plan", self.arms, threshold, self.draw, bernoulli_reward, reading=self.words)

    def on_cases(self, threshold: float, count: int) -> Environment:
        """A fixed test set: each arm passes its mean's share of `count` cases, rounded to a whole case.

        An arm draws its cases in random order, so it does not matter which ones it passes; here it passes the first
        ones.

        >>> guess_means(0.8, 3, gap=0.1).on_cases(0.8, 50).draw(np.random.default_rng(0)).tolist()
        [0.9, 0.9, 0.7]
        """
        cells = self.arms * count
        if cells > MOST_CELLS:
            raise InvalidValue(
                f"a plan simulates at most {MOST_CELLS:,} cells; {self.arms:,} arms on {count:,} cases have {cells:,}. "
                f"Plan for a sample, `arms={max(MOST_CELLS // count, 1)}`: the samples per arm grow only with the "
                "logarithm of the number of arms."
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
    gap: float | str | None = None,
    means: Source | None = None,
    prior: str | None = None,
    bar_words: str = "the threshold",
) -> MeansGuess:
    """The given guess; by default half of the arms lie above and half below, a quarter of the way to 0 or 1.

    >>> guess_means(0.02, 4, gap=0.005).draw(np.random.default_rng(0)).round(3).tolist()
    [0.025, 0.025, 0.015, 0.015]
    >>> guess_means(0.02, 4, prior="beta:1,50").words
    'means drawn from Beta(1, 50)'
    """
    _check_one(gap, means, prior)
    if means is not None:
        return _from_table(table(means, threshold), arms)
    many = _checked_arms(arms)
    if prior is not None:
        return _from_prior(many, prior)
    return _from_gap(threshold, many, gap, bar_words)


def _check_one(*given: object) -> None:
    if sum(each is not None for each in given) > 1:
        raise InvalidValue("give only one of `gap`, `means` and `prior`: each describes the means.")


def _checked_arms(arms: int | None) -> int:
    if arms is not None:
        check_whole("arms", arms)
    if arms is None or arms < 1:
        raise InvalidValue(f"arms must be the number of arms, at least 1; got {arms}.")
    if arms > MOST_ARMS:
        raise InvalidValue(
            f"a plan simulates at most {MOST_ARMS:,} arms; got {arms:,}. Plan for a sample, `arms={MOST_ARMS}`: the "
            "samples per arm grow only with the logarithm of the number of arms."
        )
    return arms


def guess_metrics(
    bars: Bars, arms: int | None, gap: PerMetric | None, means: Source | None, prior: PerMetric | None
) -> MeansGuess:
    """The given guess for each of several metrics, which are independent of each other.

    gap   : half of the arms clear every bar by this distance, and the others each fail one bar by it, in turn; one
            number for all metrics or one per metric. By default a quarter of the way from each bar to 0 or 1
    means : a table with the column arm and one column per metric
    prior : a prior of each metric

    Values per metric are a mapping, or text such as "correct=0.05, slow=0.02" or "correct=beta:9,1; slow=beta:1,30".

    >>> bars = Bars("correct >= 90%, slow <= 8%")
    >>> guess_metrics(bars, 4, "correct=0.05, slow=0.02", None, None).draw(np.random.default_rng(0)).round(3).tolist()
    [[0.95, 0.06], [0.95, 0.06], [0.85, 0.06], [0.95, 0.1]]
    """
    _check_one(gap, means, prior)
    if means is not None:
        return _from_table(table(means, bars=bars.metrics), arms)
    many = _checked_arms(arms)
    if prior is not None:
        return _from_priors(bars, many, per_metric("prior", prior, bars))
    return _from_gaps(bars, many, gap)


PerMetric = float | str | Mapping[str, Any]
"""One value, or one per metric: a mapping, or text such as "correct=0.05; slow=0.02"."""


def per_metric(name: str, given: PerMetric, bars: Bars) -> list[Any]:
    """The value of each metric, in the order of the bars.

    >>> per_metric("prior", "correct=beta:9,1; slow=beta:1,30", Bars("slow <= 5%, correct >= 90%"))
    ['beta:1,30', 'beta:9,1']
    """
    found = given
    if isinstance(given, str) and "=" in given:
        parts = [part.partition("=") for part in re.split(r";|,(?=[^,;]*=)", given) if part.strip()]
        found = {metric.strip(): value.strip() for metric, _, value in parts}
    if not isinstance(found, Mapping):
        written = "; ".join(f"{metric}=beta:2,2" for metric in bars.names)
        raise InvalidValue(f"several bars need a {name} for each metric, such as {written!r}; got {given!r}.")
    extra = next((metric for metric in found if metric not in bars.names), None)
    if extra is not None:
        raise InvalidValue(str(UnknownName("metric", str(extra), bars.names)))
    missing = next((metric for metric in bars.names if metric not in found), None)
    if missing is not None:
        raise InvalidValue(f"the {name} of the metric {missing!r} is missing. Give one for each metric.")
    return [found[metric] for metric in bars.names]


def _from_priors(bars: Bars, arms: int, priors: list[Any]) -> MeansGuess:
    each = [_from_prior(arms, prior) for prior in priors]
    words = "; ".join(f"{name}: {guess.words}" for name, guess in zip(bars.names, each, strict=True))
    return MeansGuess(arms, lambda rng: np.stack([guess.draw(rng) for guess in each], axis=1), words)


def _from_gaps(bars: Bars, arms: int, gap: PerMetric | None) -> MeansGuess:
    room = [min(metric.bar, 1.0 - metric.bar) for metric in bars.metrics]
    if gap is None:
        sizes = [each / 4.0 for each in room]
    elif isinstance(gap, Mapping) or (isinstance(gap, str) and "=" in gap):
        sizes = [float(checked_number("gap", percentage(each))) for each in per_metric("gap", gap, bars)]
    else:
        sizes = [float(checked_number("gap", percentage(gap)))] * len(room)
    for metric, size, most in zip(bars.metrics, sizes, room, strict=True):
        if not 0.0 < size <= most:
            raise InvalidValue(
                f"the gap of {metric.name!r} must be positive and keep its bar ± gap within [0, 1], so at most "
                f"{most:g} here; got {size:g}. Give a separate gap for each metric, such as "
                f"'{metric.name}={most / 4.0:g}'."
            )
    clear = np.array([m.bar + (size if m.at_least else -size) for m, size in zip(bars.metrics, sizes, strict=True)])
    fail = 2.0 * np.array([metric.bar for metric in bars.metrics]) - clear
    values = np.tile(clear, (arms, 1))
    for place, arm in enumerate(range((arms + 1) // 2, arms)):
        values[arm, place % len(room)] = fail[place % len(room)]
    chosen = " (the default assumption: give `gap`, `means` or `prior`)" if gap is None else ""
    listed = ", ".join(f"{name} {size:g}" for name, size in zip(bars.names, sizes, strict=True))
    words = f"half of the arms clear every bar by a gap ({listed}), half fail one bar by it{chosen}"
    return MeansGuess(arms, fixed(values), words)


def _from_gap(threshold: float, arms: int, gap: float | str | None, bar_words: str) -> MeansGuess:
    room = min(threshold, 1.0 - threshold)
    size = room / 4.0 if gap is None else checked_number("gap", percentage(gap))
    if not 0.0 < size <= room:
        bar = bar_words.removeprefix("the ")
        raise InvalidValue(
            f"gap must be positive and keep {bar} ± gap within [0, 1], so at most {room:g} here; got {size:g}."
        )
    above = (arms + 1) // 2
    values = np.repeat([threshold + size, threshold - size], [above, arms - above])
    chosen = " (the default assumption: give `gap`, `means` or `prior`)" if gap is None else ""
    return MeansGuess(arms, fixed(values), f"half of the means {size:g} above {bar_words}, half below{chosen}", size)


def _from_table(found: Environment, arms: int | None) -> MeansGuess:
    if arms is not None and arms != found.arms:
        many = f"{found.arms} arm{'s' * (found.arms != 1)}"
        raise InvalidValue(f"the table of means has {many}, not {arms}. Leave the number of arms out.")
    metrics = found.metrics

    def draw(generator: Generator) -> Floats:
        each = [metric.draw(generator) for metric in metrics]
        return each[0] if len(each) == 1 and not found.question.names else np.stack(each, axis=1)

    return MeansGuess(found.arms, draw, f"means of {found.name}", None, tuple(found.labels), found.costs)


def _from_prior(arms: int, prior: str) -> MeansGuess:
    match = _PRIOR.fullmatch(str(prior).replace(" ", ""))
    try:
        family, *ends = match.groups() if match else ("", "0", "0")
        first, second = (float(percentage(end) if family == "uniform" else end) for end in ends)
    except ValueError:
        family, first, second = "", 0.0, 0.0
    if family == "beta" and 0.0 < first < np.inf and 0.0 < second < np.inf:
        even = first == second == 1.0
        words = "means spread evenly over 0 to 100%" if even else f"means drawn from Beta({first:.3g}, {second:.3g})"
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
            f"can't read the prior {prior!r}. For these rewards write normal:MEAN,SD, such as normal:10,2.5."
        )
    words = f"means drawn from a normal distribution around {mean:g} with standard deviation {deviation:g}"
    return MeansGuess(arms, lambda rng: rng.normal(mean, deviation, arms), words)


def around(threshold: float) -> str:
    """A prior whose mean is the threshold, broad on its longer side.

    >>> around(0.02)
    'beta:1,49'
    """
    if threshold <= 0.5:
        return f"beta:1,{(1.0 - threshold) / threshold:.6g}"
    return f"beta:{threshold / (1.0 - threshold):.6g},1"
