"""Verdicts from logs. The log's own engine sums up the rows, and the evidence is computed as in a run."""

from goodarm.judgement.judge import judge
from goodarm.judgement.judgement import Judgement

__all__ = ["Judgement", "judge"]
