"""`train_paper`: the paper's offline training as printed, with one gradient step per epoch of T rounds.

An epoch is played by the engine's own loop with the rules of `dgai-online`; a function that adds up the gradients of
every round, with the true means, replaces the learner and moves nothing. The cost is O(N K T).

This is the objective as stated in the equations. It is included to show its effect, not as a recommendation; its
guarantee is `heuristic`. If alpha falls below 0, every arm whose mean is not far below the threshold is called good as
soon as it is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.engine import loop, structured
from goodarm.engine.assemble import Assembly, State, assemble, kind_of, parts_of
from goodarm.engine.rule_parts import Drawn, drawn, fit_beside_model
from goodarm.environments import Environment, Instance
from goodarm.environments.names import environment as find_environment
from goodarm.errors import InvalidValue
from goodarm.learning.offline import Epoch
from goodarm.learning.train import Watch
from goodarm.models import Model
from goodarm.paper.learned_bounds import Bounds, both_bounds
from goodarm.paper.objectives import identification_objective, sampling_objective
from goodarm.paper.soft_index import FLOOR, Floats, gather
from goodarm.policies import Policy, policy
from goodarm.problem import Bar
from goodarm.rules.beliefs import VERDICT, Pool, Table, having_learned
from goodarm.rules.parameters import values_of
from goodarm.scores import score
from goodarm.simulation.run import STRIDE
from goodarm.simulation.specification import Specification
from goodarm.simulation.stop import Stop
from goodarm.streams import ENVIRONMENT, POLICY, generator, run_key

DRAWS = {"argmax": "dgai-online", "softmax": "dgai-online-softmax"}
TRAINED = {"dgai-offline": "argmax", "dgai-offline-softmax": "softmax"}
"""The rules that use trained parameters, and how they draw."""

OPTIONS = {name: value for name, value in both_bounds.defaults.items() if name != "batch"}
"""alpha0, beta0, rate, eta1, eta2, sharpness (M), coldness, ridge, by_gap, through_gamma, with the paper's values."""


PAPER_OPTIONS = (*(name for name in OPTIONS if name != "ridge"), "every")
"""Options of `goodarm learn --objective paper`; `ridge` is a parameter of the policy: dgai-offline(ridge=0.1)."""


@dataclass(frozen=True)
class PaperTraining:
    """The learned parameters and their history."""

    alpha: float
    beta: float
    ridge: float
    history: tuple[Epoch, ...]
    model: str = ""

    @property
    def policy(self) -> str:
        """The trained policy as a name."""
        return f"dgai-offline(alpha={self.alpha!r}, beta={self.beta!r}, ridge={self.ridge!r}){self.model}"

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per epoch, for tables and figures."""
        for number, epoch in enumerate(self.history):
            yield {"epoch": number, **epoch._asdict()}


def add_gradients(
    arms: Table,
    pool: Pool,
    bar: Bar,
    truth: Floats,
    sharpness: float,
    coldness: float,
    eta1: float,
    eta2: float,
    ridge: float,
    by_gap: float,
    covering: float,
    through_gamma: float,
    every: float,
) -> Pool:
    """Add this round's gradients, `every` times, to `past_alpha` and `past_beta`; alpha and beta stay.

    The identification objective sums over all arms, with the last beliefs of decided ones; the sampling objective sums
    over the open arms.
    """
    numbers, means, widths = gather(arms, bar, ridge, True)
    _, slope_alpha = identification_objective(
        means, widths, truth[numbers], pool.learned.alpha, bar.threshold, sharpness, eta1, eta2, by_gap, covering
    )
    numbers, means, widths = gather(arms, bar, ridge, False)
    slope_beta = 0.0
    if len(numbers) > 0:
        _, slope_beta = sampling_objective(
            means, widths, truth[numbers], pool.learned.beta, coldness, eta1, eta2, through_gamma
        )
    now = pool.learned
    past_alpha, past_beta = now.past_alpha + every * slope_alpha, now.past_beta + every * slope_beta
    return having_learned(pool, Bounds(now.alpha, now.beta, past_alpha, past_beta))


def train_paper(
    environment: str | Environment,
    *,
    horizon: int | None = None,
    epochs: int = 50,
    seed: int = 0,
    draw: str = "argmax",
    identification: str = "learned-online",
    every: int = 1,
    delta: float = 0.05,
    model: Model | None = None,
    progress: Callable[[Epoch], None] | None = None,
    **options: float,
) -> PaperTraining:
    """Train alpha and beta as printed in the paper.

    epochs  : N; each plays `horizon` rounds on the same arms with fresh rewards
    draw    : "argmax" or "softmax"
    identification : "learned-online" decides by the alpha being trained, as printed; any other rule, for example "kt",
              decides by itself, and shows the learned beta when alpha does not end the trajectories
    every   : number of rounds per gradient; the cost falls by this factor
    model   : a model of the arms, whose means and widths replace each arm's own; by default with the environment's
              features
    options : any of `OPTIONS`; by_gap=1 uses the text's constraint |mu - xi| instead of the printed |mu - m|, and
              covering=1 reverses the sign of the printed D, so that alpha U must cover |mu - m|

    >>> from goodarm.environments import bernoulli
    >>> found = train_paper(bernoulli([0.4, 0.6, 0.7], threshold=0.5), horizon=200, epochs=2)
    >>> len(found.history), found.history[0].alpha, found.history[0].rounds
    (2, 0.0, 6)
    """
    found = find_environment(environment)
    if unknown := [name for name in options if name not in OPTIONS]:
        raise InvalidValue(
            f"the paper's objective has no parameter {unknown[0]!r}. Its parameters: {', '.join(OPTIONS)}."
        )
    chosen = values_of(both_bounds, options)
    _check(found, horizon, epochs, every, draw)
    rounds = found.horizon if horizon is None else horizon
    instance = found.instance(generator(seed, 0, ENVIRONMENT))
    steps = {"ridge": chosen["ridge"], "coldness": chosen["coldness"], "batch": float(every)}
    pairing = policy(DRAWS[draw], identification, rewards=found.rewards, criterion=None, model=model, **steps)
    training = _Training(found, instance, rounds, seed, pairing, every, delta, chosen)
    alpha, beta = chosen["alpha0"], max(chosen["beta0"], FLOOR)
    history: list[Epoch] = []
    for number in range(epochs):
        epoch = training.play(number, alpha, beta)
        history.append(epoch)
        if progress is not None:
            progress(epoch)
        alpha += chosen["rate"] * epoch.gradient_alpha
        beta = max(beta + chosen["rate"] * epoch.gradient_beta, FLOOR)
    return PaperTraining(alpha, beta, chosen["ridge"], tuple(history), f"@{model.spelled()}" if model else "")


def learn_as_printed(
    spec: Specification, epochs: int, options: Mapping[str, float], watch: Watch, stop: Stop
) -> tuple[dict[str, float], Sequence[Epoch]]:
    """The trained parameters of the plan's policy and their history, for `goodarm learn --objective paper`."""
    rule = spec.policy.sampling.name
    if rule not in TRAINED:
        raise InvalidValue(f"the paper's objective trains {' or '.join(TRAINED)}; got {rule}.")
    given = {**options, "ridge": spec.policy.setting.sampling["ridge"]}
    every = int(given.pop("every", 1))

    def told(epoch: Epoch) -> None:
        stop.check()
        watch("epoch", epoch)

    trained = train_paper(
        spec.environment,
        horizon=spec.horizon,
        epochs=epochs,
        seed=spec.seed,
        draw=TRAINED[rule],
        identification="learned-online",
        every=every,
        delta=spec.problem.delta,
        model=spec.policy.model,
        progress=told,
        **given,
    )
    found = {"alpha": trained.alpha, "beta": trained.beta}
    return {name: value for name, value in found.items() if name in spec.policy.parameters}, trained.history


def _check(environment: Environment, horizon: int | None, epochs: int, every: int, draw: str) -> None:
    if draw not in DRAWS:
        raise InvalidValue(f"draw must be 'argmax' or 'softmax'; got {draw!r}.")
    if epochs < 1 or every < 1:
        raise InvalidValue(f"epochs and every must be at least 1; got {epochs} and {every}.")
    if horizon is not None and horizon < environment.arms:
        raise InvalidValue(
            f"horizon must be at least the number of arms, {environment.arms}: each arm is pulled once first; got "
            f"{horizon}. Use a longer horizon."
        )


def _adding_loop(assembly: Assembly, environment: Environment) -> Any:
    """The loop of an assembly, with `add_gradients` in place of its learner."""
    pairing, model = assembly.policy, assembly.model
    if model is None:
        alone = parts_of(pairing, drawn(environment.reward), assembly.bar)
        return loop.build(alone._replace(fit=add_gradients), kind_of(pairing))
    fit, next_round = fit_beside_model(add_gradients), both_bounds.next_round
    parts = structured.parts_for(pairing, type(model).absorb, drawn(environment.reward), fit, next_round)
    return structured.build(parts, kind_of(pairing))


class _Training:
    """One set of arms, and the compiled loop that plays it."""

    def __init__(
        self,
        environment: Environment,
        instance: Instance,
        horizon: int,
        seed: int,
        pairing: Policy,
        every: int,
        delta: float,
        chosen: Any,
    ) -> None:
        self.environment, self.instance, self.horizon, self.seed = environment, instance, horizon, seed
        self.problem = environment.problem(delta)
        assembly = assemble(pairing, self.problem, environment.reward, environment.features)
        names = ("sharpness", "coldness", "eta1", "eta2", "ridge", "by_gap", "covering", "through_gamma")
        self.numbers = {name: float(chosen[name]) for name in names}
        choosing, evidence, radius, _, timing = assembly.parameters
        parameters = (choosing, evidence, radius, (instance.means, *self.numbers.values(), float(every)), timing)
        self.assembly: Assembly = replace(assembly, loop=_adding_loop(assembly, environment), parameters=parameters)

    def play(self, number: int, alpha: float, beta: float) -> Epoch:
        """One epoch: T rounds with these parameters, and the mean of the gradients over the rounds."""
        state = self.assembly.start(float(self.horizon))
        state.pool = Pool(0.0, float(self.horizon), Bounds(alpha, beta, 0.0, 0.0))
        nothing: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        draws = generator(self.seed, number, POLICY)
        source = Drawn(*self.instance[:3], run_key(self.seed, number))
        while state.round < self.horizon and state.open_arms > 0:
            self.assembly.advance(state, source, draws, min(self.horizon, state.round + STRIDE), nothing)
        return self._summary(state, alpha, beta)

    def _summary(self, state: State, alpha: float, beta: float) -> Epoch:
        rounds = state.round
        means, verdicts = self.instance.means, state.arms[:, VERDICT]
        scored = score(means, verdicts, state.decided_at, self.problem.threshold, self.horizon)
        # after the last verdict the beliefs are constant, and the objective continues to count arms called good
        frozen = Pool(0.0, 1.0, Bounds(alpha, beta, 0.0, 0.0))
        left = float(self.horizon - rounds)
        end = add_gradients(state.arms, frozen, self.assembly.bar, means, **self.numbers, every=left).learned
        return Epoch(
            alpha=alpha,
            beta=beta,
            score=scored.exploit_score,
            wrong=scored.wrong,
            decided=scored.decided,
            rounds=rounds,
            gradient_alpha=float(state.pool.learned.past_alpha + end.past_alpha) / self.horizon,
            gradient_beta=float(state.pool.learned.past_beta) / self.horizon,
        )
