"""Experiments: a specification goes in, finished runs come out. No printing, no files."""

from goodarm.experiments.compare import Comparison, Results, compare

__all__ = ["Comparison", "Results", "compare"]
