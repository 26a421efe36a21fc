"""A campaign against a control arm, in place of a threshold: what may be agreed, and what is said."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from goodarm.engine.live_checks import check_against_control
from goodarm.errors import InvalidValue, Refused, UnknownName, UnsoundPairing
from goodarm.policies import Policy
from goodarm.policies import policy as make_policy
from goodarm.problem import Rewards
from goodarm.rules.identification.versus import versus

if TYPE_CHECKING:
    from goodarm.campaign.terms import Terms

BETTER, WORSE, CONTROL = "better", "worse", "control"
_PLUS = re.compile(r"\+(?![^()]*\))")
REPLACED = ("versus", "gap-mixture")
"""Identification rules that `versus` replaces without an error: itself, and the default."""


def check_bar(threshold: Any, control: Any, margin: Any) -> None:
    """A campaign has a threshold, or a control with a margin."""
    if control is None and threshold is None:
        raise InvalidValue(
            "a campaign needs a bar: `threshold=0.02`, or `control='now'` to compare every arm with the arm 'now'."
        )
    if control is None and margin != 0.0:
        raise InvalidValue(f"margin={margin!r} says by how much arms must beat a control; name the control: control=.")
    if control is not None and threshold is not None:
        raise InvalidValue(
            f"a campaign has a threshold or a control; got both, {threshold!r} and {control!r}. Leave one of them out."
        )


def policy_against_control(given: str | Policy, rewards: Rewards, criterion: str | None) -> Policy:
    """The sampling rule of a policy, with verdicts by the totals of arm and control.

    `value` learns on a ladder that stands on one threshold; here the bar moves, and `value-normal` takes its place.

    >>> from goodarm.problem import Bounded
    >>> policy_against_control("value+gap-mixture", Bounded(), None).name
    'value-normal+versus'
    """
    text = given.name if isinstance(given, Policy) else str(given)
    sampling, rule = (*_PLUS.split(text, maxsplit=1), "versus")[:2]
    rule, at, model = rule.partition("@")
    if rule not in REPLACED:
        raise UnsoundPairing(
            f"{text}: against a control verdicts come from the totals of both arms, by 'versus', and not by {rule!r}, "
            "which compares an arm with a threshold. Name a sampling rule alone, as in policy='value'."
        )
    sampling = "value-normal" if sampling.strip() == "value" else sampling
    return make_policy(f"{sampling}{at}{model}", versus, rewards=rewards, criterion=criterion)


def check_control(terms: Terms) -> None:
    """Refuse a control that is not an arm, and whatever is not proved against a control."""
    if not isinstance(terms.control, str) or terms.control_number is None:
        raise UnknownName("control", str(terms.control), [arm.id for arm in terms.arms][:1000])
    if len(terms.arms) < 2:
        raise InvalidValue(f"there is no arm but the control {terms.control!r}. Give the arms to compare with it.")
    if terms.arms[terms.control_number].weight is not None:
        raise InvalidValue(
            f"the control {terms.control!r} gets no verdict and has no share of delta. Leave its weight out."
        )
    if not -1.0 < terms.margin < 1.0:
        raise InvalidValue(
            f"margin must lie strictly between -1 and 1, as differences of rewards in [0, 1] do; got {terms.margin}."
        )
    check_against_control(terms.made, terms.problem)


def refuse_turning(terms: Terms, arm: str) -> None:
    """The control is asked for as long as any arm is open."""
    if arm == terms.control:
        raise Refused(
            f"{arm!r} is the control: every other arm is compared with it, so it can't be paused or retired. "
            "Retire the other arms, or end the campaign."
        )


def by_margin(margin: float) -> str:
    """How much better, in words.

    >>> by_margin(0.02), by_margin(0.0), by_margin(-0.01)
    (' by 2% or more', '', ' or less than 1% worse')
    """
    if margin > 0.0:
        return f" by {margin * 100:g}% or more"
    return f" or less than {-margin * 100:g}% worse" if margin < 0.0 else ""
