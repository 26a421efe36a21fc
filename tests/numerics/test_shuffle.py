"""Orders that are computed place by place: bijections, uniform, and the same in Python and compiled."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from goodarm.engine.compile import compiled
from goodarm.numerics.shuffle import shuffled

ALMOST_NEVER = 1e-6
"""False-alarm rate of each test of uniformity; the keys are fixed, so that a pass stays a pass."""


def _orders(keys, out):
    for i in range(keys.size):
        for place in range(out.shape[1]):
            out[i, place] = shuffled(place, out.shape[1], keys[i])


orders_loop = compiled(_orders)


def orders(size: int, count: int) -> np.ndarray:
    keys = np.random.default_rng(size).integers(0, 2**62, size=count)
    out = np.zeros((count, size), dtype=np.int64)
    orders_loop(keys, out)
    return out


@pytest.mark.slow
@given(size=st.integers(1, 3000), key=st.integers(0, 2**62 - 1))
def test_everything_has_one_place(size: int, key: int) -> None:
    places = range(size) if size <= 200 else range(0, size, 7)
    found = [shuffled(place, size, key) for place in places]
    assert len(set(found)) == len(found)
    assert min(found) >= 0
    assert max(found) < size


@pytest.mark.slow
@pytest.mark.parametrize("size", [65, 66, 100, 101, 750, 1024, 4097])
def test_large_orders_are_complete(size: int) -> None:
    assert (np.sort(orders(size, 20), axis=1) == np.arange(size)).all()


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_each_order_of_a_few_things_is_as_likely_as_any_other(size: int) -> None:
    count = 100 * math.factorial(size)
    found = Counter(map(tuple, orders(size, count).tolist()))
    surplus = sum((found[order] - 100) ** 2 / 100 for order in found) + 100 * (math.factorial(size) - len(found))
    assert chi2.sf(surplus, math.factorial(size) - 1) > ALMOST_NEVER


@pytest.mark.slow
@pytest.mark.parametrize("size", [70, 333])
def test_what_stands_where_is_uniform(size: int) -> None:
    """Each place, the distance of neighbours, and how many of the first third stand in the first half."""
    count = 40 * size
    found = orders(size, count)
    for place in (0, 1, size // 2, size - 1):
        seen = np.bincount(found[:, place], minlength=size)
        assert chi2.sf(((seen - 40.0) ** 2 / 40.0).sum(), size - 1) > ALMOST_NEVER
    for step in (1, size // 2):
        apart = np.bincount((found[:, step] - found[:, 0]) % size, minlength=size)[1:]
        expected = count / (size - 1)
        assert chi2.sf(((apart - expected) ** 2 / expected).sum(), size - 2) > ALMOST_NEVER
    drawn, good = size // 2, size // 3
    hits = (found[:, :drawn] < good).sum(axis=1)
    variance = drawn * good / size * (1 - good / size) * (size - drawn) / (size - 1)
    assert abs(hits.mean() - drawn * good / size) < 5.0 * math.sqrt(variance / count)
    assert hits.var() / variance == pytest.approx(1.0, abs=5.0 * math.sqrt(2.0 / count))


@pytest.mark.slow
def test_python_and_compiled_agree() -> None:
    keys = np.random.default_rng(10).integers(0, 2**62, size=3)
    for size in (10, 64, 65, 1000):
        out = np.zeros((3, size), dtype=np.int64)
        orders_loop(keys, out)
        assert [[shuffled(place, size, int(key)) for place in range(size)] for key in keys] == out.tolist()


def test_a_billion_places_need_no_memory() -> None:
    assert len({shuffled(place, 10**9, 77) for place in range(0, 10**9, 10**7)}) == 100
