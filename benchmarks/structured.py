"""Rounds with a model of the arms, each beside the product that it can't do without: its floor, by BLAS, in turns.

The floor of a linear model is the product of the K x d features with a vector. The floor of a kernel is a block's
share of C -= P'P, K x K numbers against 64 columns. How many pulls a model saves: benchmarks/structured_pulls.py.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from benchmarks.section import Row, Section, Target
from benchmarks.timing import Contender, in_turns, median, ratio
from goodarm.environments import Environment, bernoulli
from goodarm.environments.with_features import unit_vectors
from goodarm.models.gram import BLOCK
from goodarm.simulation.run import assembly_of, play
from goodarm.simulation.specification import Specification, specify

REPETITIONS = 9
SECONDS = 0.3
CASES = {
    ("ucb+kt@linear", 1000, 10): Target(at_most=2.0),
    ("ucb+learned-bets-normal@linear", 1000, 10): None,
    ("widest+self-normalised(norm=1)@linear", 1000, 10): None,
    ("ucb+kt@mixed", 1000, 10): None,
    ("value-normal@linear", 1000, 10): None,
    ("ucb+kt@linear", 10_000, 32): None,
    ("ucb+kt@kernel(length=1)", 1000, 2): None,
}


def environment(arms: int, dimension: int) -> Environment:
    """Means too close to the threshold for many verdicts: the arms stay in play."""
    features = unit_vectors(arms, dimension)
    means = 0.5 + 0.02 * features[:, 0]
    return replace(bernoulli(means, 0.5), describe=lambda: features)


def rounds_contender(name: str, arms: int, dimension: int) -> Contender:
    """Seconds per round, upkeep included; processor time of the thread."""
    spec: Specification = specify(name, environment(arms, dimension), horizon=arms)
    assembly = assembly_of(spec)
    play(spec, 0, assembly)
    per_round = timed(spec, assembly)
    longer = replace(spec, horizon=max(arms, int(SECONDS / per_round)))
    return lambda: timed(longer, assembly)


def timed(spec: Specification, assembly: object) -> float:
    started = time.thread_time()
    rounds = play(spec, 0, assembly).rounds
    return (time.thread_time() - started) / rounds


def product_contender(arms: int, dimension: int) -> Contender:
    """Seconds of one matrix-vector product, called from Python as numpy's users do."""
    features, vector, out = np.array(unit_vectors(arms, dimension)), np.ones(dimension), np.zeros(arms)

    def seconds() -> float:
        count = max(10, 30_000_000 // (arms * dimension))
        started = time.thread_time()
        for _ in range(count):
            np.dot(features, vector, out=out)
        return (time.thread_time() - started) / count

    return seconds


def block_contender(arms: int) -> Contender:
    """Seconds of a pull's share of one product of a block."""
    columns, matrix = np.random.default_rng(0).random((BLOCK, arms)), np.zeros((arms, arms))

    def seconds() -> float:
        started = time.thread_time()
        for _ in range(5):
            np.subtract(matrix, columns.T @ columns, out=matrix)
        return (time.thread_time() - started) / (5 * BLOCK)

    return seconds


def run() -> Section:
    rows = []
    for (name, arms, dimension), target in CASES.items():
        floor = block_contender(arms) if "@kernel" in name else product_contender(arms, dimension)
        seconds = in_turns({"floor": floor, "round": rounds_contender(name, arms, dimension)}, REPETITIONS)
        cells = {
            "policy": name,
            "K": arms,
            "d": dimension,
            "µs per round": 1e6 * median(seconds["round"]),
            "µs floor": 1e6 * median(seconds["floor"]),
        }
        rows.append(Row(cells, ratio(seconds["round"], seconds["floor"]), target))
    return Section(
        "structured",
        "rounds with a model of the arms, one thread",
        "of the floor",
        rows,
        ["The floor is one BLAS product of that size per round: features times vector, or a 64th of a kernel's block."],
    )
