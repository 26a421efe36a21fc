"""Identification rules, which call arms good or bad. One rule per file."""

from goodarm.rules.identification._base import EvidenceRule, IdentificationRule, ModelRule, RadiusRule

__all__ = ["EvidenceRule", "IdentificationRule", "ModelRule", "RadiusRule"]
