"""Models of the arms: the mean and width of every arm, computed from the rewards of all arms and from features."""

from goodarm.models._base import Model

__all__ = ["Model"]
