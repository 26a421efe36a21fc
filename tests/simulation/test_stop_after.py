"""`stop_after`: a run ends after a number of good arms, or when it is certain that there are fewer."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from goodarm import bernoulli, compare, simulate
from goodarm.cli import app
from goodarm.environments.laws import gaussian
from goodarm.environments.with_features import linear
from goodarm.errors import InvalidValue
from goodarm.simulation.runs import Answers, Runs
from goodarm.simulation.specification import specify
from goodarm.testing.reference import scan

pytestmark = pytest.mark.slow

SOME_GOOD = bernoulli([0.9, 0.8, 0.7, 0.2, 0.1], 0.5, horizon=5000)
NONE_GOOD = bernoulli([0.3, 0.2, 0.1], 0.5, horizon=5000)


@pytest.mark.parametrize("policy", ["hdoc+kt", "value", "apgai+kt", "tt-ts+kt"])
@pytest.mark.parametrize("wanted", [1, 2])
def test_a_run_is_the_beginning_of_the_run_without_an_end(policy: str, wanted: int) -> None:
    """Same arms, same verdicts, up to the round of the last good verdict that is wanted."""
    whole = simulate(policy, SOME_GOOD, seed=4, trace=True).runs[0]
    part = simulate(policy, SOME_GOOD, seed=4, trace=True, stop_after=wanted).runs[0]
    at = int(np.sort(whole.verdict_rounds[whole.verdicts > 0])[wanted - 1])
    assert part.rounds == at < whole.rounds
    assert part.trace.tolist() == whole.trace[:at].tolist()
    assert int((part.verdicts > 0).sum()) == wanted
    assert part.pulls.sum() == at


def test_the_end_does_not_depend_on_how_the_run_is_cut_into_pieces() -> None:
    plain, recorded = (
        simulate("hdoc+kt", SOME_GOOD, seed=4, stop_after=2, trajectory=points).runs[0] for points in (0, 500)
    )
    assert plain.rounds == recorded.rounds
    assert plain.verdict_rounds.tolist() == recorded.verdict_rounds.tolist()


def test_engine_and_plain_scan_end_in_the_same_round() -> None:
    spec = specify("hdoc+kt", SOME_GOOD, seed=4, stop_after=2)
    assert (
        scan(spec).trace.tolist()
        == simulate("hdoc+kt", SOME_GOOD, seed=4, stop_after=2, trace=True).runs[0].trace.tolist()
    )


@pytest.mark.parametrize("policy", ["ucb+kt@linear", "widest+design(norm=1)@linear"])
def test_with_a_model_too(policy: str) -> None:
    environment = linear(arms=40, dimension=3)
    whole = simulate(policy, environment, horizon=20_000, seed=2).runs[0]
    part = simulate(policy, environment, horizon=20_000, seed=2, stop_after=3).runs[0]
    assert part.rounds == int(np.sort(whole.verdict_rounds[whole.verdicts > 0])[2])


def test_with_the_false_discovery_rate() -> None:
    found = simulate("hdoc+kt", SOME_GOOD, seed=4, criterion="fdr", stop_after=2).runs[0]
    assert int((found.verdicts > 0).sum()) >= 2
    assert found.rounds == int(np.sort(found.verdict_rounds[found.verdicts > 0])[1])


def test_nothing_good_is_an_answer_once_every_arm_is_bad() -> None:
    found = simulate("apgai+kt", NONE_GOOD, runs=20, stop_after=1)
    assert found.answers == Answers(found=0, fewer=20, open=0, wrong=0)
    assert found.stopped_at.runs == 20
    cut = simulate("apgai+kt", NONE_GOOD, horizon=10, runs=3, stop_after=1)
    assert cut.answers == Answers(found=0, fewer=0, open=3, wrong=0)


@pytest.mark.parametrize(("means", "published"), [([0.5] * 9 + [0.65], 4994.6), ([0.25] * 10, 7506.5)])
def test_hdoc_takes_the_published_number_of_samples(means: list[float], published: float) -> None:
    """Li & Cheung, ICML 2025: Gaussian rewards, delta 0.001, 1000 runs. Standard errors of 60 runs: 6% and 2%."""
    found = simulate("hdoc", gaussian(means, 0.5, horizon=500_000), runs=60, seed=12, delta=0.001, stop_after=1)
    assert found.stopped_at.runs == 60
    assert found.stopped_at.mean == pytest.approx(published, rel=0.25 if max(means) > 0.5 else 0.1)
    assert found.answers.wrong == 0


def test_wrong_answers_are_counted() -> None:
    """Verdicts put into a finished run by hand: a bad arm called good; and none found where there is one."""
    runs = simulate("hdoc+kt", SOME_GOOD, stop_after=1)
    bad_called_good = replace(runs.runs[0], verdicts=np.array([0, 0, 0, 1, 0], dtype=np.int8), open_arms=4)
    all_called_bad = replace(runs.runs[0], verdicts=np.full(5, -1, dtype=np.int8), open_arms=0)
    good_called_bad = replace(runs.runs[0], verdicts=np.array([1, -1, 0, 0, 0], dtype=np.int8), open_arms=3)
    answers = [Runs(runs.spec, (run,)).answers for run in (bad_called_good, all_called_bad, good_called_bad)]
    assert [each.wrong for each in answers] == [1, 1, 0]


def test_compare_and_the_command_line() -> None:
    found = compare(SOME_GOOD, ["hdoc+kt", "apgai+kt"], runs=5, stop_after=1)
    assert [each.answers.found for each in found.finished] == [5, 5]
    asked = ["compare", "kano-1", "--policy", "apgai+kt", "--runs", "3", "--stop-after", "1"]
    text, printed = (
        CliRunner().invoke(app, [*asked, *more], env={"COLUMNS": "120"}).stdout for more in ([], ["--json"])
    )
    assert "or 1 good arm;" in text
    assert "fewer" in text
    told = json.loads(printed)
    assert told["stop_after"] == 1
    assert told["policies"][0]["answers"] == {"found": 3, "fewer": 0, "open": 0, "wrong": 0}


@pytest.mark.parametrize("wrong", [0, -1, 1.5])
def test_a_number_of_arms_that_cannot_be(wrong: float) -> None:
    with pytest.raises(InvalidValue, match="stop_after"):
        simulate("hdoc", "kano-1", stop_after=wrong)
    with pytest.raises(InvalidValue, match="goal 'reward' gives none"):
        compare("kano-1", goal="reward", stop_after=1)
