"""`goodarm.plan`: lower bounds, simulated outlooks, wishes that can't come true, and campaigns under way."""

from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest

from goodarm.environments import bernoulli, gaussian, several_metrics
from goodarm.environments.names import environment
from goodarm.errors import InvalidValue, UnknownName, UnreadableTable, UnsoundPairing
from goodarm.numerics import bernoulli_kl
from goodarm.planning import campaign_lower_bound, decidable, plan, pulls_lower_bound, remaining
from goodarm.planning.quick import LIMIT, quick_plan
from goodarm.problem import Gaussian, Problem
from goodarm.report import plan_figure
from goodarm.report.plan_text import answer, as_json, headline
from goodarm.simulation.simulate import simulate

# --- lower bounds -----------------------------------------------------------------------------------------------------


def test_lower_bound_of_an_arm() -> None:
    problem = Problem(threshold=0.02, arms=200, delta=0.05)
    certainty = 0.9 * math.log(19.0)  # kl(0.05, 0.95)
    assert pulls_lower_bound(0.025, problem) == pytest.approx(certainty / bernoulli_kl(0.025, 0.02))
    assert pulls_lower_bound(0.02, problem) == math.inf
    assert pulls_lower_bound(0.025, Problem(threshold=0.02, arms=200, delta=0.5)) == 0.0
    gaussian = Problem(threshold=1.0, arms=1, rewards=Gaussian(2.0))
    assert pulls_lower_bound(2.0, gaussian) == pytest.approx(8.0 * certainty)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["value", "hdoc+kt"])
def test_no_certified_policy_undercuts_the_bound(policy: str) -> None:
    means = np.array([0.7, 0.7, 0.3, 0.3])
    runs = simulate(policy, bernoulli(means, 0.5), horizon=50_000, runs=50, seed=1)
    assert runs.stopped_at.runs == 50
    assert runs.stopped_at.low > campaign_lower_bound(means, runs.spec.problem)


def test_campaign_needs_each_arm_once() -> None:
    assert campaign_lower_bound(np.array([1.0, 0.0]), Problem(threshold=0.5, arms=2, delta=0.4)) == 2.0


def test_decidable_counts_the_cheapest_arms() -> None:
    problem = Problem(threshold=0.5, arms=3)
    means = np.array([0.51, 0.9, 0.6])
    costs = sorted(pulls_lower_bound(mean, problem) for mean in means)
    assert [decidable(means, problem, budget) for budget in (costs[0] - 1, costs[0], sum(costs))] == [0, 1, 3]


# --- before a campaign ------------------------------------------------------------------------------------------------

SMALL = {"arms": 10, "threshold": 0.5, "gap": 0.2, "runs": 6}


def test_plan_agrees_with_simulation_and_bound() -> None:
    made = plan(**SMALL, budget=5000, seed=3)
    means = [0.7] * 5 + [0.3] * 5
    runs = simulate("value+gap-mixture", bernoulli(means, 0.5), horizon=5000, runs=6, seed=3)
    assert made.asked.rounds == runs.stopped_at
    assert made.pulls_per_arm.mean == runs.stopped_at.mean / 10
    assert made.lower_bound == campaign_lower_bound(np.array(means), Problem(0.5, 10))
    assert made.asked.decided.mean == made.asked.found.mean == 1.0
    assert made.possible
    assert made.notes == ()
    assert all(len(at) == 10 and at[-1] <= 5000 for at in made.asked.decided_at)


def test_milestones_are_when_shares_of_the_good_arms_are_found() -> None:
    made = plan(**SMALL, budget=5000, seed=3)
    runs = simulate("value+gap-mixture", bernoulli([0.7] * 5 + [0.3] * 5, 0.5), horizon=5000, runs=6, seed=3)
    for milestone, needed in zip(made.asked.milestones, (3, 4, 5), strict=True):
        at = sorted(sorted(run.verdict_rounds[run.verdicts == 1])[needed - 1] for run in runs.runs)
        assert milestone.samples == (at[2], at[0], at[5])
    assert made.asked.end.high == max(run.rounds for run in runs.runs)


@pytest.mark.slow
def test_nine_campaigns_in_ten_are_that_many_of_fresh_ones() -> None:
    """The interval of one campaign holds eight campaigns in ten; the interval of the mean does not."""
    made = plan(arms=10, threshold=0.5, gap=0.2, budget=5000, runs=60, seed=11)
    fresh = plan(arms=10, threshold=0.5, gap=0.2, budget=5000, runs=60, seed=12).asked
    low, high = made.asked.end.low, made.asked.end.high
    ends = [at[-1] for at in fresh.decided_at]
    assert 0.55 < np.mean([low <= end <= high for end in ends]) < 0.97  # 0.8, within 3.5 standard errors of both
    assert np.mean([made.asked.rounds.low <= end <= made.asked.rounds.high for end in ends]) < 0.5


def test_a_budget_that_falls_short_is_doubled_to_see_what_that_buys() -> None:
    made = plan(arms=10, threshold=0.5, gap=0.1, runs=4, budget=400)
    assert made.asked.milestones[-1].samples.median == math.inf
    assert made.alternatives[-1].words == "budget 800"
    assert made.alternatives[-1].found.mean >= made.asked.found.mean
    assert "budget" not in plan(**SMALL, budget=5000).alternatives[-1].words


def test_too_many_arms_are_refused_before_anything_is_drawn() -> None:
    with pytest.raises(InvalidValue, match="at most 100,000 arms; got 1,000,000,000"):
        plan(arms=10**9, threshold=0.02)
    with pytest.raises(InvalidValue, match="at most 100,000 arms"):
        plan(arms=10**9, threshold=0.02, prior="beta:1,50")


def test_looser_wishes() -> None:
    made = plan(**SMALL, budget=5000)
    words = [each.words for each in made.alternatives]
    assert words == ["delta 0.1", "threshold 0.45", "threshold 0.55"]
    assert made.alternatives[0].lower_bound < made.asked.lower_bound
    assert made.alternatives[0].rounds.mean < made.asked.rounds.mean
    nearer = plan(arms=10, threshold=0.5, gap=0.02, runs=1, budget=100)
    assert [each.threshold for each in nearer.alternatives[1:3]] == [0.49, 0.51]  # half a gap: no arm changes sides


def test_same_seed_same_plan_whatever_the_workers() -> None:
    assert plan(**SMALL, seed=4) == plan(**SMALL, seed=4, workers=2)
    assert plan(**SMALL, seed=4) != plan(**SMALL, seed=5)


def test_progress_counts_every_run() -> None:
    told: list[tuple[int, int]] = []
    plan(**SMALL, budget=2000, progress=lambda ended, in_all: told.append((ended, in_all)))
    assert told[-1] == (24, 24)
    assert [ended for ended, _ in told] == sorted(ended for ended, _ in told)


def test_budget_below_the_bound_is_told() -> None:
    made = plan(arms=20, threshold=0.02, gap=0.005, budget=30_000, runs=3)
    assert not made.possible
    assert made.lower_bound > 30_000
    assert made.asked.rounds is None
    assert made.asked.decided.mean < 1.0
    assert "no policy with delta = 0.05 decides all 20 arms in 30,000 rounds" in made.notes[0]
    # at 3,799 pulls for a good arm and 4,481 for a bad one (the lower bounds), the 7 cheapest arms fit
    assert "At best, the budget covers the 7 easiest" in made.notes[0]


def test_budget_below_one_pull_an_arm_is_told() -> None:
    made = plan(arms=20, threshold=0.5, budget=19)
    assert not made.possible
    assert made.asked is None
    assert made.alternatives == ()
    assert "are too few to pull each of the 20 arms once" in made.notes[0]
    assert plan_figure.info(made).curves == []


def test_prior_leaves_arms_open_and_says_so() -> None:
    made = plan(arms=30, threshold=0.02, prior="beta:1,50", budget=20_000, runs=4)
    assert 0.0 < made.asked.decided.mean < 1.0
    assert "Plan for a share of the good arms" in made.notes[0]
    assert made.arm_bound[0] < made.arm_bound[1] < made.arm_bound[2]
    assert plan(arms=5, threshold=0.5, prior="uniform: 0.6, 0.9", runs=2, budget=2000).asked.found.mean == 1.0
    from goodarm.planning import guess_means

    assert guess_means(0.02, 5, prior="uniform:1%, 3%").words == "means drawn evenly from [0.01, 0.03]"
    with pytest.raises(InvalidValue, match="can't read the prior"):
        guess_means(0.02, 5, prior="beta:1%,3%")


def test_a_prior_that_stays_off_the_bar_has_no_arms_near_it() -> None:
    notes = " ".join(plan(arms=5, threshold=0.5, prior="uniform:0.1,0.3", runs=2, budget=2000).notes)
    assert "arbitrarily close" not in notes
    assert "Lower bounds are medians over draws of the means." in notes
    across = " ".join(plan(arms=5, threshold=0.2, prior="uniform:0.1,0.3", runs=2, budget=2000).notes)
    assert "Means from a prior can lie arbitrarily close to the threshold, and such arms stay undecided." in across


def test_percentages_are_accepted_for_every_mean_and_distance() -> None:
    assert plan(arms=3, threshold="80%", gap="5%", runs=1) == plan(arms=3, threshold=0.8, gap=0.05, runs=1)
    by_text = plan(arms=3, control="20%", margin="2%", gap="10%", runs=1, budget=200)
    assert by_text == plan(arms=3, control=0.2, margin=0.02, gap=0.1, runs=1, budget=200)
    assert quick_plan(arms=3, control="20%", gap="10%") == quick_plan(arms=3, control=0.2, gap=0.1)
    assert remaining([4], [2], threshold="50%").median == remaining([4], [2], threshold=0.5).median
    assert environment("kano-1", threshold="70%").threshold == bernoulli([0.1], threshold="70%").threshold == 0.7


def test_percentages_of_other_rewards_are_refused() -> None:
    for make in (
        lambda: Problem("80%", 3, rewards=Gaussian(1.0)),
        lambda: gaussian([0.1], threshold="80%"),
    ):
        with pytest.raises(InvalidValue, match=r"threshold 80%: is it 80 or 0\.8"):
            make()


def test_words_of_a_plan_against_a_control() -> None:
    made = plan(arms=4, control=0.2, margin=0.02, gap=0.1, runs=1, budget=200)
    assert made.means == "half of the means 0.1 above the control's mean plus the margin, half below"


def test_a_budget_without_a_single_verdict() -> None:
    (note,) = plan(arms=4, threshold=0.02, gap=0.01, runs=1, budget=10).notes
    assert note.endswith("It does not cover a single verdict.")


def test_a_threshold_above_1_is_answered_by_what_a_plan_can_do() -> None:
    with pytest.raises(InvalidValue, match="A plan simulates rewards of 0 and 1") as refused:
        plan(arms=20, threshold=30.0, gap=5.0)
    assert "rewards=" not in str(refused.value)


def test_arm_on_the_threshold_is_told() -> None:
    made = plan(threshold=0.5, means=pd.DataFrame({"arm": ["x", "y"], "mean": [0.5, 0.9]}), budget=1000, runs=2)
    assert made.lower_bound == math.inf
    assert not made.possible
    assert "can't be decided with any number of pulls" in made.notes[0]
    assert "at least infinitely many" in made.notes[1]


def test_no_good_arms() -> None:
    made = plan(threshold=0.5, means={"arm": ["x", "y"], "mean": [0.1, 0.2]}, budget=1000, runs=2)
    assert made.asked.found is None
    assert made.asked.decided.mean == 1.0


def test_without_budget_the_simulation_has_an_end() -> None:
    made = plan(arms=2, threshold=0.02, gap=0.015, policy="hdoc", runs=1)
    assert made.asked.rounds is None
    assert "not to the end" in made.notes[-1]


@pytest.mark.parametrize(
    ("wish", "error", "message"),
    [
        ({"threshold": 0.5}, InvalidValue, "arms must be the number of arms, at least 1; got None"),
        ({"threshold": 1.5, "arms": 3}, InvalidValue, "threshold must lie strictly between 0 and 1"),
        ({"threshold": 0.5, "arms": 3, "delta": 0.0}, InvalidValue, "delta must lie strictly between 0 and 1"),
        ({"threshold": 0.02, "arms": 3, "gap": 0.03}, InvalidValue, "at most 0.02 here; got 0.03"),
        (
            {"threshold": 0.02, "arms": 3, "gap": 0.01, "prior": "beta:1,9"},
            InvalidValue,
            "give only one of `gap`, `means`",
        ),
        ({"threshold": 0.02, "arms": 3, "prior": "beta:1"}, InvalidValue, "can't read the prior 'beta:1'"),
        ({"threshold": 0.02, "arms": 3, "prior": "beta:0,1"}, InvalidValue, "can't read the prior 'beta:0,1'"),
        ({"threshold": 0.02, "arms": 3, "prior": "beta:x,1"}, InvalidValue, "can't read the prior 'beta:x,1'"),
        ({"threshold": 0.02, "arms": 3, "budget": 0}, InvalidValue, "budget must be at least one round"),
        ({"threshold": 0.02, "arms": 3, "runs": 0}, InvalidValue, "runs must be at least 1"),
        ({"threshold": 0.02, "arms": 3, "policy": "hdco"}, UnknownName, "Did you mean 'hdoc'"),
        ({"threshold": 0.02, "means": "nowhere.csv"}, UnreadableTable, "there is no such file"),
        (
            {"threshold": 0.02, "arms": 3, "means": {"arm": ["x"], "mean": [0.1]}},
            InvalidValue,
            "the table of means has 1 arm, not 3",
        ),
    ],
)
def test_wrong_wishes_are_named(wish: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        plan(**wish)


@pytest.mark.slow
def test_figure_shows_what_was_simulated() -> None:
    made = plan(**SMALL, budget=5000)
    shown = plan_figure.info(made)
    assert [curve.words for curve in shown.curves] == ["as asked", *(each.words for each in made.alternatives)]
    asked = shown.curves[0]
    assert asked.mean[0] == 0.0
    assert asked.mean[-1] == 1.0
    assert (np.diff(asked.mean) >= 0.0).all()
    assert [share for share, _ in shown.milestones] == [0.5, 0.8, 0.9]
    last = max(each.rounds[-1] for outlook in (made.asked, *made.alternatives) for each in outlook.finds)
    assert last < shown.samples[-1] < 1.1 * last, "the width ends where nothing more is found"
    assert shown.budget is None, "a budget far to the right would leave the figure empty"
    assert plan_figure.info(plan(**SMALL, budget=300, policy="value")).budget == 300
    plan_figure.draw(shown).draw_without_rendering()


# --- a campaign under way ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("means", "threshold"),
    [
        ([0.55] * 5 + [0.45] * 5, 0.5),
        ([0.05] * 5 + [0.008] * 5, 0.02),
        ([0.1, 0.1, 0.1, 0.35, 0.42, 0.58, 0.65, 0.9, 0.9, 0.9], 0.5),
    ],
)
def test_remaining_agrees_with_simulated_runs(means: list[float], threshold: float) -> None:
    """With means known almost surely, the pulls of a whole campaign are those of `value` to a quarter.

    The standard error of the simulated mean over 40 runs is 3% to 6%.
    """
    runs = simulate("value", bernoulli(means, threshold), horizon=1_000_000, runs=40, seed=2)
    known = 1e8
    expected = sum(
        remaining(
            [0] * len(means), [0] * len(means), threshold=threshold, prior=(known * m, known * (1 - m)), draws=20
        ).expected.mean()
        for m in means
    )
    assert runs.stopped_at.runs == 40
    assert expected == pytest.approx(runs.stopped_at.mean, rel=0.25)


def test_remaining_shrinks_as_evidence_comes_in() -> None:
    medians = [
        remaining([n] * 10, [0.6 * n] * 10, threshold=0.5, prior=(6e6, 4e6)).median[0] for n in (0, 100, 300, 1000)
    ]
    assert medians == sorted(medians, reverse=True)
    assert medians[0] > 250
    assert medians[-1] == 0.0


def test_remaining_says_how_sure_it_is() -> None:
    left = remaining([0, 50, 5000], [0, 25, 4000], threshold=0.5, limit=20_000)
    assert left.expected[2] == 0.0
    assert left.good[2] == 1.0
    assert 0.0 < left.good[1] < 1.0
    assert 0.0 < left.beyond[1] < 1.0
    assert (left.low <= left.median).all()
    assert (left.median <= left.high).all()
    assert left.high.max() <= 20_000


def test_remaining_learns_the_prior_from_the_other_arms() -> None:
    """An arm without pulls is expected to be like the others: far from the threshold when they are."""
    rng = np.random.default_rng(0)
    far, near = rng.binomial(1000, 0.9, 20), rng.binomial(1000, 0.52, 20)
    among_far = remaining([*[1000] * 20, 0], [*far, 0], threshold=0.5)
    among_near = remaining([*[1000] * 20, 0], [*near, 0], threshold=0.5)
    assert among_far.median[-1] < 100 < among_near.median[-1]


@pytest.mark.parametrize(
    ("pulls", "totals", "options", "message"),
    [
        ([1, 2], [1], {}, r"got shapes \(2,\) and \(1,\)"),
        ([], [], {}, "one number per arm"),
        ([5, 5], [1, 6], {}, "arm 1 has 6 of 5"),
        ([5], [math.nan], {}, "arm 0 has nan of 5"),
        ([5], [1], {"limit": 0}, "limit and draws must be at least 1"),
        ([5], [1], {"prior": (0.0, 1.0)}, "two positive numbers"),
    ],
)
def test_wrong_totals_are_named(pulls: list, totals: list, options: dict, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        remaining(pulls, totals, threshold=0.5, **options)


@pytest.mark.parametrize("gap", [0.02, 0.1, 0.3])
def test_a_quick_plan_is_what_remains_of_arms_that_nobody_has_pulled(gap: float) -> None:
    arms, mean = 50, 0.5 + gap
    left = remaining([0.0] * arms, [0.0] * arms, threshold=0.5, prior=(mean * 1e12, (1.0 - mean) * 1e12), limit=1e9)
    made = quick_plan(threshold=0.5, arms=arms, gap=gap)
    assert made.low < made.median < made.high
    assert made.median == pytest.approx(left.expected.sum(), rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("arms", "control", "margin", "gap"), [(4, 0.1, 0.0, 0.05), (10, 0.3, 0.02, 0.1)])
def test_a_quick_plan_against_a_control_is_near_what_simulated_campaigns_take(
    arms: int, control: float, margin: float, gap: float
) -> None:
    simulated = plan(arms=arms, control=control, margin=margin, gap=gap, runs=7).asked
    assert simulated is not None
    quick = quick_plan(control=control, margin=margin, arms=arms, gap=gap)
    assert simulated.rounds.mean / 1.4 < quick.median < 1.4 * simulated.rounds.mean
    assert quick.half < quick.eighty <= quick.ninety <= quick.median == quick.high


def test_a_quick_plan_against_a_control_grows_with_what_is_asked() -> None:
    def pulls(arms: int = 10, gap: float = 0.1, delta: float = 0.05) -> float:
        return quick_plan(control=0.3, arms=arms, gap=gap, delta=delta).median

    assert pulls(arms=5) < pulls() < pulls(arms=40) < 4 * pulls()  # the control's pulls serve all arms
    assert pulls(gap=0.05) == pytest.approx(4 * pulls(), rel=0.1)
    assert pulls(delta=0.01) > pulls()
    assert quick_plan(control=0.3, arms=3, prior="uniform:0.2999999,0.3").median == LIMIT  # never decided
    with pytest.raises(InvalidValue, match="strictly between 0 and 1"):
        quick_plan(control=0.9, margin=0.2, arms=3)
    assert quick_plan(control=0.3, margin="2%", arms=3) == quick_plan(control=0.3, margin=0.02, arms=3)
    with pytest.raises(InvalidValue, match="margin must be a number; got 'much'"):
        quick_plan(control=0.3, margin="much", arms=3)


def test_a_quick_plan_for_gaussian_rewards_scales_with_the_square_of_gap_over_scale() -> None:
    plans = [quick_plan(threshold=3.0, arms=10, gap=gap, rewards=Gaussian(scale)) for gap, scale in ((1, 2), (10, 20))]
    assert astuple(plans[0])[:6] == astuple(plans[1])[:6]
    with pytest.raises(InvalidValue, match="gap must be a positive number"):
        quick_plan(threshold=3.0, arms=10, gap=-1.0, rewards=Gaussian(1.0))
    with pytest.raises(InvalidValue, match="normal:MEAN,SD"):
        quick_plan(threshold=3.0, arms=10, prior="beta:1,2", rewards=Gaussian(1.0))


def test_a_plan_against_a_control_says_what_the_campaign_takes() -> None:
    made = plan(arms=6, control=0.3, margin=0.05, gap=0.2, runs=3)
    assert made.control == 0.3
    assert made.threshold == 0.35
    assert made.asked is not None
    assert made.asked.decided.mean == 1.0
    half, end = made.asked.milestones[0].samples.median, made.asked.end.median
    assert made.lower_bound < half < end <= made.last_round
    assert [each.words for each in made.alternatives] == ["delta 0.1"]
    assert any("better arms" in line for line in answer(made))
    assert "control of mean 0.3" in next(iter(headline(made)))
    assert "a control of mean 0.3 by a margin of 0.05" in plan_figure.info(made).title


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"control": 0.3, "threshold": 0.5}, "leave `threshold`"),
        ({"control": 1.0}, "strictly between 0 and 1"),
        ({"control": 0.3, "margin": 0.8}, "strictly between 0 and 1"),
        ({"margin": 0.1, "threshold": 0.5}, "a margin belongs to a control: name the control too, `control=0.3`"),
        ({}, "needs a bar: give either a threshold, the bar that a good arm's mean reaches"),
        ({"control": 0.3, "arms": 2000}, "at most 1,000 arms"),
    ],
)
def test_a_control_and_a_threshold_are_two_things(wish: dict, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        plan(**{"arms": 5, **wish})


@pytest.mark.slow
def test_a_fixed_test_set_is_simulated_without_replacement() -> None:
    """Every verdict comes within the cells of the set, also for arms next to the bar."""
    means = {"arm": ["a", "b", "c"], "mean": [0.8, 0.79, 0.2]}
    made = plan(threshold=0.8, means=means, cases=100, runs=10)
    assert (made.full_evaluation, made.last_round, made.lower_bound) == (300, 300, 0.0)
    assert made.asked is not None
    assert made.asked.decided.mean == 1.0
    assert 200 < made.asked.end.median < 300
    assert "takes 300 samples; the median campaign takes" in str(made)
    assert not made.notes
    assert as_json(made)["full_evaluation"] == 300


@pytest.mark.slow
def test_more_cases_make_an_arm_at_the_bar_dearer() -> None:
    ends = []
    for cases in (50, 200, 800):
        asked = plan(threshold=0.5, arms=6, gap=0.1, cases=cases, runs=10).asked
        assert asked is not None
        ends.append(asked.end.median)
    assert ends[0] < ends[1] < ends[2]


@pytest.mark.parametrize("more", [{"cases": 0}, {"cases": 2.5}, {"cases": 10**7}, {"threshold": None, "control": 0.5}])
def test_test_sets_that_make_no_plan_are_refused(more: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        plan(**{"threshold": 0.5, "arms": 5, "cases": 10, **more})


def test_a_plan_in_money() -> None:
    made = plan(arms=10, threshold=0.5, gap=0.2, budget=40, cost=0.02, runs=10)
    assert (made.budget, made.cost) == (2000, 0.02)
    said = str(made)
    assert "budget 2,000 samples at 0.02 each" in said
    assert made.asked is not None
    assert f"every verdict {made.asked.end.median * 0.02:.3g}" in said
    assert plan(arms=10, threshold=0.5, gap=0.2, cost=0.02, runs=2).budget is None
    short = plan(arms=10, threshold=0.5, gap=0.2, budget=6, cost=0.02, runs=10)
    assert short.asked is not None
    half, most = short.asked.milestones[0].samples.median, short.asked.milestones[-1].samples.median
    assert half < 300 < most
    assert f"In money: half of the good arms {half * 0.02:.3g} (nine in ten" in str(short)
    assert "90% of the good arms, every verdict: more than 6. The table is in samples." in str(short)
    assert short.alternatives[-1].words == "budget 600 samples"
    for wrong in ({"cost": 0.0}, {"cost": float("nan")}, {"cost": 5.0, "budget": 1.0}, {"cost": "dear"}):
        with pytest.raises(InvalidValue):
            plan(arms=10, threshold=0.5, gap=0.2, **wrong)  # type: ignore[arg-type]  # that is the point


# --- several bars, and costs per arm ----------------------------------------------------------------------------------

BARS = "correct >= 90%, slow <= 8%"


def test_a_plan_for_several_bars() -> None:
    made = plan(arms=6, bars=BARS, gap="correct=0.06, slow=0.05", runs=6, seed=2)
    assert (made.threshold, [each["metric"] for each in made.bars]) == (None, ["correct", "slow"])
    assert made.asked is not None
    assert (made.asked.decided.mean, made.asked.found.mean, made.asked.wrong_runs) == (1.0, 1.0, 0)
    assert [len(each.rounds) for each in made.asked.finds] == [3] * 6  # half of the arms clear both bars
    assert made.lower_bound < made.asked.end.low
    assert "bars 'correct >= 0.9, slow <= 0.08'" in str(made)
    assert "if the metrics are independent" in str(made)
    assert as_json(made)["bars"][1] == {"metric": "slow", "at_most": 0.08}


def test_an_arm_under_several_bars_is_as_hard_as_its_last_metric_or_its_clearest_failure() -> None:
    """The lower bound of a good arm is the largest over its metrics; failures of a bad arm add up."""
    certainty = 0.9 * math.log(19.0)  # kl(0.05, 0.95)
    good, bad = {"arm": ["a"], "correct": [0.95], "slow": [0.07]}, {"arm": ["a"], "correct": [0.8], "slow": [0.2]}
    bounds = [plan(bars=BARS, means=means, budget=100, runs=1).lower_bound for means in (good, bad)]
    assert bounds[0] == pytest.approx(certainty / bernoulli_kl(0.07, 0.08))
    assert bounds[1] == pytest.approx(certainty / (bernoulli_kl(0.8, 0.9) + bernoulli_kl(0.2, 0.08)))


@pytest.mark.slow
def test_blocks_take_about_what_single_samples_take() -> None:
    """Plans play live campaigns in blocks of a sixteenth; `simulate` plays them one by one."""
    costs, means = [1.0, 8.0] * 4, [0.75] * 4 + [0.25] * 4
    made = plan(threshold=0.5, means={"arm": list("abcdefgh"), "mean": means}, cost=costs, runs=40).asked
    assert made is not None
    assert made.money is not None
    alone = simulate("value+gap-mixture", bernoulli(means, 0.5), cost=costs, runs=40, horizon=20_000).runs
    assert 1.0 / 1.3 < made.money.end.median / np.median([run.spent for run in alone]) < 1.3
    assert 1.0 / 1.3 < made.end.median / np.median([run.rounds for run in alone]) < 1.3
    metrics = {"correct": [0.97, 0.97, 0.8, 0.97], "slow": [0.02, 0.02, 0.02, 0.2]}
    made = plan(bars=BARS, means={"arm": list("abcd"), **metrics}, runs=40).asked
    assert made is not None
    alone = simulate("value+gap-mixture", several_metrics(metrics, BARS), runs=40, horizon=20_000).runs
    assert 1.0 / 1.3 < made.end.median / np.median([run.rounds for run in alone]) < 1.3


def test_costs_per_arm_are_summed_and_the_cheap_arms_are_found_first() -> None:
    guess = {"arm": ["dear", "cheap"], "mean": [0.8, 0.8], "cost": [20, 1]}
    made = plan(threshold=0.5, means=guess, runs=6)
    assert (made.costs, made.cost) == ((20.0, 1.0), None)
    assert made.asked is not None
    assert made.asked.money is not None
    half, end = made.asked.money.milestones[0].median, made.asked.money.end.median
    assert half < end / 4  # the cheap arm is sampled first
    assert made.lower_cost == pytest.approx(21 / 2 * made.lower_bound)
    assert "samples cost 1 to 20, by arm" in str(made)
    assert as_json(made)["asked"]["money"]["end"]["median"] == end
    ignored = plan(threshold=0.5, means=guess, cost=1.0, runs=6)  # one cost for all replaces those of the table
    assert (ignored.cost, ignored.costs) == (1.0, ())


def test_money_ends_a_campaign_whose_next_sample_is_too_dear() -> None:
    made = plan(threshold=0.5, arms=4, gap=0.3, cost={"0": 10, "1": 10}, budget=150, runs=5)
    assert (made.money, made.budget) == (150.0, None)
    assert made.asked is not None
    assert made.asked.decided.mean < 1.0
    assert "budget 150 in money" in str(made)
    assert made.alternatives[-1].words == "budget 300"
    nothing = plan(threshold=0.5, arms=4, gap=0.3, cost=[1, 2, 3, 4], budget=9)
    assert nothing.asked is None
    assert "a budget of 9 is too small: 10 are needed to pull each of the 4 arms once" in str(nothing)


def test_costs_go_with_a_control_and_with_a_test_set() -> None:
    made = plan(arms=4, control=0.3, gap=0.2, cost=[1, 1, 1, 1, 5], runs=3)
    assert made.asked is not None
    assert made.asked.money is not None
    assert made.asked.money.end.median > made.asked.end.median
    made = plan(arms=4, threshold=0.5, gap=0.1, cases=60, cost=[1, 2, 3, 4], runs=3)
    assert made.asked is not None
    assert made.asked.money is not None
    assert made.asked.decided.mean == 1.0
    assert made.asked.money.end.high <= 600


@pytest.mark.parametrize(
    ("wish", "error", "message"),
    [
        ({"threshold": 0.5}, InvalidValue, "give one of `threshold`, `control` and `bars`"),
        ({"cases": 10}, InvalidValue, "Leave `cases` out"),
        ({"prior": "beta:1,2"}, InvalidValue, "a prior for each metric, such as 'correct=beta:2,2; slow=beta:2,2'"),
        ({"prior": {"correct": "beta:1,2"}}, InvalidValue, "the prior of the metric 'slow' is missing"),
        ({"gap": {"corect": 0.1}}, InvalidValue, "Did you mean 'correct'"),
        ({"gap": 0.09}, InvalidValue, "the gap of 'slow' must be positive"),
        ({"gap": "small"}, InvalidValue, "gap must be a number"),
        ({"means": {"arm": ["a"], "correct": [0.9]}}, UnreadableTable, "arm and correct and slow"),
        ({"cost": [1, 2]}, InvalidValue, "one number per arm, 4; got 2"),
        ({"cost": {"9": 2}}, UnknownName, "9"),
        ({"cost": [1, 2, 3, -4]}, InvalidValue, "the cost of arm '3' must be a positive number"),
        ({"policy": "apt-g"}, UnsoundPairing, "several bars"),
        ({"bars": "correct"}, InvalidValue, "can't read the bar"),
        ({"arms": 2000}, InvalidValue, "at most 1,000 arms"),
        ({"cost": [1, 2, 3, 4], "budget": 0.5}, InvalidValue, "does not cover one sample"),
    ],
)
def test_wrong_bars_and_costs_are_named(wish: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        plan(**{"arms": 4, "bars": BARS, **wish})


def test_the_costs_of_a_control_are_asked_for() -> None:
    with pytest.raises(InvalidValue, match="cost must have 4 numbers, the control's as the last; got 3"):
        plan(arms=3, control=0.3, gap=0.1, cost=[1, 2, 3])
    with pytest.raises(InvalidValue, match="per metric requires several bars"):
        plan(arms=3, threshold=0.3, gap={"correct": 0.1})


@pytest.mark.slow
def test_quick_plans_with_bars_and_costs_are_near_what_simulated_campaigns_take() -> None:
    wish = {"arms": 8, "bars": BARS, "gap": {"correct": 0.06, "slow": 0.05}, "cost": [1.0, 6.0] * 4}
    quick, asked = quick_plan(**wish), plan(**wish, runs=20).asked
    assert asked is not None
    assert asked.money is not None
    assert quick.money is not None
    assert 1.0 / 1.4 < quick.median / asked.end.median < 1.4
    assert 1.0 / 1.4 < quick.money.median / asked.money.end.median < 1.4
    control = {"arms": 6, "control": 0.3, "gap": 0.15}
    assert quick_plan(**control, cost=2.0).money.median == pytest.approx(2.0 * quick_plan(**control).median)
    dear = quick_plan(**control, cost=[1.0] * 6 + [50.0])
    assert dear.money.median > 2.0 * quick_plan(**control).median
    assert dear.median > quick_plan(**control).median  # fewer samples of the dear control, more of the arms
