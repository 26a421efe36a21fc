"""Sampling rules: which open arm is pulled next? One rule per file."""

from goodarm.rules.sampling._base import ChoiceRule, IndexRule, LineRule, SamplingRule

__all__ = ["ChoiceRule", "IndexRule", "LineRule", "SamplingRule"]
