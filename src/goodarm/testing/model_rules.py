"""Check that a rule that decides by a model of the arms keeps its guarantee if the model is true.

All arms have the same mean, the threshold, which every linear model (theta = 0) and every kernel (f = 0) can express.
The rule is told that the norm is 0, which leaves no room for bias in the interval and reveals a noise term that is too
small. Every arm is good, and every verdict "bad" is wrong.

*Coverage at any one time* is computed. The model's mean of an arm is a linear combination of the rewards: if these are
Gaussian and the pulls are fixed, so is the mean, with a variance that follows from the features. Its probability of
lying below the interval must be at most delta, which is necessary, at every delta down to 1e-12.

*Coverage at all times and arms at once* is played: many arms in a few dimensions, pulled by an adversary who wants a
wrong verdict, or by the widest arm for a rule that is proved only for such designs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from goodarm.environments import gaussian
from goodarm.models.kernel import Kernel
from goodarm.numerics import log_normal_cdf
from goodarm.policies import Policy, policy
from goodarm.policies.names import model_kind
from goodarm.problem import Bar, Gaussian, Problem
from goodarm.rules.beliefs import MEAN, WIDTH, Pool, Table, is_open
from goodarm.rules.identification import ModelRule
from goodarm.rules.sampling import ChoiceRule
from goodarm.simulation.run import play_runs
from goodarm.simulation.runs import Runs
from goodarm.simulation.specification import Specification
from goodarm.testing.checks import require
from goodarm.testing.error_rates import Trial, require_few

DELTAS = (0.3, 0.05, 0.001, 1e-6, 1e-12)
SCALES = (0.5, 100.0)
PULLS = (1, 2, 5, 20, 50, 200, 1000)
"""Numbers of pulls, spread evenly over the arms, after which coverage is computed."""
MODEL_TRIALS = (Trial(runs=1500, horizon=150), Trial(runs=1500, horizon=150, delta=0.001))
ARMS, DIMENSION = 40, 3


def below_by_model(arms: Table, pool: Pool, bar: Bar, generator: Generator) -> int:
    """The open arm whose mean lies most widths below the threshold; in every other round the widest open arm."""
    nearest = pool.round % 2.0 == 0.0
    best, leader = 0.0, -1
    for i in range(len(arms)):
        if is_open(arms, i):
            wanted = (bar.threshold - arms[i, MEAN]) / arms[i, WIDTH] if nearest else arms[i, WIDTH]
            if leader < 0 or wanted > best:
                best, leader = wanted, i
    return leader


BY_MODEL = ChoiceRule(name="adversary-by-model", choose=below_by_model)


def directions(arms: int = ARMS, dimension: int = DIMENSION) -> NDArray[np.float64]:
    """Unit vectors in all directions: features for which two pulls can't decide all arms."""
    drawn = np.random.default_rng(3).standard_normal((arms, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def constants(rule: ModelRule) -> dict[str, float]:
    """The rule's parameters: its defaults, and 0 for a bound that only the user knows."""
    return {name: 0.0 if math.isnan(value) else value for name, value in rule.defaults.items()}


def require_pointwise_coverage(rule: ModelRule) -> None:
    """P(an arm at the threshold lies below its interval) <= delta at any one time, for Gaussian rewards; exact."""
    features = directions()
    for scale, delta, ridge, pulls in itertools.product(SCALES, DELTAS, (1.0, 1e-4), PULLS):
        bar = Problem(0.0, ARMS, delta, Gaussian(scale)).bar
        counts = np.bincount(np.arange(pulls) % ARMS, minlength=ARMS).astype(np.float64)
        precision = ridge * np.eye(DIMENSION) + (features.T * counts) @ features
        solved = np.linalg.solve(precision, features.T)
        width = np.sqrt(np.einsum("ij,ji->i", features, solved))
        deviation = scale * np.sqrt(((features @ solved) ** 2) @ counts)
        log_det = float(np.linalg.slogdet(precision)[1]) - DIMENSION * math.log(ridge)
        half = float(rule.factor(log_det, ridge, Pool(float(pulls), 1e6), bar, *constants(rule).values()))
        seen = deviation > 0.0
        score = float((half * width[seen] / deviation[seen]).min())
        require(
            log_normal_cdf(-score) <= math.log(delta),
            f"{rule.name} gives an arm at the threshold a wrong verdict after {pulls} pulls with probability "
            f"{math.exp(log_normal_cdf(-score)):.3g}, noise of scale {scale:g}, ridge {ridge:g}; at most {delta:g} is "
            "allowed",
        )


def policies_under_test(rule: ModelRule) -> Iterator[Policy]:
    """The rule with each of its models, under the worst sampling that its proof permits."""
    line = np.linspace(0.0, 1.0, ARMS)[:, None]
    for name in rule.models:
        model = Kernel(line, length=0.4) if name == "kernel" else model_kind(name)(directions())
        sampling = "widest" if rule.blind else BY_MODEL
        given: dict[str, Any] = {**constants(rule)}
        yield policy(sampling, rule, rewards=Gaussian(1.0), model=model, **given)


def require_error_rate_under_model(rule: ModelRule, trial: Trial) -> None:
    """Require P(any wrong verdict in a run) <= delta if the model is true, by an exact binomial test."""
    environment = gaussian([0.0] * ARMS, 0.0, scale=1.0)
    for made in policies_under_test(rule):
        spec = Specification(made, environment, environment.problem(trial.delta), trial.horizon, trial.seed)
        wrong = Runs(spec, tuple(play_runs(spec, range(trial.runs)))).wrong_runs
        require_few(wrong, trial, f"{made.name}, all arms at the threshold")
