"""A model's arguments as JSON and back: all of them, or none.

Numbers are kept to the last digit, features row by row, scikit-learn kernels by class and parameters. An argument that
can't be restored exactly is refused, with its name.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from goodarm.errors import InvalidValue
from goodarm.models._base import Model

KERNELS = "sklearn.gaussian_process.kernels"


def arguments_as_json(model: Model) -> dict[str, Any]:
    """Every argument that the model was made with, as JSON can hold it.

    >>> from goodarm.models.linear import Linear
    >>> arguments_as_json(Linear(ridge=0.123456789, intercept=True))
    {'features': None, 'columns': None, 'standardise': False, 'ridge': 0.123456789, 'intercept': True}
    """
    return {
        entry.name: _as_json(f"{entry.name} of @{model.name}", getattr(model, entry.name)) for entry in fields(model)
    }


def arguments_from_json(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as the model takes them."""
    return {name: _from_json(value) for name, value in arguments.items()}


def _as_json(owner: str, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"array": value.tolist()}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, tuple):
        return {"tuple": [_as_json(owner, each) for each in value]}
    if isinstance(value, list):
        return [_as_json(owner, each) for each in value]
    if type(value).__module__ == KERNELS:
        parameters = {name: _as_json(owner, each) for name, each in value.get_params(deep=False).items()}
        return {"kernel": type(value).__name__, "parameters": parameters}
    raise InvalidValue(
        f"{owner} is a {type(value).__module__}.{type(value).__qualname__}, which a policy file can't keep: what would "
        "be read is another model. Use numbers, arrays and scikit-learn's own kernels, or keep the policy in Python."
    )


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(value["array"], dtype=np.float64)
    if "tuple" in value:
        return tuple(_from_json(each) for each in value["tuple"])
    return _kernel(value["kernel"], arguments_from_json(value["parameters"]))


def _kernel(name: str, parameters: dict[str, Any]) -> Any:
    """A kernel of scikit-learn, by the name of its class."""
    from importlib import import_module

    from goodarm.errors import MissingExtra

    try:
        kernels = import_module(KERNELS)
    except ImportError:
        raise MissingExtra("@kernel", "kernel") from None
    return getattr(kernels, name)(**parameters)
