"""`compare`: several policies on one environment, played on the same rewards."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property

from goodarm.environments import Environment
from goodarm.environments.names import environment as find_environment
from goodarm.errors import InvalidValue, UnknownName
from goodarm.policies import DEFAULT_POLICY, Policy, reward_policy
from goodarm.simulation.run import Run
from goodarm.simulation.runs import Runs
from goodarm.simulation.simulate import check_workload, play_in_parallel
from goodarm.simulation.specification import Specification, specify
from goodarm.verdict import Criterion

GOOD_ARMS, REWARD = "good-arms", "reward"
GOALS = (GOOD_ARMS, REWARD)
"""What a comparison is about: which arms are good, or how much reward is collected on the way."""

DEFAULT_POLICIES = (DEFAULT_POLICY, "hdoc")
"""What is compared when no policy is named: what we recommend beside what the field knows."""

Progress = Callable[[str, int], None]
"""Called with a policy's name and the number of its runs that have just ended."""


@dataclass(frozen=True)
class Comparison:
    """What to compare. Nothing is checked or played until `specs` is asked for.

    >>> [spec.policy.name for spec in Comparison("kano-1", horizon=1000).specs]
    ['value', 'hdoc']
    """

    environment: str | Environment
    policies: tuple[str | Policy, ...] = DEFAULT_POLICIES
    horizon: int | None = None
    runs: int = 100
    seed: int = 0
    delta: float = 0.05
    threshold: float | None = None
    criterion: str | Criterion | None = None
    goal: str = GOOD_ARMS
    workers: int = 1
    backend: str = "threading"

    @cached_property
    def specs(self) -> tuple[Specification, ...]:
        """One spec a policy, every value in it checked."""
        check_workload(self.runs, self.workers, self.backend)
        environment = find_environment(self.environment, threshold=self.threshold)
        specs = tuple(
            specify(
                self._policy(policy, environment),
                environment,
                horizon=self.horizon,
                seed=self.seed,
                delta=self.delta,
                criterion=self.criterion,
            )
            for policy in self.policies
        )
        _check_names([spec.policy.name for spec in specs])
        return specs

    def _policy(self, policy: str | Policy, environment: Environment) -> str | Policy:
        """Where the goal is reward, a policy that is named without `+` gives no verdicts."""
        if self.goal not in GOALS:
            raise UnknownName("goal", self.goal, GOALS)
        if self.goal == REWARD and isinstance(policy, str):
            return reward_policy(policy, rewards=environment.rewards)
        return policy


@dataclass(frozen=True)
class Results:
    """The finished runs of a comparison, one `Runs` a policy; after Ctrl-C some are missing."""

    comparison: Comparison
    finished: tuple[Runs, ...]
    interrupted: bool = False


def compare(comparison: Comparison, progress: Progress | None = None) -> Results:
    """Play every policy in turn. Ctrl-C ends the comparison early and keeps the runs that are finished.

    >>> from goodarm import bernoulli
    >>> always = bernoulli([0.0, 1.0], threshold=0.5, horizon=500)  # constant rewards: every run is the same
    >>> results = compare(Comparison(always, ("hdoc", "hdoc+kt"), runs=5))
    >>> [(runs.policy, len(runs), runs.stopped_at.mean) for runs in results.finished]
    [('hdoc', 5, 46.0), ('hdoc+kt', 5, 16.0)]
    """
    finished: list[list[Run]] = []
    stopped = False
    for spec in comparison.specs:
        finished.append([])
        if not _play(spec, comparison, finished[-1], progress):
            stopped = True
            break
    kept = tuple(Runs(spec, tuple(runs)) for spec, runs in zip(comparison.specs, finished, strict=False) if runs)
    for runs in kept:
        runs.warn()
    return Results(comparison, kept, stopped)


def _play(spec: Specification, comparison: Comparison, finished: list[Run], progress: Progress | None) -> bool:
    """Fill `finished` batch by batch; False if the user stopped it."""
    batches = play_in_parallel(spec, comparison.runs, workers=comparison.workers, backend=comparison.backend)
    try:
        with closing(batches):  # type: ignore[type-var]
            for batch in batches:
                finished.extend(batch)
                if progress is not None:
                    progress(spec.policy.name, len(batch))
    except KeyboardInterrupt:
        return False
    return True


def _check_names(names: list[str]) -> None:
    if not names:
        raise InvalidValue("a comparison needs at least one policy; got none. Name one, for example 'hdoc'.")
    for name in names:
        if names.count(name) > 1:
            raise InvalidValue(f"policy {name!r} is named twice, perhaps under two spellings. Name each policy once.")
