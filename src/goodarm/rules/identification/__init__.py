"""Identification rules: when is an arm good, when is it bad? One rule per file."""

from goodarm.rules.identification._base import EvidenceRule, IdentificationRule, ModelRule, RadiusRule

__all__ = ["EvidenceRule", "IdentificationRule", "ModelRule", "RadiusRule"]
