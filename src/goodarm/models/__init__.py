"""Models: what is believed of each arm, and of all arms together."""

from goodarm.models._base import Model

__all__ = ["Model"]
