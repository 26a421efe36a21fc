"""The certificate of a calibrated bound: the measured error rate, its problem and policy, and its confidence."""

from __future__ import annotations

from dataclasses import dataclass

from goodarm.numerics import clopper_pearson_upper
from goodarm.problem import Problem

DOUBT = 0.05
"""Maximum probability that any certificate of a family is wrong, over all attempts: 95% confidence."""


def confidence_of(attempt: int) -> float:
    """Confidence of the k-th attempt: 1 - 0.05/(k (k + 1)), so that all attempts together fail with probability 0.05.

    Keeping one of three attempts at 95% each does not give 95%. The sum of 1/(k (k + 1)) over all k is 1.

    >>> confidence_of(1), round(confidence_of(3), 6)
    (0.975, 0.995833)
    """
    return 1.0 - DOUBT / (attempt * (attempt + 1))


@dataclass(frozen=True)
class Certificate:
    """Result of a test on fresh runs of one problem family: the number of runs with a wrong verdict.

    fingerprint : fingerprint of the environment, which distinguishes two problems of the same name
    policy      : fingerprint of the policy: its rules' code, parameters, model, criterion and goodarm's version
    attempt     : number of calibrations of a bound for this family, including this one

    >>> made = Certificate(
    ...     "synth-small", "", "", 0.5, 50, 0.05, 10**6, runs=1000, wrong_runs=35, seed=1, attempt=1, version="0.1.0"
    ... )
    >>> round(made.limit, 4), made.passes
    (0.0483, True)
    """

    environment: str
    fingerprint: str
    policy: str
    threshold: float
    arms: int
    delta: float
    horizon: int
    runs: int
    wrong_runs: int
    seed: int
    attempt: int
    version: str

    @property
    def limit(self) -> float:
        """Clopper-Pearson upper limit of the error rate, at the confidence of this attempt."""
        return clopper_pearson_upper(self.wrong_runs, self.runs, confidence_of(self.attempt))

    @property
    def passes(self) -> bool:
        """Whether the error rate is at most delta, with 95% confidence over all attempts."""
        return self.limit <= self.delta

    def covers(self, environment: str, fingerprint: str, problem: Problem, horizon: int) -> str | None:
        """None if the certificate is for this family; otherwise the difference in words.

        Horizon and delta must be equal, since the pulls may depend on them.
        """
        pairs = [
            ("environment", self.environment, environment),
            ("threshold", self.threshold, problem.threshold),
            ("number of arms", self.arms, problem.arms),
            ("horizon", self.horizon, horizon),
            ("delta", self.delta, problem.delta),
        ]
        for what, certified, asked in pairs:
            if certified != asked:
                return f"its certificate was measured with {what} {certified}, not {asked}"
        if fingerprint != self.fingerprint:
            return f"its certificate was measured on other arms, also called {environment}"
        return None
