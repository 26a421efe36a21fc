"""The summary, its JSON and its table say what the runs were."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest
from rich.console import Console

from goodarm import bernoulli
from goodarm.report.numbers import json_text
from goodarm.report.text_table import footnotes, headline, table
from goodarm.simulation.compare import Comparison, compare
from goodarm.simulation.summary import Summary, as_json, summarise

SURE = bernoulli([0.0, 1.0, 1.0], threshold=0.5, horizon=1000, name="sure")
"""Constant rewards: every run is the same, and the figures can be checked by hand."""


@pytest.fixture(scope="module")
def results() -> Comparison:
    return compare(SURE, ("hdoc+kt", "uniform+kt"), runs=3)


@pytest.fixture(scope="module")
def summary(results: Comparison) -> Summary:
    return summarise(results)


def test_figures_by_hand(results: Comparison, summary: Summary) -> None:
    assert (summary.ceiling, summary.good_arms) == (1000.0, 2.0)
    rounds = results.finished[0].runs[0].verdict_rounds
    first = summary.policies[0]
    assert first.exploit_score.mean == pytest.approx(0.5 * (1000 - rounds[1]) + 0.5 * (1000 - rounds[2]))
    assert first.share_of_ceiling == pytest.approx(first.exploit_score.mean / 1000.0)
    assert [each.mean for each in first.output_at] == sorted(rounds[1:])
    assert first.stopped_at.mean == rounds.max()
    assert (first.found, first.wrong_runs, first.false_good, first.false_bad) == (2.0, 0, 0, 0)


def test_json_has_the_keys_that_were_promised(summary: Summary) -> None:
    told = as_json(summary)
    promised = ["environment", "reading", "horizon", "runs", "seed", "delta", "ceiling", "limit", "policies"]
    assert [key for key in told if key in promised] == promised
    assert set(told) - set(promised) == {"arms", "good_arms", "threshold", "criterion", "compared"}
    assert set(told["policies"][0]) == {
        "policy",
        "guarantee",
        "criterion",
        "exploit_score",
        "share_of_ceiling",
        "share_of_limit",
        "stopped_at",
        "output_at",
        "found",
        "wrong_runs",
        "false_good",
        "false_bad",
        "rounds_per_second",
    }
    assert set(told["policies"][0]["exploit_score"]) == {"mean", "low", "high"}
    assert set(told["policies"][0]["stopped_at"]) == {"mean", "runs"}
    assert set(told["policies"][0]["output_at"][0]) == {"mean", "runs"}


def refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def test_json_is_valid_where_there_is_nothing_to_average() -> None:
    """One run has no interval, and nothing was decided: all of that is null."""
    nothing = summarise(compare(SURE, ("hdoc",), horizon=3, runs=1))
    told = json.loads(json_text(as_json(nothing)), parse_constant=refuse)
    (policy,) = told["policies"]
    assert policy["stopped_at"] == {"mean": None, "runs": 0}
    assert policy["output_at"] == []
    assert policy["exploit_score"] == {"mean": 0.0, "low": None, "high": None}


def test_no_good_arm_has_no_shares() -> None:
    all_bad = bernoulli([0.1, 0.2], threshold=0.5, horizon=50)
    (policy,) = summarise(compare(all_bad, ("hdoc+kt",), runs=2)).policies
    assert math.isnan(policy.share_of_ceiling)
    assert math.isnan(policy.share_of_limit)


def test_an_interrupted_comparison_says_how_far_each_policy_got() -> None:
    def stop(policy: str, runs: int) -> None:
        raise KeyboardInterrupt

    told = as_json(summarise(compare(SURE, ("hdoc", "hdoc+kt"), runs=2, workers=2, progress=stop)))
    assert list(told["interrupted"]) == ["hdoc"]
    assert 1 <= told["interrupted"]["hdoc"] <= 2


def test_nothing_finished_is_summarised_too(results: Comparison) -> None:
    empty = summarise(Comparison(results.request, (), (), interrupted=True))
    assert json.loads(json_text(as_json(empty)), parse_constant=refuse)["policies"] == []
    assert "sure: 3 arms" in next(headline(empty))


@pytest.mark.parametrize("width", [80, 104, 120])
def test_the_table_fits_and_says_everything(summary: Summary, width: int) -> None:
    screen = Console(width=width, markup=False, highlight=False, file=io.StringIO())
    for line in headline(summary):
        screen.print(line)
    screen.print(table(summary, width))
    for line in footnotes(summary):
        screen.print(line)
    text = screen.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    for words in ("hdoc+kt", "uniform+kt", "certified", "2/2", "0/3", "seed 0", "τstop", "0/1 rewards, given means"):
        assert words in text, words


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_columns_are_the_rows(results: Comparison, rows: int) -> None:
    runs = results.finished[0]
    blocks = list(runs.columns(rows))
    assert len(blocks) == {1: 3, 7: 2, 1000: 1}[rows]
    by_column = [
        dict(zip(block, row, strict=True))
        for block in blocks
        for row in zip(
            *(v.tolist() if isinstance(v, np.ndarray) else [v] * len(block["arm"]) for v in block.values()), strict=True
        )
    ]
    assert by_column == list(runs.rows())
    assert {row["verdict"] for row in by_column} == {"good", "bad"}
