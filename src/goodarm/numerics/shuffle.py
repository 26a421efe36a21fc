"""A random order of `size` elements, computed one position at a time, so nothing of that size is stored."""

from __future__ import annotations

import math

WORD = 0x7FFFFFFF
"""31 bits: products of two such words fit into 64, in Python and compiled alike."""
LOW_BITS = 31
ROUNDS = 12
FEW = 64
"""Maximum number of elements that are shuffled card by card. For fewer than ten, a Feistel network misses some
orders."""


def scattered(x: int) -> int:
    """A bijection of 31-bit words that scatters neighbours: multiplications by odd numbers, and shifted differences."""
    x = ((x ^ (x >> 15)) * 0x2C1B3C6D) & WORD
    x = ((x ^ (x >> 12)) * 0x297A2D39) & WORD
    return x ^ (x >> 15)


def hashed(x: int, number: int, key: int) -> int:
    """31 bits that depend on x, a round's number, and the 62 bits of a key."""
    return scattered(scattered(scattered(x ^ (key & WORD)) ^ scattered(number)) ^ (key >> LOW_BITS))


def shuffled(place: int, size: int, key: int) -> int:
    """The element at `place` (0 ... size - 1) of the order that belongs to `key` (0 ... 2^62 - 1).

    The order is a bijection for every key. Tests check that orders are uniformly random, even of very few elements.

    >>> [shuffled(place, 10, 12345) for place in range(10)]
    [2, 0, 7, 3, 8, 1, 4, 6, 9, 5]
    """
    return shuffled_cards(place, size, key) if size <= FEW else shuffled_pairs(place, size, key)


def shuffled_cards(place: int, size: int, key: int) -> int:
    """Fisher & Yates's shuffle, in which step i swaps i with a random j >= i, traced back from one position."""
    x = place + hashed(place, 0, key) % (size - place)
    for i in range(place - 1, -1, -1):
        if x == i + hashed(i, 0, key) % (size - i):
            x = i
    return x


def shuffled_pairs(place: int, size: int, key: int) -> int:
    """A Feistel network on pairs (l, r) with l < a and r < b, a b >= size: in turn l += F(r) mod a, r += F(l) mod b.

    F is a hash. Pairs outside the range go through the network again until they fall inside; few are outside.
    a is even, because rotations of an odd number of elements are even permutations and would miss half of all orders.

    Reference: Black & Rogaway 2002, Ciphers with arbitrary finite domains, CT-RSA.
    """
    a = 2 * int(0.5 * math.sqrt(size) + 1.0)
    b = (size + a - 1) // a
    x = place
    while True:
        left, right = x % a, x // a
        for number in range(0, ROUNDS, 2):
            left = (left + hashed(right, number, key)) % a
            right = (right + hashed(left, number + 1, key)) % b
        x = left + a * right
        if x < size:
            return x
