"""Paired differences and a cheap judge: right verdicts, fair over all orders, and twins that fail."""

import itertools
import math

import numpy as np
import pytest

import goodarm
from goodarm.environments.matrix import read_matrix
from goodarm.problem import Bar, Problem, ScoredCases
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.identification.paired import paired_results, paired_reward, paired_threshold
from goodarm.rules.identification.with_scores import (
    DRAWN,
    LEFT,
    evidence_with_scores,
    first_memory,
    score_bets,
)

LABELS, SCORES = (1.0, 1.0, 0.0, 1.0, 0.0, 0.0), (0.9, 0.1, 0.2, 0.8, 0.7, 0.1)


def bar(threshold: float, cases: int, arms: int = 1) -> Bar:
    return Problem(threshold, arms, rewards=ScoredCases(cases)).bar


def test_bets_on_labels_are_a_fair_game_over_all_orders() -> None:
    """A set whose mean is the bar, a hair above for E+: the mean of E over all orders is at most 1 at any time."""
    found = []
    for order in itertools.permutations(range(6)):
        labels, scores = np.array(LABELS)[list(order)], np.array(SCORES)[list(order)]
        good, _ = evidence_with_scores(labels, scores, bar(0.5 + 1e-7, 6))
        _, bad = evidence_with_scores(labels, scores, bar(0.5, 6))
        found.append((good[:-1], bad[:-1]))
    means = np.exp(np.minimum(np.array(found), 60.0)).mean(axis=0)
    assert means.max() <= 1.0 + 1e-4


def after_two_labels(labels: np.ndarray, tenths: list[int], twin: str) -> tuple[float, float]:
    """log E+ and log E- after two labels, by the rule or by a broken twin of it."""
    memory, won, good, bad = first_memory(tenths), 0.0, 0.0, 0.0
    for n in range(2):
        memory[DRAWN] = tenths[n]
        if twin == "lowers a score after the label":
            memory[DRAWN] = 1 if labels[n] == 1.0 else tenths[n]
        forgotten = 1.0 if twin == "leaves the drawn case out of the mean" else 0.0
        memory[LEFT + tenths[n]] -= forgotten
        arm = Arm(float(n), won, 0.0, 0.0, 0.0, 0.0, memory, 0.0)
        good, bad, _ = score_bets.observe(arm, labels[n], Pool(1.0, math.inf, None), bar(0.5 + 1e-7, 6))
        memory[LEFT + tenths[n]] += forgotten
        won += labels[n]
    return good, bad


@pytest.mark.parametrize("twin", ["", "lowers a score after the label", "leaves the drawn case out of the mean"])
def test_broken_twins_are_no_fair_game(twin: str) -> None:
    means = np.zeros(2)
    for order in itertools.permutations(range(6)):
        labels, tenths = np.array(LABELS)[list(order)], [(9, 9, 1, 9, 1, 1)[i] for i in order]
        means += np.exp(after_two_labels(labels, tenths, twin)) / math.factorial(6)
    assert (means.max() > 1.02) == bool(twin)


@pytest.mark.parametrize("errs", [0.05, 0.5])
def test_no_judge_makes_verdicts_wrong(errs: float) -> None:
    rng, budget = np.random.default_rng(int(100 * errs)), math.log(12 / 0.05)
    for total in (310, 330, 348, 352, 370, 390):
        labels = rng.permutation((np.arange(500) < total).astype(float))
        scores = np.where(rng.random(500) < errs, 1.0 - labels, labels)
        good, bad = evidence_with_scores(labels, scores, bar(0.7, 500))
        assert (good.max() >= budget) == (total >= 350)
        assert (bad.max() >= budget) == (total < 350)


def test_a_good_judge_saves_labels() -> None:
    rng, budget = np.random.default_rng(4), math.log(20 / 0.05)
    spent = {0.02: 0, 0.5: 0}
    for total in (720, 760, 840, 880):
        labels = rng.permutation((np.arange(1000) < total).astype(float))
        for errs in spent:
            scores = np.where(rng.random(1000) < errs, 1.0 - labels, labels)
            good, bad = evidence_with_scores(labels, scores, bar(0.8, 1000))
            spent[errs] += int(np.argmax(np.maximum(good, bad) >= budget)) + 1
    assert spent[0.02] < 0.6 * spent[0.5]


def test_pairs_as_rewards() -> None:
    assert [paired_reward(x, x0) for x, x0 in ((0.0, 1.0), (0.5, 0.5), (1.0, 0.0))] == [0.0, 0.5, 1.0]
    with pytest.raises(goodarm.GoodarmError, match="margin"):
        paired_threshold(1.0)


@pytest.mark.slow
def test_paired_models_against_the_median_one(data_folder) -> None:
    """Every arm is decided, rightly, for less than the share that unpaired draws take on the same set."""
    _, results = read_matrix(data_folder / "evals" / "gsm_models.csv.gz")
    control = int(np.argsort(results.mean(axis=1))[15])
    environment = goodarm.matrix(paired_results(results, control), paired_threshold(0.0))
    found = goodarm.simulate("uniform+bet-mixture", environment, runs=3, seed=1, workers=1)
    assert found.wrong_runs == 0
    for run in found.runs:
        assert run.open_arms == 0
        assert run.rounds < 0.25 * environment.horizon
