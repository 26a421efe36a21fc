"""Prune an Optuna trial once it is certainly worse than the incumbent on the same test cases.

    pruner = CertifiedPruner(cases=500)
    study = optuna.create_study(direction="maximize", pruner=pruner)

    def objective(trial):
        scores = []
        for case in pruner.order(trial):  # each case once, in a random order of this trial
            scores.append(evaluate(build(trial), case))
            trial.report(scores[-1], step=case)
            if trial.should_prune():
                raise optuna.TrialPruned
        return sum(scores) / len(scores)

A trial is compared, case by case, with the best trial that was complete when it started. The probability that any trial
of the study is pruned although its mean over all cases would have been at least the incumbent's is at most delta.

Proof. On a case, let x be the trial's score and x0 the incumbent's, both in [0, 1]. The incumbent's scores on all cases
are known when the trial starts, and the trial's order of the cases is random and independent of all scores. So (1 + x -
x0)/2 are graded results of N cases drawn without replacement, and `bet-mixture` is a supermartingale under the
hypothesis that their mean is at least 1/2 (`goodarm.rules.identification.paired`). Trial number k has the share
1/((k + 1)(k + 2)) of delta, and all shares sum to 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.pruners import BasePruner
from optuna.study import StudyDirection
from optuna.trial import TrialState

from goodarm.arguments import check_real, check_whole, checked_number, percentage
from goodarm.errors import InvalidValue
from goodarm.numerics.shuffle import shuffled
from goodarm.problem import Bar, GradedCases, Problem
from goodarm.rules.beliefs import Arm, Nothing, Pool
from goodarm.rules.identification.bet_mixture import bet_mixture
from goodarm.rules.identification.paired import paired_reward, paired_threshold

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.trial import FrozenTrial

ONE_ARM = 1
KEY_BITS = 62


class CertifiedPruner(BasePruner):
    """Prunes trials that are certainly worse than the incumbent on a fixed set of cases.

    cases  : number of cases of the test set; a step of `trial.report` is the number of a case, from 0
    delta  : probability that any trial is pruned wrongly
    margin : prune trials whose mean is certainly below the incumbent's plus this, a number or a percentage such as "2%"
    seed   : seed of the orders of the cases
    """

    def __init__(self, cases: int, *, delta: float = 0.05, margin: float | str = 0.0, seed: int = 0) -> None:
        check_real(delta=delta)
        self.cases, self.seed = check_whole("cases", cases, 1), check_whole("seed", seed, 0)
        self.problem = Problem(
            paired_threshold(checked_number("margin", percentage(margin))), ONE_ARM, delta, GradedCases(self.cases)
        )
        self._compared: dict[tuple[str, int], Comparison] = {}

    def order(self, trial: Trial | FrozenTrial) -> Iterator[int]:
        """The numbers of all cases, in the random order of this trial."""
        digest = blake2b(f"{self.seed}:{trial.number}:{self.cases}".encode(), digest_size=8).digest()
        key = int.from_bytes(digest, "big") >> (64 - KEY_BITS)
        return (int(shuffled(place, self.cases, key)) for place in range(self.cases))

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        """Whether the trial is certainly worse; called by `trial.should_prune()`."""
        if study.direction is not StudyDirection.MAXIMIZE:
            raise InvalidValue("CertifiedPruner compares mean scores of cases: create the study with 'maximize'.")
        incumbent = self._incumbent(study, trial)
        if incumbent is None:
            return False
        share = 1.0 / ((trial.number + 1.0) * (trial.number + 2.0))
        needed = math.log(1.0 / (share * self.problem.delta))
        name = (study.study_name, trial.number)
        compared = self._compared.setdefault(name, Comparison(self.problem.bar, list(self.order(trial))))
        compared.take(trial.intermediate_values, incumbent.intermediate_values)
        if compared.for_worse >= needed or compared.drawn == self.cases:
            del self._compared[name]
        return compared.for_worse >= needed

    def _incumbent(self, study: Study, trial: FrozenTrial) -> FrozenTrial | None:
        """The best trial that was complete (with a score on every case) when this one started."""
        complete = [
            each
            for each in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
            if _before(each, trial) and len(each.intermediate_values) == self.cases
        ]
        return max(complete, key=lambda each: _mean(each.intermediate_values), default=None)


class Comparison:
    """A trial and the incumbent on the trial's cases so far, in the trial's order."""

    def __init__(self, bar: Bar, order: list[int]) -> None:
        self.bar, self.order = bar, order
        self.memory = np.zeros(bet_mixture.memory)
        self.drawn, self.total, self.for_worse = 0, 0.0, 0.0

    def take(self, scores: Mapping[int, float], incumbent: Mapping[int, float]) -> None:
        """Count the cases since the last check."""
        while self.drawn < len(self.order) and self.order[self.drawn] in scores:
            case = self.order[self.drawn]
            both = scores[case], incumbent[case]
            if not all(0.0 <= score <= 1.0 for score in both):
                raise InvalidValue(f"the scores of a case must lie in [0, 1]; got {both} on case {case}.")
            reward = paired_reward(*both)
            arm = Arm(float(self.drawn), self.total, 0.0, 0.0, 0.0, self.for_worse, self.memory, 0.0)
            _, self.for_worse, _ = bet_mixture.observe(arm, reward, Pool(0.0, math.inf, Nothing()), self.bar)
            self.total += reward
            self.drawn += 1


def _before(one: FrozenTrial, other: FrozenTrial) -> bool:
    """Whether one trial was complete when the other one started."""
    ended, started = one.datetime_complete, other.datetime_start
    return ended is not None and started is not None and ended <= started


def _mean(scores: Mapping[int, Any]) -> float:
    return math.fsum(scores.values()) / len(scores)
