"""Checks of plain arguments: numbers are numbers, and whole numbers are whole.

Numbers of Python and of numpy are accepted; booleans, strings and arrays are not. A threshold may also be a percentage
written as text, and a reward may be a boolean.
"""

from __future__ import annotations

import math
import re
import unicodedata
import warnings
from datetime import timedelta
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Any

from goodarm.errors import DeltaWarning, InvalidValue


def check_real(**numbers: Any) -> None:
    """Refuse anything that is not a number.

    >>> check_real(threshold="high")
    Traceback (most recent call last):
        ...
    goodarm.errors.InvalidValue: threshold must be a number; got 'high'.
    """
    for name, value in numbers.items():
        if not isinstance(value, Real):
            raise InvalidValue(f"{name} must be a number; got {shown(value)}.")


def check_whole(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """The value as a Python int. Refuses anything that is not a whole number within its limits.

    >>> check_whole("runs", 2.5)
    Traceback (most recent call last):
        ...
    goodarm.errors.InvalidValue: runs must be a whole number; got 2.5.
    >>> check_whole("horizon", 1e5, least=1)
    Traceback (most recent call last):
        ...
    goodarm.errors.InvalidValue: horizon must be a whole number of at least 1; got 100000.0. Write 100_000.
    """
    found = whole(value)
    if found is None or (least is not None and found < least) or (most is not None and found > most):
        ends = ((f"at least {least}", least), (f"at most {most:,}" if most is not None else "", most))
        limits = " and ".join(text for text, end in ends if end is not None)
        written = f" Write {int(value):_}." if isinstance(value, float) and value.is_integer() else ""
        of = f" of {limits}" if limits else ""
        raise InvalidValue(f"{name} must be a whole number{of}; got {shown(value)}.{written}")
    return found


def number(value: Any) -> float | None:
    """The value as a float, infinite if it is too large for one; None if it is not a number.

    >>> number(1), number(10**400), number(True), number("1")
    (1.0, inf, None, None)
    """
    if type(value) is float:
        return value
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    from_numpy = kind in ("f", "i", "u") and not getattr(value, "ndim", 1)
    if isinstance(value, bool) or not (isinstance(value, int | float) or from_numpy):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def truth_value(value: Any) -> bool:
    """Whether the value is a boolean, of Python or of numpy.

    >>> truth_value(True), truth_value(1)
    (True, False)
    """
    return isinstance(value, bool) or (
        getattr(getattr(value, "dtype", None), "kind", "") == "b" and not getattr(value, "ndim", 1)
    )


class Percentage(float):
    """A number that was written with a percent sign: a share, which fits only rewards in [0, 1].

    Calculations with it give plain floats.
    """


def percentage(value: Any) -> Any:
    """Convert a number or a percentage written as text to a number. Other values are unchanged.

    >>> percentage("1.5%"), percentage(" 80 % "), percentage("50"), percentage("high"), percentage(0.5)
    (0.015, 0.8, 50.0, 'high', 0.5)
    """
    if not isinstance(value, str):
        return float(value) if isinstance(value, Percentage) else value
    text = value.strip()
    try:
        # "7e-2" is the float nearest to 0.07; 7 / 100 rounds twice for some values.
        return float(f"{text[:-1].strip()}e-2" if text.endswith("%") else text)
    except ValueError:
        return value


def number_as_written(name: str, value: Any) -> float:
    """A number or a percentage as a float; a percentage becomes a `Percentage`."""
    found = float(checked_number(name, percentage(value)))
    percent = isinstance(value, Percentage) or (isinstance(value, str) and value.strip().endswith("%"))
    return Percentage(found) if percent else found


def refuse_percentage(name: str, value: float, rewards: object) -> None:
    """Refuse a percentage for rewards in another range than [0, 1].

    >>> refuse_percentage("threshold", Percentage(0.8), "rewards in [0, 100]")
    Traceback (most recent call last):
    goodarm.errors.InvalidValue: threshold 80%: is it 80 or 0.8? A percentage is a share of rewards in [0, 1], and \
these are rewards in [0, 100]. Write the number without %.
    """
    if isinstance(value, Percentage):
        number = f"{100.0 * value:.12g}"
        raise InvalidValue(
            f"{name} {number}%: is it {number} or {value:.12g}? A percentage is a share of rewards in [0, 1], and "
            f"these are {rewards}. Write the number without %."
        )


def meant_percent(threshold: float) -> str:
    """A hint for thresholds that are a percentage without its sign, with a space after it; empty for others.

    >>> meant_percent(80.0)
    "Did you mean 80%? Write '80%' or 0.8. "
    >>> meant_percent(-1.0), meant_percent(500.0)
    ('', '')
    """
    if not 1.0 < threshold < 100.0:
        return ""
    written = f"{threshold:.12g}%"
    return f"Did you mean {written}? Write {written!r} or {percentage(written):.12g}. "


def as_written(error: InvalidValue, threshold: Any) -> InvalidValue:
    """The refusal of a threshold given as text, quoting that text instead of its value.

    >>> error = InvalidValue("threshold must lie below 1; got 1.5. Did you mean 1.5%? Write '1.5%' or 0.015. Or not.")
    >>> str(as_written(error, "150%"))
    'threshold must lie below 1; got 150%. Or not.'
    """
    value = percentage(threshold)
    if type(error) is not InvalidValue or not isinstance(threshold, str) or not isinstance(value, float):
        return error
    message = str(error)
    if threshold.strip().endswith("%"):
        message = message.replace(meant_percent(value), "")
    return InvalidValue(message.replace(f"got {value}.", f"got {threshold.strip()}."))


def same_form(name: str) -> str:
    """A name in NFKC, the Unicode form in which names that look the same are equal."""
    return unicodedata.normalize("NFKC", name)


def plain_form(name: str) -> str:
    """The name in NFKC and lower case, without invisible characters, with single blanks between words.

    >>> plain_form("Big  Red\\u200b "), plain_form("\\uff22ig red")
    ('big red', 'big red')
    """
    if name.isascii() and name.isalnum():
        return name.casefold()
    kept = (" " if c.isspace() else c for c in same_form(name).casefold() if unicodedata.category(c) != "Cf")
    return " ".join("".join(kept).split())


def families_as_text(message: str) -> str:
    """Rewrite reward families in a message in the notation of the command line and the service.

    >>> families_as_text("Declare it: rewards=Bounded(0, HIGH), or rewards=NonNegative() without a ceiling.")
    'Declare it: rewards bounded:0,HIGH, or nonnegative without a ceiling.'
    """
    for python, text in (
        ("rewards=Bounded(0, HIGH)", "rewards bounded:0,HIGH"),
        ("rewards=NonNegative()", "nonnegative"),
        ("NonNegative() if there", "nonnegative if there"),
    ):
        message = message.replace(python, text)
    return re.sub(r"declare Bounded\(0, ([^)]+)\)", r"declare rewards bounded:0,\1", message)


ARGUMENT = re.compile(
    r"\b(after|unanswered|reserve|cases|per_unit|window|unit_limit|criterion|policy|exist_ok|stop_after)="
    r"('[^']*'|[0-9.]*[0-9]|True)"
)
OPTION = re.compile(
    r"\b(unit|unit_limit|per_unit|rewards|control|margin|scores|after|unanswered|stop_after|delta)="
    r"('[^']*'|\"[^\"]*\"|-?[0-9.]*[0-9]|D\b)"
)
"""Arguments that only the command line has under the same name."""
COMMANDS = (
    (re.compile(r"\bask without unit="), "ask without --unit"),
    (re.compile(r"\bask\(unit=\.\.\.\)"), "ask --unit ID"),
    (re.compile(r"\bask\(unit=('[^']*')\)"), r"ask --unit \1"),
    (re.compile(r"\btell_unit\(unit, reward\)"), "tell-unit UNIT REWARD"),
    (re.compile(r"\bclose_units\(unit\)"), "close-units UNIT"),
    (re.compile(r"\bclose_units\(\)"), "close-units"),
    (re.compile(r"evaluate what campaign\.waiting\(\) lists, or "), "tell their rewards, or "),
    (re.compile(r"campaign\.void\(ticket, reason\)"), "goodarm campaign void STORE NAME TICKET --reason WHY"),
    (re.compile(r"pass token='\.\.\.' or set the"), "set the"),
)
"""Calls in messages, and the commands that do the same."""
TAKEN = re.compile(r"Open it with Campaign\.open\(store, (.+?)\), pass exist_ok=True to create or open it,")
"""Advice about a taken name, for Python."""


def arguments_as_json(message: str) -> str:
    """Rewrite Python arguments in a message as fields of a JSON body.

    >>> arguments_as_json("It needs a time, for example after='30min', or reserve=0.2, or exist_ok=True.")
    'It needs a time, for example "after": "30min", or "reserve": 0.2, or "exist_ok": true.'
    """
    message = TAKEN.sub('Use it under this name, send "exist_ok": true to create or open it,', message)
    return ARGUMENT.sub(
        lambda found: f'"{found[1]}": ' + found[2].replace("'", '"').replace("True", "true"), families_as_text(message)
    )


def arguments_as_options(message: str) -> str:
    """Rewrite Python arguments in a message as command-line options.

    >>> arguments_as_options("It needs a time, for example after='30min', or unit_limit=5.")
    'It needs a time, for example --after 30min, or --unit-limit 5.'
    >>> arguments_as_options("Use ask(unit=...), tell_unit(unit, reward) and, without a window, close_units(unit).")
    'Use ask --unit ID, tell-unit UNIT REWARD and, without a window, close-units UNIT.'
    """
    message = TAKEN.sub(r"Use it with goodarm campaign ask STORE \1,", message)
    message = families_as_text(message)
    for call, command in COMMANDS:
        message = call.sub(command, message)
    for argument in (ARGUMENT, OPTION):
        message = argument.sub(_as_option, message)
    return message


def _as_option(found: re.Match[str]) -> str:
    return f"--{found[1].replace('_', '-')} " + found[2].strip("'\"")


def whole(value: Any) -> int | None:
    """The value as an int if it is one, of Python or of numpy; None for anything else.

    >>> whole(3), whole(3.0), whole(True)
    (3, None, None)
    """
    if getattr(getattr(value, "dtype", None), "kind", "") in ("i", "u") and not getattr(value, "ndim", 1):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def checked_number(what: str, value: Any) -> float:
    """The number as a float. Refuses anything else."""
    found = number(value)
    if found is None:
        raise InvalidValue(f"{what} must be a number; got {shown(value)}.")
    return found


@lru_cache(maxsize=4096)
def exact(amount: float) -> Fraction:
    """An amount of money as the decimal number in its shortest text form, so that ten times 0.1 is 1.

    >>> exact(0.1) * 10 == exact(1.0), exact(1e-5)
    (True, Fraction(1, 100000))
    """
    return Fraction(repr(float(amount)))


def shown(value: object) -> str:
    """The value as text for a message, truncated to 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def plural_of(word: str) -> str:
    """The plural of a noun.

    >>> [plural_of(word) for word in ("country", "day", "box", "batch", "class", "user")]
    ['countries', 'days', 'boxes', 'batches', 'classes', 'users']
    """
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("x", "ch", "sh", "ss")) else "s")


def plural(count: int, word: str) -> str:
    """A number with its noun.

    >>> plural(1, "row"), plural(12000, "row")
    ('1 row', '12,000 rows')
    """
    return f"{count:,} {word if count == 1 else plural_of(word)}"


LARGEST_PLAUSIBLE_DELTA = 0.5
"""Threshold above which a delta is probably meant as a confidence level."""


def warn_of_delta(delta: Any) -> None:
    """Warn about a delta that looks like a confidence level."""
    if isinstance(delta, Real) and LARGEST_PLAUSIBLE_DELTA < float(delta) < 1.0:
        warnings.warn(
            f"delta {float(delta):g} is the probability of a wrong verdict, not the confidence; did you mean "
            f"{1.0 - float(delta):.3g}?",
            DeltaWarning,
            stacklevel=3,
        )


DURATIONS = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
"""Seconds of each unit of time."""
BARE_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.IGNORECASE)
"""A number as text, without a unit."""


def read_duration(given: float | str | timedelta | None, what: str = "after") -> float | None:
    """Seconds from a number of seconds, a timedelta, or text like 30min. Text needs a unit.

    >>> read_duration("30min"), read_duration("2h"), read_duration(90)
    (1800.0, 7200.0, 90.0)
    """
    if given is None:
        return None
    if isinstance(given, str) and BARE_NUMBER.fullmatch(given) and 0.0 < float(given) < math.inf:
        bare = given.strip()
        raise InvalidValue(f"{what}: {bare} what? Write {bare}d, {bare}h, {bare}min or {bare}s.")
    found = _seconds(given) if isinstance(given, str) else number(given)
    if isinstance(given, timedelta):
        found = given.total_seconds()
    if found is None or not 0.0 < found < math.inf:
        raise InvalidValue(
            f"{what} must be a positive time, in seconds or as text such as 90s, 30min, 2h, 7d; got {given!r}."
        )
    return found


def _seconds(text: str) -> float | None:
    match = re.fullmatch(r"\s*([0-9.]+(?:e[0-9]+)?)\s*([a-z]*)\s*", text.lower())
    unit = DURATIONS.get(match[2]) if match else None
    try:
        return float(match[1]) * unit if match and unit else None
    except ValueError:
        return None
