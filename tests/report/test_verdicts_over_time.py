"""The figure shows the numbers of the runs, wrong verdicts in red, and no name squeezes it."""

from __future__ import annotations

import numpy as np
import pytest

from goodarm import bernoulli
from goodarm.report.drawing import COLOURS, STYLES, WRONG, log_ticks
from goodarm.report.verdicts_over_time import VerdictCurve, VerdictsOverTime, draw, info
from goodarm.simulation.compare import Comparison, compare

SMALL = bernoulli([0.2, 0.8, 0.9], threshold=0.5, horizon=2000, name="small")


@pytest.fixture(scope="module")
def results() -> Comparison:
    return compare(SMALL, ("hdoc", "hdoc+kt"), runs=6)


@pytest.mark.slow
def test_lines_count_the_good_arms_found(results: Comparison) -> None:
    shown = info(results)
    assert shown.good_arms == 2.0
    for line, runs in zip(shown.curves, results.finished, strict=True):
        for place in (0, len(shown.rounds) // 2, -1):
            given = [
                int(((run.verdicts == 1) & (run.means >= 0.5) & (run.verdict_rounds <= shown.rounds[place])).sum())
                for run in runs.runs
            ]
            assert line.mean[place] == pytest.approx(np.mean(given))
        assert (np.diff(line.mean) >= 0.0).all()
        assert (line.low <= line.high).all()
        assert line.mean[-1] == runs.found.mean
        assert line.wrong[-1] == (runs.false_good + runs.false_bad) / len(runs)


@pytest.mark.slow
def test_wrong_verdicts_are_dashed_and_red_and_right_ones_never() -> None:
    """As printed, the paper's method calls bad arms good at first sight."""
    bad = compare("synth-small", ("dgai-online", "hdoc+kt"), horizon=500, runs=2)
    (axes,) = draw(info(bad)).axes
    looks = [(line.get_color(), line.get_linestyle()) for line in axes.get_lines()]
    assert looks[:2] == [(COLOURS[0], "-"), (COLOURS[1], "-")]
    assert looks[2] == (WRONG, "--")
    assert any("wrong, dgai-online" in text.get_text() for text in axes.texts)
    assert WRONG not in COLOURS
    assert "--" not in STYLES


@pytest.mark.slow
def test_no_verdict_at_all_can_be_drawn() -> None:
    shown = info(compare(SMALL, ("hdoc",), horizon=3, runs=1))
    assert shown.curves[0].mean.max() == 0.0
    draw(shown).draw_without_rendering()


def curves(names: list[str]) -> list[VerdictCurve]:
    rounds = np.geomspace(10.0, 1e6, 50)
    return [
        VerdictCurve(name, "certified", rounds / 1e5 + n, rounds / 1e5, rounds / 1e5 + 20.0, 0.0 * rounds)
        for n, name in enumerate(names)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [["hdoc"], [f"ucb(beta={n})+beta-mixture" for n in range(9)], ["ucb(beta=1.5)+betting" * 4, "value"]]
)
def test_no_name_squeezes_the_plot_or_covers_a_line(names: list[str]) -> None:
    figure = draw(VerdictsOverTime("many", "setting", np.geomspace(10.0, 1e6, 50), 12.0, curves(names)))
    figure.draw_without_rendering()
    (axes,) = figure.axes
    (legend,) = figure.legends
    assert not legend.get_window_extent().overlaps(axes.get_window_extent())
    assert axes.get_window_extent().width > 0.85 * figure.bbox.width
    looks = {(line.get_color(), line.get_linestyle()) for line in axes.get_lines()[: len(names)]}
    assert len(looks) == len(names)


@pytest.mark.parametrize(("low", "high"), [(1.0, 2.0), (70.0, 400.0), (300.0, 2e6), (1.0, 1e9), (801.0, 803.0)])
def test_ticks_are_of_one_kind_and_there_are_enough(low: float, high: float) -> None:
    ticks = log_ticks(low, high)
    assert 2 <= len(ticks) <= 12
    assert all(low <= each <= high for each in ticks)


def test_lines_that_coincide_are_told_apart_by_markers_at_places_of_their_own(results: Comparison) -> None:
    lines = [line for line in draw(info(results)).axes[0].get_lines() if line.get_marker() != "None"]
    assert len(lines) == len(results.finished) > 1
    assert len({line.get_marker() for line in lines}) == len(lines)
    assert len({line.get_markevery()[0] for line in lines}) == len(lines)
