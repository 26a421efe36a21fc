"""`neural`: a network predicts the means, and its gradients give the widths. For sampling only: decide by own evidence.

mean = xi + f(x; theta) + residual, width = sqrt( g'Z^-1 g / (width gamma) ), g the gradient of f in theta (the paper's
formula, with beta counted once and Z updated). With the gradients frozen between two trainings this is the kernel
recursion of `gram.py` with k(x, x') = g(x)'g(x')/width: K x K numbers, whatever the number of parameters.

The mean after a training is f plus the same kernel's prediction of the residuals S/N - xi - f. The paper uses f alone.
If f fits badly, an arm with thousands of pulls then has no width left for a correction, and is pulled forever.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from goodarm.errors import InvalidValue, MissingExtra
from goodarm.models import gram
from goodarm.models._base import Model, surplus_of
from goodarm.models.features import Floats
from goodarm.models.gram import GramBelief, flush, rebuild
from goodarm.models.linear import checked_positive
from goodarm.problem import Bar
from goodarm.rules.beliefs import PULLS, Table
from goodarm.rules.parameters import Formula

MOST_ARMS = 4000
NUGGET = 0.1
"""Variance of an effect of each arm, in units of the prior variance of differences. It keeps some width for arms that
were never pulled, where the network may be wrong. With 0.001, one run in three missed the second bump."""
FIRST_TRAINING = 200


def contrasts(matrix: Floats) -> Floats:
    """A prior of equal variances from the gradients' Gram matrix: level 1, differences between arms 1, nugget.

    Most of the gradients' size is common to all arms (nine tenths on a grid), and arms at the edge have the longest
    ones. Without scaling, a few pulls anywhere would make the model certain everywhere. So the mean gradient is
    subtracted, and each arm's gradient is scaled to length 1.
    """
    centred = matrix - matrix.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    scale = np.sqrt(np.maximum(np.diag(centred), 1e-12 * np.diag(matrix).mean()))
    differences = centred / scale / scale[:, None]
    return np.asarray(1.0 + 0.5 * (differences + differences.T) + NUGGET * np.eye(len(matrix)))


@dataclass(frozen=True, eq=False)
class Neural(Model):
    """Network of two hidden ReLU layers: means from its output, widths from its gradients.

    gamma  : noise variance in units of the mean prior variance of an arm
    width  : units of a hidden layer
    steps  : steps of a training
    growth : the network is trained again whenever the number of pulls has grown by this factor
    seed   : seed of the initial weights
    """

    gamma: float = 4.0
    width: float = 64
    steps: float = 300
    growth: float = 1.3
    seed: int = field(default=0, kw_only=True)

    name: ClassVar[str] = "neural"
    parameters: ClassVar[tuple[str, ...]] = ("gamma", "width", "steps", "growth")
    absorb: ClassVar[Formula] = staticmethod(gram.absorb)

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_positive(self.name, "gamma", self.gamma, "It is the noise variance over the prior variance of a mean.")
        for name in ("width", "steps"):
            value = float(getattr(self, name))
            if not (value >= 1.0 and value.is_integer()):
                raise InvalidValue(f"{name} of @neural must be a whole number, at least 1; got {value:g}.")
        if not 1.05 <= self.growth < math.inf:
            raise InvalidValue(
                f"growth of @neural must be a number of at least 1.05; got {self.growth}. Each training lasts about a "
                "second."
            )

    def bind(self, features: Floats | None, arms: int) -> Any:
        if arms > MOST_ARMS:
            raise InvalidValue(
                f"@neural keeps a matrix of arms x arms, at most {MOST_ARMS} of them; got {arms}. Use @kernel."
            )
        return super().bind(features, arms)

    @property
    def exact(self) -> bool:
        return False

    @property
    def blind_widths(self) -> bool:
        return False

    @property
    def testable(self) -> bool:
        return False

    def made(self) -> Network:
        return network(self.features.shape[1], int(self.width), self.seed)

    def inputs(self) -> Any:
        """Features of mean 0 and standard deviation 1, in JAX's single precision."""
        return ((self.features - self.features.mean(axis=0)) / self.features.std(axis=0)).astype(np.float32)

    def start(self, bar: Bar) -> GramBelief:
        theta = self.made().start()
        belief = gram.new_belief(self._prior(theta), self.gamma, as_floats(theta))
        belief.numbers[gram.RELEARN_DUE] = FIRST_TRAINING
        return belief

    def _prior(self, theta: Any) -> Floats:
        return contrasts(as_floats(self.made().gram(theta, self.inputs())))

    def publish(self, belief: GramBelief, arms: Table, bar: Bar) -> None:
        gram.write_columns(belief, arms, bar)

    def upkeep(self, belief: GramBelief, arms: Table, now: int, bar: Bar) -> int:
        if now == 0:
            return FIRST_TRAINING
        if now >= belief.numbers[gram.RELEARN_DUE]:
            self._train(belief, arms, bar)
            belief.numbers[gram.RELEARN_DUE] = math.ceil(self.growth * now)
        elif belief.numbers[gram.PENDING] > 0.0:
            flush(belief)
        return int(belief.numbers[gram.RELEARN_DUE])

    def _train(self, belief: GramBelief, arms: Table, bar: Bar) -> None:
        """Train on the weighted points (N_i, S_i/N_i), compute the new gradients, and condition on the counts."""
        made, inputs = self.made(), self.inputs()
        pulls = arms[:, PULLS]
        targets = (surplus_of(arms, bar) / np.maximum(pulls, 1.0)).astype(np.float32)
        weights = (pulls / pulls.sum()).astype(np.float32)
        theta = made.train(belief.network.astype(np.float32), inputs, targets, weights, int(self.steps))
        belief.network[:] = as_floats(theta)
        belief.prior[:] = self._prior(theta)
        belief.offset[:] = as_floats(made.output(theta, inputs))
        rebuild(belief, arms, bar)


# The network: outputs, Gram matrix of the gradients, and training. Nothing else uses JAX.

LEARNING_RATE = 3e-3
DECAY = 1e-4
BIAS = 2.0
"""Spread of the first biases. With biases at zero, every ReLU bends at the origin, which makes the widths useless."""


class Network(NamedTuple):
    """Compiled functions of a flat vector of parameters."""

    start: Callable[[], Any]  # () -> parameters
    output: Callable[[Any, Any], Any]  # (parameters, inputs) -> (K,)
    gram: Callable[[Any, Any], Any]  # (parameters, inputs) -> (K, K): g g' / width
    train: Callable[[Any, Any, Any, Any, Any], Any]  # (parameters, inputs, targets, weights, steps) -> parameters


@cache
def network(dimension: int, width: int, seed: int) -> Network:
    """f(x; theta): two hidden layers of `width` ReLU units, scaled so that outputs and gradients keep their size.

    The output at the first parameters is subtracted: f starts at 0 everywhere, with gradients in every layer.
    """
    try:
        import jax
        import jax.numpy as jnp
        from jax.flatten_util import ravel_pytree
    except ImportError:
        raise MissingExtra("@neural", "neural") from None

    def layers() -> Any:
        keys = jax.random.split(jax.random.PRNGKey(seed), 5)
        normal = jax.random.normal
        return {
            "first": normal(keys[0], (dimension, width)),
            "first_bias": BIAS * normal(keys[1], (width,)),
            "second": normal(keys[2], (width, width)),
            "second_bias": BIAS * normal(keys[3], (width,)),
            "last": normal(keys[4], (width,)),
        }

    first, shaped = ravel_pytree(layers())

    def raw(flat: Any, inputs: Any) -> Any:
        theta = shaped(flat)
        one = jax.nn.relu(inputs @ theta["first"] + theta["first_bias"])
        two = jax.nn.relu(one @ theta["second"] * jnp.sqrt(2.0 / width) + theta["second_bias"])
        return two @ theta["last"] * jnp.sqrt(2.0 / width)

    def output(flat: Any, inputs: Any) -> Any:
        return raw(flat, inputs) - raw(first, inputs)

    def gram(flat: Any, inputs: Any) -> Any:
        gradients = jax.vmap(jax.grad(raw), in_axes=(None, 0))(flat, inputs)
        return gradients @ gradients.T / width

    return Network(
        start=lambda: first,
        output=jax.jit(output),
        gram=jax.jit(gram),
        train=jax.jit(_training(output)),
    )


def _training(output: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Adam on the weighted squared error, all points at once."""
    import jax
    import jax.numpy as jnp

    def loss(flat: Any, start: Any, inputs: Any, targets: Any, weights: Any) -> Any:
        error = jnp.sum(weights * (output(flat, inputs) - targets) ** 2)
        return error + DECAY * jnp.mean((flat - start) ** 2)

    def train(flat: Any, inputs: Any, targets: Any, weights: Any, steps: Any) -> Any:
        def step(t: Any, state: Any) -> Any:
            theta, first, second = state
            slope = jax.grad(loss)(theta, flat, inputs, targets, weights)
            first = 0.9 * first + 0.1 * slope
            second = 0.999 * second + 0.001 * slope**2
            rate = LEARNING_RATE * jnp.sqrt(1.0 - 0.999 ** (t + 1.0)) / (1.0 - 0.9 ** (t + 1.0))
            return theta - rate * first / (jnp.sqrt(second) + 1e-8), first, second

        return jax.lax.fori_loop(0, steps, step, (flat, jnp.zeros_like(flat), jnp.zeros_like(flat)))[0]

    return train


def as_floats(values: Any) -> Floats:
    """Convert JAX's single precision to double precision."""
    return np.asarray(values).astype(np.float64)
