"""The specification of a simulation: policy, environment, horizon and seed, all checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goodarm.arguments import check_real, check_whole, checked_number
from goodarm.engine.evidence import Evidence, evidence_for
from goodarm.engine.live.checks import check_costs
from goodarm.environments import Environment
from goodarm.environments._base import checked_costs
from goodarm.environments.names import environment as find_environment
from goodarm.errors import InvalidValue, UnknownName
from goodarm.policies import Policy
from goodarm.policies import policy as make_policy
from goodarm.problem import Problem
from goodarm.question import LISTED, BarsGiven, Question
from goodarm.verdict import Criterion

LONGEST = 2**53
"""Maximum horizon. Pulls are counted in floats, which are exact up to this number."""


@dataclass(frozen=True)
class Specification:
    """A specification for workers, on this machine or another.

    costs  : cost of a sample of each arm; empty if each costs 1
    budget : maximum total cost of the samples of a run; None for no limit
    """

    policy: Policy
    environment: Environment
    problem: Problem
    horizon: int
    seed: int
    trajectory: int = 0
    trace: bool = False
    scan: bool = False
    stop_after: int | None = None
    costs: tuple[float, ...] = ()
    budget: float | None = None

    @property
    def question(self) -> Question:
        """The question about the arms."""
        return self.environment.question

    @property
    def evidence(self) -> Evidence[Any]:
        """The evidence that answers the question."""
        return evidence_for(self.question, self.problem.rewards)

    @property
    def live(self) -> bool:
        """Whether runs are played by the step of a live campaign instead of the compiled loop.

        The loop supports one number per reward, and neither costs nor a budget.
        """
        return bool(self.costs) or self.budget is not None or not self.evidence.own_mean

    def check_compiled(self) -> None:
        """Refuse what the compiled loop does not support."""
        if self.live:
            raise InvalidValue(
                f"{self.environment.name}: this requires one threshold, without costs or a budget; got "
                f"{self.question.setting}."
            )


CostsGiven = float | Mapping[Any, float] | Sequence[float]
"""Cost of a sample: one number for all arms, {arm: cost} by name or number, or one number per arm."""


def specify(
    policy: str | Policy,
    environment: str | Environment,
    *,
    horizon: int | None = None,
    seed: int = 0,
    delta: float = 0.05,
    criterion: str | Criterion | None = None,
    trajectory: int = 0,
    trace: bool = False,
    scan: bool = False,
    stop_after: int | None = None,
    bars: BarsGiven | None = None,
    cost: CostsGiven | None = None,
    budget: float | None = None,
) -> Specification:
    """Check the arguments of `simulate` and return its specification, without playing."""
    check_policy(policy)
    for name, value in (("seed", seed), ("trajectory", trajectory), ("horizon", 1 if horizon is None else horizon)):
        check_whole(name, value)
    if stop_after is not None:
        check_whole("stop_after", stop_after)
        if stop_after < 1:
            raise InvalidValue(f"stop_after, the number of good arms to find, must be at least 1; got {stop_after}.")
    check_real(delta=delta)
    if trajectory < 0:
        raise InvalidValue(f"trajectory, the number of points to record, must be 0 or larger; got {trajectory}.")
    found = find_environment(environment, bars=bars)
    problem = found.problem(delta)
    made = make_policy(policy, rewards=problem.rewards, criterion=criterion)
    if seed < 0:
        raise InvalidValue(f"seed must be 0 or larger; got {seed}.")
    last = _checked_horizon(horizon, found, found.arms if made.model is None or made.sampling.each_first else 1)
    problem.check_sums(last)
    fingerprint = found.fingerprint if made.certificate else ""
    made = made.on(found.name, fingerprint, problem, last)
    costs, money = costs_of(found, cost), None if budget is None else float(checked_number("budget", budget))
    check_costs(made, costs, money)
    spec = Specification(made, found, problem, last, seed, trajectory, trace, scan, stop_after, costs, money)
    if spec.live:
        spec.evidence.check_simulated(made, problem)
        if scan:
            raise InvalidValue(
                "scan replaces the trees of the compiled loop, which plays one threshold without costs. Leave it out."
            )
    return spec


def costs_of(environment: Environment, cost: CostsGiven | None) -> tuple[float, ...]:
    """Cost of a sample of each arm: the given costs or those of the environment; empty if there are none.

    >>> from goodarm.environments import bernoulli
    >>> costs_of(bernoulli([0.4, 0.6], 0.5), {1: 20})
    (1.0, 20.0)
    """
    if cost is None:
        return environment.costs
    names = list(environment.labels) or list(map(str, range(environment.arms)))
    return costs_by_name(names, environment.costs or (1.0,) * environment.arms, cost)


def costs_by_name(names: Sequence[str], own: Sequence[float], cost: CostsGiven | None) -> tuple[float, ...]:
    """Check and return the cost of each arm, by these names; arms without a given cost keep their own.

    >>> costs_by_name(["a", "b"], (1.0, 1.0), {"b": 3})
    (1.0, 3.0)
    """
    if cost is None:
        return checked_costs(own, names)
    if isinstance(cost, Mapping):
        given = {str(name): each for name, each in cost.items()}
        unknown = next((name for name in given if name not in names), None)
        if unknown is not None:
            raise UnknownName("arm", unknown, names[:LISTED])
        return checked_costs([given.get(name, each) for name, each in zip(names, own, strict=True)], names)
    costs: list[Any] = [cost] * len(names) if np.ndim(cost) == 0 else list(cost)  # type: ignore[arg-type]  # a list
    if len(costs) != len(names):
        raise InvalidValue(f"cost must have one number per arm, {len(names)}; got {len(costs)}.")
    return checked_costs(costs, names)


def check_policy(policy: object) -> None:
    """Refuse an environment in place of a policy, a sign of arguments in the wrong order."""
    if isinstance(policy, Environment):
        raise InvalidValue(
            f"the policy must be a name like 'hdoc+kt', or a Policy; got the environment {policy.name!r}. "
            "Write simulate(policy, environment), but compare(environments, policies)."
        )


def _checked_horizon(horizon: int | None, environment: Environment, least: int) -> int:
    chosen = environment.horizon if horizon is None else horizon
    if chosen > LONGEST:
        raise InvalidValue(f"horizon must be at most {LONGEST}, because larger rounds are not exact; got {chosen}.")
    if chosen < least:
        why = f"the number of arms, {least}, since each arm is pulled once first" if least > 1 else "1"
        raise InvalidValue(f"horizon must be at least {why}; got {chosen}.")
    return chosen
