"""`several_metrics`: rewards that are records of several metrics, each with its own means, law and bar."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from goodarm.arguments import percentage
from goodarm.environments._base import Environment, Floats, MeansOrDraw
from goodarm.environments.laws import bernoulli
from goodarm.errors import InvalidValue, UnknownName
from goodarm.problem import Bounded
from goodarm.question import Bars, BarsGiven, Metric, Reward


@dataclass(frozen=True)
class SeveralMetrics(Environment):
    """Arms whose pulls give several numbers in [0, 1], one per metric, and a bar for each of them.

    `draw` returns the number that is compared with 0: the smallest distance of a mean from its bar.

    bars     : the metrics with their bars
    each     : source of the numbers of each metric, in the order of the bars
    coupled  : whether all numbers of a pull come from the same random numbers, or are independent
    """

    bars: Bars = field(kw_only=True)
    each: tuple[Environment, ...] = field(kw_only=True)
    coupled: bool = field(default=False, kw_only=True)

    @property
    def question(self) -> Bars:
        return self.bars

    @property
    def metrics(self) -> tuple[Environment, ...]:
        return self.each

    @property
    def together(self) -> bool:
        return self.coupled

    def reward_of(self, values: tuple[float, ...]) -> Reward:
        return values

    def with_threshold(self, threshold: float) -> Environment:
        raise InvalidValue(
            f"{self.name} has several metrics, but threshold={threshold:g} is a single bar. Give `bars`, one per "
            "metric."
        )

    def with_bars(self, bars: BarsGiven) -> SeveralMetrics:
        """The same arms under other bars, for all metrics or some."""
        known = dict(zip(self.bars.names, self.each, strict=True))
        wanted = _named(known, Bars(bars))
        found = several_metrics(wanted, bars, together=self.coupled, horizon=self.horizon, name=self.name)
        return replace(found, labels=self.labels, costs=self.costs, reading=self.reading)

    def _hash(self, ours: bool) -> str:
        digest = hashlib.sha256(f"{self.bars!r} {self.coupled}".encode())
        for metric in self.each:
            digest.update((metric.fingerprint if ours else metric.description).encode())
        return digest.hexdigest()


def several_metrics(
    metrics: Mapping[str, MeansOrDraw | Environment],
    bars: BarsGiven,
    *,
    together: bool = False,
    horizon: int = 1_000_000,
    name: str = "several metrics",
) -> SeveralMetrics:
    """Arms with several metrics: 0/1 numbers with these means, or the rewards of another environment in [0, 1].

    metrics  : {metric: means}, the means as for `bernoulli`, or {metric: environment}; all with the same arms
    bars     : the bar of each metric, like "correct >= 90%, slow <= 5%"
    together : whether all metrics of a pull use the same random numbers, so that high values coincide; otherwise they
               are independent. Verdicts hold in both cases.

    >>> prompts = several_metrics({"correct": [0.97, 0.6], "slow": [0.01, 0.02]}, "correct >= 90%, slow <= 5%")
    >>> prompts.draw(np.random.default_rng(0)).round(3).tolist()
    [0.04, -0.3]
    """
    asked = Bars(bars)
    extra = next((given for given in metrics if given not in asked.names), None)
    if extra is not None:
        raise UnknownName("bar for the metric", str(extra), asked.names)
    each = tuple(
        _metric(metric, given) for metric, given in zip(asked.metrics, _named(metrics, asked).values(), strict=True)
    )
    arms = each[0].arms
    other = next((metric for metric in each if metric.arms != arms), None)
    if other is not None:
        raise InvalidValue(
            f"the metric {each[0].name!r} has {arms} arms, and {other.name!r} has {other.arms}. Give every metric a "
            "mean for every arm."
        )
    laws = list(dict.fromkeys(metric.reading for metric in each))
    if len(laws) > 1:
        laws = [f"{metric.name}: {metric.reading}" for metric in each]
    return SeveralMetrics(
        name,
        arms,
        asked.metrics[0].threshold,
        _smallest_distance(each, asked),
        each[0].reward,
        horizon=horizon,
        reading=f"{', '.join(laws)}; metrics {'drawn together' if together else 'independent of each other'}",
        labels=each[0].labels,
        bars=asked,
        each=each,
        coupled=together,
    )


def _smallest_distance(each: tuple[Environment, ...], bars: Bars) -> Callable[[Generator], Floats]:
    """A function that draws the means of every metric and returns each arm's smallest distance from a bar."""

    def draw(generator: Generator) -> Floats:
        distances = [
            metric.turned(environment.draw(generator)) - metric.threshold
            for metric, environment in zip(bars.metrics, each, strict=True)
        ]
        return np.asarray(np.min(distances, axis=0))

    return draw


def one_bar(what: str, threshold: float | None, bars: BarsGiven | None) -> float:
    """The threshold, NaN if bars were given; an error unless exactly one of them was."""
    if (threshold is None) == (bars is None):
        raise InvalidValue(
            f"{what} needs a threshold, or several bars like 'correct >= 90%, slow <= 5%'; got "
            f"{'neither' if bars is None else 'both'}."
        )
    return float("nan") if threshold is None else percentage(threshold)


def _named(given: Mapping[str, Any], bars: Bars) -> dict[str, Any]:
    """The given value of each metric that has a bar, in the order of the bars."""
    missing = next((name for name in bars.names if name not in given), None)
    if missing is not None:
        raise UnknownName("metric", missing, [str(name) for name in given])
    return {name: given[name] for name in bars.names}


def _metric(metric: Metric, given: MeansOrDraw | Environment) -> Environment:
    if not isinstance(given, Environment):
        return bernoulli(given, metric.bar, name=metric.name)
    if type(given.rewards) is not Bounded or given.metrics != (given,):
        raise InvalidValue(
            f"the metric {metric.name!r} must be a number in [0, 1]; {given.name} gives {given.rewards}. Rescale it."
        )
    return replace(given, threshold=metric.bar, name=metric.name)
