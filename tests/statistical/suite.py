"""Everything in the suite that draws a lot: how many tests, at which level, and what they are able to see."""

from goodarm.policies.names import identification_names, identification_rule
from goodarm.problem import Bounded
from goodarm.rules.identification import EvidenceRule, IdentificationRule, ModelRule
from goodarm.testing.error_rates import BOUNDED, LAW_LEVEL, HardInstance, instances_for
from goodarm.testing.identification import RuleCheck, long_checks, model_checks
from goodarm.verdict import Guarantee

FALSE_ALARMS = 1e-6
"""The probability that any statistical test of the suite fails although every rule keeps its promise."""

MOST_TESTS = 350
"""Room for error rates that are tested, each at `ERROR_LEVEL`: a new rule takes about ten."""

FOR_LAWS = 200 * LAW_LEVEL
"""Set aside for tests of laws (rewards, random choices), logs and campaigns: at most 200, each at `LAW_LEVEL`."""


def certified() -> list[IdentificationRule]:
    """Every registered rule that claims to be certified for arms without a model."""
    rules = map(identification_rule, identification_names())
    return [r for r in rules if r.guarantee is Guarantee.CERTIFIED and not isinstance(r, ModelRule)]


def cases() -> list[tuple[IdentificationRule, HardInstance]]:
    """Every certified rule on the hard instances of its reward families."""
    return [(rule, instance) for rule in certified() for instance in instances_for(rule)]


FDR_INSTANCES = [i for i in BOUNDED if i.name.startswith(("ten arms", "tiny means"))]


def fdr_cases() -> list[tuple[IdentificationRule, HardInstance]]:
    """Every certified evidence rule, verdicts given by rank."""
    return [(rule, i) for rule in certified() if isinstance(rule, EvidenceRule) for i in FDR_INSTANCES]


def long_cases() -> list[RuleCheck]:
    """What every certified rule is asked about many pulls; most of it is computed and draws nothing."""
    return [
        RuleCheck(f"{rule.name}, {check.name}", check.run)
        for rule in certified()
        if rule.valid_for(Bounded())
        for check in long_checks(rule)
    ]


def model_cases() -> list[RuleCheck]:
    """What every rule that is certified under a model must do where the model is true."""
    rules = map(identification_rule, identification_names())
    return [
        RuleCheck(f"{rule.name}, {check.name}", check.run)
        for rule in rules
        if isinstance(rule, ModelRule)
        for check in model_checks(rule)
    ]


ELSEWHERE = 60
"""Maximum number of error rates in `test_model_scales.py` and `test_live.py`."""

TESTS = ELSEWHERE + len(cases()) + len(fdr_cases())
TESTS += sum("errors of" in check.name for check in long_cases() + model_cases())
