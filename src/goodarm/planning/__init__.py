"""Estimates of the samples needed: before a campaign (`plan`) and during one (`remaining`)."""

from goodarm.forecast import Forecast
from goodarm.planning.ahead import CampaignPlan, plan
from goodarm.planning.bounds import campaign_lower_bound, decidable, pulls_lower_bound
from goodarm.planning.guess import MeansGuess, guess_means
from goodarm.planning.outlook import Milestone, Outlook
from goodarm.planning.under_way import Remaining, remaining

__all__ = [
    "CampaignPlan",
    "Forecast",
    "MeansGuess",
    "Milestone",
    "Outlook",
    "Remaining",
    "campaign_lower_bound",
    "decidable",
    "guess_means",
    "plan",
    "pulls_lower_bound",
    "remaining",
]
