"""The subject of the checks: a policy on an environment, played for a few hundred rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.assemble import Assembly, assemble, start_pool
from goodarm.engine.loop import Tables
from goodarm.environments import Environment, Instance, beta, gaussian
from goodarm.policies import Policy
from goodarm.rules.beliefs import VERDICT, Arm, Pool, write_arm
from goodarm.rules.identification import IdentificationRule
from goodarm.rules.parameters import take
from goodarm.rules.sampling import ChoiceRule
from goodarm.simulation.run import Run, play
from goodarm.simulation.specification import Specification
from goodarm.testing.reference import Scan, scan

MEANS = (0.0, 0.2, 0.45, 0.5, 0.6, 0.8, 1.0)
"""Arms far from the threshold, near it and at it, and two with constant rewards."""


def usual_environments(rule: IdentificationRule) -> list[Environment]:
    """Beta and Gaussian rewards, if the rule is valid for them; such rewards give no ties between arms."""
    known = (beta(MEANS, threshold=0.5, concentration=2.0), gaussian(MEANS, threshold=0.5, scale=0.5))
    return [environment for environment in known if rule.valid_for(environment.rewards)]


def usual_environment(policy: Policy) -> Environment:
    """The first environment that suits the policy's identification rule."""
    found = usual_environments(policy.identification)
    if not found:
        raise ValueError(f"{policy.identification.name} is valid for no known reward family; pass an environment.")
    return found[0]


@dataclass(frozen=True)
class Subject:
    """A policy under test. `compiled=False` plays the engine's loop and trees as plain Python."""

    policy: Policy
    environment: Environment
    horizon: int = 400
    seed: int = 0
    delta: float = 0.3
    compiled: bool = True

    @cached_property
    def spec(self) -> Specification:
        problem = self.environment.problem(self.delta)
        return Specification(self.policy, self.environment, problem, self.horizon, self.seed, trace=True)

    def assembly(self, *, scan: bool = False) -> Assembly:
        """The loop, compiled or not."""
        made = assemble(self.policy, self.spec.problem, self.environment.reward, scan=scan)
        return made if self.compiled else made.uncompiled()

    def play(self, number: int = 0, instance: Instance | None = None, *, scan: bool = False, points: int = 0) -> Run:
        """One run with its trace."""
        return _play(replace(self.spec, trajectory=points), number, self.assembly(scan=scan), instance)

    def watch(self, points: int) -> list[tuple[NDArray[np.float64], NDArray[np.int64]]]:
        """Verdicts and their rounds at evenly spread points of one run."""
        assembly = self.assembly()
        seen: list[tuple[NDArray[np.float64], NDArray[np.int64]]] = []

        def watched(tables: Tables, *arguments: Any) -> tuple[Pool, bool]:
            result = assembly.loop(tables, *arguments)
            seen.append((tables.arms[:, VERDICT].copy(), tables.decided_at.copy()))
            return result

        _play(replace(self.spec, trajectory=points), 0, replace(assembly, loop=watched), None)
        return seen

    @cached_property
    def first(self) -> Run:
        """Run 0, which most checks use."""
        return self.play()

    @cached_property
    def by_scan(self) -> Scan:
        """Run 0 by the plain scan in Python."""
        return scan(self.spec)

    def on(self, environment: Environment) -> Subject:
        """The same policy on another environment."""
        return replace(self, environment=environment)


def _play(spec: Specification, number: int, assembly: Assembly, instance: Instance | None) -> Run:
    # uncompiled, the streams count modulo 2^64 and the trees hold infinities, about which numpy would warn
    with np.errstate(over="ignore", invalid="ignore"):
        return play(spec, number, assembly, instance)


def draws_at_random(policy: Policy) -> bool:
    """Whether the sampling rule uses its generator.

    >>> from goodarm.policies import policy
    >>> draws_at_random(policy("thompson")), draws_at_random(policy("hdoc"))
    (True, False)
    """
    rule = policy.sampling
    if not isinstance(rule, ChoiceRule):
        return False
    bar = usual_environment(policy).problem().bar
    table, draws = np.zeros((len(MEANS), len(Arm._fields))), np.random.default_rng(0)
    for i, mean in enumerate(MEANS):
        write_arm(table, i, Arm(4.0, 4.0 * mean, mean, 0.5, 0.0, 0.0, 0.0, 0.0))
    before = draws.bit_generator.state
    rule.choose(table, start_pool(policy, bar, 100.0), bar, draws, *take(policy.setting.sampling, rule.defaults))
    return bool(draws.bit_generator.state != before)


def arm_after(pulls: float, total: float, *, for_good: float = 0.0, for_bad: float = 0.0, memory: float = 0.0) -> Arm:
    """An open, independent arm after `pulls` rewards that add up to `total`.

    >>> arm_after(pulls=4, total=3.0).mean
    0.75
    """
    return Arm(float(pulls), total, total / pulls, 1.0 / math.sqrt(pulls), for_good, for_bad, memory, 0.0)
