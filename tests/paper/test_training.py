"""The paper's method as printed: what it does is what the equations say, also where that is no good."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from goodarm import Guarantee, bernoulli, policy, simulate
from goodarm.environments.with_features import linear
from goodarm.errors import InvalidValue, ModelWarning
from goodarm.learning import learn
from goodarm.models.linear import Linear
from goodarm.paper.learned_bounds import Bounds, ascended
from goodarm.paper.objectives import identification_objective, sampling_objective
from goodarm.paper.soft_index import FLOOR
from goodarm.paper.training import OPTIONS, PaperTraining, train_paper
from goodarm.rules.beliefs import Pool

pytestmark = pytest.mark.slow

MOSTLY_GOOD = bernoulli(np.linspace(0.475, 0.55, 20), threshold=0.5, horizon=2000)


@pytest.fixture(scope="module")
def collapse() -> PaperTraining:
    return train_paper(MOSTLY_GOOD, epochs=80, seed=1)


def test_where_most_arms_are_good_alpha_falls_below_zero(collapse: PaperTraining) -> None:
    alphas = [epoch.alpha for epoch in collapse.history]
    assert alphas[0] == 0.0
    fell = [later < earlier for earlier, later in pairwise(alphas)]
    assert sum(fell) > 0.7 * len(fell)
    assert alphas[-1] < alphas[40] < 0.0


def test_and_then_every_arm_is_called_good_as_soon_as_it_is_judged(collapse: PaperTraining) -> None:
    """Two rewards of 0 leave the shrunk mean 1/3 below the threshold at width 1/sqrt(3)."""
    bad = int((np.linspace(0.475, 0.55, 20) < 0.5).sum())
    assert collapse.alpha < -math.sqrt(3.0) / 3.0
    last = collapse.history[-1]
    assert (last.rounds, last.decided, last.wrong) == (40, 20, bad)
    result = simulate(collapse.policy, MOSTLY_GOOD, runs=3, seed=9)
    assert result.guarantee is Guarantee.HEURISTIC
    assert [(run.rounds, int((run.verdicts == 1).sum())) for run in result.runs] == [(40, 20)] * 3
    assert result.wrong_runs == 3


def test_training_depends_on_the_seed_alone(collapse: PaperTraining) -> None:
    again = train_paper(MOSTLY_GOOD, epochs=3, seed=1)
    assert again.history == collapse.history[:3]
    assert [row["epoch"] for row in again.rows()] == [0, 1, 2]


def test_an_epochs_gradient_is_the_mean_over_its_rounds() -> None:
    """Arms that always pay 0 or 1 make every belief known: replay the trace and add the gradients up by hand."""
    means, horizon, alpha, beta = np.array([0.0, 1.0, 1.0, 0.0]), 40, 5.0, 0.7
    environment = bernoulli(means, threshold=0.3, horizon=horizon)
    trace = simulate(f"dgai-offline(alpha={alpha}, beta={beta})", environment, trace=True).runs[0].trace
    epoch = train_paper(environment, epochs=1, alpha0=alpha, beta0=beta, eta1=3e-3).history[0]
    pulls, by_alpha, by_beta = np.zeros(4), 0.0, 0.0
    decided = np.zeros(4, dtype=bool)
    for arm in trace:
        pulls[arm] += 1.0
        believed = 0.3 + pulls * (means - 0.3) / (pulls + 1.0)
        widths = 1.0 / np.sqrt(pulls + 1.0)
        decided[arm] |= believed[arm] - alpha * widths[arm] >= 0.3 or believed[arm] + alpha * widths[arm] < 0.3
        by_alpha += identification_objective(believed, widths, means, alpha, 0.3, 10.0, 3e-3, 1e-3, 0.0)[1]
        left = ~decided
        by_beta += sampling_objective(believed[left], widths[left], means[left], beta, 0.99, 3e-3, 1e-3, 0.0)[1]
    assert len(trace) == epoch.rounds == horizon
    assert epoch.gradient_alpha == pytest.approx(by_alpha / horizon, rel=1e-9)
    assert epoch.gradient_beta == pytest.approx(by_beta / horizon, rel=1e-9)


def test_the_options_are_the_papers_values() -> None:
    paper = {"rate": 0.1, "eta1": 1e-3, "eta2": 1e-3, "alpha0": 0.0, "beta0": 0.0, "coldness": 0.99, "ridge": 1.0}
    assert {name: OPTIONS[name] for name in paper} == paper


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draw": "greedy"}, "draw must be 'argmax' or 'softmax'; got 'greedy'"),
        ({"horizon": 5}, "horizon must be at least the number of arms, 20"),
        ({"epochs": 0}, "epochs and every must be at least 1"),
        ({"gamma": 1.0}, "has no parameter 'gamma'"),
        ({"rate": math.nan}, "must be a finite number"),
    ],
)
def test_bad_input_is_named(options: dict, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        train_paper(MOSTLY_GOOD, **options)


def test_an_online_step_weighs_the_past_and_what_is_ahead() -> None:
    pool = Pool(25.0, 100.0, Bounds(0.3, 0.4, 8.0, -4.0))
    moved = ascended(pool, gradient_alpha=2.0, gradient_beta=1.0, rate=0.1, batch=5.0)
    assert moved.learned.alpha == pytest.approx(0.3 + 0.1 * ((8.0 + 5 * 2.0) + 75.0 * 2.0) / 100.0)
    assert moved.learned.beta == pytest.approx(0.4 + 0.1 * ((-4.0 + 5 * 1.0) + 75.0 * 1.0) / 100.0)
    assert (moved.learned.past_alpha, moved.learned.past_beta) == (18.0, 1.0)
    endless = ascended(pool._replace(horizon=math.inf), 2.0, 1.0, rate=0.1, batch=1.0)
    assert endless.learned.alpha == pytest.approx(0.3 + 0.1 * 2.0)


@pytest.mark.parametrize(
    "name",
    ["dgai-online", "dgai-online-softmax", "dgai-offline(alpha=0.1, beta=1)", "dgai-offline-softmax(alpha=0.1)"],
)
def test_algorithm_1_pulls_each_arm_once_and_then_judges_the_pulled_arm_only(name: str) -> None:
    """At most one verdict per round, on that round's arm, and none in the first K rounds: with alpha = 0 too."""
    for run in simulate(name, MOSTLY_GOOD, runs=2, seed=3, trace=True).runs:
        assert run.trace[:20].tolist() == list(range(20))
        decided = np.flatnonzero(run.verdicts)
        assert decided.size > 0
        assert run.verdict_rounds[decided].min() > 20
        assert [int(run.trace[at - 1]) for at in run.verdict_rounds[decided]] == decided.tolist()


WITH_FEATURES = linear(arms=24, dimension=3)
"""Arms for every model: Algorithm 1 has to be the same with each of them."""


@pytest.mark.parametrize("model", ["linear", "mixed", "kernel", "neural"])
@pytest.mark.parametrize("name", ["dgai-online", "dgai-offline", "softucb-g"])
def test_algorithm_1_is_the_same_with_every_model(name: str, model: str) -> None:
    pytest.importorskip({"kernel": "scipy", "neural": "jax"}.get(model, "numpy"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        run = simulate(f"{name}@{model}", WITH_FEATURES, horizon=400, seed=3, trace=True).runs[0]
    assert sorted(run.trace[:24].tolist()) == list(range(24))
    assert run.rounds > 24
    decided = np.flatnonzero(run.verdicts)
    assert (run.verdict_rounds[decided] > 24).all()
    assert [int(run.trace[at - 1]) for at in run.verdict_rounds[decided]] == decided.tolist()


def test_a_rule_that_does_not_wait_still_judges_every_arm_by_the_model() -> None:
    """The broken twin: `learned` has the same bound and looks at all open arms from the first round on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        run = simulate("ucb+learned(alpha=0.01)@linear", WITH_FEATURES, horizon=400, seed=3, trace=True).runs[0]
    assert run.verdict_rounds[np.flatnonzero(run.verdicts)].min() <= 24


def histories(*names: str) -> list[list[tuple[float, float]]]:
    found = [learn(WITH_FEATURES, name, objective="paper", budget=4, horizon=300) for name in names]
    return [[(epoch.alpha, epoch.beta) for epoch in each.history] for each in found]


def test_the_papers_objective_trains_with_the_model_that_it_was_given() -> None:
    none, by_line, by_kernel = histories("dgai-offline", "dgai-offline@linear", "dgai-offline@kernel")
    assert none != by_line != by_kernel != none
    assert none[0] == by_line[0] == by_kernel[0], "all start at the paper's alpha and beta"


def test_an_epochs_gradient_with_a_model_is_taken_at_the_models_means() -> None:
    """One arm per feature and arms that always pay the same: the linear model is then ridge regression by hand."""
    means, horizon, alpha, beta = np.array([0.0, 1.0, 1.0, 0.0]), 30, 5.0, 0.7
    environment = replace(bernoulli(means, threshold=0.3, horizon=horizon), describe=lambda: np.eye(4))
    model = Linear(ridge=2.0)
    trained = policy(f"dgai-offline(alpha={alpha}, beta={beta})", model=model)
    trace = simulate(trained, environment, trace=True).runs[0].trace
    epoch = train_paper(environment, epochs=1, alpha0=alpha, beta0=beta, model=model).history[0]
    pulls, by_alpha = np.zeros(4), 0.0
    for arm in trace:
        pulls[arm] += 1.0
        believed = 0.3 + pulls * (means - 0.3) / (pulls + 2.0)
        widths = 1.0 / np.sqrt(pulls + 2.0)
        by_alpha += identification_objective(believed, widths, means, alpha, 0.3, 10.0, 1e-3, 1e-3, 0.0)[1]
    assert len(trace) == epoch.rounds == horizon
    assert epoch.gradient_alpha == pytest.approx(by_alpha / horizon, rel=1e-9)


def test_a_model_without_features_is_refused() -> None:
    with pytest.raises(InvalidValue, match="@linear needs features, and this environment has none"):
        learn(MOSTLY_GOOD, "dgai-offline@linear", objective="paper", budget=2)


def test_the_covering_sign_of_d_pushes_alpha_up_where_the_printed_one_pushes_it_down() -> None:
    printed, covering = (
        train_paper(MOSTLY_GOOD, epochs=3, seed=1, eta1=10.0, eta2=10.0, covering=sign) for sign in (0.0, 1.0)
    )
    assert covering.alpha > 0.0 > printed.alpha


def test_online_the_reward_objective_turns_greedy() -> None:
    """With estimates for means, beta falls to its floor; the verdicts stay certified, because hoeffding gives them."""
    result = simulate("softucb-g(beta0=1)", MOSTLY_GOOD, runs=1, seed=3, trajectory=4)
    betas = result.trajectories["beta"]
    assert betas[-1] == pytest.approx(FLOOR)
    assert result.guarantee is Guarantee.CERTIFIED


@pytest.mark.parametrize("name", ["softucb-g", "dgai-online(alpha0=4, sharpness=100)", "dgai-offline(alpha=3, beta=1)"])
def test_tree_and_scan_pull_the_same_arms(name: str) -> None:
    fast, plain = (
        simulate(name, MOSTLY_GOOD, horizon=400, trace=True, scan=scan, seed=2).runs[0] for scan in (False, True)
    )
    assert fast.trace.tolist() == plain.trace.tolist()
    assert fast.learned == plain.learned


def test_softmax_draws_are_another_policy_of_the_same_family() -> None:
    greedy, drawn = (
        simulate(f"{name}(alpha=4, beta=1)", MOSTLY_GOOD, horizon=600, trace=True, seed=2).runs[0].trace
        for name in ("dgai-offline", "dgai-offline-softmax")
    )
    assert len(set(drawn.tolist())) > 1
    assert greedy.tolist() != drawn.tolist()


def test_names() -> None:
    assert policy("softucb-g").identification.name == "hoeffding"
    assert policy("dgai-online").guarantee is Guarantee.HEURISTIC
    assert policy("dgai-offline(alpha=2, beta=1)").identification.name == "learned-printed"
