"""How many pulls will it take? Before a campaign (`plan`), and for one that is under way (`remaining`)."""

from goodarm.plan.ahead import CampaignPlan, Outlook, plan
from goodarm.plan.bounds import campaign_lower_bound, decidable, pulls_lower_bound
from goodarm.plan.guess import MeansGuess, guess_means
from goodarm.plan.under_way import Remaining, remaining

__all__ = [
    "CampaignPlan",
    "MeansGuess",
    "Outlook",
    "Remaining",
    "campaign_lower_bound",
    "decidable",
    "guess_means",
    "plan",
    "pulls_lower_bound",
    "remaining",
]
