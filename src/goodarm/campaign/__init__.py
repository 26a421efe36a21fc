"""Live campaigns: ask, tell, verdicts; durable, from several processes. docs/live-verdicts.md says why they hold."""

from goodarm.campaign.campaign import Campaign
from goodarm.campaign.check import Check
from goodarm.campaign.rows import ArmRow, Told, Verdicts
from goodarm.campaign.stores import Store, open_store
from goodarm.campaign.tickets import Block, Ticket
from goodarm.campaign.units import Units

__all__ = ["ArmRow", "Block", "Campaign", "Check", "Store", "Ticket", "Told", "Units", "Verdicts", "open_store"]
