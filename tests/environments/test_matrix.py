"""A fixed test set in the simulator: each case once, every arm decided, the mean of the set."""

import gzip

import numpy as np
import pytest

import goodarm
from goodarm.errors import InvalidValue, UnreadableTable, UnsoundPairing
from goodarm.problem import Cases, GradedCases

RESULTS = (np.random.default_rng(3).random((12, 90)) < np.linspace(0.2, 0.9, 12)[:, None]).astype(float)


@pytest.mark.slow
def test_each_case_is_drawn_once_and_every_arm_is_decided_rightly() -> None:
    environment = goodarm.matrix(RESULTS, 0.5)
    found = goodarm.simulate("uniform+gap-mixture", environment, runs=20, seed=4, workers=1)
    assert found.wrong_runs <= 3  # 5% of runs may be wrong: P(4 or more of 20) = 1.6%
    for run in found.runs:
        assert run.open_arms == 0
        assert run.rounds < environment.horizon
        assert (run.pulls <= 90).all()


@pytest.mark.slow
def test_a_whole_row_is_its_mean() -> None:
    """The largest delta that makes nobody certain before the last cases: totals are those of the rows."""
    environment = goodarm.matrix(RESULTS[:4], 0.5)
    found = goodarm.simulate("uniform+gap-mixture", environment, runs=3, delta=1e-200, workers=1)
    for run in found.runs:
        good = RESULTS[:4].mean(axis=1) >= 0.5
        assert (run.verdicts == np.where(good, 1, -1)).all()


@pytest.mark.slow
def test_orders_differ_between_arms_and_between_runs() -> None:
    same = np.tile(np.arange(60) % 2, (2, 1)).astype(float)
    found = goodarm.simulate("uniform+gap-mixture", goodarm.matrix(same, 0.4), runs=6, seed=1, workers=1)
    assert len({tuple(run.pulls) for run in found.runs}) > 1
    assert any(run.pulls[0] != run.pulls[1] for run in found.runs)


def test_a_file_of_results(tmp_path) -> None:
    text = "arm,c1,c2,c3\nred,1,0,1\nblue,0,0,1\n"
    (tmp_path / "m.csv").write_text(text)
    with gzip.open(tmp_path / "m.csv.gz", "wt") as file:
        file.write(text)
    for name in ("m.csv", "m.csv.gz"):
        found = goodarm.environment(f"matrix:{tmp_path / name}", threshold=0.5)
        assert (found.labels, found.arms, found.rewards, found.horizon) == (("red", "blue"), 2, Cases(3), 6)


def test_graded_results_are_another_family() -> None:
    environment = goodarm.matrix([[0.5, 1.0], [0.0, 0.25]], 0.3)
    assert environment.rewards == GradedCases(2)
    with pytest.raises(UnsoundPairing, match="gap-mixture"):
        goodarm.simulate("uniform+gap-mixture", environment)


@pytest.mark.parametrize("results", [[], [1.0, 0.0], [[2.0]], [[float("nan")]], "missing.csv", [["a"]]])
def test_bad_results(results) -> None:
    with pytest.raises((InvalidValue, UnreadableTable)):
        goodarm.matrix(results, 0.5)


@pytest.mark.parametrize(("name", "threshold", "most"), [("gsm_models", 0.83, 0.13), ("prompt_templates", 0.56, 0.42)])
def test_real_sets_take_a_share_of_their_cells(data_folder, name: str, threshold: float, most: float) -> None:
    environment = goodarm.matrix(data_folder / "evals" / f"{name}.csv.gz", threshold)
    found = goodarm.simulate("uniform+gap-mixture", environment, runs=2, seed=2, workers=1)
    assert found.wrong_runs == 0
    for run in found.runs:
        assert run.open_arms == 0
        assert run.rounds <= most * environment.horizon
