"""Calibration: the smallest bound alpha whose probability of any wrong verdict on a problem family is at most delta.

Learn, then test. Learning plays runs with a generous alpha. The largest studentised mean of any arm on its wrong side
shows the smaller alphas at which a run would have erred. Testing plays fresh runs with the chosen alpha and counts
wrong
ones: the certificate. Only a policy with a certificate is labelled `calibrated`. The test's runs come from a separate
stream derived from everything that the certificate covers, so no other call plays them, with any seed.

Attempts are counted for each family: if one of several is kept, each needs a higher confidence. The count
includes the attempts of this process and those recorded in the earlier policy file. A repeated call is the same
attempt, since it plays the same runs.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import InvalidValue, UnreadablePolicy
from goodarm.numerics import clopper_pearson_upper
from goodarm.policies.file import read_policy
from goodarm.simulation.runs import Runs
from goodarm.simulation.specification import Specification

GENEROUS = 6.5
"""Initial alpha, at which almost no arm of any problem gets a wrong verdict."""
WIDE, NARROW = 0.8, 0.15
"""Factor by which learning runs exceed the expected alpha, to observe smaller ones."""
STEP = 0.05

Play = Callable[..., Runs]
"""(alpha, runs, first=number of the first run) -> Runs of the policy with that alpha."""


def wrong_latches(runs: Runs, alpha: float) -> NDArray[np.float64]:
    """Per run, the largest alpha at which it would have erred: the largest R on the wrong side of any arm.

    The evidence of `studentised` is log(K/delta) (R/alpha)^2. A wrong side reached only after the right one counts as
    wrong here, which is conservative.
    """
    budget, threshold = runs.spec.problem.bar.budget, runs.spec.problem.threshold
    wrong = [np.where(run.means >= threshold, run.evidence[:, 1], run.evidence[:, 0]).max() for run in runs.runs]
    return alpha * np.sqrt(np.array(wrong) / budget)


def pinball(latches: NDArray[np.float64], delta: float, epochs: int = 600) -> float:
    """The alpha at which a share delta of the runs would have erred, by gradient descent on the pinball loss.

    The loss of a run is (latch - alpha)((1 - delta) - 1[latch < alpha]). Its gradient in alpha, averaged over the runs,
    is delta minus the share of runs that err at alpha. Epoch n steps against the gradient over delta, clipped to
    [-1, 1], by 2 s/(n + 10)^0.8 with s the latches' standard deviation. It starts at the largest latch, above which no
    run errs. Returns the mean of the second half.

    >>> latches = np.linspace(2.0, 4.0, 1001)
    >>> round(pinball(latches, 0.05), 2), round(float(np.quantile(latches, 0.95)), 2)
    (3.9, 3.9)
    """
    alpha, scale = float(latches.max()), 2.0 * float(latches.std())
    path = []
    for n in range(epochs):
        gradient = min(max((delta - float((latches >= alpha).mean())) / delta, -1.0), 1.0)
        alpha -= scale / (n + 10.0) ** 0.8 * gradient
        path.append(alpha)
    return float(np.mean(path[epochs // 2 :]))


def smallest_alpha(latches: NDArray[np.float64], delta: float, *, tests: int, confidence: float = 0.975) -> float:
    """The smallest alpha, in steps of 0.05, that is expected to pass the test on `tests` fresh runs.

    A test passes up to a certain number of wrong runs. Alpha is chosen so that 1.64 standard errors (of learning and
    test together) above the expected number still pass: about 19 tests in 20 do.

    >>> latches = np.linspace(2.0, 4.0, 1001)
    >>> round(smallest_alpha(latches, 0.05, tests=1000), 2)
    4.0
    """
    allowed = most_wrong(delta, tests, confidence)
    for alpha in np.arange(latches.min(), latches.max() + 2.0 * STEP, STEP):
        # add half a wrong run: observing none does not mean expecting none
        rate = min(1.0, (float((latches >= alpha).sum()) + 0.5) / latches.size)
        error = tests * math.sqrt(rate * (1.0 - rate) * (1.0 / tests + 1.0 / latches.size))
        if tests * rate + 1.64 * error <= allowed:
            return float(alpha)
    return float(latches.max() + STEP)


def most_wrong(delta: float, runs: int, confidence: float = 0.975) -> int:
    """The largest number of wrong runs with which a test of `runs` runs passes; -1 if none does.

    >>> most_wrong(0.05, 1000), most_wrong(0.05, 70)
    (36, -1)
    """
    wrong = -1
    while wrong + 1 <= runs and clopper_pearson_upper(wrong + 1, runs, confidence) <= delta:
        wrong += 1
    return wrong


def learned_alpha(
    play: Play,
    delta: float,
    *,
    learning_runs: int,
    tests: int,
    confidence: float,
    watch: Callable[[str, Any], None] = lambda what, value: None,
) -> float:
    """Alpha learned on `learning_runs` runs, chosen to pass a test on `tests` others.

    Learning has three rounds. A tenth of the runs at a generous alpha gives a first estimate (`pinball`), half of the
    rest are played well above it, and the other half just above the second estimate. Runs near alpha are more
    informative, because verdicts affect the choice of arms.
    """
    first = max(20, learning_runs // 10)
    second = (learning_runs - first) // 2
    latches = wrong_latches(play(GENEROUS, first, first=0), GENEROUS)
    alpha = pinball(latches, delta)
    for runs, start, margin in ((second, first, WIDE), (learning_runs - first - second, first + second, NARROW)):
        watch("alpha", alpha)
        latches = wrong_latches(play(alpha + margin, runs, first=start), alpha + margin)
        alpha = smallest_alpha(latches, delta, tests=tests, confidence=confidence)
    watch("alpha", alpha)
    return alpha


_made: dict[str, list[str]] = {}
"""Calls of this process by family, in order."""


class Attempt(NamedTuple):
    """One calibration attempt: its number, and the identities of its family and call."""

    number: int
    family: str
    call: str


def count_attempt(spec: Specification, given: int, earlier: str | Path | None, *call: object) -> Attempt:
    """The number of this attempt: the largest of `given`, this process's count and the file's count."""
    if given < 1:
        raise InvalidValue(f"attempt must be at least 1; got {given}. It is the number of calibrations of this family.")
    made, problem = spec.policy, spec.problem
    model = made.model.name if made.model else ""
    family = _short(
        spec.environment.description, problem.threshold, problem.delta, spec.horizon, made.sampling.name, model
    )
    this = _short(made.description, spec.seed, *call)
    calls = _made.setdefault(family, [])
    if this not in calls:
        calls.append(this)
    return Attempt(max(given, calls.index(this) + 1, _after(earlier, family, this)), family, this)


def _after(earlier: str | Path | None, family: str, call: str) -> int:
    """The number after the attempt in an earlier file; 1 if the file is of another family or not a policy."""
    if earlier is None or not Path(earlier).exists():
        return 1
    try:
        told: Mapping[str, Any] = read_policy(earlier).learned_on.get("attempt") or {}
    except UnreadablePolicy:
        return 1
    if told.get("family") != family:
        return 1
    return int(told["number"]) + int(told["call"] != call)


def _short(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
