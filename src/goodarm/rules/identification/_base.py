"""Identification rules decide when an arm is good or bad.

A rule examines the arm that was just pulled, and only that arm's own rewards. A rule that decides by a model of all
arms examines every open arm.

`EvidenceRule`  keeps two e-processes as logarithms, log E+ against "mean <= threshold" and log E- against
                "mean >= threshold". Good when log E+ >= log(K/delta), bad when log E- >= log(K/delta).
`RadiusRule`    keeps no state: good when mean - radius >= threshold, bad when mean + radius < threshold.
`ModelRule`     the same with radius = factor * width, mean and width from a model of all arms (see `models`).

Proof that log(K/delta) suffices in each direction, without a factor 2 (shared by all evidence rules). An arm is either
good or bad, so only one of its two verdicts can be wrong, and the wrong one is given only if the e-process of a true
hypothesis ever reaches K/delta. An e-process is nonnegative with expectation at most 1 at every stopping time, so by
Ville's inequality that happens with probability at most delta/K, whatever rule chooses the pulls. The union over the K
arms gives P(any wrong verdict) <= delta.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from goodarm.errors import InvalidValue
from goodarm.problem import Bar, Bounded, GradedCases, Rewards, SubGaussian
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.parameters import Formula, Rule, parameters_of
from goodarm.verdict import Guarantee

BOUNDED_ONLY: tuple[type, ...] = (Bounded,)
ANY_SUB_GAUSSIAN: tuple[type, ...] = (Bounded, SubGaussian)


@dataclass(frozen=True)
class IdentificationRule(Rule):
    """A rule that decides when an arm is good or bad, with a guarantee and the reward families for which it holds.

    guarantee : heuristic unless declared; `certified` needs a proof in the docstring of the rule's function
    by_totals : whether the verdict is a function of the arm's pulls and total alone, regardless of the order of the
                rewards. Such a rule can judge logs whose order is lost and campaigns whose rewards come late
    memory    : number of numbers that the rule keeps per arm. A single one is returned by `observe`; for more,
                `arm.memory` is the arm's row of numbers, initially 0, which `observe` changes in place
    waits     : no verdict before every arm was pulled once; after that only on the arm that was just pulled, also with
                a model (Tsai, Tsai & Lin, Algorithm 1). For simulated runs
    """

    guarantee: Guarantee = Guarantee.HEURISTIC
    families: tuple[type, ...] = BOUNDED_ONLY
    by_totals: bool = False
    memory: int = 1
    waits: bool = False

    def valid_for(self, rewards: Rewards) -> bool:
        """Whether the guarantee holds for this family of rewards.

        Cases are rewards in [0, 1], but successive draws depend on each other: a proof for independent rewards does not
        cover them, so the rule must name them.
        """
        if isinstance(rewards, GradedCases):
            return isinstance(rewards, tuple(each for each in self.families if issubclass(each, GradedCases)))
        return isinstance(rewards, self.families)


@dataclass(frozen=True, kw_only=True)
class EvidenceRule(IdentificationRule):
    """Evidence, defined by one of two functions; the other one follows from it or does not exist.

    totals(pulls, total, bar, *parameters) -> (log E+, log E-): a function of the totals alone
    one_side(side, pulls, total, bar, *parameters) -> log E+ (side 1) or log E- (side -1), for rules where
                one side costs half as much as both
    observe(arm, reward, pool, bar, *parameters) -> (log E+, log E-, memory): `arm` is the state before the reward
    usual     : `observe` for rewards in [0, 1] that never run out, when most of `observe` handles other reward
                families. The engine compiles it in place of `observe`, in less time
    keeps_likelihoods : after `observe`, `arm.memory` has the likelihoods of the steps of the ladder
                (`goodarm.rules.learners.ladder`) from `LIKELIHOODS` on; a sampling rule may read them
    expected(pulls, total, pool, bar) -> approximate log E+ of such totals with the present learned values; for display
    only, for rules whose evidence depends on the order of the rewards

    sums(reward, bar) -> a row of numbers, and from_sums(row, bar) -> (log E+, log E-): for evidence that follows from a
        few sums over the rewards, in any order. Such a rule also defines `observe`, and keeps the sums in `arm.memory`.
        Totals
    are the special case sums(x) = (1, x). It holds for rewards that never run out, not for cases.
    """

    observe: Formula = None  # type: ignore[assignment]  # filled in from `totals` where it is not given
    usual: Formula | None = None
    totals: Formula | None = None
    one_side: Formula | None = None
    expected: Formula | None = None
    sums: Formula | None = None
    from_sums: Formula | None = None
    keeps_likelihoods: bool = False

    def __post_init__(self) -> None:
        derived = observe_totals(self.totals) if self.totals else self.observe
        if derived is None or self.observe not in (None, derived):
            raise InvalidValue(f"the evidence rule {self.name!r} needs either observe or totals; got both or neither.")
        object.__setattr__(self, "observe", derived)
        object.__setattr__(self, "by_totals", self.totals is not None)

    @property
    def formula(self) -> Formula:
        return self.totals or self.observe

    @property
    def defaults(self) -> dict[str, float]:
        return parameters_of(self.totals, skip=3) if self.totals else parameters_of(self.observe, skip=4)


@dataclass(frozen=True, kw_only=True)
class RadiusRule(IdentificationRule):
    """radius(arm, pool, bar, *parameters) -> half-width of the interval around the arm's own mean S/N.

    by_model : the interval lies around arm.mean, which is the model's if there is one; then every open arm is examined,
               unless the rule `waits`. Only for rules without a proof, since a proof about S/N does not apply to a
               model's mean.
    """

    radius: Formula
    by_model: bool = False

    def __post_init__(self) -> None:
        if self.by_model and self.guarantee is Guarantee.CERTIFIED:
            raise InvalidValue(
                f"the radius rule {self.name!r} can't be certified with by_model=True: a proof about an arm's own mean "
                "S/N says nothing about a model's mean. Leave by_model out, or write a ModelRule."
            )

    @property
    def formula(self) -> Formula:
        return self.radius


@dataclass(frozen=True, kw_only=True)
class ModelRule(IdentificationRule):
    """factor(log_det, regulariser, pool, bar, *parameters) -> half-width of every arm's interval in units of its width.

    log_det is log det V - log det V_0 and regulariser the ridge, or a kernel's gamma. A parameter whose default is NaN
    has no safe value and must be given. A factor of inf means no verdict in this round.

    models : names of the models under which the proof holds
    blind  : the proof needs a sampling rule that ignores rewards; then decided arms may be pulled again
    """

    factor: Formula
    models: tuple[str, ...]
    blind: bool = False
    beliefs: ClassVar[int] = 4

    @property
    def formula(self) -> Formula:
        return self.factor


@cache
def observe_totals(totals: Formula) -> Formula:
    """The evidence after one more reward, for rules by totals."""

    def observe(arm: Arm, reward: float, pool: Pool, bar: Bar, *parameters: float) -> tuple[float, float, float]:
        for_good, for_bad = totals(arm.pulls + 1.0, arm.total + reward, bar, *parameters)
        return for_good, for_bad, 0.0

    return observe


def decide_by_evidence(arm: Arm, bar: Bar) -> float:
    """The verdict of every evidence rule: 1 good, -1 bad, 0 open."""
    if arm.for_good >= bar.budget:
        return 1.0
    if arm.for_bad >= bar.budget:
        return -1.0
    return 0.0


def decide_by_radius(arm: Arm, radius: float, bar: Bar) -> float:
    """The verdict of every radius rule, around the arm's own mean S/N, even if there is a model."""
    return decide_around(arm.total / arm.pulls, radius, bar)


def decide_around(mean: float, radius: float, bar: Bar) -> float:
    """The verdict of an interval: 1 good, -1 bad, 0 open."""
    if mean - radius >= bar.threshold:
        return 1.0
    if mean + radius < bar.threshold:
        return -1.0
    return 0.0


def keep_nothing(arm: Arm, reward: float, pool: Pool, bar: Bar) -> tuple[float, float, float]:
    """`observe` of a rule without evidence."""
    return 0.0, 0.0, 0.0
