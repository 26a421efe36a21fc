"""The conformance kit: what every rule must do, ours and other people's."""

from goodarm.testing.beliefs import arm_after

__all__ = ["arm_after"]
