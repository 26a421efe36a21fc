"""Python scan and tree pull the same arms in the same order for every sampling rule, the compiled scan for some."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goodarm import bernoulli, policy, simulate
from goodarm.engine import few_lines
from goodarm.policies.names import sampling_names
from goodarm.sampling import ChoiceRule, IndexRule, LineRule
from goodarm.simulation.run import Run, assembly_of, play
from goodarm.simulation.specification import Specification
from goodarm.testing.reference import scan
from goodarm.testing.subject import draws_at_random

pytestmark = pytest.mark.slow

GRID = [0.0, 0.25, 0.5, 0.75, 1.0]
"""Few values, so that arms tie often."""

RULES = sampling_names()


def of_kind(kind: type) -> list[str]:
    return [name for name in RULES if isinstance(policy(name, "kt").sampling, kind)]


SCANNED = {name for kind in (IndexRule, LineRule, ChoiceRule) for name in of_kind(kind)[:2]} | {"value", "dgai-online"}
"""Rules whose scan is compiled too, two of each kind: the scan's loop is the same for all rules of a kind."""
SLOW_IN_PYTHON = {name for name in RULES if draws_at_random(policy(name, "kt"))} | {"dgai-online", "softucb"}


@st.composite
def specs(draw: st.DrawFn, name: str, rule: str, most: int, longest: int, criterion: str = "fwer") -> Specification:
    means = draw(st.lists(st.sampled_from(GRID), min_size=1, max_size=most))
    environment = bernoulli(means, draw(st.sampled_from([0.1, 0.25, 0.5, 0.8])))
    horizon = len(means) + draw(st.integers(10, longest))
    delta = draw(st.sampled_from([0.01, 0.3]))
    made = policy(name, rule, criterion=criterion)
    return Specification(
        made, environment, environment.problem(delta), horizon, draw(st.integers(0, 10**6)), trace=True
    )


def same(a: Run, b: object) -> None:
    for name in ("trace", "verdicts", "verdict_rounds", "pulls"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name


def three_ways(spec: Specification) -> None:
    """Tree, Python scan, and the compiled scan for the rules in `SCANNED`."""
    by_tree = play(spec, 0, assembly_of(spec))
    same(by_tree, scan(spec))
    if spec.policy.sampling.name in SCANNED:
        same(by_tree, play(spec, 0, assembly_of(replace(spec, scan=True))))


def careful(examples: int) -> settings:
    return settings(
        max_examples=examples, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
    )


@pytest.mark.parametrize("name", RULES)
def test_three_engines_agree(name: str) -> None:
    most, longest = (8, 60) if name in SLOW_IN_PYTHON else (40, 200)

    @careful(15)
    @given(specs(name, "kt", most, longest))
    def agree(spec: Specification) -> None:
        three_ways(spec)

    agree()


@pytest.mark.parametrize(("name", "rule"), [("hdoc", "hoeffding"), ("lucb-g", "hoeffding"), ("value", "learned-bets")])
def test_three_engines_agree_on_named_policies(name: str, rule: str) -> None:
    @careful(15)
    @given(specs(name, rule, 40, 200))
    def agree(spec: Specification) -> None:
        three_ways(spec)

    agree()


@pytest.mark.parametrize("name", of_kind(LineRule))
def test_the_scan_of_few_lines_and_the_kinetic_tree_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of arms decides which of them runs, and here the test does."""

    @careful(15)
    @given(specs(name, "kt", 40, 200))
    def agree(spec: Specification) -> None:
        monkeypatch.setattr(few_lines, "FEW", 0)
        by_tree = play(spec, 0, assembly_of(spec))
        monkeypatch.setattr(few_lines, "FEW", 40)
        by_lines = play(spec, 0, assembly_of(spec))
        same(by_tree, by_lines)
        assert np.array_equal(by_tree.evidence, by_lines.evidence)

    agree()


@pytest.mark.parametrize("name", ["hdoc", "ucb"])
def test_verdicts_by_rank_agree_with_their_definition(name: str) -> None:
    """e-BH as the engine keeps it, in two short lists, against e-BH recomputed from scratch in every round."""

    @careful(30)
    @given(specs(name, "kt", 25, 200, criterion="fdr"))
    def agree(spec: Specification) -> None:
        three_ways(spec)

    agree()


@pytest.mark.parametrize("name", ["hdoc", "ucb1", "lucb-g", "value", "uniform"])
def test_a_thousand_arms(name: str) -> None:
    """A long run with many ties: 20 different means on 1000 arms."""
    environment = bernoulli(np.linspace(0.3, 0.7, 20).repeat(50), 0.5)
    tree, plain = (
        simulate(policy(name, "kt"), environment, horizon=40_000, trace=True, scan=scanned).runs[0]
        for scanned in (False, True)
    )
    same(tree, plain)
    assert tree.verdicts.any() or name in ("hdoc", "ucb1", "lucb-g", "uniform")
