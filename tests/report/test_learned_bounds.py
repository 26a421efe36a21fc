"""alpha and beta as a run goes on: the numbers, and the figures that show them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.figure import Figure

from goodarm.engine.live.threshold import ThresholdStep
from goodarm.errors import InvalidValue
from goodarm.policies import policy
from goodarm.policies.bounds import deciding_bound, sampling_bound
from goodarm.problem import Problem
from goodarm.report.learned_bounds import Followed, arm_trajectory, draw_bounds, followed
from goodarm.rules.beliefs import Arm, Pool
from goodarm.rules.learners.gradient import gradient_learner
from goodarm.simulation.compare import compare
from goodarm.simulation.runs import Runs
from goodarm.simulation.simulate import simulate

BAR = Problem(threshold=0.3, arms=50).bar


@pytest.fixture(scope="module")
def runs() -> Runs:
    return simulate("dgai", "synth-small", horizon=20_000, runs=2, seed=3)


@pytest.mark.parametrize("name", ["ucb+gap-mixture", "ucb+beta-mixture"])
def test_a_verdict_is_given_at_alpha_and_not_before(name: str) -> None:
    made, pulls = policy(name), 400.0
    alpha = deciding_bound(made, pulls, Pool(1.0), BAR)
    for factor, decided in ((1.001, True), (0.999, False)):
        total = pulls * BAR.threshold + factor * alpha * BAR.spread * math.sqrt(pulls)
        assert (made.identification.totals(pulls, total, BAR)[0] >= BAR.budget) is decided


def test_learned_bets_need_less_than_hoeffding() -> None:
    pool = Pool(1.0, 1e5, gradient_learner.start(BAR))
    assert 3.0 < deciding_bound(policy("dgai"), 1000.0, pool, BAR) < deciding_bound(policy("hdoc"), 1000.0, pool, BAR)


def test_beta_of_an_index_a_clock_and_of_nothing() -> None:
    arm, pool = Arm(100.0, 30.0, 0.3, 0.1, 0.0, 0.0, 0.0, 0.0), Pool(1000.0, 1e5)
    assert sampling_bound(policy("ucb(beta=1.5)"), arm, pool, BAR) == pytest.approx(1.5)
    # hdoc adds sqrt(log t/(2 N))
    hdoc = math.sqrt(math.log(1000.0) / 200.0) / (BAR.spread * 0.1)
    assert sampling_bound(policy("hdoc"), arm, pool, BAR) == pytest.approx(hdoc)
    assert math.isnan(sampling_bound(policy("uniform"), arm, pool, BAR))


@pytest.mark.slow
def test_trajectories_show_what_the_learner_believes_at_the_end() -> None:
    recorded = simulate("dgai", "synth-small", horizon=5000, runs=1, trajectory=5)
    assert recorded.trajectories["beta"][-1] == recorded.runs[0].learned["beta"]
    assert np.isfinite(recorded.trajectories["alpha"]).all()
    assert simulate("value", "synth-small", horizon=2000, trajectory=2).trajectories["beta"].size == 2


@pytest.mark.slow
def test_figures_are_of_the_same_runs(runs: Runs) -> None:
    again = followed(runs)
    assert again.beta[:, -1].tolist() == [run.learned["beta"] for run in runs.runs]
    shown = arm_trajectory(runs)
    good = runs.runs[0].verdicts == 1
    assert shown.verdict == 1
    assert shown.pulls[-1] == runs.runs[0].pulls[good].max()
    # the arm is called good where its mean meets the bound for deciding, up to the order of the rewards
    assert shown.surplus[-1] == pytest.approx(shown.deciding[-1], rel=0.35)
    known = np.isfinite(shown.deciding)
    assert (shown.others["hoeffding"][known] > shown.deciding[known]).all()


@pytest.mark.slow
def test_draws_and_shows_itself(runs: Runs) -> None:
    assert len(runs.plot("learning").axes) == 2
    assert len(runs.plot("bound", arm=0).axes) == 1
    assert runs.look()._repr_png_().startswith(b"\x89PNG")
    assert runs.look()._repr_html_().startswith("<img")
    several = compare("kano-1", ["dgai", "value", "hdoc"], horizon=2000, runs=2)
    assert len(several.plot("learning").axes) == 2
    with pytest.raises(InvalidValue, match="from 0 to 49"):
        runs.plot("bound", arm=50)
    with pytest.raises(InvalidValue, match="one environment"):
        compare(["kano-1", "kano-2"], "dgai", horizon=500, runs=1).plot("learning")


def test_the_axis_holds_a_negative_alpha() -> None:
    shown = [Followed("dgai-online", np.array([1.0, 2.0, 3.0]), np.array([[0.2, -0.26, -0.1]]), np.full((1, 3), 0.5))]
    alpha, beta = Figure().subplots(1, 2)
    draw_bounds((alpha, beta), shown, "synth-small")
    assert alpha.get_ylim()[0] < -0.26
    assert beta.get_ylim()[0] >= 0.0


def test_the_trained_beta_is_shown() -> None:
    arm = Arm(100.0, 50.0, 0.5, 0.1, 0.0, 0.0, 0.0, 0.0)
    assert sampling_bound(policy("dgai-offline"), arm, Pool(1000.0), BAR) == 1.0
    for name in ("dgai-offline", "dgai-offline-softmax"):
        assert sampling_bound(policy(f"{name}(beta=0.4)"), arm, Pool(1000.0), BAR) == 0.4
    assert math.isnan(sampling_bound(policy("thompson"), arm, Pool(1000.0), BAR))
    assert math.isnan(sampling_bound(policy("value"), arm, Pool(1000.0), BAR))


def test_a_live_step_shows_the_same_bounds() -> None:
    step = ThresholdStep(policy("ucb(beta=1.5)+gap-mixture"), Problem(threshold=0.3, arms=2))
    for reward in (0.0, 1.0, 1.0, 0.0):
        arm = step.choose()
        step.ask(arm)
        step.absorb(arm, reward)
    found = step.bounds()
    assert found["beta"] == pytest.approx(1.5)
    most = float(step.pulls().max())
    assert found["alpha"] == deciding_bound(step.policy, most, Pool(1.0), Problem(threshold=0.3, arms=2).bar)


@pytest.mark.slow
@pytest.mark.parametrize("recorded", [0, 100])
def test_lines_end_where_the_longest_run_ends(recorded: int) -> None:
    short = simulate("hdoc", "kano-1", horizon=100_000, runs=2, stop_after=1, trajectory=recorded)
    longest = max(run.rounds for run in short.runs)
    assert longest < 5_000
    shown = followed(short)
    assert shown.rounds[-1] == longest
    assert shown.rounds.size >= 20
    left, right = short.plot("learning").axes[0].get_xlim()
    assert (left, right) == (0.0, longest)
