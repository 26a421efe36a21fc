"""Verdicts from logs: totals from wherever the log is, then the same evidence as in a run."""

from goodarm.judgement.judge import judge
from goodarm.judgement.judgement import Judgement

__all__ = ["Judgement", "judge"]
