"""`check_identification`: check that an identification rule has all required properties and keeps its guarantee."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from goodarm.numerics import log_normal_cdf
from goodarm.policies import policy
from goodarm.policies.names import identification_rule
from goodarm.problem import Bounded, Cases, Gaussian, GradedCases, Problem
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification import EvidenceRule, IdentificationRule, ModelRule, RadiusRule
from goodarm.testing.checks import require
from goodarm.testing.error_rates import AT_THE_THRESHOLD, Trial, instances_for, require_error_rate
from goodarm.testing.exact_error import (
    can_be_computed,
    exact_error,
    require_exact_error_of_cases,
    require_fair_over_all_orders,
    verdicts_at,
)
from goodarm.testing.fair_game import SCALES
from goodarm.testing.kit import check_policy
from goodarm.testing.model_rules import MODEL_TRIALS, require_error_rate_under_model, require_pointwise_coverage
from goodarm.testing.slow_checks import check_tree_and_scans_agree
from goodarm.testing.subject import Subject, usual_environments
from goodarm.verdict import Guarantee

EXACT = ((0.5, 1000, 10_000), (0.5, 10, 100_000), (0.01, 10, 100_000), (0.99, 10, 100_000), (0.5, 1, 300_000))
"""Threshold, arms and pulls at which the error of one arm is computed exactly, at delta = 0.1."""
THRESHOLDS, ARMS, DELTAS = (0.5, 0.05), (1, 30, 1000), (0.3, 0.05, 0.001, 1e-6, 1e-12)
"""Every combination of these is computed over `FEW` pulls: a rule that ignores delta or the number of arms exceeds the
permitted error at extreme values, even if it is cautious at usual ones."""
FEW = 2000
ON_CASES = ((0.8, 100, 1), (0.5, 200, 40), (0.03, 300, 1), (0.97, 300, 1))
"""Threshold, cases and arms at which the error on a fixed test set is computed exactly, at delta = 0.05."""
SHORT = Trial()
"""3000 runs of 800 rounds under an adversary."""
LONG = Trial(runs=400, horizon=50_000)
"""Runs with one arm at the threshold, for rules whose error can't be computed."""


@dataclass(frozen=True)
class RuleCheck:
    """One property of one rule; call it, and it raises `Violation` if the rule lacks the property."""

    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        self.run()

    def __str__(self) -> str:
        return self.name


def check_identification(rule: str | IdentificationRule) -> list[str]:
    """Check a rule from end to end, in seconds to a minute; raises `Violation`, or returns the names of the checks.

    Mechanics of every rule: verdicts are final; runs can be repeated, resumed and permuted; compiled code gives the
        same verdicts as Python; a rule by totals does not depend on the order of the rewards.

    A `certified` rule must keep its guarantee:

    - Every bet of an evidence rule is fair, computed exactly (`goodarm.testing.fair_game`): with 1 to 1000 arms, at
      deltas down to 1e-6, after up to 1000 rewards, and up to a million if the rule keeps no memory.
    - The exact error of a rule by totals, or of a radius, on one arm at the threshold is at most delta/K: for every
      combination of 1, 30 and 1000 arms and deltas from 0.3 to 1e-12, and up to 300,000 pulls at delta = 0.1.
    - A rule that is certified for fixed test sets: the exact error of a rule by totals next to the bar is at most
      delta/K, and every arm is decided by its last case; evidence in order is fair over all orders of six cases.
    - An adversary finds at most delta wrong runs: 3000 runs of 800 rounds on each hard instance, where an error rate
      of 0.142 in place of 0.1 is detected with probability 0.9. A sound rule fails one such test with probability at
      most 2e-9. Evidence that needs more than the totals also plays 400 runs of 50,000 rounds, which detect 0.225.
    - A rule that decides by a model: its interval covers an arm at any one time, computed exactly for deltas down to
      1e-12, and an adversary finds at most delta wrong runs if the model is true (`goodarm.testing.model_rules`).

    These checks can't detect an error that appears only beyond these horizons or with rewards of another law, or a
    wrong constant in a rule that uses only a small part of delta. The proof must cover these.

    >>> check_identification("none")
    ['mechanics', 'compiled as in Python']
    """
    checks = identification_checks(rule)
    for check in checks:
        check()
    return [check.name for check in checks]


def identification_checks(rule: str | IdentificationRule) -> list[RuleCheck]:
    """The single checks of a rule, for `pytest.mark.parametrize("check", ..., ids=str)`."""
    found = identification_rule(rule) if isinstance(rule, str) else rule
    if isinstance(found, ModelRule):
        return list(model_checks(found))
    found_checks = [
        RuleCheck("mechanics", partial(_mechanics, found)),
        RuleCheck("compiled as in Python", partial(_compiled, found)),
    ]
    if found.guarantee is not Guarantee.CERTIFIED:
        return found_checks
    if found.valid_for(Bounded()):
        found_checks += long_checks(found)
    found_checks += checks_on_cases(found)
    if isinstance(found, RadiusRule) and found.valid_for(Gaussian(1.0)):
        found_checks.append(RuleCheck("radius of Gaussian rewards", partial(require_gaussian_radius, found)))
    return found_checks + [
        RuleCheck(f"errors of {SHORT.runs} runs: {instance}", partial(require_error_rate, found, instance, SHORT))
        for instance in instances_for(found)
    ]


def model_checks(rule: ModelRule) -> Iterator[RuleCheck]:
    """Checks of a rule that is certified under a model of the arms."""
    if rule.guarantee is Guarantee.CERTIFIED_UNDER_MODEL:
        yield RuleCheck("coverage at any one time", partial(require_pointwise_coverage, rule))
        for trial in MODEL_TRIALS:
            name = f"errors of {trial.runs} runs under the model, delta {trial.delta:g}"
            yield RuleCheck(name, partial(require_error_rate_under_model, rule, trial))


def long_checks(rule: IdentificationRule) -> Iterator[RuleCheck]:
    """Checks of a rule certified for rewards in [0, 1] over many pulls, with many arms and at any delta."""
    if not can_be_computed(rule):
        run = partial(require_error_rate, rule, AT_THE_THRESHOLD, LONG)
        yield RuleCheck(f"errors of {LONG.runs} runs of {LONG.horizon:,} pulls", run)
        return
    yield RuleCheck("verdicts are monotone in the total", partial(require_monotone, rule))
    yield RuleCheck("exact error, every number of arms and delta", partial(require_exact_errors, rule))
    for threshold, arms, pulls in EXACT:
        name = f"exact error, threshold {threshold:g}, {arms} arms, {pulls:,} pulls"
        yield RuleCheck(name, partial(require_exact_error, rule, threshold, arms, pulls))


def checks_on_cases(rule: IdentificationRule) -> Iterator[RuleCheck]:
    """Checks of a rule certified for fixed test sets."""
    if not isinstance(rule, EvidenceRule):
        return
    if rule.by_totals and rule.valid_for(Cases(1)):
        for threshold, cases, arms in ON_CASES:
            name = f"exact error on {cases} cases, threshold {threshold:g}, {arms} arms"
            yield RuleCheck(name, partial(require_exact_error_of_cases, rule, threshold, cases, arms))
    elif rule.valid_for(GradedCases(1)):
        yield RuleCheck("a fair game over all orders of six cases", partial(require_fair_over_all_orders, rule))


def require_exact_errors(rule: IdentificationRule) -> None:
    """The exact error over `FEW` pulls for every number of arms and every delta."""
    for threshold, arms, delta in itertools.product(THRESHOLDS, ARMS, DELTAS):
        require_exact_error(rule, threshold, arms, FEW, delta)


def require_gaussian_radius(rule: RadiusRule) -> None:
    """After any number of Gaussian rewards, P(mean - radius >= mu) <= delta/K: necessary, and computed exactly."""
    values = tuple(rule.defaults.values())
    for (threshold, scale), arms, delta in itertools.product(SCALES, ARMS, DELTAS):
        bar = Problem(threshold, arms, delta, Gaussian(scale)).bar
        for pulls in (1.0, 2.0, 3.0, 10.0, 64.0, 1e3, 1e6):
            arm = Arm(pulls, pulls * threshold, threshold, 1.0 / math.sqrt(pulls), 0.0, 0.0, 0.0, 0.0)
            radius = float(rule.radius(arm, Pool(pulls, 1e6), bar, *values))
            require(
                log_normal_cdf(-radius * math.sqrt(pulls) / scale) <= -bar.budget,
                f"the radius of {rule.name} is {radius:.4g} after {pulls:g} Gaussian rewards of scale {scale:g}: too "
                f"small for {arms} arms and delta {delta:g}",
            )


def require_exact_error(
    rule: IdentificationRule, threshold: float, arms: int, pulls: int, delta: float = 0.1, **values: float
) -> None:
    """Require P(wrong verdict on one arm within `pulls` pulls) <= delta/K, computed exactly."""
    error = exact_error(rule, threshold, arms=arms, delta=delta, pulls=pulls, **values)
    require(
        error.worst <= delta / arms,
        f"{rule.name} gives a wrong verdict on one arm at the threshold {threshold:g} with probability "
        f"{error.worst:.4g} within {pulls:,} pulls; with {arms} arms and delta {delta:g} at most {delta / arms:g} is "
        "allowed. Does it take a union bound over the numbers of pulls and over the arms?",
    )


def require_monotone(rule: IdentificationRule) -> None:
    """Require that more successes never make an arm look worse, which the exact error assumes."""
    for threshold in (0.5, 0.01):
        for pulls in (1, 2, 3, 10, 57, 400, 1500):
            verdicts = verdicts_at(rule, pulls, Problem(threshold=threshold, arms=2, delta=0.1).bar)
            require(
                (verdicts[1:] >= verdicts[:-1]).all(), f"{rule.name}: after {pulls} pulls a larger total looks worse"
            )


def _mechanics(rule: IdentificationRule) -> None:
    done: set[str] = set()
    for environment in usual_environments(rule):
        made = policy("uniform", rule, rewards=environment.rewards)
        for check in check_policy(made, environment, thorough=False, compiled=False):
            if check.name not in done:
                check()
        done = {"evidence_is_a_fair_game"}  # covers all reward families at once


def _compiled(rule: IdentificationRule) -> None:
    environment = usual_environments(rule)[0]
    made = policy("uniform", rule, rewards=environment.rewards)
    check_tree_and_scans_agree(Subject(made, environment))
