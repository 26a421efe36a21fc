"""`learn`: learn a policy's parameters offline on an environment or family."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from goodarm.arguments import check_whole
from goodarm.environments import Environment
from goodarm.errors import InvalidValue, NotCalibrated
from goodarm.learning.calibrate import Attempt, count_attempt, learned_alpha, most_wrong
from goodarm.learning.offline import GradientEpoch, LearningStep, learn_by_gradient, learn_parameter, least_budget
from goodarm.policies import DEFAULT_POLICY, Policy, rounded, spelled
from goodarm.policies import policy as make_policy
from goodarm.policies.certificate import Certificate, confidence_of
from goodarm.policies.file import SavedPolicy, check_rules, saved_model, write_policy
from goodarm.policies.parameters import owners_of, setting_of, shortened
from goodarm.simulation.run import assembly_of, play
from goodarm.simulation.runs import Runs
from goodarm.simulation.simulate import collect
from goodarm.simulation.specification import Specification, specify
from goodarm.simulation.stop import Stop, listening
from goodarm.streams import ENVIRONMENT, derived_seed, generator
from goodarm.theory import exploit_ceiling
from goodarm.version import __version__
from goodarm.wire import jsonable

LEARNABLE = {
    "dgai-spread": ("beta", (0.5, 1.0, 2.0, 4.0)),
    "ucb": ("beta", (0.5, 1.0, 2.0, 4.0)),
    "value": ("patience", (0.5, 1.0, 2.0, 4.0)),
    "value-normal": ("boldness", (0.7, 1.0, 1.4, 2.0)),
}
"""The parameter of each sampling rule that is learned by differences, and its first candidates."""
BY_GRADIENT = ("dgai",)
"""Sampling rules whose beta is learned by gradient epochs."""

STREAMS = 3
MOST_RUNS = 60
"""Default maximum number of runs for learning a parameter. Bounds are learned on later runs."""
LEAST_LEARNING_RUNS = 100
POINTS = 20
"""Number of rounds for which a learned policy's file records alpha and beta."""

Watch = Callable[[str, Any], None]
"""Progress callback: ("step", LearningStep), ("epoch", Epoch), ("alpha", value), ("runs", number of new runs)."""

OBJECTIVES = ("score", "paper", "none")


def _printed() -> Any:
    """The paper's training, imported by name: this package does not depend on `goodarm.paper`."""
    return import_module("goodarm.paper.training")


@dataclass(frozen=True)
class LearnedPolicy:
    """A learned policy with its history."""

    policy: Policy
    parameters: dict[str, float]
    learned_on: dict[str, Any]
    history: Sequence[Any] = field(repr=False)
    started: Specification | None = field(default=None, repr=False)  # the initial policy, and the environment
    bounds: Sequence[Mapping[str, float | None]] = field(default=(), repr=False)
    """alpha_t and beta_t along one run of the learned policy: `round`, `alpha`, `beta`.

    Both count standard errors sd0/sqrt(N): an arm is called good when its mean reaches threshold + alpha sd0/sqrt(N),
    and beta is the number that the sampling rule adds. None if the policy has no such number.
    """

    def save(self, path: str | Path) -> None:
        """Write the policy as a small JSON file, which can be used in place of a policy's name."""
        learned = self.policy
        check_rules(learned.sampling, learned.identification)
        saved = SavedPolicy(
            policy=spelled(learned.sampling, learned.identification, {}, None),
            parameters={**learned.chosen, **self.parameters},
            guarantee=str(self.policy.guarantee),
            criterion=None if learned.asked is None else str(learned.asked),
            model=saved_model(learned.model),
            rewards=self._rewards,
            learned_on={name: value for name, value in self.learned_on.items() if name != "rewards"},
            certificate=self.policy.certificate,
            history=[step._asdict() for step in self.history],
            bounds=[dict(point) for point in self.bounds],
        )
        write_policy(path, saved)

    @property
    def _rewards(self) -> Any:
        return self.learned_on["rewards"]


def learn(
    environment: str | Environment,
    policy: str | Policy = DEFAULT_POLICY,
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
    attempt: int = 1,
    earlier: str | Path | None = None,
    workers: int = 1,
    stop: Stop | None = None,
    watch: Watch = lambda what, value: None,
) -> LearnedPolicy:
    """Learn a policy's parameter on an environment, and with `calibrate` also its bound for deciding.

    objective : "score" (for `dgai` the gradient of the expected rate of exploit score, for others differences of the
                exploit score under common random numbers); "paper" (alpha and beta of `dgai-offline`, as printed); or
                "none"
    options   : options of the paper's objective, and `every`: see `goodarm.paper.training.train_paper`
    budget    : maximum number of runs for learning, at least 14 (11 for `dgai`); with "paper", of epochs
    calibrate : learn alpha of `studentised` on `learning_runs` runs and test it on `tests` fresh ones
    attempt   : number of calibrations of a bound for this family, including this one. Attempts of this process and of
                the policy file `earlier` are counted automatically. The k-th attempt needs a higher confidence
                (`confidence_of`)

    The learned policy decides like the given policy; if calibrated, it decides by the learned bound with its
    certificate. Learning uses the stream of `seed`, so report scores on another seed.
    """
    spec = specify(policy, environment, horizon=horizon, seed=seed, delta=delta)
    spec.check_compiled()
    started = spec
    call = (objective, sorted(options.items()), budget, learning_runs, tests)
    counted = count_attempt(spec, attempt, earlier, *call) if calibrate else None
    _check_objective(objective, options, calibrate)
    check_family(spec)
    parameters: dict[str, float] = {}
    history: Sequence[Any] = ()
    stop = stop or Stop()
    with listening(stop):
        if objective != "none":
            how = _printed().learn_as_printed if objective == "paper" else _learn_on_score
            parameters, history = how(spec, budget, options, watch, stop)
            spec = _with(spec, parameters)
        if counted is not None:
            first = max(MOST_RUNS, budget)
            spec, alpha = _calibrated(spec, first, learning_runs, tests, counted, workers, watch, stop)
            parameters[_named(spec.policy, "identification.alpha")] = alpha
        bounds = _bounds_along(spec, stop)
    taken = sum(each.runs for each in history) if spec.policy.sampling.name in BY_GRADIENT else budget
    learned_on = _learned_on(spec, objective, taken, learning_runs + tests, counted)
    return LearnedPolicy(spec.policy, parameters, learned_on, history, started, bounds)


def _check_objective(objective: str, options: Mapping[str, float], calibrate: bool) -> None:
    if objective not in OBJECTIVES:
        raise InvalidValue(f"objective must be one of {', '.join(OBJECTIVES)}; got {objective!r}.")
    known_options = _printed().PAPER_OPTIONS if options else ()
    unknown = [name for name in options if name not in known_options]
    if unknown:
        known = ", ".join(known_options)
        raise InvalidValue(f"the paper's objective has no option {unknown[0]!r}. Its options: {known}.")
    if "every" in options and not (options["every"] >= 1.0 and float(options["every"]).is_integer()):
        raise InvalidValue(f"option every must be a whole number of rounds, at least 1; got {options['every']:g}.")
    if options and objective != "paper":
        raise InvalidValue(f"only the paper's objective has options; got {', '.join(options)}. Use objective 'paper'.")
    if objective == "none" and not calibrate:
        raise InvalidValue(
            "objective 'none' learns nothing without calibration. Calibrate, or choose another objective."
        )
    if calibrate and objective == "paper":
        raise InvalidValue(
            "a bound is either trained as printed in the paper or calibrated, not both. Leave one of them out."
        )


def check_family(spec: Specification) -> None:
    """Refuse a family without good arms, where every score is 0. Warn about a family without bad arms."""
    threshold = spec.problem.threshold
    instances = [spec.environment.instance(generator(spec.seed, run, ENVIRONMENT)).means for run in range(STREAMS)]
    if all(exploit_ceiling(means, threshold, spec.horizon) <= 0.0 for means in instances):
        best = max(float(means.max()) for means in instances)
        raise InvalidValue(
            f"no arm of {spec.environment.name} lies above the threshold {threshold:g} (the best mean is {best:g}): "
            "every policy scores 0 and nothing can be learned. Lower the threshold."
        )
    if all((means >= threshold).all() for means in instances):
        warnings.warn(
            f"every arm of {spec.environment.name} is good at the threshold {threshold:g}: "
            "a bound learned here has seen no bad arm, so it says nothing about bad arms.",
            NotCalibrated,
            stacklevel=3,
        )


def _with(spec: Specification, parameters: dict[str, float]) -> Specification:
    """The specification with new policy parameters, without the old certificate."""
    old = spec.policy
    given = {**old.chosen, **parameters}
    name = spelled(old.sampling, old.identification, rounded(given), old.model)
    setting = setting_of(owners_of(old.sampling, old.identification), given)
    return replace(spec, policy=replace(old, name=name, setting=setting, certificate=None))


def _named(made: Policy, parameter: str) -> str:
    """The shortest name of a policy's parameter: 'beta' for 'sampling.beta'."""
    return next(iter(shortened(owners_of(made.sampling, made.identification), {parameter: 0.0})))


def _learn_on_score(
    spec: Specification, budget: int, options: Mapping[str, float], watch: Watch, stop: Stop
) -> tuple[dict[str, float], Sequence[Any]]:
    rule = spec.policy.sampling.name
    if rule in _printed().TRAINED:
        raise InvalidValue(f"{rule} is trained by the paper's objective: give `objective='paper'`.")
    check_whole("budget", budget)
    if rule in BY_GRADIENT:
        return _learn_by_gradient(spec, budget, watch, stop)
    if rule not in LEARNABLE:
        raise InvalidValue(
            f"{rule} has no parameter to learn. Learn one of: {', '.join((*BY_GRADIENT, *LEARNABLE))}; "
            "or only a bound, with `calibrate=True` and `objective='none'`."
        )
    name, candidates = LEARNABLE[rule]
    name = _named(spec.policy, f"sampling.{name}")
    steps = (budget - len(candidates) * STREAMS) // 2
    if steps < 1:
        raise InvalidValue(f"budget must be at least {len(candidates) * STREAMS + 2} runs; got {budget}.")

    def score(value: float, run: int) -> float:
        trial = _with(spec, {name: value})
        assembly = assembly_of(trial)
        return float(Runs(trial, (play(trial, run, assembly, stop=stop),)).exploit_scores[0])

    value, history = learn_parameter(
        score, candidates, streams=STREAMS, steps=steps, watch=lambda step: watch("step", step)
    )
    _check_scores(spec, history)
    return {name: value}, history


def _learn_by_gradient(
    spec: Specification, budget: int, watch: Watch, stop: Stop
) -> tuple[dict[str, float], Sequence[GradientEpoch]]:
    if budget < least_budget():
        raise InvalidValue(f"budget must be at least {least_budget()} runs; got {budget}.")
    name = _named(spec.policy, "learner.beta")
    assembly = assembly_of(spec)
    started = float(assembly.start(float(spec.horizon)).pool.learned.beta)

    def play_epoch(beta: float, run: int) -> tuple[float, float]:
        trial = _with(spec, {name: beta, "learner.rate": 0.0})
        played = play(trial, run, assembly_of(trial), stop=stop)
        return float(Runs(trial, (played,)).exploit_scores[0]), played.learned["average"]

    beta, history = learn_by_gradient(play_epoch, started, budget=budget, watch=lambda epoch: watch("step", epoch))
    _check_scores(spec, history)
    return {name: beta}, history


def _bounds_along(spec: Specification, stop: Stop) -> list[dict[str, float | None]]:
    """alpha and beta at some rounds of run 0 with the learned policy; None for numbers that are not finite."""
    looked_at = replace(spec, trajectory=POINTS, trace=False)
    points = Runs(looked_at, (play(looked_at, 0, assembly_of(looked_at), stop=stop),)).trajectories
    return [
        {"round": int(point["round"]), "alpha": jsonable(point["alpha"]), "beta": jsonable(point["beta"])}
        for point in points.rows()
    ]


def _check_scores(spec: Specification, history: Sequence[LearningStep] | Sequence[GradientEpoch]) -> None:
    if not any(step.score > 0.0 for step in history):
        raise InvalidValue(
            f"no policy found a good arm of {spec.environment.name} within {spec.horizon} rounds: "
            "every score was 0 and nothing can be learned. Give a longer horizon."
        )


def _calibrated(
    spec: Specification,
    fresh: int,
    learning_runs: int,
    tests: int,
    attempt: Attempt,
    workers: int,
    watch: Watch,
    stop: Stop,
) -> tuple[Specification, float]:
    """Learn alpha on runs from number `fresh` on and test it on others; heuristic without a certificate."""
    problem, confidence = spec.problem, confidence_of(attempt.number)
    if most_wrong(problem.delta, tests, confidence) < 0:
        raise InvalidValue(
            f"{tests} test runs can't show an error rate of at most {problem.delta:g} even if none is wrong, in "
            f"attempt {attempt.number}. Give at least {_least_tests(problem.delta, confidence)}."
        )
    if learning_runs < LEAST_LEARNING_RUNS:
        raise InvalidValue(f"a bound is learned on at least {LEAST_LEARNING_RUNS} runs; got {learning_runs}.")
    base = _bounded(spec)

    def play_with(alpha: float, runs: int, *, first: int) -> Runs:
        return _played(_with(base, {"identification.alpha": alpha}), runs, fresh + first, workers, watch, stop)

    alpha = learned_alpha(
        play_with, problem.delta, learning_runs=learning_runs, tests=tests, confidence=confidence, watch=watch
    )
    learned = _with(base, {"identification.alpha": alpha})
    certificate = _tested(learned, tests, attempt, workers, watch, stop)
    if not certificate.passes:
        warnings.warn(
            f"not calibrated: {certificate.wrong_runs} of {tests} fresh runs had a wrong verdict, so the error "
            f"rate may be as high as {certificate.limit:.3f}, above delta = {problem.delta:g}. "
            "The policy is heuristic.",
            NotCalibrated,
            stacklevel=4,
        )
        return learned, alpha
    return replace(learned, policy=replace(learned.policy, certificate=certificate)), alpha


def _bounded(spec: Specification) -> Specification:
    """The specification with a policy that samples in the same way and decides by the bound to be learned."""
    old = spec.policy
    bound = make_policy(old.sampling, "studentised", rewards=spec.problem.rewards, model=old.model)
    learner = old.setting.learner if bound.learner else {}
    setting = replace(bound.setting, sampling=old.setting.sampling, learner=learner)
    return replace(spec, policy=replace(bound, setting=setting))


def _played(spec: Specification, runs: int, first: int, workers: int, watch: Watch, stop: Stop) -> Runs:
    return collect(spec, runs, first=first, workers=workers, progress=lambda ended: watch("runs", ended), stop=stop)


def _tested(spec: Specification, tests: int, attempt: Attempt, workers: int, watch: Watch, stop: Stop) -> Certificate:
    """The certificate of a policy: fresh runs, from a stream derived from everything that it covers."""
    environment, problem = spec.environment, spec.problem
    blank = Certificate(
        environment.name,
        environment.fingerprint,
        spec.policy.fingerprint,
        problem.threshold,
        problem.arms,
        problem.delta,
        spec.horizon,
        runs=tests,
        wrong_runs=0,
        seed=spec.seed,
        attempt=attempt.number,
        version=__version__,
    )
    # goodarm's own code is excluded, so that edits and other versions of Python draw the same runs
    facts = replace(blank, fingerprint=environment.description, policy=spec.policy.description, version="")
    fresh = replace(spec, seed=derived_seed(spec.seed, f"test of {facts} in {attempt.call}"))
    return replace(blank, wrong_runs=_played(fresh, tests, 0, workers, watch, stop).wrong_runs)


def _least_tests(delta: float, confidence: float) -> int:
    """The size of the smallest test that passes if no run is wrong."""
    return int(np.ceil(np.log(1.0 - confidence) / np.log1p(-delta)))


def _learned_on(
    spec: Specification, objective: str, budget: int, calibration_runs: int, attempt: Attempt | None
) -> dict[str, Any]:
    environment, problem = spec.environment, spec.problem
    return {
        "environment": environment.name,
        "reading": environment.reading,
        "threshold": problem.threshold,
        "arms": problem.arms,
        "delta": problem.delta,
        "horizon": spec.horizon,
        "seed": spec.seed,
        "objective": objective,
        "runs": (budget if objective != "none" else 0) + (calibration_runs if attempt else 0),
        "version": __version__,
        "attempt": attempt._asdict() if attempt else None,
        "rewards": problem.rewards,
    }
