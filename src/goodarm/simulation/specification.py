"""The specification of a simulation: policy, environment, horizon and seed, all checked."""

from __future__ import annotations

from dataclasses import dataclass

from goodarm.arguments import check_real, check_whole
from goodarm.environments import Environment
from goodarm.environments.names import environment as find_environment
from goodarm.errors import InvalidValue
from goodarm.policies import Policy
from goodarm.policies import policy as make_policy
from goodarm.problem import Problem
from goodarm.verdict import Criterion

LONGEST = 2**53
"""Maximum horizon. Pulls are counted in floats, which are exact up to this number."""


@dataclass(frozen=True)
class Specification:
    """A specification for workers, on this machine or another."""

    policy: Policy
    environment: Environment
    problem: Problem
    horizon: int
    seed: int
    trajectory: int = 0
    trace: bool = False
    scan: bool = False
    stop_after: int | None = None


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
    found = find_environment(environment)
    problem = found.problem(delta)
    made = make_policy(policy, rewards=problem.rewards, criterion=criterion)
    if seed < 0:
        raise InvalidValue(f"seed must be 0 or larger; got {seed}.")
    last = _checked_horizon(horizon, found, found.arms if made.model is None or made.sampling.each_first else 1)
    problem.check_sums(last)
    fingerprint = found.fingerprint if made.certificate else ""
    made = made.on(found.name, fingerprint, problem, last)
    return Specification(made, found, problem, last, seed, trajectory, trace, scan, stop_after)


def check_policy(policy: object) -> None:
    """Refuse an environment in place of a policy, when arguments were given in the wrong order."""
    if isinstance(policy, Environment):
        raise InvalidValue(
            f"the policy must be a name like 'hdoc+kt', or a Policy; got the environment {policy.name!r}. "
            "Write simulate(policy, environment), but compare(environments, policies)."
        )


def _checked_horizon(horizon: int | None, environment: Environment, least: int) -> int:
    chosen = environment.horizon if horizon is None else horizon
    if chosen > LONGEST:
        raise InvalidValue(f"horizon must be at most {LONGEST}, where rounds stop being exact; got {chosen}.")
    if chosen < least:
        why = f"the number of arms, {least}, since each arm is pulled once first" if least > 1 else "1"
        raise InvalidValue(f"horizon must be at least {why}; got {chosen}.")
    return chosen
