"""A campaign in words. Terminal, notebook, JSON and page show the same sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from goodarm.campaign.rows import FEWER, FOUND, Finish, Tally
from goodarm.campaign.terms import Terms
from goodarm.policies import Policy
from goodarm.question import amounts

_SCALES = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_LAW = re.compile(r"means drawn from Beta\([^)]*\)")
_UNITS = ((604800.0, "week"), (86400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second"))


def headline(terms: Terms, tally: Tally, finish: Finish | None = None, names: Mapping[str, str] | None = None) -> str:
    """One sentence with the verdicts so far, the samples still needed, and the guarantee.

    names : names in place of the ids of arms that others are compared with

    358 of 2,000 above 2%, 671 below, 971 undecided; 38 million to 61 million more samples to finish; the probability
    of any wrong verdict is at most 5%
    """
    above, below = terms.question.named(names or {}).phrases(amounts(terms.rewards))
    parts = [f"{tally.good:,} of {tally.arms:,} {above}, {tally.bad:,} {below}, {tally.open:,} undecided"]
    if tally.retired:
        parts[0] += f", {tally.retired:,} retired"
    if tally.answer:
        parts.append(_answer(terms, tally.answer, above))
    elif tally.used_up:
        parts.append(f"the budget of {money(tally.budget or 0.0)} is used up, so the campaign has ended")
    elif tally.ended:
        parts.append("the campaign has ended")
    elif tally.open == 0:
        parts.append("every arm is decided" if not tally.retired else "nothing is left to ask")
    elif terms.stop_after is not None:
        parts.append(f"the campaign ends after {_counted(terms.stop_after, 'arm')} {above}")
    elif finish is not None:
        parts.append(to_finish(finish))
        if finish.waiting:
            free = terms.cases is None and terms.units is None
            parts.append(postponed(terms.made, finish, above, free))
    return "; ".join([*parts, terms.promise + withdrawn(tally.void)])


def withdrawn(void: int) -> str:
    """The condition that void tickets add to the guarantee.

    >>> withdrawn(6)
    ', if the 6 void tickets were not withdrawn because of their rewards'
    """
    if not void:
        return ""
    which = "the void ticket was" if void == 1 else f"the {void:,} void tickets were"
    return f", if {which} not withdrawn because of {'its reward' if void == 1 else 'their rewards'}"


def to_finish(finish: Finish) -> str:
    """The samples still needed, in words.

    >>> to_finish(Finish(813.0, 667.0, 995.0))
    '670 to 1,000 more samples to finish'
    >>> to_finish(Finish(813.0, 667.0, 995.0, "means drawn from Beta(1, 49)"))
    'no rewards yet; a guess, assuming means spread around the bar: 670 to 1,000 samples'
    >>> to_finish(Finish(813.0, 667.0, 995.0, near=2))
    '670 to 1,000 more samples of the other arms; 2 arms may lie close to the bar and need more'
    >>> to_finish(Finish(813.0, 667.0, math.inf))
    'at least 670 more samples to finish'
    """
    low = count_words(finish.low)
    if finish.high == math.inf:
        return f"at least {low} more samples to finish"
    high = count_words(finish.high)
    between = f"about {low}" if low == high else f"{low} to {high}"
    if finish.guess:
        enough = "" if finish.share == 1.0 else " for half of the verdicts"
        means = _LAW.sub("means spread around the bar", finish.guess)
        return f"no rewards yet; a guess, assuming {means}: {between} samples{enough}"
    if finish.near:
        which = "one arm" if finish.near == 1 else f"{finish.near:,} arms"
        return f"{between} more samples of the other arms; {which} may lie close to the bar and need more"
    return f"{between} more samples to finish"


def postponed(policy: Policy, finish: Finish, above: str, free: bool = True) -> str:
    """Why verdicts of arms that look bad come late, how many samples they need, and how to get those.

    free : whether rewards without a ticket may be told

    >>> from goodarm.policies import policy
    >>> waiting, made = Finish(5e6, 1e6, math.inf, waiting=28, waiting_samples=913.0), policy("value+gap-mixture")
    >>> postponed(made, waiting, "above 10%").split(": ")[0]
    'value looks for arms above 10% first and leaves 28 worse-looking arms for later'
    >>> postponed(made, waiting, "above 10%").split(": ")[1]
    'about 910 samples would decide them (sample them yourself, or use settle+gap-mixture in a new campaign)'
    >>> postponed(made, waiting._replace(waiting=1), "above 10%", free=False).split(": ")[1]
    'about 910 samples would decide it (use settle+gap-mixture in a new campaign)'
    """
    waiting = finish.waiting
    which, them = ("one worse-looking arm", "it") if waiting == 1 else (f"{waiting:,} worse-looking arms", "them")
    samples = f"about {count_words(finish.waiting_samples)} samples would decide {them}"
    how = f"{f'sample {them} yourself, or ' if free else ''}use settle+{policy.identification.name} in a new campaign"
    return f"{policy.sampling.name} looks for arms {above} first and leaves {which} for later: {samples} ({how})"


def _answer(terms: Terms, answer: str, above: str) -> str:
    """The result of a campaign with `stop_after`, in words."""
    wanted = terms.stop_after or 0
    words = {
        FOUND: f"{_counted(wanted, 'arm')} {above} found, so the campaign has ended",
        FEWER: f"no arm is {above}" if wanted == 1 else f"fewer than {wanted:,} arms are {above}",
    }
    return words[answer]


def details(tally: Tally) -> list[str]:
    """Pending tickets, and the fate of unanswered ones."""
    lines = [f"{tally.told:,} rewards told, {tally.pending:,} tickets out"]
    if tally.overdue:
        lines[0] += f", {tally.overdue:,} of them overdue: counted at their worst until they are told or voided"
    if tally.held_back:
        lines.append(
            f"overdue tickets hold back {_counted(tally.held_back, 'verdict')} that the told rewards would give"
        )
    if tally.waiting:
        lines.append(f"{_counted(tally.waiting, 'told reward')} wait behind overdue tickets of the same arm")
    if tally.budget is not None:
        left = max(tally.budget - tally.spent, 0.0)
        lines.append(f"{money(tally.spent)} spent of {money(tally.budget)}, {money(left)} left")
    elif tally.spent != tally.told + tally.pending:
        lines.append(f"{money(tally.spent)} spent")
    if tally.suspended:
        lines.append(f"{_counted(tally.suspended, 'arm')} suspended")
    if tally.doubt:
        lines.append(f"warning: {tally.doubt}")
    odd = [
        f"{number:,} {words}"
        for number, words in (
            (tally.missing, "expired and counted as 0"),
            (tally.late, "told too late and refused"),
            (tally.void, "void"),
        )
        if number
    ]
    return lines + ([f"tickets: {', '.join(odd)}"] if odd else [])


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" + ("" if number == 1 else "s")


def count_words(value: float) -> str:
    """A number rounded to two figures, in words.

    >>> count_words(46_123_000), count_words(8_437), count_words(37), count_words(0.0)
    ('46 million', '8,400', '37', '0')
    """
    rounded = float(f"{value:.2g}")
    for scale, word in _SCALES:
        if rounded >= scale:
            return f"{rounded / scale:g} {word}"
    return f"{rounded:,.0f}"


def money(value: float) -> str:
    """A sum of costs: whole, or with two decimals.

    >>> money(1200.0), money(0.5)
    ('1,200', '0.50')
    """
    return f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"


def duration_words(seconds: float) -> str:
    """A time in the largest unit that fits.

    >>> duration_words(1800.0), duration_words(86400.0), duration_words(0.5)
    ('30 minutes', '1 day', '0.5 seconds')
    """
    for unit, word in _UNITS:
        if seconds >= unit:
            value = round(seconds / unit, 1)
            return f"{value:g} {word}" + ("" if value == 1.0 else "s")
    return f"{seconds:g} seconds"
