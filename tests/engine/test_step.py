"""One step at a time against the simulator, and calls that come from outside in any order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goodarm import Problem, bernoulli, gaussian, policy, simulate
from goodarm.engine.live.step import ASK, TELL, Asked
from goodarm.engine.live.threshold import ThresholdStep
from goodarm.engine.live.worst_case import PENDING_COLUMN
from goodarm.environments import Environment
from goodarm.errors import InvalidValue, UnsoundPairing
from goodarm.policies import PAIRINGS
from goodarm.rules.beliefs import FOR_BAD, FOR_GOOD, PULLS, TOTAL, VERDICT
from goodarm.simulation.run import assembly_of, play, source_of
from goodarm.simulation.specification import Specification, specify
from goodarm.streams import ENVIRONMENT, generator, reward_key

pytestmark = pytest.mark.slow

NINE = bernoulli([0.05, 0.3, 0.45, 0.5, 0.55, 0.7, 0.95, 0.6, 0.2], threshold=0.5)


def stepped(spec: Specification) -> tuple[list[int], ThresholdStep]:
    """The run of a specification, asked and told one by one."""
    step = ThresholdStep(
        spec.policy, spec.problem, horizon=float(spec.horizon), features=spec.environment.features, seed=spec.seed
    )
    instance = spec.environment.instance(generator(spec.seed, 0, ENVIRONMENT))
    source, arms = source_of(spec, 0, instance), []
    for _ in range(spec.horizon):
        arm = step.choose()
        if arm < 0:
            break
        ticket = step.ticket(arm)
        step.ask(arm)
        with np.errstate(over="ignore"):
            key = reward_key(source.run, int(source.streams[arm]), step.state.arms[arm, PULLS])
            reward = spec.environment.reward(arm, source.means, source.extra, key)
        step.absorb(arm, reward, ticket)
        arms.append(arm)
    return arms, step


def same_as_the_simulator(spec: Specification) -> None:
    run = play(spec, 0, assembly_of(spec))
    with np.errstate(invalid="ignore"):
        arms, step = stepped(spec)
    assert arms == run.trace.tolist()
    table = step.state.arms
    assert table[:, VERDICT].tolist() == run.verdicts.tolist()
    assert table[:, PULLS].tolist() == run.pulls.tolist()
    assert np.array_equal(table[:, [FOR_GOOD, FOR_BAD]], run.evidence)
    assert step.state.decided_at.tolist() == run.verdict_rounds.tolist()


LIVE = [name for name in sorted(PAIRINGS) if "printed" not in name and "softmax" not in name]


@pytest.mark.parametrize("name", [*LIVE, "value+gap-mixture", "uniform+stitched", "ucb+betting", "thompson+kt"])
def test_told_one_by_one_it_is_the_simulator(name: str) -> None:
    spec = specify(name, NINE, horizon=700, seed=3, delta=0.2, trace=True)
    same_as_the_simulator(spec)


@pytest.mark.parametrize("name", ["value+gap-mixture", "hdoc+beta-mixture"])
def test_false_discoveries_too(name: str) -> None:
    spec = specify(policy(name, criterion="fdr"), NINE, horizon=700, seed=1, delta=0.2, criterion="fdr", trace=True)
    same_as_the_simulator(spec)


def test_gaussian_rewards_too() -> None:
    environment = gaussian([-1.0, -0.2, 0.3, 1.0], threshold=0.1, scale=1.0)
    same_as_the_simulator(specify("ucb+normal-mixture", environment, horizon=300, trace=True))


def test_with_a_model_too() -> None:
    from goodarm.environments.with_features import linear

    same_as_the_simulator(specify("ucb+kt@linear", linear(40, 4), horizon=300, seed=3, trace=True))


@settings(max_examples=15, deadline=None)
@given(means=st.lists(st.sampled_from([0.0, 0.1, 0.4, 0.5, 0.6, 1.0]), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_any_problem(means: list[float], seed: int) -> None:
    environment = bernoulli(means, threshold=0.45)
    same_as_the_simulator(specify("value+gap-mixture", environment, horizon=200, seed=seed, delta=0.3, trace=True))


def new_step(arms: int = 3, name: str = "value+gap-mixture", **options: object) -> ThresholdStep:
    return ThresholdStep(policy(name), Problem(threshold=0.5, arms=arms, delta=0.1), **options)


def tell(step: ThresholdStep, arm: int, reward: float) -> list[int]:
    step.ask(arm)
    return step.absorb(arm, reward)


def test_the_told_arm_counts_also_in_the_first_rounds() -> None:
    step = new_step()
    for arm in (2, 2, 0):
        tell(step, arm, 1.0)
    assert step.state.arms[:, PULLS].tolist() == [1.0, 0.0, 2.0]
    assert step.choose() == 1, "each arm once: the one that was never pulled, whatever the round"


def test_a_verdict_is_final_whatever_is_told_afterwards() -> None:
    step = new_step()
    decided: list[int] = []
    while not decided:
        decided = tell(step, 0, 1.0)
    evidence, at = step.state.arms[0, FOR_GOOD], step.state.decided_at[0]
    for _ in range(50):
        assert tell(step, 0, 0.0) == []
    row = step.state.arms[0]
    assert (row[VERDICT], row[FOR_GOOD], step.state.decided_at[0], step.state.open_arms) == (1.0, evidence, at, 2)
    assert row[PULLS] == at + 50, "told rewards are kept and counted"


def test_pending_pulls_count_at_their_worst_and_nothing_is_lost_once_they_are_told() -> None:
    """Forty pulls of one arm are under way; the successes come back first."""
    step, at_once = new_step(1), new_step(1)
    for _ in range(40):
        step.ask(0)
    rewards = [1.0] * 25 + [0.0] * 15
    for reward in rewards[:25]:
        assert step.absorb(0, reward) == [], "25 of 40 prove nothing, although 25 of 25 would"
    for reward in rewards[25:]:
        step.absorb(0, reward)
    for reward in rewards:
        at_once.state.arms[0, VERDICT] = 0.0  # 25 successes in a row would have been a verdict
        tell(at_once, 0, reward)
    assert step.state.arms[0, FOR_BAD] == at_once.state.arms[0, FOR_BAD]
    assert math.isclose(step.state.arms[0, FOR_GOOD], at_once.state.arms[0, FOR_GOOD], rel_tol=1e-12)


def test_a_batch_spreads_over_the_arms() -> None:
    step = new_step(10)
    asked = []
    for _ in range(30):
        arm = step.choose()
        step.ask(arm)
        asked.append(arm)
    assert sorted(set(asked)) == list(range(10))
    assert max(asked.count(arm) for arm in range(10)) <= 6


def test_void_is_no_pull_and_may_decide() -> None:
    step = new_step(1)
    for _ in range(60):
        step.ask(0)
    for _ in range(25):
        step.absorb(0, 1.0)
    decided: list[int] = []
    voided = 0
    while not decided:
        decided = step.void(0)
        voided += 1
    assert decided == [0]
    assert voided < 35
    with pytest.raises(InvalidValue, match="no pending pull"):
        new_step().void(0)


def test_suspended_arms_are_not_chosen_and_their_rewards_still_count() -> None:
    step = new_step(3)
    step.ask(1)
    step.suspend(1)
    chosen = set()
    for _ in range(30):
        arm = step.choose()
        chosen.add(arm)
        tell(step, arm, 0.5)
    assert 1 not in chosen
    step.absorb(1, 1.0)
    assert step.state.arms[1, TOTAL] == 1.0
    step.reopen(1)
    assert step.state.open_arms == 3


def test_later_arms_start_with_their_debt() -> None:
    step = new_step(2, weights=[0.4, 0.4])
    step.add_arms([0.01])
    assert step.choose() == 0
    pulls = {}
    for arm in (0, 2):
        while step.state.arms[arm, VERDICT] == 0.0:
            tell(step, arm, 1.0)
        pulls[arm] = step.state.arms[arm, PULLS]
    assert pulls[2] > pulls[0] + 4, "a smaller share of delta needs more evidence"


def test_more_than_delta_is_not_given_away() -> None:
    with pytest.raises(InvalidValue, match="add up to at most 1"):
        new_step(2, weights=[0.9, 0.9])
    step = new_step(2, weights=[0.5, 0.4])
    with pytest.raises(InvalidValue, match="add up to at most 1"):
        step.add_arms([0.2])
    assert len(step.state.arms) == 2


@pytest.mark.parametrize("name", ["value+gap-mixture", "hdoc+kt", "uniform+hoeffding"])
def test_a_replay_is_the_steps(name: str) -> None:
    rng = np.random.default_rng(5)
    step, replayed = new_step(4, name), new_step(4, name)
    kinds, arms, rewards, pending = [], [], [], []
    for _ in range(600):
        if pending and rng.random() < 0.5:
            arm = pending.pop(0)
            reward = float(rng.random() < 0.2 + 0.2 * arm)
            step.absorb(arm, reward, Asked(1, 0))
            kinds.append(TELL), arms.append(arm), rewards.append(reward)
        else:
            arm = step.choose()
            if arm < 0:
                break
            step.ask(arm)
            pending.append(arm)
            kinds.append(ASK), arms.append(arm), rewards.append(0.0)
    replayed.replay(kinds, arms, rewards)
    for arm in range(4):
        assert step.row(arm) == replayed.row(arm)
    assert np.array_equal(step.state.arms, replayed.state.arms)
    assert all(map(np.array_equal, step.state.pool.learned, replayed.state.pool.learned))
    assert step.choose() == replayed.choose()


def test_blocks_count_as_their_pulls() -> None:
    one, block = new_step(3), new_step(3)
    for arm, told, total in ((0, 20, 14.0), (1, 20, 3.0), (2, 7, 4.0)):
        for j in range(told):
            tell(one, arm, 1.0 if j < total else 0.0)
    asked = block.choose_block(47)
    assert asked.sum() == 47
    block.state.arms[:, PENDING_COLUMN] = (20.0, 20.0, 7.0)
    decided = block.absorb_block([20, 20, 7], [14.0, 3.0, 4.0])
    assert np.array_equal(one.state.arms[:, [PULLS, TOTAL]], block.state.arms[:, [PULLS, TOTAL]])
    assert set(decided) <= {0, 1, 2}
    with pytest.raises(InvalidValue, match="pending pulls"):
        block.absorb_block([1, 0, 0], [1.0, 0.0, 0.0])


def test_what_can_not_be_live() -> None:
    with pytest.raises(UnsoundPairing, match="decides by a model"):
        ThresholdStep(policy("widest+design(norm=1)@linear"), Problem(threshold=0.5, arms=3))
    with pytest.raises(UnsoundPairing, match="order of asking"):
        ThresholdStep(policy("ucb+kt", criterion="fdr"), Problem(threshold=0.5, arms=3))
    with pytest.raises(InvalidValue, match="blocks need a rule by totals"):
        new_step(3, "ucb+kt").choose_block(10)


def environment_of(arms: int) -> Environment:
    return bernoulli(np.linspace(0.3, 0.7, arms), threshold=0.5)


def test_many_arms_are_prepared_compiled() -> None:
    spec = specify("value+gap-mixture", environment_of(600), horizon=2000, seed=2, trace=True)
    same_as_the_simulator(spec)
    assert simulate("value+gap-mixture", environment_of(600), horizon=2000, seed=2).runs[0].rounds == 2000
