"""What is answered: a verdict on an arm, and the guarantee it was given under."""

from __future__ import annotations

from enum import Enum, IntEnum

from goodarm.errors import UnknownName


class Verdict(IntEnum):
    """Good: the mean reaches the threshold. Bad: it lies below. Open: not decided yet."""

    BAD = -1
    OPEN = 0
    GOOD = 1


class Guarantee(Enum):
    """How much a verdict can be trusted; every verdict carries one."""

    CERTIFIED = "certified"
    """An anytime-valid test: P(any wrong verdict in the run) <= delta, under any sampling rule."""

    CERTIFIED_UNDER_MODEL = "certified under the model"
    """The same promise, kept only if the model of the arms is true."""

    CALIBRATED = "calibrated"
    """A learned bound whose error rate was measured on fresh problems; the certificate travels with it."""

    HEURISTIC = "heuristic"
    """A learned bound with neither proof nor certificate."""

    NONE = "none"
    """No verdicts are given at all: the policy only collects rewards."""

    def __str__(self) -> str:
        return self.value


class Basis(Enum):
    """What a verdict on an arm rests on."""

    OWN = "own evidence"
    """The rewards of that arm: a model of the arms may guide the pulls, and can't make the verdict wrong."""

    MODEL = "model"
    """What a model makes of the rewards of all arms: decides arms never pulled, and is as true as the model."""

    def __str__(self) -> str:
        return self.value


class Criterion(Enum):
    """Which error is kept below delta."""

    FWER = "fwer"
    """The probability that any verdict of the run is wrong."""

    FDR = "fdr"
    """The expected share of wrong ones among the arms called good, and among those called bad (e-BH)."""

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise UnknownName("criterion", str(value), [each.value for each in cls])

    def __str__(self) -> str:
        return self.value
