"""Several bars: an arm is good if it clears every one of them, and bad if it fails any.

With E+_j and E-_j the evidence of bar j, each valid for its own hypothesis:

    E_good = min_j E+_j,      E_bad = mean_j E-_j.

**Proof.** A good verdict is wrong if the arm fails some bar j, that is if j's hypothesis "mean_j <= xi_j" is true.
E_good is at most E+_j at all times, and E+_j is an e-process under that hypothesis: Ville's inequality bounds
P(E_good >= K/delta) by delta/K, whichever j it is. A bad verdict is wrong if the arm clears every bar: then every
E-_j is an e-process, and so is their average. The metrics of one reward may depend on each other in any way.

A good verdict needs no more evidence than its slowest bar. A bad one needs at most log J more, because the average of J
numbers is at least 1/J of the largest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def evidence_for_all(for_good: Sequence[float], for_bad: Sequence[float]) -> tuple[float, float]:
    """(log E_good, log E_bad) of an arm from each bar's log E+ and log E-.

    >>> good, bad = evidence_for_all([9.0, 4.0, 6.0], [-3.0, 2.0, -1.0])
    >>> good, round(bad, 4)
    (4.0, 0.9564)
    """
    top = max(for_bad)
    mean = math.fsum(math.exp(each - top) for each in for_bad) / len(for_bad)
    return min(for_good), top + math.log(mean)


def failing_bar(for_bad: Sequence[float]) -> int:
    """Number of the bar with the most evidence of failure."""
    return max(range(len(for_bad)), key=for_bad.__getitem__)
