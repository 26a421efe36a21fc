"""Every special function compiled by numba equals itself in Python."""

import inspect

import numba
import pytest
from numba.extending import register_jitable
from numerics_values import (
    BETA,
    ENTROPIES,
    LOG_BETAS,
    QUANTILES,
    close,
)

from goodarm import numerics
from goodarm.numerics import beta, binomial, entropy, logistic, normal, scale

# What each public function is called with when its compiled form is compared with Python's. The private ones are
# compiled on the way.
POINTS = [(x, a, b) for x, a, b, _, _ in BETA] + [(0.0, 2.0, 3.0), (1.0, 2.0, 3.0)]
SHAPES = [(0.5, 0.5), (3.0, 400.0), (2e5, 1e5), (60.0, 0.5)]
POINTS_Z = [(-1e6,), (-40.0,), (-5.5,), (-4.5,), (-0.3,), (0.0,), (0.7,), (9.0,), (36.0,)]
CALLS = {
    "bernoulli_kl": [(p, q) for p, q, _ in ENTROPIES] + [(0.0, 0.0), (0.0, 0.4), (1.0, 0.4), (0.4, 1.0)],
    "beta_quantile": [(p, a, b) for p in (0.0, 1e-200, 1e-6, 0.3, 0.9, 1.0) for a, b in SHAPES],
    "beta_quantile_above": [(t, a, b) for t in (-1e4, -50.0, -0.01, 0.0) for a, b in SHAPES],
    "binomial_tail": [(0, 5, 0.3), (3, 5, 0.3), (6, 5, 0.3), (60_000, 100_000, 0.59)],
    "clopper_pearson": [(0, 20, 0.95), (3, 20, 0.95), (20, 20, 0.95), (700, 1_000_000, 0.99)],
    "clopper_pearson_upper": [(0, 20, 0.95), (3, 20, 0.95), (20, 20, 0.95)],
    "sigmoid": [(0.0,), (3.0,), (-800.0,), (800.0,)],
    "deviance": [(3.0, 2.0, 1.0), (1.0 + 1e-9, 1.0, 1e-9), (0.0, 2.0, -2.0), (1e7, 1e-305, 1e7), (1.0, 0.0, 1.0)],
    "cubed_surplus": POINTS_Z,
    "inverse_mills": POINTS_Z,
    "mills_ratio": [(abs(z),) for (z,) in POINTS_Z],
    "log_beta": [(a, b) for a, b, _ in LOG_BETAS],
    "log_beta_cdf": POINTS,
    "log_choose_growth": [(4.0, 2.0, 1.0), (7.0, 0.0, 3.0), (9.0, 9.0, 1.0), (499.0, 320.0, 25.0), (1e9, 5e8, 1e4)],
    "log_beta_kernel": [(x, 1.0 - x, a, b) for x, a, b in POINTS if 0.0 < x < 1.0],
    "log_beta_sf": POINTS,
    "log_normal_cdf": POINTS_Z,
    "normal_cdf": POINTS_Z,
    "normal_pdf": POINTS_Z,
    "normal_quantile": [(p,) for p, _ in QUANTILES] + [(0.0,), (1.0,)],
    "normal_quantile_log": [(-1e5,), (-2.0,), (-0.5,), (-1e-9,), (0.0,)],
    "student_quantile": [(p, k) for p in (1e-9, 0.3, 0.5, 0.975) for k in (1.0, 9.0, 1e5)],
}
FUNCTIONS = {
    name: function
    for module in (entropy, logistic, normal, beta, binomial)
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__
}


@pytest.fixture(scope="module")
def registered():
    for function in FUNCTIONS.values():
        register_jitable(function)


# functions of whole arrays, in `scale`, are not for compiled loops
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in numerics.__all__ if not hasattr(scale, name)])
def test_compiled_equals_python(name, registered):
    function = FUNCTIONS[name]
    compiled = numba.njit(error_model="numpy")(_caller(function, len(CALLS[name][0])))
    for arguments in CALLS[name]:
        expected, got = function(*arguments), compiled(*arguments)
        pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
        assert all(close(a, b, 1e-12) for a, b in pairs), arguments


def _caller(function, arity):
    return {
        1: lambda x: function(x),
        2: lambda x, y: function(x, y),
        3: lambda x, y, z: function(x, y, z),
        4: lambda x, y, z, w: function(x, y, z, w),
    }[arity]


def test_public_names_are_sorted_and_complete():
    assert numerics.__all__ == sorted(numerics.__all__)
    of_arrays = {name for name, _ in inspect.getmembers(scale, inspect.isfunction)}
    assert set(numerics.__all__) == {name for name in FUNCTIONS if not name.startswith("_")} | of_arrays
