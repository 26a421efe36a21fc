"""The shapes of sampling rules, under the name that packages of other people import: see `goodarm.rules.sampling`."""

from goodarm.rules.sampling import ChoiceRule, IndexRule, LineRule, SamplingRule

__all__ = ["ChoiceRule", "IndexRule", "LineRule", "SamplingRule"]
