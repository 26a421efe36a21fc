"""The shapes of identification rules, under the name that other packages import: see `goodarm.rules.identification`."""

from goodarm.rules.identification import EvidenceRule, IdentificationRule, ModelRule, RadiusRule

__all__ = ["EvidenceRule", "IdentificationRule", "ModelRule", "RadiusRule"]
