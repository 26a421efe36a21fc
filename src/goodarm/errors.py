"""The exceptions and warnings that goodarm raises.

    GoodarmError
    ├── InvalidValue        a number or text outside its range          (also a ValueError)
    │   └── RuleFailed      a rule that can't be compiled, raises, or returns no number
    ├── UnknownName         no rule, policy or environment has this name (also a LookupError)
    ├── UnsoundPairing      a rule used where its guarantee does not hold
    ├── UnreadableTable     a file that can't be read as a table of arms
    ├── UnavailableData     a dataset that is missing and can't be fetched, or arrived damaged
    ├── UnusableFolder      a folder to which results can't be written
    ├── UnreadablePolicy    a policy file that is cut off, altered or of a newer version
    ├── MissingExtra        a feature whose optional dependency is absent
    ├── UnknownTicket       a ticket that this campaign never handed out  (also a LookupError)
    ├── Refused             an operation that a campaign's state does not allow
    │   └── LateReward      a reward told after its ticket had expired
    ├── EvaluationFailed    an evaluation for `Campaign.run` that kept raising
    │   └── NotAReward      an evaluation that returned something other than a number
    ├── UnusableStore       a store that can't be reached, read or written
    └── DamagedJournal      a journal that was changed after it was written

Every message names the value, the reason and the fix. The command line prints it and exits with 2.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from difflib import get_close_matches


class GoodarmError(Exception):
    """The base class. Catch it to catch all of them."""


class InvalidValue(GoodarmError, ValueError):
    """A value outside its range; the message gives the range and the reason."""


class RuleFailed(InvalidValue):
    """A rule that can't be compiled, raises, or returns no number. The operation may be incomplete."""


MOST_LISTED, MOST_COMPARED = 20, 10_000
"""Maximum number of names that a message lists, or that a misspelt name is compared with. A log may have a million."""
MOST_NEAR = 3
"""Maximum number of names that a message suggests."""
SHORT = 3
"""Length up to which a name may be mistyped by half."""


class UnknownName(GoodarmError, LookupError):
    """An unregistered name."""

    def __init__(
        self, kind: str, name: str, known: Iterable[str], none: str = "None is known.", guess: bool = True
    ) -> None:
        """guess : whether to suggest similar names in place of a list. A wrong guess may change results"""
        names = sorted(known)
        near = _resembling(str(name), names) if guess else []
        shown = [each if each.isprintable() else repr(each) for each in names[:MOST_LISTED]]
        more = f" and {len(names) - MOST_LISTED:,} more" if len(names) > MOST_LISTED else ""
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"Known: {', '.join(shown)}{more}."
        if not names:
            hint = none
        super().__init__(f"unknown {kind} {name!r}. {hint}")


def _resembling(name: str, names: list[str]) -> list[str]:
    """Up to three of the sorted names that resemble this one. Those that begin with it come first.

    Names are suggested only if one of them is near: in names of up to three letters, half of the letters may differ.

    >>> _resembling("arm_00", ["arm_000", "arm_001", "arm_100"]), _resembling("kd", ["kt", "lil"])
    (['arm_000', 'arm_001', 'arm_100'], ['kt'])
    >>> _resembling("headlines", ["linear", "uniform"])
    []
    """
    first = bisect_left(names, name)
    begin = [each for each in names[first : first + MOST_NEAR] if name and each.startswith(name)]
    close = get_close_matches(name, names[:MOST_COMPARED], n=MOST_NEAR, cutoff=0.5)
    if len(name) > SHORT and not get_close_matches(name, close, cutoff=0.6):
        close = []
    return list(dict.fromkeys([*begin, *close]))[:MOST_NEAR]


class UnsoundPairing(GoodarmError):
    """A pairing of rule and problem under which the promised guarantee would be false."""


class UnreadableTable(GoodarmError):
    """A table of arms that is missing, malformed or cut off."""


class UnusableFolder(GoodarmError):
    """A folder to which results can't be written."""


class UnavailableData(GoodarmError):
    """A dataset's file that is absent, unreachable, or different from the published one."""


class UnreadablePolicy(GoodarmError):
    """A policy file that can't be trusted or read."""


class UnknownTicket(GoodarmError, LookupError):
    """A ticket that this campaign never handed out."""


class Refused(GoodarmError):
    """An operation that the campaign's state does not allow; nothing was changed."""


class LateReward(Refused):
    """A reward that came after its ticket had expired: it is recorded, but does not count."""


class EvaluationFailed(GoodarmError):
    """An evaluation for `Campaign.run` kept raising; its ticket stays pending."""


class NotAReward(EvaluationFailed):
    """An evaluation that returned something other than a number."""


class UnusableStore(GoodarmError):
    """A store that can't be reached, read or written; acknowledged writes are safe in it."""


class DamagedJournal(GoodarmError):
    """A journal with a changed, missing or partial row."""


class CertificateLost(UserWarning):
    """A calibrated policy is used where its certificate does not apply: its verdicts are heuristic there."""


class NotCalibrated(UserWarning):
    """A learned bound has no certificate: its verdicts are heuristic."""


class MissingExtra(GoodarmError):
    """A feature whose optional package is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs an optional package. Install it in a clone of goodarm: pip install '.[{extra}]'"
        )


UPGRADE = "Upgrade goodarm: run git pull and pip install . in its clone."
"""Advice for data of a newer version."""


class DeltaWarning(UserWarning):
    """A delta above 1/2: it is the probability of a wrong verdict, and probably meant as a confidence level."""


class ScaleWarning(UserWarning):
    """Rewards that scatter more than declared: verdicts may be wrong more often than delta allows."""


class AbandonedTickets(UserWarning):
    """Tickets of a campaign have been pending for a long time, and the campaign has no `after`."""


class LogWarning(UserWarning):
    """A log shows signs that its verdicts may not be certified: users with several rows, or arms that appear late."""


class ModelWarning(UserWarning):
    """A model of the arms that does not fit them: its verdicts, or its guidance, are unreliable."""
