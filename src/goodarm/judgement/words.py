"""The words of a judgement, shared by terminal, page and notebook."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from goodarm.arguments import plural
from goodarm.forecast import Forecast
from goodarm.judgement.options import LogOptions
from goodarm.question import Amounts, Control, Threshold  # noqa: F401  Control, Threshold: the examples
from goodarm.rules.identification.gap_mixture import is_certain

INTERVALS = (
    "Each end of an interval is certified at delta, for all arms together; as two-sided intervals they have level 2 "
    "delta."
)
LOOKS = f"Earlier looks at the data do not matter. {INTERVALS}"
"""Note on repeated looks and intervals."""


def looks(options: LogOptions) -> str:
    """The note for a question. Units without a window may grow between looks, so earlier looks may matter then."""
    growing = options.unit is not None and options.window is None and options.case is None
    return INTERVALS if growing else LOOKS


class Doubt(str):
    """A note about a sign in the log that a condition of the guarantee may be false.

    condition : the condition under which the verdicts are certified

    >>> found = Doubt("user repeats", condition="rows of the same user are independent")
    >>> found, found.condition
    ('WARNING: user repeats', 'rows of the same user are independent')
    """

    condition: str

    def __new__(cls, warning: str, condition: str) -> Doubt:
        made = super().__new__(cls, f"WARNING: {warning}")
        made.condition = condition
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # of `__new__`, which copies call
        return self.removeprefix("WARNING: "), self.condition


def conditions(options: LogOptions, case: str, arms: int, unit: str | None = None) -> tuple[str, ...]:
    """Conditions under which the verdicts are certified, which a log can't show.

    case : division of delta among the arms, see `goodarm.judgement.shares`
    unit : the column whose values are the independent units, if one was given
    """
    news = "each row is new information: no user, session or machine has several rows. If they do, give `unit=COLUMN`"
    if options.case is not None:
        news = f"the question is about these {options.cases:,} cases; arms that lack some have drawn theirs at random"
    elif unit is not None:
        whole = "and no more rows of it will come"
        if options.window is not None:
            whole = "within its window, and the log has every row up to its last time"
        news = f"each {visible(unit)} is new information, {whole}"
    which = f"all {arms:,} of them" if arms > 1 else "this one arm"
    assumed = (options.scale.family.assumption,) if options.scale.family.assumption else ()
    cut = (f"the cap of {options.scale.high:g} was fixed before anyone looked at these rewards",)
    placed = options.order or options.drawn
    in_time = (f"rows enter the log in the order of {placed}, and every look had all rows of its last value",)
    return (
        *assumed,
        *(cut if options.scale.cut else ()),
        f"{options.question.labels.fixed} fixed before anyone looked at these rewards",
        news,
        *options.question.assumes,
        "no row was left out because of its reward"
        + (", or of the arm that was shown" if options.propensity is not None else ""),
        "the choice of the arm did not depend on the reward being judged; it may depend on the past",
        *(in_time if placed is not None else ()),
        {
            "fixed": f"the set of arms was fixed in advance: every look had {which}. If arms may come "
            "later, give `max_arms=N`, `ledger=FILE` or `by_appearance=True`",
            "max-arms": f"at most {options.max_arms or 0:,} arms are ever judged, as declared before the first look",
            "ledger": f"every look used the ledger {options.ledger}, and the arms of the first look were not "
            "chosen by their rewards",
            "by-appearance": "arms of the same moment were chosen together, and rows enter the log in the order of "
            "their time; any number of arms may come later",
        }[case],
    )


def figure_words(value: float, unit: str) -> str:
    """A number in words, with this unit of hundredths ("%" or " pp"); without a unit, the number itself.

    >>> figure_words(0.02, "%"), figure_words(-0.0234567, " pp"), figure_words(12.0, ""), figure_words(math.nan, "%")
    ('2%', '-2.35 pp', '12', 'unknown')
    """
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "no limit"
    return f"{100.0 * value:.3g}{unit}" if unit else f"{value:.4g}"


def amount(value: float, options: LogOptions) -> str:
    """A mean or a bar in words: in percent for rewards in [0, 1], otherwise the number.

    >>> amount(0.02, LogOptions(Threshold(0.02)))
    '2%'
    """
    return figure_words(value, "%" if _are_shares(options) else "")


def estimate(value: float, options: LogOptions) -> str:
    """The estimate in words: a mean, or a difference from the control (in percentage points for shares).

    >>> estimate(0.02, LogOptions(Threshold(0.02))), estimate(0.02, LogOptions(Control("now")))
    ('2%', '2 pp')
    """
    if options.kind.differences and _are_shares(options):
        return figure_words(value, " pp")
    return amount(value, options)


def _are_shares(options: LogOptions) -> bool:
    return options.scale.bounded and not options.scale.moved


def interval(low: float, high: float, options: LogOptions) -> str:
    """Both ends of an interval; a long unit is written once.

    >>> interval(0.01, 0.03, LogOptions(Threshold(0.02))), interval(-0.01, 0.03, LogOptions(Control("now")))
    ('1% to 3%', '-1 to 3 pp')
    >>> interval(0.01, math.inf, LogOptions(Threshold(0.02))), interval(math.nan, 1.0, LogOptions(Threshold(0.02)))
    ('1% or more', 'unknown')
    """
    if math.isnan(low) or math.isnan(high) or (low == -math.inf and high == math.inf):
        return "unknown"
    if high == math.inf:
        return f"{estimate(low, options)} or more"
    if low == -math.inf:
        return f"{estimate(high, options)} or less"
    first, last = estimate(low, options), estimate(high, options)
    return f"{first.removesuffix(' pp') if last.endswith(' pp') else first} to {last}"


def amounts_of(options: LogOptions) -> Amounts:
    """Writes numbers in the log's units; differences of shares in percentage points."""
    unit = " pp" if _are_shares(options) else ""
    return Amounts(lambda mean: amount(mean, options), lambda difference: figure_words(difference, unit))


def whole(value: float) -> str:
    """A number of rows in words.

    >>> whole(61834.0), whole(math.inf)
    ('61,834', 'unknown')
    """
    return f"{value:,.0f}" if math.isfinite(value) else "unknown"


def needed(value: float) -> str:
    """The number of further rows that an undecided arm needs.

    >>> needed(61834.0), needed(math.inf), needed(math.nan)
    ('61,834 more', 'too many to tell', 'too many to tell')
    """
    return f"{value:,.0f} more" if math.isfinite(value) else "too many to tell"


def evidence_words(value: float) -> str:
    """Evidence with one decimal, or "certain" if it is unlimited, once every case of a test set is told.

    >>> evidence_words(4.382), evidence_words(1e9), evidence_words(math.nan)
    ('4.4', 'certain', 'unknown')
    """
    if math.isnan(value):
        return "unknown"
    return "certain" if is_certain(value) else f"{value:.1f}"


def rounded(value: float) -> str:
    """An estimated number of rows, to two figures.

    >>> rounded(61834.0)
    '62,000'
    """
    return f"{float(f'{value:.2g}'):,.0f}"


def sentence(verdict: NDArray[np.int8], forecast: Forecast | None, noun: str, options: LogOptions) -> str:
    """The answer in words, with the forecast of further rows if there is one.

    >>> verdict = np.array([1, -1, 0, 0])
    >>> sentence(verdict, Forecast(30_000.0, 12_345.0, 91_000.0), "creatives", LogOptions(Threshold(0.02)))
    '1 of 4 creatives is above 2%, 1 below, 2 undecided; 12,000 to 91,000 more rows would decide half of those'
    >>> sentence(verdict, None, "creatives", LogOptions(Threshold(0.02)))
    '1 of 4 creatives is above 2%, 1 below, 2 undecided'
    """
    good, bad, waiting = (int((verdict == value).sum()) for value in (1, -1, 0))
    verb = "is" if good == 1 else "are"
    above, below = (visible(part) for part in options.question.phrases(amounts_of(options)))
    said = f"{good:,} of {verdict.size:,} {noun} {verb} {above}, {bad:,} {below}, {waiting:,} undecided"
    if forecast is not None:
        those = "it" if waiting == 1 else "half of those"
        said += f"; {between(forecast)} more {visible(options.counted)} would decide {those}"
    return said


def between(forecast: Forecast) -> str:
    """A range in words; one number if both ends agree to two figures.

    >>> between(Forecast(30_000.0, 12_345.0, 91_000.0)), between(Forecast(100.2, 100.0, 101.0))
    ('12,000 to 91,000', 'about 100')
    """
    low, high = rounded(forecast.low), rounded(forecast.high)
    return f"about {low}" if low == high else f"{low} to {high}"


def visible(text: str) -> str:
    """A name for one line of a terminal, with control characters escaped.

    >>> visible("two\\nlines \\x1b[31m")
    'two\\\\nlines \\\\x1b[31m'
    """
    return "".join(c if unicodedata.category(c)[0] != "C" or _joins(c) else repr(c)[1:-1] for c in text)


def _joins(character: str) -> bool:
    """Whether the character joins the parts of an emoji."""
    return character in "\u200d\ufe0f"


def shared_budget(arms: int, segments: int, options: LogOptions) -> str:
    """The division of the error budget, in words."""
    of = plural(arms, "arm") + (f" in {segments:,} segments" if segments > 1 else "")
    if options.criterion.value == "fdr":
        return (
            f"delta {options.delta:g} bounds the expected share of wrong verdicts among all arms called good, and "
            f"among all arms called bad, over {of}"
        )
    return f"delta {options.delta:g} bounds the probability that any verdict is wrong; it is shared over {of}"


def listed(names: Sequence[str], most: int = 5) -> str:
    """A few names, and the number of further ones."""
    shown = ", ".join(visible(name) for name in names[:most])
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "")
