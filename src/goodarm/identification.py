"""Public import path of the classes of identification rules (see `goodarm.rules.identification`)."""

from goodarm.rules.identification import EvidenceRule, IdentificationRule, ModelRule, RadiusRule

__all__ = ["EvidenceRule", "IdentificationRule", "ModelRule", "RadiusRule"]
