"""The evidence for each kind of question: which policies can answer it, the live step, and the intervals.

`goodarm.question` says what is asked; here is what answers it. A new kind of question has one entry in `EVIDENCE`.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.compile import ALWAYS
from goodarm.engine.live.checks import check_against_control, check_live
from goodarm.engine.live.control import ControlStep
from goodarm.engine.live.step import LiveStep
from goodarm.engine.live.threshold import ScoredStep, ThresholdStep, rehearse
from goodarm.engine.totals import interval_from_totals
from goodarm.errors import InvalidValue, Refused, UnknownName, UnsoundPairing
from goodarm.policies import Policy
from goodarm.policies import policy as make_policy
from goodarm.problem import Bounded, GradedCases, Problem, Rewards, ScoredCases
from goodarm.question import Control, Question, Threshold
from goodarm.rules.identification.versus import as_if_paired, versus
from goodarm.rules.identification.with_scores import score_bets
from goodarm.rules.parameters import take

Floats = NDArray[np.float64]
Asked = TypeVar("Asked", bound=Question)

REPLACED = ("versus", "gap-mixture")
"""Identification rules that `versus` replaces without an error: itself, and the default."""
PAIRED = "bet-mixture"
"""The identification rule for paired differences."""
NO_SHARE = 1e-12
"""Share of delta of an arm that gets no verdict. It must be positive, and is below what shares may add up to over 1."""
_PLUS = re.compile(r"\+(?![^()]*\))")


class Seen(NamedTuple):
    """What an interval is computed from: samples whose reward counts, their sum, and samples that are pending."""

    pulls: float
    total: float
    pending: float = 0.0

    def at_worst(self, reward: int) -> tuple[float, float]:
        """Samples and sum if each pending reward is 0, or 1."""
        return self.pulls + self.pending, self.total + self.pending * reward


class Evidence(ABC, Generic[Asked]):
    """How questions of one kind are answered."""

    def __init__(self, question: Asked) -> None:
        self.question = question

    @abstractmethod
    def policy(self, given: str | Policy, rewards: Rewards, criterion: str | None) -> Policy:
        """The policy that answers the question, from what was asked for."""

    @abstractmethod
    def check(self, policy: Policy, problem: Problem) -> None:
        """Refuse a policy that can't answer the question live; called once, when a campaign is created."""

    @abstractmethod
    def step(
        self,
        policy: Policy,
        problem: Problem,
        arms: Sequence[str],
        *,
        horizon: float,
        features: Any,
        seed: int,
        weights: Sequence[float] | None,
    ) -> LiveStep:
        """The live step of a campaign with these arms."""

    @abstractmethod
    def levels(self, problem: Problem, weights: Floats, offsets: Floats) -> Floats:
        """The evidence that refutes a value at each arm's own share of delta.

        weights : shares of delta
        offsets : evidence that the live step gives each arm for its share
        """

    @abstractmethod
    def intervals(
        self, policy: Policy, problem: Problem, arms: Sequence[Seen], references: Mapping[str, Seen], levels: Floats
    ) -> tuple[Floats, Floats]:
        """Values that the evidence has not refuted: lower and upper ends, pending samples at their worst.

        references : what was seen of the question's reference arms
        """


class ThresholdEvidence(Evidence[Threshold]):
    """Each arm's own rewards against a fixed threshold."""

    def policy(self, given: str | Policy, rewards: Rewards, criterion: str | None) -> Policy:
        return make_policy(given, rewards=rewards, criterion=criterion)

    def check(self, policy: Policy, problem: Problem) -> None:
        check_live(policy, problem.rewards)
        if policy.certificate is not None:
            raise UnsoundPairing(
                f"{policy.name} was calibrated on simulated runs of one problem, and its certificate does not cover a "
                "live campaign. Use a certified policy, for example 'value+gap-mixture'."
            )
        try:
            found = make_policy(policy.name, rewards=problem.rewards, criterion=policy.criterion)
        except (UnknownName, InvalidValue):
            found = None
        if found is None or (found.sampling, found.identification) != (policy.sampling, policy.identification):
            raise Refused(
                f"the policy {policy.name!r} has a rule without a registered name, so no other process could open the "
                "campaign. Register it by an entry point, as CONTRIBUTING.md says, and name it."
            )
        rehearse(policy, problem)

    def step(
        self,
        policy: Policy,
        problem: Problem,
        arms: Sequence[str],
        *,
        horizon: float,
        features: Any,
        seed: int,
        weights: Sequence[float] | None,
    ) -> LiveStep:
        return ThresholdStep(policy, problem, horizon=horizon, features=features, seed=seed, weights=weights)

    def levels(self, problem: Problem, weights: Floats, offsets: Floats) -> Floats:
        return np.array([-math.log(problem.delta * weight) for weight in weights.tolist()])

    def intervals(
        self, policy: Policy, problem: Problem, arms: Sequence[Seen], references: Mapping[str, Seen], levels: Floats
    ) -> tuple[Floats, Floats]:
        rule = policy.identification
        values = take(policy.setting.identification, rule.defaults)
        low, high = (
            interval_from_totals(rule, *_columns(arms, side), problem.bar, levels, values)[side] for side in (0, 1)
        )
        return low, high


class ControlEvidence(Evidence[Control]):
    """Totals of an arm against those of the control, by `goodarm.rules.identification.versus`."""

    def policy(self, given: str | Policy, rewards: Rewards, criterion: str | None) -> Policy:
        """The sampling rule of a policy, with verdicts by the totals of arm and control.

        `value` learns a prior on a ladder at one fixed threshold. Against a control the threshold moves, so
        `value-normal` replaces it.

        >>> from goodarm.problem import Bounded
        >>> ControlEvidence(Control("now")).policy("value+gap-mixture", Bounded(), None).name
        'value-normal+versus'
        """
        text = given.name if isinstance(given, Policy) else str(given)
        sampling, rule = (*_PLUS.split(text, maxsplit=1), "versus")[:2]
        rule, at, model = rule.partition("@")
        if rule not in REPLACED:
            raise UnsoundPairing(
                f"{text}: against a control verdicts come from the totals of both arms, by 'versus', and not by "
                f"{rule!r}, which compares an arm with a threshold. Name a sampling rule alone, as in policy='value'."
            )
        sampling = "value-normal" if sampling.strip() == "value" else sampling
        return make_policy(f"{sampling}{at}{model}", versus, rewards=rewards, criterion=criterion)

    def check(self, policy: Policy, problem: Problem) -> None:
        check_against_control(policy, problem)

    def step(
        self,
        policy: Policy,
        problem: Problem,
        arms: Sequence[str],
        *,
        horizon: float,
        features: Any,
        seed: int,
        weights: Sequence[float] | None,
    ) -> LiveStep:
        place, margin = arms.index(self.question.arm), self.question.margin
        return ControlStep(policy, problem, place, margin, horizon=horizon, weights=weights)

    def levels(self, problem: Problem, weights: Floats, offsets: Floats) -> Floats:
        return problem.bar.budget - offsets

    def intervals(
        self, policy: Policy, problem: Problem, arms: Sequence[Seen], references: Mapping[str, Seen], levels: Floats
    ) -> tuple[Floats, Floats]:
        """Of the difference from the control; the control's pending samples count at their worst, too."""
        held = references[self.question.arm]
        if not arms or held.pulls + held.pending == 0.0:
            return np.full(len(arms), np.nan), np.full(len(arms), np.nan)
        ends = []
        for side in (0, 1):
            pulls, totals = _columns(arms, side)
            n0, s0 = held.at_worst(1 - side)
            paired = as_if_paired(pulls, totals, s0 / n0)
            found = interval_from_totals(versus, pulls, paired, problem.bar, levels, (n0, s0 / n0), ALWAYS)[side]
            ends.append(2.0 * found - 1.0)
        return ends[0], ends[1]


class PairedEvidence(Evidence[Control]):
    """Differences from the control on the same cases of a fixed test set, by `bet-mixture` in the order of asking.

    For arm and control with the results x and x0 on a case, (1 + x - x0)/2 is the graded result of that case, and the
    bar for its mean over the N cases is (1 + margin)/2 (`goodarm.rules.identification.paired`).

    Certified: P(any wrong verdict) <= delta, however late results come. The N differences of an arm are fixed numbers,
    and its order of the cases is uniformly random and drawn apart from them, so each arm's evidence is that of
    `bet-mixture` on `GradedCases`. It absorbs pairs in the arm's own order, and a pair whose results are not both known
    holds back all later pairs of the arm. So the evidence runs through the same values in the same order as if every
    result had come at once, and late results can only delay a verdict. When the control is evaluated, and for which arm
    first, changes no difference. The arms share the control's results and need not be independent: their shares of
    delta add up to at most 1 (union bound). After its N-th pair an arm is decided for certain.
    """

    def policy(self, given: str | Policy, rewards: Rewards, criterion: str | None) -> Policy:
        """The sampling rule of a policy, with verdicts by `bet-mixture`.

        >>> from goodarm.problem import Cases
        >>> PairedEvidence(Control("now")).policy("value+gap-mixture", Cases(100), None).name
        'value+bet-mixture'
        """
        text = given.name if isinstance(given, Policy) else str(given)
        sampling, rule = (*_PLUS.split(text, maxsplit=1), PAIRED)[:2]
        if rule not in (*REPLACED, PAIRED):
            raise UnsoundPairing(
                f"{text}: against a control on the same cases verdicts come from paired differences, by {PAIRED!r}, "
                f"and not by {rule!r}. Name a sampling rule alone, as in policy='value'."
            )
        return make_policy(f"{sampling}+{PAIRED}", rewards=_graded(rewards), criterion=criterion)

    def check(self, policy: Policy, problem: Problem) -> None:
        if policy.model is not None:
            raise UnsoundPairing(
                f"{policy.name} has a model of the arms' means, and here differences from the control are compared. "
                "Name a policy without a model."
            )
        paired = replace(problem, rewards=_graded(problem.rewards))
        ThresholdEvidence(Threshold(problem.threshold)).check(policy, paired)

    def step(
        self,
        policy: Policy,
        problem: Problem,
        arms: Sequence[str],
        *,
        horizon: float,
        features: Any,
        seed: int,
        weights: Sequence[float] | None,
    ) -> LiveStep:
        """A threshold step of the paired rewards. The control has a row that is never chosen, and no share of delta."""
        place, count = arms.index(self.question.arm), problem.arms
        shares = np.insert(np.full(count, 1.0 / count) if weights is None else np.array(weights), place, NO_SHARE)
        paired = replace(problem, arms=count + 1, rewards=_graded(problem.rewards))
        step = ThresholdStep(policy, paired, horizon=horizon, seed=seed, weights=shares)
        step.suspend(place)
        return step

    def levels(self, problem: Problem, weights: Floats, offsets: Floats) -> Floats:
        return np.array([-math.log(problem.delta * weight) for weight in weights.tolist()])

    def intervals(
        self, policy: Policy, problem: Problem, arms: Sequence[Seen], references: Mapping[str, Seen], levels: Floats
    ) -> tuple[Floats, Floats]:
        """None: the evidence depends on the order of the pairs."""
        return np.full(len(arms), np.nan), np.full(len(arms), np.nan)


class ScoredEvidence(ThresholdEvidence):
    """Labels of a fixed test set against a fixed threshold, where each case has a score by a cheap judge: `score-bets`.

    tenths : of the scores of all cases, arm by arm
    """

    def __init__(self, question: Threshold, tenths: Sequence[Sequence[int]] = ()) -> None:
        super().__init__(question)
        self.tenths = tenths

    def policy(self, given: str | Policy, rewards: Rewards, criterion: str | None) -> Policy:
        """The sampling rule of a policy, with verdicts by `score-bets`.

        >>> from goodarm.problem import ScoredCases
        >>> ScoredEvidence(Threshold(0.8)).policy("value+gap-mixture", ScoredCases(100), None).name
        'value+score-bets'
        """
        text = given.name if isinstance(given, Policy) else str(given)
        sampling, rule = (*_PLUS.split(text, maxsplit=1), score_bets.name)[:2]
        if rule not in (*REPLACED, PAIRED, score_bets.name):
            raise UnsoundPairing(
                f"{text}: with scores verdicts come from the differences between labels and scores, by "
                f"{score_bets.name!r}, and not by {rule!r}. Name a sampling rule alone, as in policy='value'."
            )
        return make_policy(sampling, score_bets, rewards=rewards, criterion=criterion)

    def check(self, policy: Policy, problem: Problem) -> None:
        if policy.model is not None:
            raise UnsoundPairing(
                f"{policy.name} has a model of the arms' means, and here differences between labels and scores decide. "
                "Name a policy without a model."
            )
        check_live(policy, problem.rewards)

    def step(
        self,
        policy: Policy,
        problem: Problem,
        arms: Sequence[str],
        *,
        horizon: float,
        features: Any,
        seed: int,
        weights: Sequence[float] | None,
    ) -> LiveStep:
        return ScoredStep(policy, problem, self.tenths, horizon=horizon, seed=seed, weights=weights)

    def intervals(
        self, policy: Policy, problem: Problem, arms: Sequence[Seen], references: Mapping[str, Seen], levels: Floats
    ) -> tuple[Floats, Floats]:
        """None: the evidence depends on the order of the labels."""
        return np.full(len(arms), np.nan), np.full(len(arms), np.nan)


def _graded(rewards: Rewards) -> GradedCases:
    assert isinstance(rewards, GradedCases)
    return GradedCases(rewards.count)


def _columns(arms: Sequence[Seen], side: int) -> tuple[Floats, Floats]:
    """Samples and sums of all arms, with pending rewards as 0 for the lower end and as 1 for the upper end."""
    pulls, totals = zip(*(seen.at_worst(side) for seen in arms), strict=True)
    return np.array(pulls, dtype=np.float64), np.array(totals, dtype=np.float64)


EVIDENCE: dict[type[Question], Callable[[Any], Evidence[Any]]] = {
    Threshold: ThresholdEvidence,
    Control: ControlEvidence,
}


def evidence_for(
    question: Question, rewards: Rewards = Bounded(), tenths: Sequence[Sequence[int]] = ()
) -> Evidence[Any]:
    """How a question is answered: against a control on a fixed test set, by pairs; with a judge's scores, by these."""
    if isinstance(rewards, ScoredCases):
        if not isinstance(question, Threshold):
            raise InvalidValue("scores are for arms that are compared with a threshold. Leave out scores or control.")
        return ScoredEvidence(question, tenths)
    if isinstance(question, Control) and isinstance(rewards, GradedCases):
        return PairedEvidence(question)
    return EVIDENCE[type(question)](question)
