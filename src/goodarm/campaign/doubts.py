"""Evidence against the declared rewards: more scatter or a heavier tail than their scale allows, or lost digits.

A Gaussian or sub-Gaussian declaration is an assumption about every arm. As in `judge`, it is compared with the spread
of each arm, with the spread of all arms together, and with the reward farthest from its arm's mean. If the declaration
is true, the probability that any of these checks ever fails is at most `FALSE_ALARMS`, one in 10,000 campaigns, under
any sampling rule and any number of looks. Half of it is for the spreads (`log_scale_evidence`; all arms together are
number 1 of `numbered`, and the j-th arm is number j + 1). The other half is for the tails (`farthest_reward`). Rewards
are counted in the order of asking, so late rewards can't bias the checks.

A refuted declaration stays refuted. Every label, the warning, the tally and the audit then say so.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goodarm.errors import InvalidValue, ScaleWarning
from goodarm.numerics import farthest_reward, log_scale_evidence, numbered
from goodarm.numerics.scale import FALSE_ALARMS
from goodarm.problem import SubGaussian

if TYPE_CHECKING:
    from goodarm.campaign.fold import Fold

POOLED = -1
"""Number that means all arms together."""
SPREAD, TAIL = "spread", "tail"
LEAST = float(numbered(0.5 * FALSE_ALARMS, 1.0))
"""Smallest evidence that refutes a spread."""
NEAR = math.sqrt(2.0 * (math.log(2.0) + float(numbered(0.25 * FALSE_ALARMS, 1.0))))
"""Distance from an arm's mean, in declared scales, up to which no reward refutes a tail."""


class Scatter:
    """The observed scatter of unbounded rewards, in units of the declared scale.

    squares      : per arm, sum of squared deviations from its mean
    least, most  : per arm, the smallest and the largest reward
    refuted      : the first check that failed, and its arm; empty while none has

    >>> scatter = Scatter(1, scale=1.0)
    >>> for n in range(200):
    ...     scatter.note(0, float(n), 0.0, 3.0 if n % 2 else -3.0)
    >>> scatter.refuted
    ('spread', -1)
    """

    def __init__(self, arms: int, scale: float) -> None:
        self.scale = scale
        self.squares: NDArray[np.float64] = np.zeros(arms)
        self.least: NDArray[np.float64] = np.full(arms, math.inf)
        self.most: NDArray[np.float64] = np.full(arms, -math.inf)
        self.count, self.total = 0, 0.0
        self.refuted: tuple[str, int] | tuple[()] = ()

    def add(self, arms: int) -> None:
        """Add arms that came later."""
        more = Scatter(arms, self.scale)
        self.squares = np.append(self.squares, more.squares)
        self.least, self.most = np.append(self.least, more.least), np.append(self.most, more.most)

    def note(self, arm: int, pulls: float, total: float, reward: float) -> None:
        """Add a reward of an arm that had `pulls` rewards with the sum `total` (Welford's sum of squares)."""
        reward, total = reward / self.scale, total / self.scale
        if pulls > 0.0:
            off = reward - total / pulls
            more = off * off * pulls / (pulls + 1.0)
            self.squares[arm] += more
            self.total += more
        self.count += 1
        self.least[arm], self.most[arm] = min(self.least[arm], reward), max(self.most[arm], reward)
        if not self.refuted:
            self.refuted = self._found(arm, pulls + 1.0, (total + reward) / (pulls + 1.0))

    def _found(self, arm: int, pulls: float, mean: float) -> tuple[str, int] | tuple[()]:
        for who, count, squares in ((POOLED, self.count, self.total), (arm, pulls, self.squares[arm])):
            # the largest term of the evidence, over all ratios; nearly always too small to compute the evidence itself
            most = 0.5 * (squares - count - count * math.log(squares / count)) if squares > count else 0.0
            if most >= LEAST and log_scale_evidence(count, squares) >= numbered(0.5 * FALSE_ALARMS, who + 2.0):
                return SPREAD, who
        if max(self.most[arm] - mean, mean - self.least[arm]) <= NEAR:
            return ()
        limit = farthest_reward(np.array([pulls]), arm + 1, float(self.count), 0.5 * FALSE_ALARMS)[0]
        return (TAIL, arm) if max(self.most[arm] - mean, mean - self.least[arm]) > limit else ()

    def as_json(self) -> dict[str, Any]:
        """The state as JSON; arms without a reward have none."""
        seen = [[arm, self.squares[arm], self.least[arm], self.most[arm]] for arm in np.flatnonzero(self.most > -1e308)]
        rows = [[int(arm), *map(float, rest)] for arm, *rest in seen]
        return {"rows": rows, "count": self.count, "total": self.total, "refuted": list(self.refuted)}

    def restore(self, content: dict[str, Any]) -> None:
        """The inverse of `as_json`."""
        for arm, *rest in content["rows"]:
            self.squares[arm], self.least[arm], self.most[arm] = rest
        self.count, self.total = content["count"], content["total"]
        self.refuted = tuple(content["refuted"])


def scatter_of(rewards: Any, arms: int) -> Scatter | None:
    """A new `Scatter` for rewards with a declared scale; None for other rewards."""
    return Scatter(arms, rewards.scale) if isinstance(rewards, SubGaussian) else None


def refuted(fold: Fold) -> str:
    """The end of every label once the declaration is refuted; empty until then."""
    return ", which the rewards refute" if fold.scatter is not None and fold.scatter.refuted else ""


def doubt(fold: Fold) -> str:
    """The doubt as a sentence, empty if there is none; a false alarm in at most one of 10,000 campaigns."""
    rewards, scatter = fold.terms.rewards, fold.scatter
    if scatter is None or not isinstance(rewards, SubGaussian):
        return ""
    if scatter.refuted:
        found = _refutation(fold, scatter, rewards)
        return f"{found}: verdicts may be wrong more often than promised. {_instead(scatter)}"
    try:
        fold.terms.problem.check_sums(int(fold.step.pulls().max(initial=0.0)))
    except InvalidValue as error:
        return str(error)
    return ""


def _refutation(fold: Fold, scatter: Scatter, rewards: SubGaussian) -> str:
    what, arm = scatter.refuted  # type: ignore[misc]  # not empty here
    declared, pulls = f"rewards were declared to have scale {rewards.scale:g}", fold.step.pulls()
    if what == SPREAD:
        count, arms = (scatter.count, int((pulls > 0.0).sum())) if arm == POOLED else (int(pulls[arm]), 1)
        squares = scatter.total if arm == POOLED else float(scatter.squares[arm])
        whose = "" if arm == POOLED else f" of arm {fold.books[arm].entry.id!r}"
        deviation = rewards.scale * math.sqrt(squares / max(count - arms, 1.0))
        return f"{declared}, and {count:,} of them{whose} have a standard deviation of {deviation:.3g}"
    mean = fold.step.row(arm).total / max(float(pulls[arm]), 1.0)
    away = max(scatter.most[arm] - mean / rewards.scale, mean / rewards.scale - scatter.least[arm])
    name = fold.books[arm].entry.id
    return f"{declared}, and one of arm {name!r} lies {away:.3g} times that from the arm's mean: their tail is heavier"


def _instead(scatter: Scatter) -> str:
    """Advice on what to declare instead. It never suggests another scale."""
    first = "A scale chosen to fit these rewards would prove nothing. "
    if scatter.least.min(initial=math.inf) >= 0.0:
        return f"{first}Amounts of 0 or more need no scale: start a new campaign with rewards=NonNegative()"
    return f"{first}If rewards lie in a known range, start a new campaign with rewards rescaled to [0, 1]"


def warn_once(fold: Fold) -> None:
    """Issue the doubt as a Python warning, for programs that only ask and tell."""
    if fold.scatter is not None and not fold.doubted and (found := doubt(fold)):
        fold.doubted = True
        warnings.warn(f"{found}.", ScaleWarning, stacklevel=5)
