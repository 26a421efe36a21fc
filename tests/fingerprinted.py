"""Functions with recorded fingerprints of their source. They import nothing, so that every Python can load the file."""

import math

SCALE = 2.0
WORDS = ("for", "against")


def helper(x: float) -> float:
    """A docstring does not count."""
    return SCALE * x  # nor does a comment


def rule(arm, pool, bar, bonus: float = 0.5, *, floor=-1e-3):
    """Loops, branches, comprehensions, slices, a walrus, a set, an f-string, a match, a nested function."""
    best = -1
    for i in range(len(arm)):
        if arm[i] > floor and (best < 0 or arm[i] >= arm[best]):
            best = i
        elif not arm[i]:
            continue
    shares = [helper(x) / 2.0 for x in arm[1:-1:2] if (y := x * x) < bonus]
    by_word = {word: -math.sqrt(len(shares)) for word in WORDS}
    inside = best in {1, 2, 3}

    def nested(total, *rest, **named):
        return total + sum(rest) if named else lambda z: z**2

    text = f"{best:>3} of {len(arm)!r} arms"
    try:
        first, *others = shares
    except ValueError:
        first, others = None, []
    match best:
        case -1 | 0:
            found = {**by_word, "text": text}
        case _:
            found = {"nested": nested, "others": others}
    while inside and pool:
        pool -= 1
    return found, first, y, 0x10, 1_000.0, 3j, b"\x00", ..., None


def lambdas():
    return (lambda x: x + 1), (lambda x: x + 2)


def closed(constant):
    def inner(x):
        return constant * x

    return inner
