"""The base of models of the arms, under the name that packages of other people import: see `goodarm.models`."""

from goodarm.models import Estimator

__all__ = ["Estimator"]
