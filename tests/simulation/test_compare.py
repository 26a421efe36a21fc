"""A comparison plays what was asked, checks it first, and keeps what is finished when it is stopped."""

from __future__ import annotations

import math

import numpy as np
import pytest

from goodarm import bernoulli, gaussian
from goodarm.errors import GoodarmError, InvalidValue, UnknownName
from goodarm.simulation.compare import ComparisonRequest, compare, play
from goodarm.simulation.summary import as_json, summarise

SMALL = bernoulli([0.2, 0.8, 0.9], threshold=0.5, horizon=400, name="small")


def test_policies_come_out_in_the_order_they_went_in() -> None:
    results = compare(SMALL, ("hdoc+kt", "hdoc"), runs=3)
    assert [runs.policy for runs in results.finished] == ["hdoc+kt", "hdoc"]
    assert [len(runs) for runs in results.finished] == [3, 3]
    assert not results.interrupted


def test_a_policy_plays_the_same_alone_and_in_company() -> None:
    alone = compare(SMALL, ("hdoc",), runs=4, seed=3).finished[0]
    beside = compare(SMALL, ("hdoc+kt", "hdoc"), runs=4, seed=3, workers=2).finished[1]
    assert list(alone.rows()) == list(beside.rows())


def test_progress_hears_of_every_run() -> None:
    heard = {"hdoc": 0, "hdoc+kt": 0}

    def progress(policy: str, runs: int) -> None:
        heard[policy] += runs

    compare(SMALL, ("hdoc", "hdoc+kt"), runs=7, progress=progress)
    assert heard == {"hdoc": 7, "hdoc+kt": 7}


def test_ctrl_c_keeps_finished_runs_and_leaves_out_policies_without_any() -> None:
    def stop(policy: str, runs: int) -> None:
        if policy == "hdoc+kt":
            raise KeyboardInterrupt

    wanted = ComparisonRequest(SMALL, ("hdoc", "hdoc+kt", "hdoc+betting"), runs=5, workers=2)
    results = play(wanted, stop)
    assert results.interrupted
    assert [runs.policy for runs in results.finished] == ["hdoc", "hdoc+kt"]
    assert len(results.finished[0]) == 5
    assert 1 <= len(results.finished[1]) <= 5
    whole = compare(SMALL, ("hdoc+kt",), runs=5).finished[0]
    for kept, same in zip(results.finished[1].runs, whole.runs, strict=False):
        np.testing.assert_array_equal(kept.verdict_rounds, same.verdict_rounds)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"policies": ()}, InvalidValue, "at least one policy"),
        ({"policies": ("hdoc", "hdoc+hoeffding")}, InvalidValue, "'hdoc' is named twice"),
        ({"policies": ("hdco",)}, UnknownName, "'hdoc'"),
        ({"environments": "kano-9"}, UnknownName, "'kano-1'"),
        ({"runs": 0}, InvalidValue, "runs must be at least 1; got 0"),
        ({"workers": 0}, InvalidValue, "workers must be at least 1; got 0"),
        ({"backend": "threads"}, UnknownName, "'threading'"),
        ({"horizon": 2}, InvalidValue, "at least the number of arms, 3"),
        ({"horizon": 10**17}, InvalidValue, "at most"),
        ({"seed": -1}, InvalidValue, "seed must be 0 or larger; got -1"),
        ({"delta": float("nan")}, InvalidValue, "delta"),
        ({"threshold": 1.5}, InvalidValue, "threshold"),
        ({"criterion": "fwr"}, UnknownName, "'fwer'"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_played(
    changes: dict[str, object], error: type[GoodarmError], words: str
) -> None:
    wanted = ComparisonRequest(**{"environments": SMALL, **changes})
    with pytest.raises(error, match=words):
        _ = wanted.specs


@pytest.mark.slow
def test_the_informed_limit_is_worked_out_on_request() -> None:
    mixed = bernoulli([0.3] * 90 + [0.7] * 10, 0.5, horizon=5000)
    asked, plain = (compare(mixed, "value", runs=4, informed=informed) for informed in (True, False))
    share = float(asked.table["share_of_informed_limit"][0])
    assert 0.5 < share < 1.1
    assert share > float(asked.table["share_of_limit"][0])
    assert math.isnan(plain.table["share_of_informed_limit"][0])
    assert as_json(summarise(asked))["policies"][0]["share_of_informed_limit"] == share
    assert "informed_limit" not in as_json(summarise(plain))
    with pytest.raises(InvalidValue, match=r"rewards in \[0, 1\].*Leave informed out"):
        compare(gaussian([0.0, 1.0], 0.5, scale=1.0), "value", informed=True)
