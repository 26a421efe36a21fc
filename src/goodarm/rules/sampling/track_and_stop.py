"""`track-and-stop`: sample in the proportions that would decide all arms with the fewest samples."""

from __future__ import annotations

import math

from numpy.random import Generator

from goodarm.problem import Bar
from goodarm.rules.beliefs import Pool, Table, may_be_sampled, read_arm
from goodarm.rules.learners.allocation import allocation_learner
from goodarm.rules.sampling._base import ChoiceRule


def choose(arms: Table, pool: Pool, bar: Bar, generator: Generator) -> int:
    """The arm that lags furthest behind its optimal share of the samples; the widest arm before the first fit.

    `goodarm.rules.learners.allocation` computes the shares. `track-and-stop+self-normalised(norm=S)@linear` is the
    setting of the paper: it ends when the generalised likelihood ratio of every arm has passed its threshold. In
                          contrast, here each arm gets its verdict as soon as its own ratio has passed. With an
                          identification rule by own evidence, it samples only undecided arms.
    """
    learned = pool.learned
    elapsed = pool.round - learned.fitted
    best, leader = -math.inf, -1
    for i in range(len(arms)):
        if may_be_sampled(arms, i, bar):
            arm = read_arm(arms, i)
            if learned.fitted == 0.0 or i >= len(learned.weights):
                behind = arm.width
            else:
                behind = learned.owed[i] + elapsed * learned.weights[i] - arm.pulls
            if behind > best or leader < 0:
                best, leader = behind, i
    return leader


track_and_stop = ChoiceRule(
    name="track-and-stop",
    reference="Ochoa Rivera & Tewari 2024, arXiv 2402.09467; Jedra & Proutiere 2020, NeurIPS, for the lazy updates",
    learner=allocation_learner,
    choose=choose,
)
