"""How many pulls will it take? Before a campaign (`plan`), and for one that is under way (`remaining`).

The module itself can be called: `goodarm.plan(arms=200, threshold=0.02)` is `goodarm.plan.plan(...)`. A function of
that name in `goodarm` would be replaced by this module as soon as anything imports it.
"""

import sys
from types import ModuleType
from typing import Any

from goodarm.plan.ahead import CampaignPlan, plan
from goodarm.plan.bounds import campaign_lower_bound, decidable, pulls_lower_bound
from goodarm.plan.guess import MeansGuess, guess_means
from goodarm.plan.outlook import Milestone, OneCampaign, Outlook
from goodarm.plan.under_way import Remaining, remaining

__all__ = [
    "CampaignPlan",
    "MeansGuess",
    "Milestone",
    "OneCampaign",
    "Outlook",
    "Remaining",
    "campaign_lower_bound",
    "decidable",
    "guess_means",
    "plan",
    "pulls_lower_bound",
    "remaining",
]


class _Room(ModuleType):
    """This module, called as the function `plan`."""

    def __call__(self, **wishes: Any) -> CampaignPlan:
        return plan(**wishes)


sys.modules[__name__].__class__ = _Room
