"""Everything in the suite that draws a lot: how many tests, at which level, and what they are able to see."""

from goodarm.policies.names import identification_names, identification_rule
from goodarm.problem import Bounded, Gaussian
from goodarm.rules.identification import EvidenceRule, IdentificationRule, ModelRule
from goodarm.testing.adversary import BOUNDED, GAUSSIAN, HardInstance
from goodarm.testing.error_rates import LAW_LEVEL, Trial, shared
from goodarm.verdict import Guarantee

FALSE_ALARMS = 1e-6
"""The probability that any statistical test of the suite fails although every rule keeps its promise."""

FOR_LAWS = 100 * LAW_LEVEL
"""Set aside for the tests of a law (reward laws, exact samplers): at most 100 of them, each at `LAW_LEVEL`."""


def certified() -> list[IdentificationRule]:
    """Every registered rule that claims to be certified for arms without a model."""
    rules = map(identification_rule, identification_names())
    return [r for r in rules if r.guarantee is Guarantee.CERTIFIED and not isinstance(r, ModelRule)]


def cases() -> list[tuple[IdentificationRule, HardInstance]]:
    """Every certified rule on every hard instance of its reward families."""
    found = []
    for rule in certified():
        instances = (BOUNDED if rule.valid_for(Bounded()) else ()) + (GAUSSIAN if rule.valid_for(Gaussian(1.0)) else ())
        found += [(rule, instance) for instance in instances]
    return found


FDR_INSTANCES = [i for i in BOUNDED if i.name.startswith(("ten arms", "tiny means"))]


def fdr_cases() -> list[tuple[IdentificationRule, HardInstance]]:
    """Every certified evidence rule, verdicts given by rank."""
    return [(rule, i) for rule in certified() if isinstance(rule, EvidenceRule) for i in FDR_INSTANCES]


TESTS = len(cases()) + len(fdr_cases())
TRIAL = shared(Trial(level=0.0), TESTS, FALSE_ALARMS - FOR_LAWS)
