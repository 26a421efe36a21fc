"""Learning: parameters of rules, learned offline on an environment or family, and bounds with a certificate."""

from goodarm.learning.family import family_from_rows, family_from_table, family_from_totals
from goodarm.learning.train import LearnedPolicy, learn

__all__ = ["LearnedPolicy", "family_from_rows", "family_from_table", "family_from_totals", "learn"]
