"""Instances from the literature: Kano's, the medical ones, and the paper's synthetic families."""

from __future__ import annotations

from collections.abc import Callable

from numpy.random import Generator

from goodarm.environments._base import Environment, Floats
from goodarm.environments.laws import bernoulli, bernoulli_reward, gaussian

KANO = "Kano et al. 2019, Machine Learning 108, section 5"
PAPER = "Tsai, Tsai & Lin, Differentiable Good Arm Identification, Table 2"
TO_THE_END = 1_000_000


def _named(environment: Environment, reading: str, reference: str) -> Environment:
    from dataclasses import replace

    return replace(environment, reading=reading, reference=reference)


def kano_1() -> Environment:
    """Ten arms, three far above and three far below the threshold."""
    means = [0.1, 0.1, 0.1, 0.35, 0.45, 0.55, 0.65, 0.9, 0.9, 0.9]
    return _named(bernoulli(means, 0.5, horizon=TO_THE_END, name="kano-1"), "threshold setting 1, 5 of 10 good", KANO)


def kano_2() -> Environment:
    """Six arms in even steps."""
    means = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    return _named(bernoulli(means, 0.35, horizon=TO_THE_END, name="kano-2"), "threshold setting 2, 3 of 6 good", KANO)


def kano_3() -> Environment:
    """Ten arms, all close to the threshold."""
    means = [0.55] * 3 + [0.45] * 7
    return _named(bernoulli(means, 0.5, horizon=TO_THE_END, name="kano-3"), "threshold setting 3, 3 of 10 good", KANO)


def medical_1() -> Environment:
    """Dose finding, binary response."""
    means = [0.36, 0.34, 0.469, 0.465, 0.537]
    return _named(bernoulli(means, 0.5, horizon=TO_THE_END, name="medical-1"), "ACR20 response rates, 0/1", KANO)


def medical_2() -> Environment:
    """Dose finding, Gaussian response; one arm lies on the threshold, so a run does not end by itself."""
    means = [0.5, 0.7, 1.6, 1.8, 1.2, 1.0, 0.6]
    environment = gaussian(means, 1.2, scale=1.2, horizon=100_000, name="medical-2")
    return _named(environment, "Gaussian of variance 1.44; one arm at the threshold: capped at the horizon", KANO)


def _uniform_means(arms: int, low: float, high: float) -> Callable[[Generator], Floats]:
    return lambda generator: generator.uniform(low, high, arms)


def _synth(name: str, arms: int, low: float, high: float, reading: str) -> Environment:
    return Environment(
        name, arms, 0.5, _uniform_means(arms, low, high), bernoulli_reward, reading=reading, reference=PAPER
    )


OURS = "means uniform on [0.475, 0.55], drawn anew in each run (printed: [0.49975, 0.5005], a hundred times narrower)"
PRINTED = "means uniform on [0.49975, 0.5005] as printed: no certified policy can decide anything in a million rounds"


def synth_small() -> Environment:
    """50 arms, means uniform on [0.475, 0.55], drawn anew in each run."""
    return _synth("synth-small", 50, 0.475, 0.55, OURS)


def synth_large() -> Environment:
    """1000 arms, means uniform on [0.475, 0.55], drawn anew in each run."""
    return _synth("synth-large", 1000, 0.475, 0.55, OURS)


def synth_small_printed() -> Environment:
    """50 arms, means as printed in the paper: a hundred times closer to the threshold."""
    return _synth("synth-small-printed", 50, 0.49975, 0.5005, PRINTED)


def synth_large_printed() -> Environment:
    """1000 arms, means as printed in the paper: a hundred times closer to the threshold."""
    return _synth("synth-large-printed", 1000, 0.49975, 0.5005, PRINTED)
