"""Live campaigns: ask, tell, verdicts. Campaigns are durable and serve several processes (docs/live-verdicts.md)."""

from goodarm.campaign.campaign import Campaign
from goodarm.campaign.check import Check
from goodarm.campaign.results import Result, Results
from goodarm.campaign.rows import ArmRow, Told, Verdicts
from goodarm.campaign.stores import Store, open_store
from goodarm.campaign.tickets import Block, Ticket

__all__ = [
    "ArmRow",
    "Block",
    "Campaign",
    "Check",
    "Result",
    "Results",
    "Store",
    "Ticket",
    "Told",
    "Verdicts",
    "open_store",
]
