"""Sampling rules, which choose the next open arm to pull. One rule per file."""

from goodarm.rules.sampling._base import ChoiceRule, IndexRule, LineRule, SamplingRule

__all__ = ["ChoiceRule", "IndexRule", "LineRule", "SamplingRule"]
