"""Estimators: what is believed of each arm, and of all arms together."""

from goodarm.models._base import Estimator

__all__ = ["Estimator"]
