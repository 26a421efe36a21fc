"""Evidence against the declared rewards: more scatter than the declared scale allows, or sums that lose precision."""

from __future__ import annotations

import math
import warnings

from goodarm.campaign.fold import Fold
from goodarm.errors import InvalidValue, ScaleWarning
from goodarm.numerics import log_scale_evidence
from goodarm.numerics.scale import FALSE_ALARMS
from goodarm.problem import SubGaussian


def doubt(fold: Fold) -> str:
    """The doubt as a sentence, empty if there is none. At most one campaign in 10,000 gets a false alarm.

    It is computed from the rewards folded so far, in the order of asking, so late rewards can't bias it.
    """
    rewards = fold.terms.rewards
    if not isinstance(rewards, SubGaussian):
        return ""
    pulls = fold.step.pulls()
    count, arms = float(pulls.sum()), int((pulls > 0.0).sum())
    if log_scale_evidence(count, fold.scatter) >= math.log(1.0 / FALSE_ALARMS):
        deviation = rewards.scale * math.sqrt(fold.scatter / max(count - arms, 1.0))
        return (
            f"rewards were declared to have scale {rewards.scale:g}, and {count:,.0f} of them have a standard "
            f"deviation of {deviation:.3g}: verdicts may be wrong more often than promised. A scale chosen to fit "
            "these rewards would prove nothing. If rewards lie in a known range, start a new campaign with rewards "
            "rescaled to [0, 1]"
        )
    try:
        fold.terms.problem.check_sums(int(pulls.max(initial=0.0)))
    except InvalidValue as error:
        return str(error)
    return ""


def warn_once(fold: Fold) -> None:
    """Issue the doubt as a Python warning, for programs that only ask and tell."""
    if not fold.doubted and (found := doubt(fold)):
        fold.doubted = True
        warnings.warn(f"{found}.", ScaleWarning, stacklevel=5)
