"""The evidence for each kind of question: the policies that can answer it, the live step, and the intervals.

`goodarm.question` defines the questions, and this module their answers. A new kind has one entry in `EVIDENCE`, and one
in `OF_FAMILY` for each family of rewards for which its evidence is another.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.compile import ALWAYS, TOTALS, just_in_time
from goodarm.engine.live.bars import BarsStep
from goodarm.engine.live.checks import by_totals, check_against_control, check_live
from goodarm.engine.live.control import ControlStep
from goodarm.engine.live.step import LiveStep
from goodarm.engine.live.threshold import ScoredStep, ThresholdStep, rehearse
from goodarm.engine.totals import either_side, evidence_from_totals, interval_from_totals
from goodarm.errors import InvalidValue, Refused, UnknownName, UnsoundPairing
from goodarm.policies import Policy
from goodarm.policies import policy as make_policy
from goodarm.problem import Bar, Bounded, GradedCases, Problem, Rewards, ScoredCases, bar_at
from goodarm.question import Bars, Control, Metric, Question, Reward, Threshold, registered
from goodarm.rules.identification import EvidenceRule, RadiusRule
from goodarm.rules.identification.several_bars import failing_bar
from goodarm.rules.identification.versus import as_if_paired, versus
from goodarm.rules.identification.with_scores import score_bets
from goodarm.rules.parameters import Formula, take
from goodarm.rules.sampling import IndexRule
from goodarm.verdict import Basis, Criterion, Guarantee
from goodarm.wire import jsonable

Floats = NDArray[np.float64]
Kind = TypeVar("Kind", bound=Question)

REPLACED = ("versus", "gap-mixture")
"""Identification rules that `versus` may replace silently: itself and the default."""
PAIRED = "bet-mixture"
"""The identification rule for paired differences."""
NO_SHARE = 1e-12
"""Share of delta of an arm that gets no verdict. It is positive, and below the tolerance for the sum of all shares."""
HALVINGS = 30
"""Steps of the bisection for the upper end of an interval: to a billionth."""
_PLUS = re.compile(r"\+(?![^()]*\))")


class Seen(NamedTuple):
    """Input of an interval: number of counted rewards, their sum, and number of pending samples."""

    pulls: float
    total: Reward
    pending: float = 0.0

    def at_worst(self, reward: int) -> tuple[float, float]:
        """Samples and sum if each pending reward is 0, or 1."""
        assert isinstance(self.total, float | int)
        return self.pulls + self.pending, self.total + self.pending * reward


class MetricState(NamedTuple):
    """Estimates of one metric of an arm, in the metric's own direction.

    metric, bar, at_least : the metric, its bar, and on which side of it good arms lie
    mean, low, high : mean of the told rewards, and ends of the interval not refuted by the evidence; NaN if unknown
    evidence        : for the side on which the mean lies
    failed          : whether a bad verdict names this metric
    """

    metric: str
    bar: float
    at_least: bool
    mean: float
    low: float
    high: float
    evidence: float
    failed: bool = False

    def as_json(self) -> dict[str, Any]:
        """All fields as JSON."""
        found: dict[str, Any] = jsonable(self._asdict())
        return found


class EvidencePath(NamedTuple):
    """Interval and evidence of an arm over time, one entry per point; NaN where they are unknown."""

    low: Floats
    high: Floats
    for_good: Floats
    for_bad: Floats


def has_intervals(policy: Policy) -> bool:
    """Whether the evidence is a function of totals, from which an interval can be computed."""
    rule = policy.identification
    by_own_totals = rule.by_totals and policy.decided_by is Basis.OWN and rule.guarantee is not Guarantee.NONE
    return by_own_totals and not (isinstance(rule, RadiusRule) and rule.by_model)


class Setup(NamedTuple):
    """Arguments of a live step.

    arms     : ids of all arms, reference arms included
    horizon  : planned number of samples, inf without a plan
    features : features of the arms, for a model without its own
    weights  : each arm's share of delta, reference arms excluded; 1/K each if None
    costs    : cost of a sample of each arm, reference arms included; 1 each if None
    """

    policy: Policy
    problem: Problem
    arms: Sequence[str]
    horizon: float = math.inf
    features: Any = None
    seed: int = 0
    weights: Sequence[float] | None = None
    costs: Sequence[float] | None = None


class Evidence(ABC, Generic[Kind]):
    """The answer to one kind of question: policies, live step and intervals.

    tenths   : tenths of the scores of all cases, arm by arm, where a judge scored them
    own_mean : whether an arm is decided by comparing its own mean with one number. The simulator's compiled loop and
               the limits in `goodarm.theory` require this
    """

    own_mean: ClassVar[bool] = False

    def __init__(self, question: Kind, tenths: Sequence[Sequence[int]] = ()) -> None:
        self.question, self.tenths = question, tenths

    @property
    def paired_with(self) -> str | None:
        """The arm whose results on the same cases are compared with those of every arm, if there is one."""
        return None

    @abstractmethod
    def policy(self, given: str | Policy, rewards: Rewards, criterion: str | None) -> Policy:
        """The policy that answers the question, from the caller's choice."""

    @abstractmethod
    def check(self, policy: Policy, problem: Problem) -> None:
        """Refuse a policy that can't answer the question live. Called once, at the creation of a campaign."""

    def check_simulated(self, policy: Policy, problem: Problem) -> None:
        """Refuse a policy that can't answer the question in a simulation."""
        self.check(policy, problem)

    @abstractmethod
    def step(self, given: Setup) -> LiveStep:
        """The live step of a campaign."""

    def levels(self, problem: Problem, weights: Floats, offsets: Floats) -> Floats:
        """Evidence that refutes a value at each arm's share of delta.

        weights : shares of delta
        offsets : evidence that the live step gives each arm for its share
        """
        return np.array([-math.log(problem.delta * weight) for weight in weights.tolist()])

    @abstractmethod
    def intervals(
        self, policy: Policy, problem: Problem, arms: Sequence[Seen], references: Mapping[str, Seen], levels: Floats
    ) -> tuple[Floats, Floats]:
        """Lower and upper ends of the values that the evidence has not refuted, with pending samples at their worst.

        references : totals of the question's reference arms
        """

    def metrics(
        self, policy: Policy, problem: Problem, seen: Seen, weight: float, verdict: int = 0
    ) -> list[MetricState]:
        """Estimates of each metric of an arm with this share of delta, where a reward has several."""
        return []

    def path(self, policy: Policy, problem: Problem, points: Sequence[Seen], weight: float) -> EvidencePath:
        """How interval and evidence of an arm with this share of delta grew, with pending samples at their worst.

        Unknown where the arm's own totals do not show it.

        points : what was told of the arm at each time
        """
        return EvidencePath(*np.full((len(EvidencePath._fields), len(points)), np.nan))


class ThresholdEvidence(Evidence[Threshold]):
    """Each arm's own rewards against a fixed threshold."""

    own_mean: ClassVar[bool] = True

    def policy(self, given: str | Policy, rewards: Rewards, criterion: str | None) -> Policy:
        return make_policy(given, rewards=rewards, criterion=criterion)

    def check_simulated(self, policy: Policy, problem: Problem) -> None:
        check_live(policy, problem.rewards)
        if policy.certificate is not None:
            raise UnsoundPairing(
                f"{policy.name} was calibrated on simulated runs of one problem, and its certificate does not cover a "
                "live campaign. Use a certified policy, for example 'value+gap-mixture'."
            )

    def check(self, policy: Policy, problem: Problem) -> None:
        self.check_simulated(policy, problem)
        try:
            found = make_policy(policy.name, rewards=problem.rewards, criterion=policy.criterion)
        except (UnknownName, InvalidValue):
            found = None
        if found is None or (found.sampling, found.identification) != (policy.sampling, policy.identification):
            raise Refused(
                f"the policy {policy.name!r} has a rule without a registered name, so no other process could open the "
                "campaign. Register it by an entry point, as CONTRIBUTING.md describes, and pass its name."
            )
        rehearse(policy, problem)

    def step(self, given: Setup) -> LiveStep:
        return ThresholdStep(
            given.policy,
            given.problem,
            horizon=given.horizon,
            features=given.features,
            seed=given.seed,
            weights=given.weights,
            costs=given.costs,
        )

    def intervals(
        self, policy: Policy, problem: Problem, arms: Sequence[Seen], references: Mapping[str, Seen], levels: Floats
    ) -> tuple[Floats, Floats]:
        rule = policy.identification
        values = take(policy.setting.identification, rule.defaults)
        low, high = (
            interval_from_totals(rule, *_columns(arms, side), problem.bar, levels, values)[side] for side in (0, 1)
        )
        return low, high

    def path(self, policy: Policy, problem: Problem, points: Sequence[Seen], weight: float) -> EvidencePath:
        """Interval and evidence from the totals at each time. Only told rewards count if they have no worst value."""
        if not has_intervals(policy):
            return super().path(policy, problem, points, weight)
        if not by_totals(policy, problem.rewards):
            points = [point._replace(pending=0.0) for point in points]
        rule, bar, need = policy.identification, problem.bar, math.log(1.0 / (problem.delta * weight))
        values = take(policy.setting.identification, rule.defaults)
        debt = bar.budget - need  # the evidence of an arm with a smaller share starts below 0
        for_good, for_bad = (
            evidence_from_totals(rule, *_columns(points, side), bar, values)[side] + debt for side in (0, 1)
        )
        levels = np.full(len(points), need)
        return EvidencePath(*self.intervals(policy, problem, points, {}, levels), for_good, for_bad)


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
        text, sampling, rule = _named(given, "versus")
        rule, at, model = rule.partition("@")
        if rule not in REPLACED:
            raise UnsoundPairing(
                f"{text}: in a comparison with a control, verdicts use the totals of both arms ('versus'), not "
                f"{rule!r}, which compares an arm with a threshold. Name a sampling rule alone, as in policy='value'."
            )
        sampling = "value-normal" if sampling.strip() == "value" else sampling
        return make_policy(f"{sampling}{at}{model}", versus, rewards=rewards, criterion=criterion)

    def check(self, policy: Policy, problem: Problem) -> None:
        check_against_control(policy, problem)

    def step(self, given: Setup) -> LiveStep:
        policy, problem, *_ = given
        place, margin = given.arms.index(self.question.arm), self.question.margin
        return ControlStep(
            policy, problem, place, margin, horizon=given.horizon, weights=given.weights, costs=given.costs
        )

    def levels(self, problem: Problem, weights: Floats, offsets: Floats) -> Floats:
        return problem.bar.budget - offsets

    def intervals(
        self, policy: Policy, problem: Problem, arms: Sequence[Seen], references: Mapping[str, Seen], levels: Floats
    ) -> tuple[Floats, Floats]:
        """Interval of the difference from the control. The control's pending samples also count at their worst."""
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
    holds back all later pairs of the arm. So the evidence takes the same values in the same order as if every result
    had come at once, and late results can only delay a verdict. The time of the control's evaluation, and the arm that
    causes it, change no difference. The arms share the control's results and need not be independent: their shares of
    delta add up to at most 1 (union bound). After its N-th pair, an arm is certain to be decided.
    """

    @property
    def paired_with(self) -> str:
        return self.question.arm

    def policy(self, given: str | Policy, rewards: Rewards, criterion: str | None) -> Policy:
        """The sampling rule of a policy, with verdicts by `bet-mixture`.

        >>> from goodarm.problem import Cases
        >>> PairedEvidence(Control("now")).policy("value+gap-mixture", Cases(100), None).name
        'value+bet-mixture'
        """
        text, sampling, rule = _named(given, PAIRED)
        if rule not in (*REPLACED, PAIRED):
            raise UnsoundPairing(
                f"{text}: in a comparison with a control on the same cases, verdicts use paired differences "
                f"({PAIRED!r}), not {rule!r}. Name a sampling rule alone, as in policy='value'."
            )
        return make_policy(f"{sampling}+{PAIRED}", rewards=_graded(rewards), criterion=criterion)

    def check(self, policy: Policy, problem: Problem) -> None:
        _refuse_model(policy, "compares differences from the control")
        paired = replace(problem, rewards=_graded(problem.rewards))
        ThresholdEvidence(Threshold(problem.threshold)).check(policy, paired)

    def step(self, given: Setup) -> LiveStep:
        """A threshold step of the paired rewards. The control has a row that is never chosen, and no share of delta."""
        problem, place = given.problem, given.arms.index(self.question.arm)
        count = problem.arms
        own = np.full(count, 1.0 / count) if given.weights is None else np.array(given.weights)
        step = ThresholdStep(
            given.policy,
            replace(problem, arms=count + 1, rewards=_graded(problem.rewards)),
            horizon=given.horizon,
            seed=given.seed,
            weights=np.insert(own, place, NO_SHARE),
            costs=given.costs,
        )
        step.suspend(place)
        return step

    def intervals(
        self, policy: Policy, problem: Problem, arms: Sequence[Seen], references: Mapping[str, Seen], levels: Floats
    ) -> tuple[Floats, Floats]:
        """None: the evidence depends on the order of the pairs."""
        return np.full(len(arms), np.nan), np.full(len(arms), np.nan)


class ScoredEvidence(ThresholdEvidence):
    """Labels of a fixed test set against a fixed threshold, with a cheap judge's score for each case: `score-bets`."""

    def policy(self, given: str | Policy, rewards: Rewards, criterion: str | None) -> Policy:
        """The sampling rule of a policy, with verdicts by `score-bets`.

        >>> from goodarm.problem import ScoredCases
        >>> ScoredEvidence(Threshold(0.8)).policy("value+gap-mixture", ScoredCases(100), None).name
        'value+score-bets'
        """
        text, sampling, rule = _named(given, score_bets.name)
        if rule not in (*REPLACED, PAIRED, score_bets.name):
            raise UnsoundPairing(
                f"{text}: with scores, verdicts use the differences between labels and scores ({score_bets.name!r}), "
                f"not {rule!r}. Name a sampling rule alone, as in policy='value'."
            )
        return make_policy(sampling, score_bets, rewards=rewards, criterion=criterion)

    def check(self, policy: Policy, problem: Problem) -> None:
        _refuse_model(policy, "decides by differences between labels and scores")
        check_live(policy, problem.rewards)

    def check_simulated(self, policy: Policy, problem: Problem) -> None:
        self.check(policy, problem)

    def step(self, given: Setup) -> LiveStep:
        policy, problem, _, horizon, _, seed, weights, costs = given
        return ScoredStep(policy, problem, self.tenths, horizon=horizon, seed=seed, weights=weights, costs=costs)

    def intervals(
        self, policy: Policy, problem: Problem, arms: Sequence[Seen], references: Mapping[str, Seen], levels: Floats
    ) -> tuple[Floats, Floats]:
        """None: the evidence depends on the order of the labels."""
        return np.full(len(arms), np.nan), np.full(len(arms), np.nan)


class BarsEvidence(Evidence[Bars]):
    """Every metric's totals against its bar: E_good = min_j E+_j, E_bad = mean_j E-_j (`goodarm.engine.live.bars`)."""

    def policy(self, given: str | Policy, rewards: Rewards, criterion: str | None) -> Policy:
        return make_policy(given, rewards=rewards, criterion=criterion)

    def check_simulated(self, policy: Policy, problem: Problem) -> None:
        if type(problem.rewards) is not Bounded:
            raise UnsoundPairing(
                f"several bars are judged by totals of metrics in [0, 1]; these are {problem.rewards}. Rescale each "
                "metric to [0, 1], and leave rewards and cases out."
            )
        if policy.criterion is Criterion.FDR:
            raise UnsoundPairing(
                "with several bars the criterion is fwer: each arm is decided by itself. Leave criterion out."
            )
        rule, sampling = policy.identification, policy.sampling
        if policy.model is not None or not isinstance(rule, EvidenceRule) or rule.totals is None:
            raise UnsoundPairing(
                f"{policy.name} can't judge several bars: this requires a rule whose evidence follows from totals, "
                "without a model of the arms. Use 'value+gap-mixture'."
            )
        if not isinstance(sampling, IndexRule):
            raise UnsoundPairing(
                f"{policy.name} can't choose with several bars, which requires an index for each arm separately. Use "
                "value, settle or uniform."
            )
        ThresholdEvidence(Threshold(problem.threshold)).check_simulated(policy, problem)

    def check(self, policy: Policy, problem: Problem) -> None:
        self.check_simulated(policy, problem)
        ThresholdEvidence(Threshold(problem.threshold)).check(policy, problem)

    def step(self, given: Setup) -> LiveStep:
        policy, problem, _, horizon, _, _, weights, costs = given
        return BarsStep(policy, problem, self.question.metrics, horizon=horizon, weights=weights, costs=costs)

    def intervals(
        self, policy: Policy, problem: Problem, arms: Sequence[Seen], references: Mapping[str, Seen], levels: Floats
    ) -> tuple[Floats, Floats]:
        """Interval of min_j (mean_j - bar_j), the smallest distance from a bar.

        low  : the smallest of the metrics' lower ends minus their bars, since a good verdict must refute all of them
        high : the shift s of all bars at which mean_j E-_j(bar_j + s) is the level: min_j (mean_j - bar_j) >= s says
               that every metric clears its shifted bar, and this evidence refutes it
        """
        low, high = np.full(len(arms), np.inf), np.empty(len(arms))
        for metric, pulls, worst, _ in self._turned(arms):
            ends = self._ends(policy, problem, metric.threshold, pulls, worst, levels)[0]
            low = np.minimum(low, ends - metric.threshold)
        rule = policy.identification
        assert isinstance(rule, EvidenceRule)
        turned = list(self._turned(arms))
        thresholds = np.array([metric.threshold for metric, *_ in turned])
        sums = np.array([total for *_, total in turned])
        shift = just_in_time(_shifts(rule.one_side or either_side(rule.formula)), TOTALS, over=0)
        shift(turned[0][1], sums, levels, thresholds, problem.bar, self._values(policy), high)
        return low, high

    def metrics(
        self, policy: Policy, problem: Problem, seen: Seen, weight: float, verdict: int = 0
    ) -> list[MetricState]:
        """Each metric with its interval at the arm's level.

        With a good verdict, all intervals are on the right side of their bars. With a bad one, that of the named metric
        is on the wrong side.
        """
        found, for_bad = [], []
        offset = math.log(weight * problem.arms)
        levels = self.levels(problem, np.array([weight]), np.array([offset]))
        for j, (metric, pulls, low_total, high_total) in enumerate(self._turned([seen])):
            bar, values = bar_at(problem.bar, metric.threshold), self._values(policy)
            rule = policy.identification
            low = self._ends(policy, problem, metric.threshold, pulls, low_total, levels)[0]
            high = self._ends(policy, problem, metric.threshold, pulls, high_total, levels)[1]
            good = evidence_from_totals(rule, pulls, low_total, bar, values)[0] if pulls[0] else np.zeros(1)
            bad = evidence_from_totals(rule, pulls, high_total, bar, values)[1] if pulls[0] else np.zeros(1)
            for_bad.append(float(bad[0]) + offset)
            assert isinstance(seen.total, tuple)
            mean = seen.total[j] / seen.pulls if seen.pulls else math.nan
            ends = sorted(float(metric.turned(end[0])) for end in (low, high))
            above = math.isnan(mean) or metric.turned(mean) >= metric.threshold
            evidence = float(good[0] if above else bad[0]) + offset
            found.append(MetricState(metric.name, metric.bar, metric.at_least, mean, ends[0], ends[1], evidence))
        if verdict < 0:
            named = failing_bar(for_bad)
            found[named] = found[named]._replace(failed=True)
        return found

    def _turned(self, arms: Sequence[Seen]) -> Iterator[tuple[Metric, Floats, Floats, Floats]]:
        """Each metric, turned so that more is better: samples, and sums with pending rewards as 0 and as 1."""
        told = np.array([seen.pulls for seen in arms], dtype=np.float64)
        pending = np.array([seen.pending for seen in arms], dtype=np.float64)
        sums = np.array([seen.total for seen in arms], dtype=np.float64)
        for j, metric in enumerate(self.question.metrics):
            total = metric.turned(sums[:, j], told)
            yield metric, told + pending, total, total + pending

    def _ends(
        self, policy: Policy, problem: Problem, threshold: float, pulls: Floats, totals: Floats, levels: Floats
    ) -> tuple[Floats, Floats]:
        bar = bar_at(problem.bar, threshold)
        return interval_from_totals(policy.identification, pulls, totals, bar, levels, self._values(policy))

    def _values(self, policy: Policy) -> tuple[float, ...]:
        return take(policy.setting.identification, policy.identification.defaults)


def _named(given: str | Policy, rule: str) -> tuple[str, str, str]:
    """The name of a policy, its sampling rule, and its identification rule: `rule` if it names none."""
    text = given.name if isinstance(given, Policy) else str(given)
    sampling, identification = (*_PLUS.split(text, maxsplit=1), rule)[:2]
    return text, sampling, identification


def _refuse_model(policy: Policy, does: str) -> None:
    if policy.model is not None:
        raise UnsoundPairing(
            f"{policy.name} has a model of the arms' means, but this campaign {does}. Name a policy without a model."
        )


def _graded(rewards: Rewards) -> GradedCases:
    assert isinstance(rewards, GradedCases)
    return GradedCases(rewards.count)


def _columns(arms: Sequence[Seen], side: int) -> tuple[Floats, Floats]:
    """Samples and sums of all arms, with pending rewards as 0 for the lower end and as 1 for the upper end."""
    pulls, totals = zip(*(seen.at_worst(side) for seen in arms), strict=True)
    return np.array(pulls, dtype=np.float64), np.array(totals, dtype=np.float64)


@cache
def _shifts(one_side: Formula) -> Formula:
    """Loop over arms: the largest shift of all bars that the average evidence for bad has not refuted.

    The end agrees with the verdict: it lies below 0 exactly where the evidence at the bars themselves suffices.
    """

    def refuted(
        shift: float, pulls: float, sums: Floats, level: float, thresholds: Floats, bar: Bar, values: Any
    ) -> bool:
        top, kept = -math.inf, np.full(len(thresholds), -math.inf)
        for j in range(len(thresholds)):
            if thresholds[j] + shift > 0.0:  # no mean lies below 0, so nothing can refute this end
                kept[j] = one_side(-1.0, pulls, sums[j], bar_at(bar, thresholds[j] + shift), *values)
            top = max(top, kept[j])
        if top == -math.inf:
            return False
        mean = 0.0
        for j in range(len(thresholds)):
            mean += math.exp(kept[j] - top) / len(thresholds)
        return top + math.log(mean) >= level

    def shifts(
        pulls: Floats, sums: Floats, levels: Floats, thresholds: Floats, bar: Bar, values: Any, found: Floats
    ) -> None:
        for i in range(len(pulls)):
            low, high = -thresholds.max(), (1.0 - thresholds).min()
            if pulls[i] > 0.0:
                if refuted(0.0, pulls[i], sums[:, i], levels[i], thresholds, bar, values):
                    high = 0.0
                else:
                    low = 0.0
                for _ in range(HALVINGS):
                    middle = 0.5 * (low + high)
                    if refuted(middle, pulls[i], sums[:, i], levels[i], thresholds, bar, values):
                        high = middle
                    else:
                        low = middle
            found[i] = high

    return shifts


Answers = dict[type[Question], Callable[..., Evidence[Any]]]

EVIDENCE: Answers = {Threshold: ThresholdEvidence, Control: ControlEvidence, Bars: BarsEvidence}


class OfFamily(NamedTuple):
    """Evidence for one family of rewards.

    only : why other kinds can't be answered with these rewards; empty if they have their evidence in `EVIDENCE`
    """

    answers: Answers
    only: str = ""


OF_FAMILY: dict[type[Rewards], OfFamily] = {
    ScoredCases: OfFamily(
        {Threshold: ScoredEvidence},
        "scores require a comparison with a threshold. Leave out scores or control.",
    ),
    GradedCases: OfFamily({Control: PairedEvidence}),
}
"""Pairs against a control on a fixed test set, and score bets with a judge's scores; special families first."""


def evidence_for(
    question: Question, rewards: Rewards = Bounded(), tenths: Sequence[Sequence[int]] = ()
) -> Evidence[Any]:
    """The evidence for a question, by its kind and by the family of the rewards."""
    kind = type(question)
    for answers, only in (found for family, found in OF_FAMILY.items() if isinstance(rewards, family)):
        if kind in answers:
            return answers[kind](question, tenths)
        if only:
            raise InvalidValue(only)
    return registered(EVIDENCE, kind, "evidence in `goodarm.engine.evidence.EVIDENCE`")(question)
