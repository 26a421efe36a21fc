"""Policies: a sampling rule paired with an identification rule, by name, checked, saved, certified."""

from goodarm.policies.checks import certified_rule_for
from goodarm.policies.policy import (
    DEFAULT_POLICY,
    LIVE_POLICY,
    PAIRINGS,
    REWARD_POLICIES,
    Policy,
    policy,
    policy_names,
    reward_policy,
    rounded,
    spelled,
)

__all__ = [
    "DEFAULT_POLICY",
    "LIVE_POLICY",
    "PAIRINGS",
    "REWARD_POLICIES",
    "Policy",
    "certified_rule_for",
    "policy",
    "policy_names",
    "reward_policy",
    "rounded",
    "spelled",
]
