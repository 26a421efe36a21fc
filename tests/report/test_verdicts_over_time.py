"""The figure shows the numbers of the runs, and its legend covers no line."""

from __future__ import annotations

import numpy as np
import pytest

from goodarm import bernoulli
from goodarm.report.verdicts_over_time import COLOURS, STYLES, Line, VerdictsOverTime, draw, info
from goodarm.simulation.compare import Comparison, Results, compare

SMALL = bernoulli([0.2, 0.8, 0.9], threshold=0.5, horizon=2000, name="small")


@pytest.fixture(scope="module")
def results() -> Results:
    return compare(Comparison(SMALL, ("hdoc", "hdoc+kt"), runs=6))


def test_lines_count_the_good_verdicts(results: Results) -> None:
    shown = info(results)
    assert shown.good_arms == 2.0
    for line, runs in zip(shown.lines, results.finished, strict=True):
        for place in (0, len(shown.rounds) // 2, -1):
            given = [
                int(((run.verdicts == 1) & (run.verdict_rounds <= shown.rounds[place])).sum()) for run in runs.runs
            ]
            assert line.mean[place] == pytest.approx(np.mean(given))
        assert (np.diff(line.mean) >= 0.0).all()
        assert (line.low <= line.mean).all()
        assert (line.mean <= line.high).all()
        assert line.mean[-1] == runs.found.mean


def test_no_verdict_at_all_can_be_drawn() -> None:
    shown = info(compare(Comparison(SMALL, ("hdoc",), horizon=3, runs=1)))
    assert shown.lines[0].mean.max() == 0.0
    draw(shown).draw_without_rendering()


def test_the_legend_covers_no_line_and_every_policy_looks_different() -> None:
    rounds = np.geomspace(10.0, 1e6, 50)
    lines = [
        Line(f"ucb(beta={number})+beta-mixture", "certified", rounds / 1e5 + number, rounds / 1e5, rounds / 1e5 + 20.0)
        for number in range(len(COLOURS) + 3)
    ]
    figure = draw(VerdictsOverTime("many", "setting", rounds, 12.0, lines))
    figure.draw_without_rendering()
    (axes,) = figure.axes
    (legend,) = figure.legends
    assert not legend.get_window_extent().overlaps(axes.get_window_extent())
    looks = {(line.get_color(), line.get_linestyle()) for line in axes.get_lines()[: len(lines)]}
    assert len(looks) == len(lines)
    assert len(set(COLOURS)) == len(COLOURS)
    assert len(set(STYLES)) == len(STYLES)
