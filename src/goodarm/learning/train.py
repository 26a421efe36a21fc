"""`learn`: a policy whose parameters are learned on an environment or family, offline, before it is used."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from goodarm import __version__
from goodarm.certificate import Certificate
from goodarm.engine.run import Plan, Run, assembly_of, play
from goodarm.engine.runs import Runs
from goodarm.engine.simulate import make_plan, play_in_parallel
from goodarm.environments import Environment
from goodarm.errors import InvalidValue, NotCalibrated
from goodarm.learning.calibrate import calibrate as calibrate_alpha
from goodarm.learning.calibrate import most_wrong
from goodarm.learning.offline import Step, learn_parameter
from goodarm.learning.paper import OPTIONS, TRAINED, Epoch, train_paper
from goodarm.policies import Policy, rounded, spelled
from goodarm.policies import policy as make_policy
from goodarm.policy_file import SavedPolicy, write_policy
from goodarm.rules import Setting
from goodarm.streams import ENVIRONMENT, generator
from goodarm.theory import exploit_ceiling

LEARNABLE = {
    "dgai": ("beta", (0.5, 1.0, 2.0, 4.0)),
    "ucb": ("beta", (0.5, 1.0, 2.0, 4.0)),
    "value": ("boldness", (0.7, 1.0, 1.4, 2.0)),
}
"""Which parameter of a sampling rule is learned offline, and the values at which learning looks first."""

STREAMS = 3
MOST_RUNS = 60
"""Learning a parameter takes no more runs, unless a larger budget is given; a bound is learned on those after them."""
LEAST_LEARNING_RUNS = 100

Watch = Callable[[str, Any], None]
"""Called as things move: ("step", Step), ("epoch", Epoch), ("alpha", value), ("runs", how many more)."""

OBJECTIVES = ("score", "paper", "none")
PAPER_OPTIONS = (*(name for name in OPTIONS if name != "ridge"), "every")
"""`ridge` is a parameter of the policy that is trained: dgai-offline(ridge=0.1)."""


@dataclass(frozen=True)
class LearnedPolicy:
    """A policy, what was learned, and how."""

    policy: Policy
    parameters: dict[str, float]
    learned_on: dict[str, Any]
    history: Sequence[Step | Epoch] = field(repr=False)

    def save(self, path: str | Path) -> None:
        """Write the policy as a small JSON file that is accepted wherever a policy's name is."""
        learned = self.policy
        saved = SavedPolicy(
            policy=spelled(learned.sampling, learned.identification, {}, learned.estimator),
            parameters={**learned.chosen, **self.parameters},
            guarantee=str(self.policy.guarantee),
            rewards=self._rewards,
            learned_on={name: value for name, value in self.learned_on.items() if name != "rewards"},
            certificate=self.policy.certificate,
            history=[step._asdict() for step in self.history],
        )
        write_policy(path, saved)

    @property
    def _rewards(self) -> Any:
        return self.learned_on["rewards"]


def learn(
    environment: str | Environment,
    policy: str | Policy = "dgai",
    *,
    horizon: int | None = None,
    objective: str = "score",
    options: Mapping[str, float] = MappingProxyType({}),
    budget: int = 52,
    calibrate: bool = False,
    learning_runs: int = 1000,
    tests: int = 1000,
    delta: float = 0.05,
    seed: int = 0,
    workers: int = 1,
    watch: Watch = lambda what, value: None,
) -> LearnedPolicy:
    """Learn a policy's parameter on an environment, and with `calibrate` its bound for deciding too.

    objective : "score" (the exploit score itself, by differences under common random numbers); "paper" (alpha and
                beta of `dgai-offline`, as printed); or "none"
    options   : of the paper's objective, and `every`: see `goodarm.learning.paper.train_paper`
    budget    : runs of the environment that learning may take, at least 14; with "paper" its epochs
    calibrate : learn alpha of `studentised` on `learning_runs` runs and test it on `tests` fresh ones

    The learned policy decides as the policy that was given does; calibrated, by the learned bound with its certificate.
    Runs of learning use the stream of `seed`: report scores on another seed.
    """
    plan = make_plan(policy, environment, horizon=horizon, seed=seed, delta=delta)
    _check_objective(objective, options, calibrate)
    check_family(plan)
    parameters: dict[str, float] = {}
    history: Sequence[Step | Epoch] = ()
    if objective != "none":
        how = _learn_as_printed if objective == "paper" else _learn_on_score
        parameters, history = how(plan, budget, options, watch)
        plan = _with(plan, parameters)
    if calibrate:
        first = max(MOST_RUNS, budget)
        plan, alpha = _calibrated(plan, first, learning_runs, tests, workers, watch)
        parameters["alpha"] = alpha
    learned_on = _learned_on(plan, objective, budget, calibrate, learning_runs, tests)
    return LearnedPolicy(plan.policy, parameters, learned_on, history)


def _check_objective(objective: str, options: Mapping[str, float], calibrate: bool) -> None:
    if objective not in OBJECTIVES:
        raise InvalidValue(f"objective must be one of {', '.join(OBJECTIVES)}; got {objective!r}.")
    unknown = [name for name in options if name not in PAPER_OPTIONS]
    if unknown:
        known = ", ".join(PAPER_OPTIONS)
        raise InvalidValue(f"the paper's objective has no option {unknown[0]!r}; it has: {known}.")
    if "every" in options and not (options["every"] >= 1.0 and float(options["every"]).is_integer()):
        raise InvalidValue(f"option every must be a whole number of rounds, at least 1; got {options['every']:g}.")
    if options and objective != "paper":
        raise InvalidValue(f"only the paper's objective has options; got {', '.join(options)}. Give objective 'paper'.")
    if objective == "none" and not calibrate:
        raise InvalidValue("objective 'none' learns nothing without calibration. Calibrate, or give another objective.")
    if calibrate and objective == "paper":
        raise InvalidValue("a bound is trained as the paper prints it, or calibrated, not both. Leave out one of them.")


def check_family(plan: Plan) -> None:
    """Refuse a family in which nothing is good: every score is 0. Warn where nothing is bad."""
    threshold = plan.problem.threshold
    instances = [plan.environment.instance(generator(plan.seed, run, ENVIRONMENT)).means for run in range(STREAMS)]
    if all(exploit_ceiling(means, threshold, plan.horizon) <= 0.0 for means in instances):
        best = max(float(means.max()) for means in instances)
        raise InvalidValue(
            f"no arm of {plan.environment.name} lies above the threshold {threshold:g} (the best mean is {best:g}): "
            "every policy scores 0 and nothing can be learned. Lower the threshold."
        )
    if all((means >= threshold).all() for means in instances):
        warnings.warn(
            f"every arm of {plan.environment.name} is good at the threshold {threshold:g}: "
            "a bound learned here has never seen a bad arm and says nothing about one.",
            NotCalibrated,
            stacklevel=3,
        )


def _with(plan: Plan, parameters: dict[str, float]) -> Plan:
    """The same plan with some parameters of its policy set; a certificate spoke of the old ones."""
    old = plan.policy
    values = {**old.setting.values, **parameters}
    name = spelled(old.sampling, old.identification, rounded({**old.chosen, **parameters}), old.estimator)
    return replace(plan, policy=replace(old, name=name, setting=Setting(values), certificate=None))


def _learn_as_printed(
    plan: Plan, epochs: int, options: Mapping[str, float], watch: Watch
) -> tuple[dict[str, float], Sequence[Epoch]]:
    rule = plan.policy.sampling.name
    if rule not in TRAINED:
        raise InvalidValue(f"the paper's objective trains {' or '.join(TRAINED)}; got {rule}.")
    given = {**options, "ridge": plan.policy.setting.values["ridge"]}
    every = int(given.pop("every", 1))
    trained = train_paper(
        plan.environment, horizon=plan.horizon, epochs=epochs, seed=plan.seed, draw=TRAINED[rule],
        identification="learned-online", every=every,
        delta=plan.problem.delta, progress=lambda epoch: watch("epoch", epoch), **given,
    )  # fmt: skip
    return {"alpha": trained.alpha, "beta": trained.beta}, trained.history


def _learn_on_score(
    plan: Plan, budget: int, options: Mapping[str, float], watch: Watch
) -> tuple[dict[str, float], Sequence[Step]]:
    rule = plan.policy.sampling.name
    if rule in TRAINED:
        raise InvalidValue(f"{rule} is trained by the paper's objective: give --objective paper.")
    if rule not in LEARNABLE:
        raise InvalidValue(
            f"{rule} has no parameter to learn. Learn one of: {', '.join(LEARNABLE)}; "
            "or only a bound, with --calibrate and --objective none."
        )
    name, candidates = LEARNABLE[rule]
    steps = (budget - len(candidates) * STREAMS) // 2
    if steps < 1:
        raise InvalidValue(f"budget must be at least {len(candidates) * STREAMS + 2} runs; got {budget}.")

    def score(value: float, run: int) -> float:
        trial = _with(plan, {name: value})
        assembly = assembly_of(trial)
        return float(Runs(trial, (play(trial, run, assembly),)).exploit_scores[0])

    value, history = learn_parameter(
        score, candidates, streams=STREAMS, steps=steps, watch=lambda step: watch("step", step)
    )
    if not any(step.score > 0.0 for step in history):
        raise InvalidValue(
            f"no policy found a good arm of {plan.environment.name} within {plan.horizon} rounds: "
            "every score was 0 and nothing can be learned. Give a longer horizon."
        )
    return {name: value}, history


def _calibrated(
    plan: Plan, fresh: int, learning_runs: int, tests: int, workers: int, watch: Watch
) -> tuple[Plan, float]:
    """Learn alpha on runs from number `fresh` on and test it on later ones; without a certificate it is heuristic."""
    problem = plan.problem
    if most_wrong(problem.delta, tests) < 0:
        raise InvalidValue(
            f"{tests} test runs can't show an error rate of at most {problem.delta:g} even if none is wrong. "
            f"Give at least {_least_tests(problem.delta)}."
        )
    if learning_runs < LEAST_LEARNING_RUNS:
        raise InvalidValue(f"a bound is learned on at least {LEAST_LEARNING_RUNS} runs; got {learning_runs}.")
    bound = make_policy(plan.policy.sampling, "studentised", rewards=problem.rewards, estimator=plan.policy.estimator)
    values = {
        **bound.setting.values,
        **{k: v for k, v in plan.policy.setting.values.items() if k in bound.setting.values},
    }
    base = replace(plan, policy=replace(bound, setting=Setting(values)))

    def play_with(alpha: float, runs: int, *, first: int) -> Runs:
        trial = _with(base, {"alpha": alpha})
        batches = play_in_parallel(trial, runs, workers=workers, first=fresh + first)
        finished: list[Run] = []
        for batch in batches:
            finished.extend(batch)
            watch("runs", len(batch))
        return Runs(trial, tuple(finished))

    def certificate(*, runs: int, wrong_runs: int) -> Certificate:
        return Certificate(
            plan.environment.name, plan.environment.fingerprint, problem.threshold, problem.arms, problem.delta,
            plan.horizon, runs, wrong_runs, plan.seed, __version__,
        )  # fmt: skip

    found = calibrate_alpha(
        play_with, problem.delta, learning_runs=learning_runs, tests=tests, certificate=certificate, watch=watch
    )
    learned = _with(base, {"alpha": found.alpha})
    if not found.certificate.passes:
        warnings.warn(
            f"not calibrated: {found.certificate.wrong_runs} of {tests} fresh runs had a wrong verdict, so the error "
            f"rate may be as high as {found.certificate.limit:.3f}, above delta = {problem.delta:g}. "
            "The policy is heuristic.",
            NotCalibrated,
            stacklevel=4,
        )
        return learned, found.alpha
    return replace(learned, policy=replace(learned.policy, certificate=found.certificate)), found.alpha


def _least_tests(delta: float) -> int:
    """The smallest test that passes when no run is wrong."""
    return int(np.ceil(np.log(0.05) / np.log1p(-delta)))


def _learned_on(
    plan: Plan, objective: str, budget: int, calibrate: bool, learning_runs: int, tests: int
) -> dict[str, Any]:
    environment, problem = plan.environment, plan.problem
    return {
        "environment": environment.name,
        "reading": environment.reading,
        "threshold": problem.threshold,
        "arms": problem.arms,
        "delta": problem.delta,
        "horizon": plan.horizon,
        "seed": plan.seed,
        "objective": objective,
        "runs": (budget if objective != "none" else 0) + ((learning_runs + tests) if calibrate else 0),
        "version": __version__,
        "rewards": problem.rewards,
    }
