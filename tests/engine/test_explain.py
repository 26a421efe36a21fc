"""A rule that runs in Python but not compiled is named, with the line, from every path; NaN is no index."""

import math
from collections.abc import Callable
from functools import partial

import pytest

from goodarm import bernoulli, policy, simulate
from goodarm.errors import GoodarmError, InvalidValue
from goodarm.learning import learn
from goodarm.policies import Policy
from goodarm.rules.identification import EvidenceRule, RadiusRule
from goodarm.rules.sampling import ChoiceRule, IndexRule, LineRule
from goodarm.simulation.compare import compare
from goodarm.testing import check_identification, check_policy

TABLE = {"bonus": 1.0}
PLACE = bernoulli([0.2, 0.5, 0.8], 0.5, horizon=200)


def imports_inside(arm, pool, bar):
    import math  # here

    return math.sqrt(arm.mean)


def from_a_table(x):
    return TABLE["bonus"] * x  # here


def reads_a_dict(arm, pool, bar):
    return from_a_table(arm.mean)


def formats_a_text(arm, pool, bar):
    return float(f"{arm.mean:.3f}")  # here


def choosing_by_a_dict(arms, pool, bar, generator):
    return int(from_a_table(0.0))


def observing_a_dict(arm, reward, pool, bar):
    return from_a_table(reward), 0.0, 0.0


def flat(now, bar):
    return 1.0


def slope_of_a_dict(arm, bar):
    return from_a_table(arm.width)


def line_of(function: Callable[..., object]) -> int:
    """The line that is marked `# here`."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(j for j, line in enumerate(lines) if "# here" in line)


RULES = {
    "imports_inside": (policy(IndexRule(name="mine", index=imports_inside), "kt"), imports_inside),
    "reads_a_dict": (policy(IndexRule(name="mine", index=reads_a_dict), "kt"), from_a_table),
    "formats_a_text": (policy(IndexRule(name="mine", index=formats_a_text), "kt"), formats_a_text),
    "choice": (policy(ChoiceRule(name="mine", choose=choosing_by_a_dict), "kt"), from_a_table),
    "line": (policy(LineRule(name="mine", slope=slope_of_a_dict, clock=flat), "kt"), from_a_table),
    "evidence": (policy("uniform", EvidenceRule(name="mine", observe=observing_a_dict)), from_a_table),
    "radius": (policy("uniform", RadiusRule(name="mine", radius=reads_a_dict)), from_a_table),
}


def says(made: Policy, culprit: Callable[..., object], message: str) -> bool:
    where = f"test_explain.py, line {line_of(culprit)}, in {culprit.__name__}: "
    return "the rule 'mine' runs in Python but can't be compiled" in message and where in message


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_simulate_names_the_rule_and_the_line(name: str) -> None:
    made, culprit = RULES[name]
    with pytest.raises(InvalidValue) as raised:
        simulate(made, PLACE, runs=1)
    assert says(made, culprit, str(raised.value)), str(raised.value)


PATHS = {
    "compare": lambda made: compare(PLACE, [made, "ucb+kt"], runs=1),
    "learn": lambda made: learn(PLACE, made, objective="none", calibrate=True, learning_runs=100, tests=100),
    "kit": lambda made: [check() for check in check_policy(made, thorough=False)],
    "workers": lambda made: simulate(made, PLACE, runs=2, workers=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_every_path_names_the_rule_and_the_line(path: str) -> None:
    made, culprit = RULES["reads_a_dict"]
    with pytest.raises(GoodarmError) as raised:
        PATHS[path](made)
    assert says(made, culprit, str(raised.value)), str(raised.value)


@pytest.mark.slow
def test_one_call_of_the_kit_names_the_rule_and_the_line() -> None:
    with pytest.raises(InvalidValue) as raised:
        check_identification(RadiusRule(name="mine", radius=reads_a_dict))
    assert says(RULES["radius"][0], from_a_table, str(raised.value))


def lost_after_twenty(arm, pool, bar):
    return arm.mean if arm.pulls < 20.0 else None


@pytest.mark.slow
def test_a_rule_that_returns_none_on_some_branch_is_named() -> None:
    with pytest.raises(InvalidValue, match=r"the rule 'mine' returns None for some arm .*in lost_after_twenty"):
        simulate(policy(IndexRule(name="mine", index=lost_after_twenty), "kt"), PLACE, runs=1)


class Own:
    def index(self, arm, pool, bar):
        return arm.mean


def by_keyword(arm, pool, bar, *, beta=1.0):
    return arm.mean


def by_text(arm, pool, bar, beta="high"):
    return arm.mean


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (partial(lost_after_twenty), "must be a plain one, because it is compiled; got functools.partial"),
        (Own().index, "must be a plain one, because it is compiled; got <bound method Own.index"),
        (by_keyword, "'beta' of by_keyword must be a number that can be passed by position"),
        (by_text, "its default is 'high'"),
    ],
    ids=["partial", "method", "keyword", "text"],
)
def test_a_rule_is_a_plain_function_with_numbers_as_parameters(index: Callable[..., float], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        policy(IndexRule(name="mine", index=index), "kt")


@pytest.mark.parametrize(
    "rule",
    [
        IndexRule(name="mine", index=lambda arm, pool, bar: math.nan),
        LineRule(name="mine", slope=lambda arm, bar: math.nan, clock=flat),
    ],
    ids=["index", "slope"],
)
def test_an_index_that_is_nan_is_refused_when_the_policy_is_made(rule) -> None:
    with pytest.raises(InvalidValue, match="must return a number; it returned nan"):
        policy(rule, "kt")


def lost_at_half(arm, pool, bar):
    """NaN only for an arm whose rewards were all 0."""
    return math.nan if arm.total == 0.0 else arm.mean


def slope_lost_at_half(arm, bar):
    return math.nan if arm.total == 0.0 else arm.width


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [IndexRule(name="mine", index=lost_at_half), LineRule(name="mine", slope=slope_lost_at_half, clock=flat)],
    ids=["index", "slope"],
)
def test_an_index_that_becomes_nan_is_refused_when_it_is_played(rule) -> None:
    with pytest.raises(InvalidValue, match="index is NaN"):
        simulate(policy(rule, "kt"), bernoulli([0.0, 0.5, 0.9], 0.5, horizon=50), runs=1)
