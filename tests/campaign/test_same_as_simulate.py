"""Told one by one, a campaign is the simulator's run: same arms, same evidence, same verdicts, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goodarm import Campaign, Environment, bernoulli, gaussian
from goodarm.environments.with_features import linear
from goodarm.fingerprint import reachable
from goodarm.policies import policy
from goodarm.policies.policy import policy_names
from goodarm.simulation.run import Run, assembly_of, play
from goodarm.simulation.specification import Specification
from goodarm.streams import ENVIRONMENT, generator, reward_key, run_key

pytestmark = pytest.mark.slow

GRID = [0.0, 0.25, 0.5, 0.75, 1.0]
"""Few values, so that arms tie often."""
COMPILED = set({made.identification.name: made.name for made in map(policy, policy_names())}.values())
"""Policies whose simulation is compiled here too: one for each identification rule."""


def careful(examples: int) -> settings:
    return settings(
        max_examples=examples, deadline=None, derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip


@st.composite
def specs(draw: st.DrawFn, name: str, criterion: str | None = None) -> Specification:
    means = draw(st.lists(st.sampled_from(GRID), min_size=1, max_size=12))
    environment = bernoulli(means, draw(st.sampled_from([0.1, 0.5, 0.8])))
    horizon = len(means) + draw(st.integers(10, 80))
    made = policy(name, criterion=criterion)
    delta = draw(st.sampled_from([0.01, 0.3]))
    return Specification(made, environment, environment.problem(delta), horizon, draw(st.integers(0, 999)), trace=True)


def told_one_by_one(spec: Specification) -> tuple[list[int], Campaign]:
    """The arms that a campaign asks for when the simulator's rewards are told to it, and the campaign afterwards."""
    environment: Environment = spec.environment
    instance = environment.instance(generator(spec.seed, 0, ENVIRONMENT))
    run, pulls = run_key(spec.seed, 0), np.zeros(environment.arms)
    arms: list[dict[str, object]] = [{"id": str(i)} for i in range(environment.arms)]
    if environment.features is not None:
        arms = [{**arm, "features": row} for arm, row in zip(arms, environment.features.tolist(), strict=True)]
    campaign = Campaign.create(
        "memory:", "c", arms, spec.problem.threshold, delta=spec.problem.delta,
        policy=spec.policy, rewards=spec.problem.rewards, horizon=spec.horizon, seed=spec.seed,
    )  # fmt: skip
    trace: list[int] = []
    with np.errstate(over="ignore"):  # the streams count modulo 2^64
        for ticket in iter(lambda: next(iter(campaign.ask()), None), None):
            arm = int(ticket.arm)
            key = reward_key(run, int(instance.streams[arm]), pulls[arm])
            reward = environment.reward(arm, instance.means, instance.extra, key)
            pulls[arm] += 1
            trace.append(arm)
            campaign.tell(ticket, float(reward))
            if len(trace) == spec.horizon:
                break
    return trace, campaign


def rounds_alike(loop: Any) -> bool:
    """Whether Python rounds as compiled code does. It does unless the loop calls log-gamma."""
    return not any("lgamma" in each.__code__.co_names for each in reachable([loop.py_func]))


def simulated_run(spec: Specification) -> Run:
    """The simulator's loop as plain Python where that gives the same bits: compiling each policy would take minutes.

    Compiled and plain loops are compared in tests/engine/test_agreement.py and tests/conformance/test_pairings.py.
    """
    made = assembly_of(spec)
    plain = spec.policy.name not in COMPILED and rounds_alike(made.loop)
    with np.errstate(over="ignore", invalid="ignore"):  # the streams count modulo 2^64, and trees hold infinities
        return play(spec, 0, made.uncompiled() if plain else made)


def agree(spec: Specification) -> None:
    simulated = simulated_run(spec)
    trace, campaign = told_one_by_one(spec)
    assert trace == simulated.trace.tolist()
    fold = campaign._session.fold
    assert np.array_equal(fold.step.state.arms[:, 4:6], simulated.evidence)
    verdicts = [{"good": 1, "bad": -1, "open": 0}[row.verdict] for row in campaign.arms()]
    assert verdicts == simulated.verdicts.tolist()
    assert [row.pulls for row in campaign.arms()] == simulated.pulls.tolist()
    assert campaign.check().ok


@pytest.mark.parametrize("name", [*policy_names(), "value+gap-mixture", "thompson+beta-mixture"])
def test_every_registered_policy(name: str) -> None:
    @careful(4)
    @given(specs(name))
    def same(spec: Specification) -> None:
        agree(spec)

    same()


def test_verdicts_by_rank() -> None:
    @careful(10)
    @given(specs("value+gap-mixture", "fdr"))
    def same(spec: Specification) -> None:
        agree(spec)

    same()


@pytest.mark.parametrize("name", ["ucb+gap-mixture@linear", "ucb+beta-mixture@mixed"])
def test_a_model_guides_the_pulls(name: str) -> None:
    """One rule that runs as Python and one whose sums only native code rounds as the simulator does."""
    environment = linear(12, 3)
    agree(Specification(policy(name), environment, environment.problem(0.3), 150, 3, trace=True))


def test_rewards_without_bounds() -> None:
    environment = gaussian([0.0, 0.4, 1.0, 2.0], 0.5, scale=1.0)
    made = policy("ucb+normal-mixture", rewards=environment.rewards)
    agree(Specification(made, environment, environment.problem(0.1), 200, 3, trace=True))


@pytest.mark.parametrize("model", ["linear", "mixed", "kernel", "neural"])
def test_dgai_learns_the_same_with_every_model(model: str) -> None:
    """beta steps by its gradient in both, and the bets follow the model's belief."""
    if model == "neural":
        pytest.importorskip("jax", reason="@neural needs the extra 'neural'")
    environment = linear(12, 3)
    spec = Specification(policy(f"dgai@{model}"), environment, environment.problem(0.3), 120, 3, trace=True)
    agree(spec)


def test_dgai_with_rewards_without_bounds() -> None:
    environment = gaussian([0.0, 0.4, 1.0, 2.0], 0.5, scale=1.0)
    made = policy("dgai", rewards=environment.rewards)
    spec = Specification(made, environment, environment.problem(0.1), 200, 3, trace=True)
    agree(spec)
    trace, campaign = told_one_by_one(spec)
    assert len(trace) > 4
    assert campaign.bounds().beta != 2.0, "beta has left its start"
