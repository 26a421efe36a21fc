"""The structured loop against a plain one in Python, and what its verdicts rest on."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from tracker import Tracker

import goodarm
from goodarm.environments.with_features import bumps, linear, linear_misspecified
from goodarm.errors import InvalidValue, ModelWarning, UnknownName, UnsoundPairing
from goodarm.models.linear import Linear
from goodarm.models.misfit import ALARM
from goodarm.models.mixed import Mixed
from goodarm.policies import policy
from goodarm.rules.beliefs import Arm, is_open, read_arm
from goodarm.rules.identification import EvidenceRule, ModelRule
from goodarm.rules.identification._base import decide_around, decide_by_evidence
from goodarm.rules.parameters import take
from goodarm.rules.sampling import ChoiceRule
from goodarm.simulation.run import assembly_of, play
from goodarm.simulation.simulate import simulate
from goodarm.simulation.specification import specify
from goodarm.streams import ENVIRONMENT, generator, reward_key, run_key
from goodarm.verdict import Basis, Guarantee

pytestmark = pytest.mark.slow


def small(arms=40, horizon=100_000):
    """A linear environment that plays fast in plain Python."""
    from dataclasses import replace

    return replace(linear(arms, 4), horizon=horizon)


def plain_loop(spec, rounds):
    """The same in Python, by the Tracker: choose by a scan, tell, decide. Returns the arms and the verdicts."""
    made, bar = spec.policy, spec.problem.bar._replace(modelled=1.0)
    tracker = Tracker(made.model.bind(spec.environment.features, spec.problem.arms), bar)
    instance = spec.environment.instance(generator(spec.seed, 0, ENVIRONMENT))
    run, rule, table = run_key(spec.seed, 0), made.identification, tracker.table
    assembly = assembly_of(spec)
    pool = assembly.start(float(spec.horizon)).pool
    trace = []
    for t in range(1, rounds + 1):
        pool = pool._replace(round=float(t))
        everyone = isinstance(rule, ModelRule) and rule.blind
        options = [i for i in range(len(table)) if everyone or is_open(table, i)]
        if not options:
            break
        a = max(
            options,
            key=lambda i: made.sampling.index(
                read_arm(table, i), pool, bar, *take(made.setting.sampling, made.sampling.defaults)
            ),
        )
        before = read_arm(table, a)
        with np.errstate(over="ignore"):
            x = spec.environment.reward(a, instance.means, instance.extra, reward_key(run, a, before.pulls))
        if isinstance(rule, EvidenceRule):
            table[a, 4:7] = rule.observe(before, x, pool, bar, *take(made.setting.identification, rule.defaults))
        tracker.tell(a, x)
        trace.append(a)
        if isinstance(rule, EvidenceRule):
            table[a, 7] = decide_by_evidence(read_arm(table, a), bar)
        else:
            numbers = tracker.belief.numbers
            size = rule.factor(numbers[0], numbers[1], pool, bar, *take(made.setting.identification, rule.defaults))
            for i in range(len(table)):
                if is_open(table, i) and size < math.inf:
                    table[i, 7] = decide_around(table[i, 2], size * table[i, 3], bar)
    return trace, table[:, 7]


@pytest.mark.parametrize(
    "name",
    [
        "ucb+kt@linear",
        "ucb+learned-bets-normal@mixed(tau2=0.001)",
        "widest+self-normalised(norm=1)@linear",
        "widest+design(norm=1)@linear",
        "ucb(beta=1)+kt@kernel(length=0.5)",
    ],
)
def test_same_arms_and_verdicts_as_a_plain_loop(name):
    spec = specify(name, small(), horizon=600, seed=3, trace=True)
    run = play(spec, 0, assembly_of(spec))
    trace, verdicts = plain_loop(spec, 600)
    assert run.trace.tolist() == trace
    assert np.array_equal(run.verdicts, verdicts)


@pytest.mark.parametrize("name", ["hdoc+kt", "thompson+kt", "value", "softucb+kt", "dgai+kt"])
def test_rules_of_mean_and_width_plug_in_unchanged(name):
    result = simulate(f"{name}@linear", small(20), horizon=3000, runs=2)
    assert all(run.rounds == 3000 or run.open_arms == 0 for run in result.runs)
    assert result.wrong_runs == 0


def test_one_hot_features_give_the_independent_policy():
    """With V_0 next to nothing, one-hot features are independent arms: the same arms in the same order."""
    environment = goodarm.gaussian(np.linspace(-1.0, 1.0, 7), 0.1, scale=1.0)  # rewards without ties
    lone = simulate("ucb+normal-mixture", environment, horizon=400, trace=True).runs[0]
    made = policy("ucb+normal-mixture", model=Linear(np.eye(7), ridge=1e-12), rewards=environment.rewards)
    shared = simulate(made, environment, horizon=400, trace=True).runs[0]
    assert shared.trace.tolist() == lone.trace.tolist()
    assert shared.verdicts.tolist() == lone.verdicts.tolist()


def test_results_do_not_depend_on_stops_workers_or_backend():
    spec = {"runs": 2, "horizon": 3000, "seed": 9}
    once = simulate("ucb+kt@linear", small(), **spec)
    often = simulate("ucb+kt@linear", small(), trajectory=50, **spec)
    threads = simulate("ucb+kt@linear", small(), workers=2, **spec)
    for other in (often, threads):
        for one, two in zip(once.runs, other.runs, strict=True):
            assert np.array_equal(one.pulls, two.pulls)
            assert np.array_equal(one.verdict_rounds, two.verdict_rounds)


@pytest.mark.filterwarnings("ignore:.*verdicts use own evidence and remain valid:goodarm.errors.ModelWarning")
def test_own_evidence_radius_looks_at_the_arms_own_mean():
    """A model that is sure and wrong must not move a verdict that rests on own evidence."""
    environment = goodarm.bernoulli([0.9, 0.9, 0.9, 0.1], 0.5)
    features = np.array([[1.0, 0.0], [1.1, 0.1], [1.0, -0.1], [1.0, 0.01]])  # arm 3 looks like the others
    for rule in ("hoeffding", "stitched", "lil", "kt"):
        result = simulate(policy("uniform", rule, model=Linear(features)), environment, horizon=4000, runs=3)
        assert all(run.verdicts.tolist() == [1, 1, 1, -1] for run in result.runs), rule


def test_the_model_decides_arms_never_pulled():
    environment = small(400)
    run = simulate("widest+self-normalised(norm=1)@linear", environment, horizon=30_000).runs[0]
    never = run.pulls == 0
    assert ((run.verdicts != 0) & never).sum() > 5
    own = simulate("ucb+kt@linear", environment, horizon=30_000).runs[0]
    assert ((own.verdicts != 0) & (own.pulls == 0)).sum() == 0


def test_a_blind_design_is_the_same_whatever_the_rewards():
    traces = [
        simulate("widest+design(norm=1)@linear", small(), horizon=5000, seed=seed, trace=True).runs[0]
        for seed in (0, 1)
    ]
    assert np.array_equal(traces[0].trace, traces[1].trace)
    assert not np.array_equal(traces[0].verdicts, traces[1].verdicts)


def test_what_verdicts_rest_on():
    own, model = policy("ucb+kt@linear"), policy("widest+design(norm=1)@linear")
    assert (own.decided_by, own.guarantee) == (Basis.OWN, Guarantee.CERTIFIED)
    assert (model.decided_by, model.guarantee) == (Basis.MODEL, Guarantee.CERTIFIED_UNDER_MODEL)
    row = next(simulate("widest+design(norm=1)@linear", small(), horizon=100).rows())
    assert (row["decided_by"], row["guarantee"]) == ("model", "certified under the model")


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("ucb+design(norm=1)@linear", UnsoundPairing, "ignore rewards, unlike ucb"),
        ("widest+design(norm=1)@mixed", UnsoundPairing, "not for @mixed"),
        ("widest+design@linear", InvalidValue, "design needs norm"),
        ("ucb+self-normalised(norm=1)", UnsoundPairing, "the policy has none"),
        ("ucb+self-normalised(norm=1)@kernel", UnsoundPairing, "not for @kernel"),
        ("ucb+rkhs(norm=-1)@kernel", InvalidValue, "must be at least 0"),
        ("lucb-g+kt@linear", UnsoundPairing, "divides by the number of pulls"),
        ("ucb+kt@linaer", UnknownName, "Did you mean 'linear'"),
        ("ucb+kt@linear(rigde=1)", InvalidValue, "has no parameter 'rigde'"),
    ],
)
def test_pairings_that_are_refused(name, error, message):
    with pytest.raises(error, match=message):
        policy(name)


def always_the_first(arms, pool, bar, generator):
    """The first arm, decided or not."""
    return 0


def test_a_choice_is_checked_with_a_model_too():
    """Compiled code would give an arm its verdict again and again, and count down the open ones."""
    stubborn = policy(ChoiceRule(name="stubborn", choose=always_the_first), "kt", model="linear")
    with pytest.raises(InvalidValue, match="decided or does not exist"):
        simulate(stubborn, small(), horizon=50_000)


def test_a_blind_choice_is_no_design():
    """It would skip decided arms, and so let rewards change the pulls."""
    with pytest.raises(UnsoundPairing, match="ignore rewards"):
        policy(ChoiceRule(name="x", choose=always_the_first, blind=True), "design(norm=1)", model="linear")


def test_names():
    assert policy("ucb+kt@linear(ridge=0.5)").name == "ucb+kt@linear(ridge=0.5)"
    assert policy("value@mixed").name == "value@mixed"
    assert policy("ucb", "kt", model=Mixed(tau2=0.01)).name == "ucb+kt@mixed(tau2=0.01)"
    assert policy("ucb+kt@independent") == policy("ucb+kt")


def test_features_of_another_length_are_refused():
    with pytest.raises(InvalidValue, match="features have 5 rows, but there are 40 arms"):
        simulate(policy("ucb+kt", model=Linear(np.eye(5))), small(), horizon=100)
    with pytest.raises(InvalidValue, match="@linear needs features, and this environment has none"):
        simulate("ucb+kt@linear", "kano-1")


def test_false_discovery_rate_with_a_model():
    result = simulate("ucb+kt@linear", small(), horizon=20_000, runs=2, criterion="fdr")
    assert result.found.mean > 5


@pytest.mark.parametrize("name", ["widest+design(norm=1)@linear", "ucb(beta=1)+kt@linear"])
def test_a_model_that_does_not_fit_is_told(name):
    with pytest.warns(ModelWarning, match="the model does not fit the arms that were pulled in 2 of 2 runs"):
        result = simulate(name, linear_misspecified(), horizon=60_000, runs=2)
    assert result.misfitting == 2


def test_a_model_that_fits_is_not_accused():
    for name in ("widest+design(norm=1)@linear", "ucb(beta=1)+kt@linear", "thompson+kt@linear"):
        scores = [run.misfit for run in simulate(name, small(300), horizon=8000, runs=10).runs]
        assert max(scores) < ALARM - 1.0
        assert min(scores) > -ALARM


@pytest.mark.parametrize("threshold", [0.005, 0.02, 0.1])
def test_few_successes_are_no_misfit(threshold):
    """0/1 rewards of small means scatter far more than chi-square's terms do."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(400, 5))
    features /= np.linalg.norm(features, axis=1)[:, None]
    direction = generator.normal(size=5)
    means = threshold * (1.0 + 0.9 * (features @ direction) / np.linalg.norm(direction))
    made = policy("widest+self-normalised(norm=1)", model=Linear(features))
    for horizon in (1000, 5000):
        runs = simulate(made, goodarm.bernoulli(means, threshold), horizon=horizon, runs=10).runs
        assert max(run.misfit for run in runs) < ALARM - 1.0


def test_model_verdicts_are_right_under_the_model_and_wrong_without():
    assert simulate("widest+design(norm=1)@linear", linear(), horizon=60_000, runs=3).wrong_runs == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        wrong = simulate("widest+design(norm=1)@linear", linear_misspecified(), horizon=60_000, runs=3)
    assert wrong.false_good + wrong.false_bad > 20


def test_the_kernel_bound_holds_for_functions_of_bounded_norm():
    """f = sum a_j k(x_j, .) has norm sqrt(a'Ka); the truth stays inside of all intervals, and many arms are decided."""
    from sklearn.gaussian_process.kernels import RBF

    points = np.linspace(0.0, 1.0, 60)[:, None]
    gram = RBF(0.3)(points)
    weights = np.zeros(60)
    weights[[10, 40]] = 0.35, -0.35
    norm = math.sqrt(weights @ gram @ weights)
    environment = goodarm.bernoulli(0.5 + gram @ weights, 0.5)
    made = policy(f"widest+rkhs(norm={norm})", model=goodarm.Kernel(points, length=0.3))
    result = simulate(made, environment, horizon=8000, runs=5)
    assert result.wrong_runs == 0
    assert all((run.verdicts != 0).sum() > 30 for run in result.runs)


def test_kernel_by_own_evidence_finds_the_bumps():
    result = simulate("ucb(beta=2)+learned-bets@kernel(gamma=4)", bumps(12), horizon=8000, runs=2)
    assert result.wrong_runs == 0
    assert result.found.mean >= 8


def test_an_arm_never_pulled_has_a_mean_and_a_width():
    spec = specify("ucb+kt@linear", small(), horizon=100)
    state = assembly_of(spec).start(100.0)
    arm = read_arm(state.arms, 0)
    assert arm == Arm(0.0, 0.0, 0.5, pytest.approx(1.0), 0.0, 0.0, 0.0, 0.0)
