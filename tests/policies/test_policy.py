"""Names into policies and back; pairings that are refused, with the reason and a call that works."""

import math
import re
from collections.abc import Callable

import pytest

from goodarm import Gaussian, bernoulli, gaussian, policy, simulate
from goodarm.errors import GoodarmError, InvalidValue, UnknownName, UnsoundPairing
from goodarm.policies import policy_names
from goodarm.policies.names import identification_names, sampling_names
from goodarm.rules.identification import EvidenceRule
from goodarm.rules.sampling import IndexRule
from goodarm.verdict import Criterion, Guarantee


@pytest.mark.parametrize("name", policy_names())
def test_a_name_stands_for_one_policy(name: str) -> None:
    made = policy(name)
    assert policy(made.name) == made


@pytest.mark.parametrize("beta", [1.5, 0.1, 1.0 / 3.0, 1e20, 1e-20, 12345678.9])
def test_a_spelled_parameter_is_read_back_exactly(beta: float) -> None:
    made = policy("ucb", "kt", beta=beta)
    assert policy(made.name).parameters["beta"] == beta


def test_pairings_of_the_paper() -> None:
    for name in ("hdoc", "lucb-g", "apt-g", "apt-g-printed", "tt-ts"):
        assert policy(name).identification.name == "hoeffding"
    assert policy("lil-hdoc").identification.name == "lil"
    assert policy("lil-hdoc").sampling.name == "lil-hdoc"
    assert policy("thompson").identification.name == "gap-mixture"


def test_a_policy_takes_a_criterion_and_parameters_later() -> None:
    made = policy("ucb(beta=1.5)+kt")
    assert policy(made) is made
    by_rank = policy(made, criterion="fdr")
    assert by_rank.criterion is Criterion.FDR
    assert by_rank.parameters["beta"] == 1.5
    assert policy(by_rank).criterion is Criterion.FDR
    assert policy(made, beta=3.0).parameters["beta"] == 3.0
    with pytest.raises(UnsoundPairing):
        policy(policy("hdoc"), criterion="fdr")


BAD = {
    "hdco": (UnknownName, "hdoc"),
    "hdoc+kd": (UnknownName, "kt"),
    "hdoc+": (InvalidValue, "hdoc+kt"),
    "": (InvalidValue, "hdoc+kt"),
    "hdoc+kt+kt": (InvalidValue, "hdoc+kt"),
    "ucb(beta)+kt": (InvalidValue, "name=number"),
    "ucb(beta=two)+kt": (InvalidValue, "name=number"),
    "ucb(beta=nan)+kt": (InvalidValue, "finite"),
    "ucb(beta=inf)+kt": (InvalidValue, "finite"),
    "ucb(gamma=1)+kt": (InvalidValue, "beta"),
    "hdoc+lil(epsilon=2)": (InvalidValue, "at least 1e-06 and at most"),
    "hdoc+lil(epsilon=0)": (InvalidValue, "at least 1e-06 and at most"),
    "hdoc+beta-mixture(a0=-1)": (InvalidValue, "at least 0.001 and at most 5e+07, where its guarantee is proved"),
    "hdoc+normal-mixture(best_at=0)": (InvalidValue, "at least 0.001"),
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_name_is_refused_with_a_hint(text: str) -> None:
    error, hint = BAD[text]
    with pytest.raises(error, match=re.escape(hint)) as raised:
        policy(text)
    assert isinstance(raised.value, GoodarmError)


@pytest.mark.parametrize("rule", ["kt", "beta-mixture", "betting", "learned-bets-normal"])
def test_rules_for_bounded_rewards_refuse_gaussian_ones(rule: str) -> None:
    """When the policy is made, with the reason and a call that works."""
    with pytest.raises(UnsoundPairing, match=r"rewards in \[0, 1\].*Gaussian.*'hdoc\+gap-mixture'"):
        policy("hdoc", rule, rewards=Gaussian(1.0))
    assert policy("hdoc+normal-mixture", rewards=Gaussian(1.0)).guarantee is Guarantee.CERTIFIED
    with pytest.raises(UnsoundPairing):
        simulate(f"hdoc+{rule}", gaussian([0.0, 1.0], 0.5), horizon=10)


@pytest.mark.parametrize("name", ["value", "thompson", "hdoc"])
def test_a_name_alone_finds_a_rule_for_gaussian_rewards(name: str) -> None:
    assert policy(name, rewards=Gaussian(1.0)).guarantee is Guarantee.CERTIFIED


@pytest.mark.parametrize("rule", ["hoeffding", "stitched", "lil", "learned", "none"])
def test_ranking_needs_evidence(rule: str) -> None:
    with pytest.raises(UnsoundPairing, match=r"'hdoc\+gap-mixture'"):
        policy("hdoc", rule, criterion="fdr")


def test_an_unknown_criterion() -> None:
    with pytest.raises(UnknownName, match="fdr"):
        policy("hdoc+kt", criterion="fdrr")


def test_every_rule_says_what_it_is() -> None:
    from goodarm.policies.names import identification_rule, sampling_rule

    for rule in [*map(sampling_rule, sampling_names()), *map(identification_rule, identification_names())]:
        assert rule.summary, rule.name
        assert all(math.isfinite(value) or math.isnan(value) for value in rule.defaults.values())


@pytest.mark.parametrize(
    "wrong",
    [
        {"horizon": 2},
        {"horizon": 2**60},
        {"runs": 0},
        {"runs": -3},
        {"seed": -1},
        {"workers": 0},
        {"backend": "slurm"},
        {"delta": 0.0},
        {"delta": 1.0},
        {"delta": -0.1},
        {"delta": math.nan},
        {"criterion": "any"},
    ],
    ids=str,
)
def test_simulate_refuses_what_it_cannot_play(wrong: dict[str, object]) -> None:
    with pytest.raises(GoodarmError) as raised:
        simulate("hdoc+kt", bernoulli([0.2, 0.5, 0.8], 0.5), **({"horizon": 10} | wrong))
    assert str(next(iter(wrong.values()))) in str(raised.value)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (
            lambda arm, pool, bar: arm.meen,
            "AttributeError: 'Arm' object has no attribute 'meen'. Its fields: pulls, total, mean, ",
        ),
        (lambda arm, pool: arm.mean, "TypeError"),
        (lambda arm, pool, bar: "high", "must return a number; it returned 'high'"),
    ],
)
def test_a_slip_in_a_rule_of_ones_own_is_told_in_a_line(index: Callable[..., float], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        policy(IndexRule(name="mine", index=index), "kt")


def test_evidence_of_ones_own_must_be_three_numbers() -> None:
    with pytest.raises(InvalidValue, match="must return 3 numbers"):
        policy("ucb", EvidenceRule(name="mine", observe=lambda arm, reward, pool, bar: 1.0))


def test_a_rule_in_a_file_is_not_a_name() -> None:
    with pytest.raises(InvalidValue, match=r"'rule.py:mine': a rule in a file has no name. Compare it from Python"):
        policy("rule.py:mine")
