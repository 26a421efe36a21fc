"""Certified is a claim that a rule makes in so many words, never what it gets for saying nothing."""

import pytest

from goodarm import policy
from goodarm.errors import InvalidValue
from goodarm.policies.names import identification_names, identification_rule
from goodarm.rules.identification import EvidenceRule, ModelRule, RadiusRule
from goodarm.verdict import Guarantee


def narrow(arm, pool, bar):
    """Wrong nearly always."""
    return 0.01


def nothing(arm, reward, pool, bar):
    return 0.0, 0.0, 0.0


def factor(log_det, regulariser, pool, bar):
    return 1.0


@pytest.mark.parametrize(
    "rule",
    [
        RadiusRule(name="x", radius=narrow),
        RadiusRule(name="x", radius=narrow, by_model=True),
        EvidenceRule(name="x", observe=nothing),
        ModelRule(name="x", factor=factor, models=("linear",)),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_a_rule_that_claims_nothing_is_heuristic(rule) -> None:
    assert rule.guarantee is Guarantee.HEURISTIC
    if not isinstance(rule, ModelRule):
        assert policy("uniform", rule).guarantee is Guarantee.HEURISTIC


def test_a_rule_around_a_models_mean_can_not_be_certified() -> None:
    with pytest.raises(InvalidValue, match="can't be certified with by_model=True"):
        RadiusRule(name="x", radius=narrow, by_model=True, guarantee=Guarantee.CERTIFIED)


PROVED = {
    "certified": "hoeffding stitched lil kt betting learned-bets beta-mixture normal-mixture gap-mixture",
    "certified under the model": "self-normalised design rkhs",
}


def test_the_proved_rules_say_so() -> None:
    said = {name: str(identification_rule(name).guarantee) for name in identification_names()}
    for guarantee, names in PROVED.items():
        assert {name for name, claim in said.items() if claim == guarantee} >= set(names.split())
