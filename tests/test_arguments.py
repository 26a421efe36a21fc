"""Whole numbers of Python and numpy count everywhere, truth values nowhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import goodarm
from goodarm import Campaign
from goodarm.errors import InvalidValue, UnknownName


def test_numpys_whole_numbers_count_in_a_campaign(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/a.db"
    with Campaign.create(address, "c", ["a", "b"], 0.5, horizon=np.int64(100), seed=np.uint8(3)) as campaign:
        assert len(campaign.ask(np.int64(2), key="k")) == len(campaign.waiting(np.int32(9))) == 2
        assert sum(campaign.ask_block(np.int64(5), key="block").pulls.values()) == 5
        assert [entry["number"] for entry in campaign.history(np.int64(1), np.int64(2))] == [2, 3]
        assert (campaign.terms.horizon, campaign.terms.seed) == (100, 3)
        assert campaign.check().ok


def test_truth_values_are_no_numbers_of_runs() -> None:
    with pytest.raises(InvalidValue, match=r"runs must be a whole number; got True\."):
        goodarm.simulate("ucb+gap-mixture", "kano-1", runs=True)


def test_a_horizon_written_as_a_float_is_written_out() -> None:
    with pytest.raises(InvalidValue, match=r"at least 1 and at most .*; got 100000\.0\. Write 100_000\."):
        Campaign.create("memory:", "c", ["a"], 0.5, horizon=1e5)  # type: ignore[arg-type]  # that is the point


def test_names_that_begin_with_the_given_text_are_suggested_first() -> None:
    names = [f"banner_{i:03}" for i in range(120)]
    with pytest.raises(UnknownName, match="Did you mean 'banner_000' or 'banner_001' or 'banner_002'"):
        raise UnknownName("arm", "banner_00", names)
    with pytest.raises(UnknownName, match="Did you mean 'hdoc'"):
        raise UnknownName("rule", "hdco", ["hdoc", "kt"])
