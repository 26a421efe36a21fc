"""The criterion that is played is the one that was asked for and the one that is reported: made, asked, reported."""

from __future__ import annotations

from itertools import product

import pytest

from goodarm import bernoulli, policy, simulate
from goodarm.errors import InvalidValue
from goodarm.report.text_table import headline
from goodarm.simulation.compare import ComparisonRequest, compare, play
from goodarm.simulation.summary import as_json, summarise
from goodarm.verdict import Criterion

CRITERIA = (None, "fwer", "fdr")
PAIRS = list(product(CRITERIA, CRITERIA))
ALLOWED = [(made, asked) for made, asked in PAIRS if None in (made, asked) or made == asked]


def twenty_at_the_bar() -> object:
    return bernoulli([0.5] * 10 + [0.4] * 10, 0.5, horizon=2000)


@pytest.mark.slow
@pytest.mark.parametrize(("made", "asked"), ALLOWED)
def test_what_is_played_is_what_is_reported(made: str | None, asked: str | None) -> None:
    expected = made or asked or "fwer"
    runs = simulate(policy("uniform+kt", criterion=made), twenty_at_the_bar(), criterion=asked, delta=0.1)
    assert runs.criterion is Criterion(expected)
    assert runs.spec.policy.promise == ("certified" if expected == "fwer" else "certified, fdr")
    assert next(runs.rows())["criterion"] == expected
    assert f"certified, {expected} at delta 0.1" in repr(runs)
    # the reference: the same name played by nobody's policy
    plain = simulate("uniform+kt", twenty_at_the_bar(), criterion=expected, delta=0.1)
    assert runs.runs[0].verdict_rounds.tolist() == plain.runs[0].verdict_rounds.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(("made", "asked"), ALLOWED)
def test_a_comparison_reports_what_each_policy_plays(made: str | None, asked: str | None) -> None:
    expected = made or asked or "fwer"
    wanted = ComparisonRequest(twenty_at_the_bar(), (policy("uniform+kt", criterion=made),), runs=1, criterion=asked)
    told = as_json(summarise(play(wanted)))
    assert (told["criterion"], told["policies"][0]["criterion"]) == (expected, expected)


@pytest.mark.parametrize(("made", "asked"), [pair for pair in PAIRS if pair not in ALLOWED])
def test_another_criterion_than_a_policy_was_made_with_is_refused(made: str, asked: str) -> None:
    """Once it was played by its own and reported by the other: fdr verdicts, called certified at fwer."""
    finished = policy("uniform+beta-mixture", criterion=made)
    for use in (
        lambda: policy(finished, criterion=asked),
        lambda: simulate(finished, "kano-1", horizon=100, criterion=asked),
        lambda: ComparisonRequest("kano-1", (finished,), criterion=asked).specs,
    ):
        with pytest.raises(InvalidValue, match=f"was made for the criterion {made}, not {asked}, so its verdicts"):
            use()


@pytest.mark.slow
def test_policies_of_two_criteria_are_told_apart_in_one_table() -> None:
    both = (policy("uniform+kt", criterion="fdr"), policy("uniform+betting"))
    summary = summarise(compare(twenty_at_the_bar(), both, runs=1))
    assert "fdr, fwer at delta 0.05" in list(headline(summary))[1]
    assert [each.promise for each in summary.policies] == ["certified, fdr", "certified"]
