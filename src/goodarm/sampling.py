"""Public import path of the classes of sampling rules (see `goodarm.rules.sampling`)."""

from goodarm.rules.sampling import ChoiceRule, IndexRule, LineRule, SamplingRule

__all__ = ["ChoiceRule", "IndexRule", "LineRule", "SamplingRule"]
