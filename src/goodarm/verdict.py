"""Answers: the verdict on an arm, and its guarantee."""

from __future__ import annotations

from enum import Enum, IntEnum

from goodarm.errors import UnknownName


class Verdict(IntEnum):
    """Good: the mean reaches the threshold. Bad: it lies below. Open: undecided."""

    BAD = -1
    OPEN = 0
    GOOD = 1


class Guarantee(Enum):
    """The kind of guarantee of a verdict."""

    CERTIFIED = "certified"
    """An anytime-valid test: P(any wrong verdict in the run) <= delta, under any sampling rule."""

    CERTIFIED_UNDER_MODEL = "certified under the model"
    """The same guarantee, provided that the model of the arms is true."""

    CALIBRATED = "calibrated"
    """A learned bound whose error rate was measured on fresh problems and recorded in a certificate."""

    HEURISTIC = "heuristic"
    """A learned bound with neither proof nor certificate."""

    NONE = "none"
    """The policy gives no verdicts and only collects rewards."""

    def __str__(self) -> str:
        return self.value


class Basis(Enum):
    """The data behind a verdict on an arm."""

    OWN = "own evidence"
    """The rewards of that arm alone. A model of the arms may guide the pulls, but can't make the verdict wrong."""

    MODEL = "model"
    """An estimate by a model of all arms. It also decides arms that were never pulled, and is only as reliable as the
    model."""

    def __str__(self) -> str:
        return self.value


class Criterion(Enum):
    """The error that is kept below delta."""

    FWER = "fwer"
    """The probability that any verdict of the run is wrong."""

    FDR = "fdr"
    """The expected share of wrong verdicts among the arms called good, and among those called bad (e-BH)."""

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise UnknownName("criterion", str(value), [each.value for each in cls])

    def __str__(self) -> str:
        return self.value
