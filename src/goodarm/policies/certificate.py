"""The certificate of a calibrated bound: what was measured, on what, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

from goodarm.numerics import clopper_pearson_upper
from goodarm.problem import Problem

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Certificate:
    """Fresh runs of one problem family, never seen in learning, and how many of them had a wrong verdict.

    `fingerprint` is the environment's: two problems of one name are told apart by it.

    >>> made = Certificate("synth-small", "", 0.5, 50, 0.05, 10**6, runs=1000, wrong_runs=37, seed=1, version="0.1.0")
    >>> round(made.limit, 4), made.passes
    (0.0484, True)
    """

    environment: str
    fingerprint: str
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

    def covers(self, environment: str, fingerprint: str, problem: Problem, horizon: int) -> str | None:
        """None if the certificate speaks of this very family; otherwise what differs.

        The horizon must be the same, not only as short: what is pulled may depend on it.
        """
        pairs = [
            ("environment", self.environment, environment),
            ("threshold", self.threshold, problem.threshold),
            ("number of arms", self.arms, problem.arms),
            ("horizon", self.horizon, horizon),
        ]
        for what, certified, asked in pairs:
            if certified != asked:
                return f"its certificate was measured with {what} {certified}, not {asked}"
        if fingerprint != self.fingerprint:
            return f"its certificate was measured on other arms, also called {environment}"
        if problem.delta < self.delta:
            return f"its certificate allows delta {self.delta}, and {problem.delta} was asked for"
        return None
