"""Environments: sources of simulated rewards."""

from goodarm.environments._base import Environment, Instance
from goodarm.environments.laws import bernoulli, beta, gaussian
from goodarm.environments.matrix import matrix
from goodarm.environments.replay import classification, replay
from goodarm.environments.several import several_metrics
from goodarm.environments.table import table

__all__ = [
    "Environment",
    "Instance",
    "bernoulli",
    "beta",
    "classification",
    "gaussian",
    "matrix",
    "replay",
    "several_metrics",
    "table",
]
