"""Whose parameter is it? Two rules may use one name; no value may reach a rule that it was not given to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from goodarm import bernoulli, policy, simulate
from goodarm.errors import InvalidValue
from goodarm.policies import Policy, names
from goodarm.policies.names import identification_names, identification_rule, sampling_names, sampling_rule
from goodarm.rules.identification import EvidenceRule, IdentificationRule, RadiusRule
from goodarm.rules.identification.kt import bet
from goodarm.rules.learners.prior import prior_learner
from goodarm.rules.parameters import Setting, parameters_of
from goodarm.rules.sampling import IndexRule, SamplingRule


def cautious(arm, reward, pool, bar, beta=0.3):
    """A bet of the fixed size `beta` above the threshold."""
    up = bar.threshold + beta * (1.0 - bar.threshold)
    return arm.for_good + bet(reward, up, bar.threshold), arm.for_bad, 0.0


def lazy(arm, pool, bar, first=0.0):
    """Its own `first` is something else than its learner's."""
    return arm.mean + first


MINE = EvidenceRule(name="mine", observe=cautious)
LAZY = IndexRule(name="lazy", index=lazy, learner=prior_learner)


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The two rules by name, through the entry points of a distribution that is installed for one test."""
    information = tmp_path / "theirs-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(
        f"[goodarm.sampling]\nlazy = {__name__}:LAZY\n\n[goodarm.identification]\nmine = {__name__}:MINE\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    names._plugins.cache_clear()
    yield
    names._plugins.cache_clear()


def test_each_rule_keeps_its_own_value_of_a_common_name() -> None:
    """An evidence rule's beta=0.3 once became 1.5, and certified a lie."""
    made = policy("ucb(beta=1.5)", MINE)
    assert made.setting == Setting({"beta": 1.5}, {"beta": 0.3}, {})
    assert policy("ucb", MINE).setting == Setting({"beta": 2.0}, {"beta": 0.3}, {})


@pytest.mark.slow
def test_the_engine_plays_each_rule_with_its_own_value() -> None:
    """A bet of 0.3 and one of 0.9: another beta for sampling does not change when the only arm is called good."""
    place = bernoulli([0.9], 0.5, horizon=300)
    rounds = {
        name: [int(run.verdict_rounds[0]) for run in simulate(made, place, runs=5).runs]
        for name, made in {
            "both": policy("ucb", MINE, **{"sampling.beta": 9.0, "identification.beta": 0.3}),
            "plain": policy("ucb", MINE),
            "bold": policy("ucb", MINE, **{"identification.beta": 0.9}),
        }.items()
    }
    assert rounds["both"] == rounds["plain"] != rounds["bold"]


@pytest.mark.usefixtures("named")
def test_in_a_text_the_place_says_whose_it_is() -> None:
    made = policy("ucb(beta=1.5)+mine(beta=0.2)")
    assert made.setting == Setting({"beta": 1.5}, {"beta": 0.2}, {})
    assert made.chosen == {"sampling.beta": 1.5, "identification.beta": 0.2}
    assert made.name == "ucb(beta=1.5)+mine(beta=0.2)"
    assert policy(made.name) == made
    assert policy(made, **{"identification.beta": 0.4}).setting == Setting({"beta": 1.5}, {"beta": 0.4}, {})
    assert policy("ucb", "mine(beta=0.2)").setting.sampling == {"beta": 2.0}


@pytest.mark.usefixtures("named")
def test_a_learner_keeps_its_own_value() -> None:
    """A sampling rule's first=0 once set the learner's, so that it learned in every round from the first."""
    made = policy("lazy(first=0.5)+kt")
    assert made.setting.sampling == {"first": 0.5}
    assert made.setting.learner["first"] == 1.5
    both = policy("lazy(first=0.5, learner.first=3)+kt")
    assert (both.setting.sampling["first"], both.setting.learner["first"]) == (0.5, 3.0)
    assert policy(both.name) == both
    assert policy("lazy(growth=2)+kt").setting.learner["growth"] == 2.0


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: policy("ucb", MINE, beta=1.0), r"'ucb\(beta=1\)\+mine\(beta=1\)'.*sampling.beta.*identification.beta"),
        (lambda: policy(policy("ucb", MINE), beta=1.0), r"sampling rule 'ucb' and the identification rule 'mine'"),
        (lambda: policy(LAZY, "kt", first=1.0), r"the learner 'prior'.*learner\.first"),
        (lambda: policy("thompson(beta=1)+kt"), "has no parameter 'beta'. Its parameters: none"),
        (lambda: policy("ucb+kt", **{"learner.beta": 1.0}), "has no parameter 'learner.beta'. Its parameters: beta"),
    ],
)
def test_an_ambiguous_or_unknown_name_is_refused_with_a_way_to_write_it(make, wanted: str) -> None:
    with pytest.raises(InvalidValue, match=wanted):
        make()


def test_a_shared_name_has_one_value() -> None:
    """The paper has one ridge, for the index, the bound and what is learned."""
    made = policy("dgai-online(ridge=0.5, batch=10)")
    assert {getattr(made.setting, role)["ridge"] for role in ("sampling", "identification", "learner")} == {0.5}
    assert made.setting.learner["batch"] == 10.0
    assert policy(made.name) == made
    for text in ("softucb-g(ridge=0.5)", "softucb(ridge=0.5)+hoeffding", "softucb+hoeffding(ridge=0.5)"):
        assert policy(text).setting.learner["ridge"] == policy(text).setting.sampling["ridge"] == 0.5


def test_a_name_shared_by_one_rule_only_is_not_shared() -> None:
    def radius(arm, pool, bar, ridge=7.0):
        return ridge

    stranger = RadiusRule(name="stranger", radius=radius)
    made = policy("softucb(ridge=0.5)", stranger)
    assert made.setting.identification == {"ridge": 7.0}
    assert made.setting.sampling["ridge"] == made.setting.learner["ridge"] == 0.5
    sharing = RadiusRule(name="sharing", radius=radius, shared=("ridge",))
    with pytest.raises(InvalidValue, match="share the parameter ridge, but its default is 1 in one and 7 in the"):
        policy("softucb", sharing)


MEANINGS = {
    "ucb(beta=1.5)+betting": Setting({"beta": 1.5}),
    "ucb(beta=0)": Setting({"beta": 0.0}),
    "value-normal(boldness=1.2, caution=3)": Setting(
        {"boldness": 1.2}, {"edge": 1.0}, {"caution": 3.0, "first": 1.5, "growth": 1.5}
    ),
    "value-normal(edge=2)": Setting({"boldness": 0.0}, {"edge": 2.0}, {"caution": 1.0, "first": 1.5, "growth": 1.5}),
    "ucb+learned-bets-normal(first=2)": Setting(
        {"beta": 2.0}, {"edge": 1.0}, {"caution": 1.0, "first": 2.0, "growth": 1.5}
    ),
    "dgai-offline(alpha=-0.1, beta=2, ridge=0.5)": Setting({"beta": 2.0, "ridge": 0.5}, {"alpha": -0.1, "ridge": 0.5}),
    "hdoc+lil(epsilon=0.1)": Setting({}, {"epsilon": 0.1}),
}


@pytest.mark.parametrize("text", MEANINGS)
def test_names_that_were_written_before_mean_what_they_meant(text: str) -> None:
    made = policy(text)
    assert made.setting == MEANINGS[text]
    assert policy(made.name) == made


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ucb(beta=-1)+kt", "parameter beta of ucb must be at least 0; got -1. Its default is 2."),
        ("tt-ts(leader=2)", "parameter leader of tt-ts must be at least 0 and at most 1; got 2."),
        ("value(growth=1)", "parameter growth of ladder must be at least 1.01; got 1."),
        ("dgai-online(batch=0)", "parameter batch of paper's alpha and beta must be at least 1; got 0."),
        ("widest+design(norm=-1)@linear", "parameter norm of design must be at least 0; got -1."),
        ("uniform+normal-mixture(best_at=1e307)", "at most 1e+08, where its guarantee is proved; got 1e+307."),
        ("uniform+beta-mixture(a0=1e14)", "at most 5e+07, where its guarantee is proved; got 1e+14."),
    ],
)
def test_limits_belong_to_the_rule(text: str, wanted: str) -> None:
    with pytest.raises(InvalidValue) as raised:
        policy(text)
    assert wanted in str(raised.value)


def test_a_limit_of_one_rule_says_nothing_of_another() -> None:
    """`beta` below 0 makes no sense for ucb; here it is another thing."""

    def index(arm, pool, bar, beta=-1.0):
        return beta * arm.mean

    assert policy(IndexRule(name="mine", index=index), "kt", beta=-2.0).parameters == {"beta": -2.0}


def owners() -> list[SamplingRule | IdentificationRule]:
    return [*map(sampling_rule, sampling_names()), *map(identification_rule, identification_names())]


@pytest.mark.parametrize("rule", owners(), ids=lambda rule: rule.name)
def test_limits_and_shared_names_are_of_parameters_that_exist(rule: SamplingRule | IdentificationRule) -> None:
    for owner in filter(None, (rule, rule.learner)):
        assert {name for name, _, _ in owner.limits} <= set(owner.defaults)
        assert set(owner.shared) <= set(owner.defaults)


def test_a_signature_is_read_once() -> None:
    """Inspecting it takes 60 µs, the formula 4."""
    read = 0

    class Counted:
        @property
        def __signature__(self):
            nonlocal read
            read += 1
            from inspect import Parameter, Signature

            return Signature([Parameter("beta", Parameter.POSITIONAL_OR_KEYWORD, default=2.0)])

        @staticmethod
        def py_func(beta=2.0):
            """As a function has that numba has compiled: what it was compiled from."""
            return beta

        __call__ = py_func

    formula = Counted()
    first = parameters_of(formula, 0)
    first["beta"] = 7.0
    assert parameters_of(formula, 0) == {"beta": 2.0}
    assert read == 1


def test_a_policy_lists_what_it_can_be_given() -> None:
    made: Policy = policy("value")
    assert made.parameters == {
        "firmness": 3.0,
        "first": 1.5,
        "growth": 1.5,
        "patience": 2.0,
        "late": 1.0,
        "deadline": 0.5,
    }
    assert policy("value", **made.parameters).setting == made.setting
