"""The conformance kit: checks of properties that every rule and every store must have, in any package."""

from goodarm.testing.checks import Violation
from goodarm.testing.identification import check_identification, identification_checks
from goodarm.testing.kit import Check, check_policy
from goodarm.testing.live import LiveAdversary, require_live_error_rate
from goodarm.testing.reference import scan
from goodarm.testing.stores import StoreCheck, store_checks
from goodarm.testing.subject import Subject, arm_after

__all__ = [
    "Check",
    "LiveAdversary",
    "StoreCheck",
    "Subject",
    "Violation",
    "arm_after",
    "check_identification",
    "check_policy",
    "identification_checks",
    "require_live_error_rate",
    "scan",
    "store_checks",
]
