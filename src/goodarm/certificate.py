"""The certificate of a calibrated bound: what was measured, on what, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

from goodarm.numerics import clopper_pearson_upper
from goodarm.problem import Problem

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Certificate:
    """Fresh runs of one problem family, never seen in learning, and how many of them had a wrong verdict.

    >>> made = Certificate("synth-small", 0.5, 50, 0.05, 1_000_000, runs=1000, wrong_runs=37, seed=1, version="0.1.0")
    >>> round(made.limit, 4), made.passes
    (0.0484, True)
    """

    environment: str
    threshold: float
    arms: int
    delta: float
    horizon: int
    runs: int
    wrong_runs: int
    seed: int
    version: str

    @property
    def limit(self) -> float:
        """Clopper-Pearson upper limit of the error rate, at 95% confidence."""
        return clopper_pearson_upper(self.wrong_runs, self.runs, CONFIDENCE)

    @property
    def passes(self) -> bool:
        """Is the error rate at most delta, with 95% confidence?"""
        return self.limit <= self.delta

    def covers(self, environment: str, problem: Problem, horizon: int) -> str | None:
        """None if the certificate speaks of this very family; otherwise what differs."""
        pairs = [
            ("environment", self.environment, environment),
            ("threshold", self.threshold, problem.threshold),
            ("number of arms", self.arms, problem.arms),
        ]
        for what, certified, asked in pairs:
            if certified != asked:
                return f"its certificate was measured with {what} {certified}, not {asked}"
        if problem.delta < self.delta:
            return f"its certificate allows delta {self.delta}, and {problem.delta} was asked for"
        if horizon > self.horizon:
            return f"its certificate was measured up to round {self.horizon}, not {horizon}"
        return None
