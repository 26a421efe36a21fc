"""`gains`: the gain from learning on fresh seeds, against the initial policy and against `value`."""

from __future__ import annotations

from typing import NamedTuple

from goodarm.errors import GoodarmError, InvalidValue
from goodarm.learning.train import LearnedPolicy
from goodarm.policies import DEFAULT_POLICY, Policy
from goodarm.policies import policy as make_policy
from goodarm.simulation.compare import compare
from goodarm.simulation.progress import Progress
from goodarm.simulation.runs import Estimate

ELSEWHERE = 1_000_003
"""Offset of the seed for measuring gains, so that no reward used for learning enters the report."""
RUNS = 20


class Gain(NamedTuple):
    """Comparison of the learned policy with another one on the same rewards.

    score, other : mean exploit scores
    difference   : difference of the two, run by run, with its 95% interval
    share        : the difference as a share of the other's score; NaN if that is 0
    """

    over: str
    score: float
    other: float
    difference: Estimate
    share: float


def gains(
    learned: LearnedPolicy, *, runs: int = RUNS, workers: int = 1, progress: bool | Progress = False
) -> list[Gain]:
    """Play the learned policy, its initial policy and `value` on fresh rewards.

    >>> from goodarm.learning import learn
    >>> learned = learn("kano-1", "dgai", horizon=2000, budget=16)
    >>> [each.over for each in gains(learned, runs=5)]
    ['dgai', 'value']
    """
    if learned.started is None:
        raise InvalidValue("this policy does not record its training environment. Learn it again.")
    spec = learned.started
    others = [spec.policy, *_default(spec.policy)]
    found = compare(
        spec.environment,
        [learned.policy, *(each for each in others if each.name != learned.policy.name)],
        horizon=spec.horizon,
        runs=runs,
        seed=spec.seed + ELSEWHERE,
        delta=spec.problem.delta,
        workers=workers,
        progress=progress,
    )
    mine, *rest = found.finished
    rows = list(found.difference("exploit_score").rows())
    told = []
    for row, other in zip(rows, rest, strict=True):
        theirs = other.exploit_score.mean
        difference = Estimate(-row["difference"], -row["high"], -row["low"], row["runs"])
        share = difference.mean / theirs if theirs > 0.0 else float("nan")
        told.append(Gain(other.policy, mine.exploit_score.mean, theirs, difference, share))
    return told


def _default(started: Policy) -> list[Policy]:
    """The recommended policy without learning, unless learning started from it."""
    try:
        made = make_policy(DEFAULT_POLICY)
    except GoodarmError:
        return []
    return [] if made.name == started.name else [made]
