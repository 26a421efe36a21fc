"""`check_identification`: does an identification rule do what every rule must do, and keep the promise it makes?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from goodarm.policies import policy
from goodarm.policies.names import identification_rule
from goodarm.problem import Bounded, Problem
from goodarm.rules.identification import IdentificationRule, ModelRule, RadiusRule
from goodarm.testing.adversary import AT_THE_THRESHOLD, instances_for
from goodarm.testing.checks import require
from goodarm.testing.error_rates import Trial, require_error_rate
from goodarm.testing.exact_error import exact_error, needs_only_totals, verdicts_at
from goodarm.testing.kit import check_policy
from goodarm.testing.paths import require_few_crossings
from goodarm.testing.slow_checks import check_tree_and_scans_agree
from goodarm.testing.subject import Subject, usual_environment
from goodarm.verdict import Guarantee

MILLION = 1_000_000
EXACT = ((0.5, 1000, 10_000), (0.5, 10, 100_000), (0.01, 10, 100_000), (0.99, 10, 100_000), (0.5, 1, MILLION))
"""Threshold, arms and pulls at which the error of one arm is computed exactly, delta = 0.1; with many arms a rule shows
whether it shares delta among them."""
SHORT = Trial()
"""3000 runs of 800 rounds under an adversary."""
LONG = Trial(runs=400, horizon=50_000)
"""What rules that need more than the totals are played for, on one arm at the threshold."""
PATHS = Trial(runs=1000, horizon=MILLION)
"""Paths of one arm, for a radius that needs more than the totals."""


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
    """Check a rule from end to end, some seconds to a minute; raises `Violation`, or returns what was checked.

    Mechanics, whatever it promises: verdicts are final, runs can be repeated, resumed and permuted; the rule compiles
    and gives the same verdicts as in Python; what is `by_totals` forgets the order of the rewards.
    Its promise, where it says `certified`:

    - evidence: the exact expected factor over the next reward, at thresholds within 1e-15 of 0 and 1 and at both ends
      of every parameter's limits (nothing is drawn; sees any unfair bet that the histories tried lead to);
    - any rule: 3000 runs of 800 rounds on each hard instance under an adversary; at delta = 0.1 a true error rate of
      0.142 is seen with probability 0.9, and a sound rule fails one test with probability at most 2e-9;
    - needs only the totals: the exact error of an arm at the threshold over all numbers of pulls, up to a million with
      one arm and 10,000 with a thousand; anything above delta/K is seen;
    - a radius that needs more: 1000 paths of a million pulls; an error rate of 0.176 is seen with probability 0.9;
    - other evidence: 400 runs of 50,000 pulls; an error rate of 0.225 is seen with probability 0.9.

    What can't be seen: an error that shows only after these horizons, or only with rewards of another kind; and a rule
    that is far from using up delta may lose much of it unseen. The proof has to say the rest.

    >>> check_identification("none")
    ['mechanics', 'compiled as in Python']
    """
    checks = identification_checks(rule)
    for check in checks:
        check()
    return [check.name for check in checks]


def identification_checks(rule: str | IdentificationRule) -> list[RuleCheck]:
    """The same as single checks, to be called one by one: for `pytest.mark.parametrize("check", ..., ids=str)`."""
    found = identification_rule(rule) if isinstance(rule, str) else rule
    if isinstance(found, ModelRule):
        raise TypeError(f"{found.name} decides by a model of the arms; check its policy with check_policy.")
    found_checks = [
        RuleCheck("mechanics", partial(_mechanics, found)),
        RuleCheck("compiled as in Python", partial(_compiled, found)),
    ]
    if found.guarantee is not Guarantee.CERTIFIED:
        return found_checks
    if found.valid_for(Bounded()):
        found_checks += long_checks(found)
    return found_checks + [
        RuleCheck(f"errors of {SHORT.runs} runs: {instance}", partial(require_error_rate, found, instance, SHORT))
        for instance in instances_for(found)
    ]


def long_checks(rule: IdentificationRule) -> Iterator[RuleCheck]:
    """What a rule certified for rewards in [0, 1] is asked about many pulls."""
    if needs_only_totals(rule):
        yield RuleCheck("verdicts are monotone in the total", partial(require_monotone, rule))
        for threshold, arms, pulls in EXACT:
            name = f"exact error, threshold {threshold:g}, {arms} arms, {pulls:,} pulls"
            yield RuleCheck(name, partial(require_exact_error, rule, threshold, arms, pulls))
    elif isinstance(rule, RadiusRule):
        yield RuleCheck(
            f"errors of {PATHS.runs} paths of {MILLION:,} pulls", partial(require_few_crossings, rule, PATHS)
        )
    else:
        run = partial(require_error_rate, rule, AT_THE_THRESHOLD, LONG)
        yield RuleCheck(f"errors of {LONG.runs} runs of {LONG.horizon:,} pulls", run)


def require_exact_error(
    rule: IdentificationRule, threshold: float, arms: int, pulls: int, delta: float = 0.1, **values: float
) -> None:
    """P(wrong verdict on one arm within `pulls` pulls) <= delta/K, computed and not drawn."""
    error = exact_error(rule, threshold, arms=arms, delta=delta, pulls=pulls, **values)
    require(
        error.worst <= delta / arms,
        f"{rule.name} gives a wrong verdict on one arm at the threshold {threshold:g} with probability "
        f"{error.worst:.4g} within {pulls:,} pulls; with {arms} arms and delta {delta:g} at most {delta / arms:g} is "
        "allowed. Is there a union over the numbers of pulls, and over the arms?",
    )


def require_monotone(rule: IdentificationRule) -> None:
    """With more success an arm can't look worse: what the exact error takes for granted."""
    for threshold in (0.5, 0.01):
        for pulls in (1, 2, 3, 10, 57, 400, 1500):
            verdicts = verdicts_at(rule, pulls, Problem(threshold=threshold, arms=2, delta=0.1).bar)
            require(
                (verdicts[1:] >= verdicts[:-1]).all(), f"{rule.name}: after {pulls} pulls a larger total looks worse"
            )


def _mechanics(rule: IdentificationRule) -> None:
    for check in check_policy(policy("uniform", rule), thorough=False, compiled=False):
        check()


def _compiled(rule: IdentificationRule) -> None:
    made = policy("uniform", rule)
    check_tree_and_scans_agree(Subject(made, usual_environment(made)))
