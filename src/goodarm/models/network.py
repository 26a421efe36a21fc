"""A small ReLU network in JAX: outputs, Gram matrix of the gradients, and training. Only this module uses JAX."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from goodarm.errors import MissingExtra
from goodarm.models.features import Floats

LEARNING_RATE = 3e-3
DECAY = 1e-4
BIAS = 2.0
"""Spread of the first biases. With biases at zero every ReLU bends at the origin, and the widths are useless there."""


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
