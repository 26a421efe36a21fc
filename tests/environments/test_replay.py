"""`replay`, `classification` and `table`: logs, labelled rows and tables of means as bandits, wherever they lie."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from goodarm.environments import Environment, classification, replay, table
from goodarm.environments.datasets.movielens import ratings
from goodarm.environments.names import environment
from goodarm.errors import InvalidValue, UnreadableTable
from goodarm.simulation.run import assembly_of, play
from goodarm.simulation.simulate import simulate
from goodarm.simulation.specification import specify
from goodarm.streams import ENVIRONMENT, generator

ARMS = ["b", "a", "b", "c", "a", "b", "c", "a"]
REWARDS = [0.0, 0.25, 1.0, 0.75, 0.5, 0.5, 1.0, 0.0]
LOG = {"arm": ARMS, "reward": REWARDS}
AVERAGES = {"b": 0.5, "a": 0.25, "c": 0.875}


def means_of(found: Environment) -> dict[str, float]:
    return dict(zip(found.labels, found.draw(np.random.default_rng(0)).tolist(), strict=True))


def sources(folder) -> dict[str, object]:
    frame = pd.DataFrame(LOG)
    frame.to_csv(folder / "log.csv", index=False)
    frame.to_parquet(folder / "log.parquet")
    return {
        "csv": folder / "log.csv",
        "parquet": str(folder / "log.parquet"),
        "pandas": frame,
        "polars": pl.DataFrame(LOG),
        "lazy polars": pl.LazyFrame(LOG),
        "arrow": pa.table(LOG),
        "arrays": {"arm": np.array(ARMS), "reward": np.array(REWARDS)},
    }


KINDS = ["csv", "parquet", "pandas", "polars", "lazy polars", "arrow", "arrays"]


@pytest.mark.parametrize("kind", KINDS)
def test_log_from_anywhere(kind: str, tmp_path) -> None:
    found = replay(sources(tmp_path)[kind], threshold=0.6)
    assert means_of(found) == AVERAGES
    assert found.threshold == 0.6


def test_by_name_from_the_command_line(tmp_path) -> None:
    path = sources(tmp_path)["csv"]
    assert means_of(environment(f"replay:{path}", threshold=0.6)) == AVERAGES
    with pytest.raises(InvalidValue, match="no default threshold"):
        environment(f"replay:{path}")


@pytest.mark.slow
def test_rewards_are_the_logged_ones() -> None:
    """Every pull gives a logged reward of its own arm, each equally often."""
    rewards = {"low": [0.1, 0.2], "high": [0.7, 0.8, 0.9]}
    arms = [name for name, values in rewards.items() for _ in values]
    found = replay({"arm": arms, "reward": [*rewards["low"], *rewards["high"]]}, threshold=0.5)
    pulls = 2000
    runs = simulate("uniform+kt", found, horizon=2, runs=pulls, seed=3)  # one pull of each arm per run
    sums = np.array([run.reward for run in runs.runs])
    possible = np.array([x + y for x in rewards["low"] for y in rewards["high"]])
    nearest = np.abs(sums[:, None] - possible[None, :])
    assert nearest.min(axis=1).max() < 1e-12
    # sums of a pair can coincide (0.1 + 0.8 = 0.2 + 0.7): the mean has no such trouble, and 5 sigma of room
    assert abs(sums.mean() - 0.95) < 5 * sums.std() / np.sqrt(pulls)


@pytest.mark.slow
def test_arms_in_another_order_keep_their_rewards() -> None:
    """Two pulls of each arm, too few for a verdict: the rewards are the same ones, whatever the arms' order."""
    found = replay(LOG, threshold=0.6)
    spec = specify("uniform+kt", found, horizon=2 * found.arms, seed=5)
    assembly = assembly_of(spec)
    instance = found.instance(generator(5, 0, ENVIRONMENT))
    order = np.array([2, 0, 1])
    for number in range(20):
        before = play(spec, number, assembly, instance)
        after = play(spec, number, assembly, instance.permuted(order))
        assert before.pulls.tolist() == after.pulls.tolist() == [2, 2, 2]
        assert after.reward == pytest.approx(before.reward, abs=1e-12)
        assert (after.means == before.means[order]).all()
    assert (instance.permuted(order).permuted(np.argsort(order)).extra == instance.extra).all()


def test_scale_maps_rewards_and_threshold() -> None:
    stars = {"movie": ["x", "x", "y"], "stars": [1, 5, 2]}
    found = replay(stars, threshold=3.0, arm="movie", reward="stars", low=1, high=5)
    assert means_of(found) == {"x": 0.5, "y": 0.25}
    assert found.threshold == 0.5
    with pytest.raises(UnreadableTable, match=r"reward in row 2 is 5, outside \[0, 1\].*low and high"):
        replay(stars, threshold=0.5, arm="movie", reward="stars")
    with pytest.raises(InvalidValue, match="low must be less than high"):
        replay(stars, threshold=0.5, arm="movie", reward="stars", low=5, high=1)


def test_ratings_as_the_paper_reads_them(data_folder) -> None:
    """A movie's average rating as the mean of 0/1 rewards: the 95th percentile is 0.9 of the scale, not 0.071."""
    rated = ratings()
    found = replay({"arm": rated.movie, "reward": rated.rating}, threshold=4.5, low=0, high=5, binary=True)
    means = np.array(list(means_of(found).values()))
    assert found.arms == 9724
    assert np.quantile(means, 0.95) == pytest.approx(0.9)


def test_classification() -> None:
    found = classification(pl.DataFrame({"label": [3, 1, 3, 2, 3]}), threshold=0.5)
    assert means_of(found) == {"3": 0.6, "1": 0.2, "2": 0.2}
    runs = simulate("hdoc+kt", found, horizon=5000, runs=3)
    assert [run.verdicts.tolist() for run in runs.runs] == [[1, -1, -1]] * 3


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ({"arm": ["a"], "price": [1.0]}, "needs a header with the columns arm and reward; found 'arm', 'price'"),
        ({"arm": [], "reward": []}, "a header without rows"),
        ({"arm": ["a", "b"], "reward": [1.0]}, "same number of rows"),
        ({"arm": ["a", "b"], "reward": [1.0, "?"]}, r"the reward in row 2 is '\?', not a number"),
        ({"arm": ["a", "b"], "reward": [None, 1.0]}, "the reward in row 1 is None, not a number"),
        (42, "can't read 42 as a table"),
        ("nowhere.csv", "there is no such file"),
    ],
)
def test_unusable_logs_are_named(log: object, message: str) -> None:
    with pytest.raises(UnreadableTable, match=message):
        replay(log, threshold=0.5)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_table_from_a_dataframe_keeps_names(frame) -> None:
    found = table(frame({"arm": ["red", "blue"], "mean": [0.1, 0.3]}), threshold=0.2)
    assert means_of(found) == {"red": 0.1, "blue": 0.3}


def test_table_from_a_file_keeps_names(tmp_path) -> None:
    (tmp_path / "arms.csv").write_text("arm,mean,note\nred,0.1,\nblue,0.3,x\n")
    assert environment(f"table:{tmp_path / 'arms.csv'}", threshold=0.2).labels == ("red", "blue")
    (tmp_path / "twice.csv").write_text("arm,mean\nred,0.1\nred,0.3\n")
    with pytest.raises(UnreadableTable, match=r"twice\.csv: arm 'red' is listed twice"):
        table(tmp_path / "twice.csv", threshold=0.2)
    (tmp_path / "outside.csv").write_text("arm,mean\nred,1.5\n")
    with pytest.raises(UnreadableTable, match=r"outside\.csv: mean of arm 0 must be between 0 and 1; got 1\.5"):
        table(tmp_path / "outside.csv", threshold=0.2)
