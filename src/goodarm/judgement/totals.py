"""Check the sums of a log: NULLs only where allowed, rewards in their range, at least one row."""

from __future__ import annotations

import math
import re
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.arguments import plural
from goodarm.errors import InvalidValue, UnreadableTable
from goodarm.judgement.log_columns import LogColumns, pulls_like
from goodarm.judgement.options import LogOptions
from goodarm.judgement.sources._base import Floats, LogSource, Sums
from goodarm.judgement.words import Doubt
from goodarm.numerics import farthest_reward, log_scale_evidence, numbered
from goodarm.problem import MOST_PULLS, MOST_SUMMED, NonNegative, SubGaussian
from goodarm.rules.identification.bet_mixture import sums as one_reward

FALSE_ALARMS = 1e-4
ENDLESS = ("inf", "infinity")


def checked(source: LogSource, columns: LogColumns, options: LogOptions, sums: Sums) -> tuple[Sums, tuple[str, ...]]:
    """The checked sums, sorted by name, and notes for readers."""
    if sums.rows.sum() == 0:
        which = " that `where` keeps" if options.where else ""
        fix = "Use a filter that keeps some rows." if options.where else "It has only a header. Give a log with rows."
        raise UnreadableTable(f"{source.title}: there are no rows{which}. {fix}")
    if sums.outside.any() or sums.unreadable.sum() > 0:
        raise _out_of_range(source, columns, options, sums)
    if sums.timeless is not None and (timeless := int(np.nansum(sums.timeless))):
        raise UnreadableTable(  # whether a row without a time is within its unit's window is unknown
            f"{source.title}: {_have(timeless)} no {columns.time}, so they can't be placed in a window. Correct "
            f"them, or leave them out with `where='{columns.time} IS NOT NULL'`, which is valid only if the missing "
            "times have nothing to do with the rewards."
        )
    if options.propensity is not None:
        sums = replace(sums, around=per_segment(sums, sums.rows))
    sums, notes = _without_nulls(source, columns, options, sums)
    if sums.improper is not None and sums.improper.sum() > 0:
        raise UnreadableTable(
            f"{source.title}: {int(sums.improper.sum()):,} values of {columns.propensity} do not lie in (0, 1]. "
            "A propensity is the probability with which the arm was shown."
        )
    if columns.pulls is not None and (sums.pulls % 1.0 != 0.0).any():
        wrong = int((sums.pulls % 1.0 != 0.0).argmax())
        raise UnreadableTable(
            f"{source.title}: arm {sums.arm[wrong]!r} has {sums.pulls[wrong]:g} {columns.pulls}, but samples are whole "
            "numbers. Give the number of samples, not a share or a mean."
        )
    if columns.unit is not None:
        notes += _check_units(source, columns, options, sums)
    # sums must not have lost the digits that distinguish good from bad
    scale, most = options.scale, float(sums.pulls.max())
    if most > MOST_PULLS:
        raise InvalidValue(
            f"arm {sums.arm[int(sums.pulls.argmax())]!r} has {most:g} pulls; at most {MOST_PULLS:g} can be judged: "
            "with more, rounding errors would exceed the evidence."
        )
    if options.kind.own_mean and not scale.bounded:
        options.problem(sums.arm.size).check_sums(int(most))
    far = max(abs(scale.low), abs(scale.high)) / scale.length if scale.moved and columns.pulls is not None else 0.0
    if far * most > MOST_SUMMED:
        raise InvalidValue(
            f"totals of {most:g} rewards in [{scale.low:g}, {scale.high:g}] have lost the digits that distinguish good "
            "from bad. Subtract LOW from every reward before adding them up, or give the rewards themselves."
        )
    if isinstance(options.scale.family, SubGaussian) and sums.improper is None:
        notes += _check_scale(options.scale.family, sums)
    return sums, notes


def _out_of_range(source: LogSource, columns: LogColumns, options: LogOptions, sums: Sums) -> UnreadableTable:
    """The error about rewards that are outside their range or are not numbers."""
    scale = options.scale
    if columns.pulls is not None:
        words = f"a total must lie between {scale.low:g} and {scale.high:g} times its pulls, and pulls are not negative"
    elif options.per_unit == "sum":
        words = f"{scale.words} were declared, for the sum over a {columns.unit}"
    elif columns.denominator is not None:
        words = f"a reward must lie between 0 and its {columns.denominator}"
    elif scale.bounded or isinstance(scale.family, NonNegative):
        words = f"{scale.words} were declared"
    else:
        words = "a reward must be a finite number"
    if options.per_unit == "sum" or columns.denominator is not None:
        return UnreadableTable(
            f"{source.title}: {words}, but some values of {columns.reward} violate this, for example those of arm "
            f"{sums.arm[int(sums.outside.argmax())]!r}. Give the range as `rewards='bounded:LOW,HIGH'`, or "
            f"{options.kind.other_rewards()}, or correct the rows."
        )
    found = source.stray(columns, options)
    words_only = sums.unreadable.sum() > 0 and not sums.outside.any()
    what = "is not a number" if words_only else "lies outside"
    column = columns.reward or columns.total
    advice = (
        f"Give the range as `rewards='bounded:LOW,HIGH'`, or {options.kind.other_rewards()}, or correct the rows. "
        "Never leave rows out because of their reward."
    )
    infinite = isinstance(found.value, float | str) and str(found.value).strip().lower().lstrip("+-") in ENDLESS
    if infinite:
        what = "is infinite"
        advice = "A reward must be a finite number: correct the rows. Never leave rows out because of their reward."
    elif not words_only and isinstance(scale.family, NonNegative):
        advice = (
            "Negative rewards need a range that was known beforehand. Give `rewards='bounded:LOW,HIGH'`, or correct "
            "the "
            "rows. Never leave rows out because of their reward."
        )
    if words_only:
        words = "rewards are numbers, true or false, yes or no"
        advice = _as_number(str(found.value))
    elif not infinite and (pulls := pulls_like(columns, source.names())) is not None:
        advice = (
            f"Is this a table of totals, with {column} out of {pulls}? Give `pulls='{pulls}'` and `total='{column}'`. "
            f"If each row is one reward: {advice[0].lower()}{advice[1:]}"
        )
    return UnreadableTable(
        f"{source.title}: {found.rows:,} of {int(sums.rows.sum()):,} values of {column} can't be judged ({words}). "
        f"The first {what}: {found.value} of arm {found.arm!r}. "
        f"{advice}"
    )


def _as_number(value: str) -> str:
    """Advice on writing a reward that is not a number.

    >>> _as_number("0,5"), _as_number("80%")
    ('Write 0,5 with a decimal point: 0.5.', 'Write 80% as a number: 0.8.')
    """
    text = value.strip()
    if re.fullmatch(r"[+-]?\d+,\d+", text):
        return f"Write {text} with a decimal point: {text.replace(',', '.')}."
    if re.fullmatch(r"[+-]?\d+(\.\d+)?\s*%", text):
        return f"Write {text} as a number: {float(text[:-1]) / 100.0:g}."
    return "Write other words as numbers, such as 1 for a success and 0 for a failure."


def _without_nulls(
    source: LogSource, columns: LogColumns, options: LogOptions, sums: Sums
) -> tuple[Sums, tuple[str, ...]]:
    """The arms that have a name and a reward, sorted; missing rewards are left out, count as 0 or are refused."""
    notes = []
    nameless = np.array([any(value is None for value in key) for key in zip(*sums.segment, sums.arm, strict=True)])
    lost, missing = int(sums.rows[nameless].sum()), int(sums.missing.sum())
    if options.nulls == "error" and (lost or missing):
        if not missing:
            blank = " or ".join((*columns.by, columns.arm))
            raise UnreadableTable(
                f"{source.title}: {_have(lost)} no {blank}, of "
                f"{int(sums.rows.sum()):,} rows. Correct them, or give `nulls='drop'`: rows without an arm are left "
                "out, which is valid only if the missing arms have nothing to do with the rewards."
            )
        what = f"{_missing(missing)} (NULL or NaN)"
        raise UnreadableTable(
            f"{source.title}: {what}, of {int(sums.rows.sum()):,} rows. Say what they mean: `nulls='zero'` counts a "
            "missing reward as 0 (no click came). `nulls='drop'` leaves the rows out, which is valid only if rewards "
            "are not missing because of their values. Both leave out rows without an arm."
        )
    if missing and options.nulls == "zero" and options.scale.bounded and not options.scale.low <= 0.0:
        raise InvalidValue(f"`nulls='zero'`: 0 is outside {options.scale.words}.")
    if missing:
        notes.append(f"{_missing(missing)} and {'count as 0' if options.nulls == 'zero' else 'left out'}")
    if lost:
        notes.append(f"{_rows(lost)} without {' or '.join((*columns.by, columns.arm))} left out")
    sums = replace(sums, total=np.where(np.isnan(sums.total), 0.0, sums.total))
    if options.nulls == "zero" and columns.pulls is None and columns.unit is None:
        zero = (0.0 - options.scale.start) / options.scale.length
        sums = replace(sums, pulls=sums.rows, total=sums.total + zero * sums.missing)
        if sums.logs is not None:
            more = one_reward(zero, options.problem(1).bar)
            sums = replace(sums, logs=sums.logs + sums.missing[:, None] * more)
        if sums.smallest is not None and sums.largest is not None:
            some = sums.missing > 0
            sums = replace(
                sums,
                smallest=np.where(some, np.fmin(sums.smallest, 0.0), sums.smallest),
                largest=np.where(some, np.fmax(sums.largest, 0.0), sums.largest),
            )
    if sums.weight is not None:
        sums = replace(sums, weight=np.where(np.isnan(sums.weight), 0.0, sums.weight))
    waiting = False if sums.pending is None else sums.pending > 0
    kept = ~nameless  # arms without a reward keep their share of delta: whether rewards are missing is not known before
    if not (kept & ((sums.pulls > 0) | waiting | (columns.pulls is not None))).any():
        raise UnreadableTable(f"{source.title}: no row has both an arm and a reward.")
    # sorted by segments and names, so that every engine gives the same table
    order = np.lexsort(tuple(np.array(key[kept], dtype=str) for key in (sums.arm, *reversed(sums.segment))))
    return taken(sums, np.flatnonzero(kept)[order]), tuple(notes)


def _rows(count: int) -> str:
    return plural(count, "row")


def _have(rows: int) -> str:
    return f"{_rows(rows)} {'has' if rows == 1 else 'have'}"


def _missing(rewards: int) -> str:
    return f"{rewards:,} rewards are missing" if rewards != 1 else "1 reward is missing"


def _check_units(source: LogSource, columns: LogColumns, options: LogOptions, sums: Sums) -> tuple[str, ...]:
    """Refuse rows without a unit and units above their limit; returns notes on units."""
    unnamed = int(np.nansum(sums.unnamed)) if sums.unnamed is not None else 0
    if unnamed and options.nulls != "drop":
        raise UnreadableTable(
            f"{source.title}: {_have(unnamed)} no {columns.unit}. Say `nulls='drop'` to leave them out, which is "
            "valid only if the missing units have nothing to do with the rewards."
        )
    if sums.over is not None and np.nansum(sums.over) > 0:
        what = "rows" if columns.denominator is None else columns.denominator
        raise UnreadableTable(
            f"{source.title}: a value of {columns.unit} has more {what} than `unit_limit={options.unit_limit:g}`. "
            "Give the largest possible value, fixed before looking."
        )
    units, pending = int(sums.pulls.sum()), int(np.nansum(sums.pending)) if sums.pending is not None else 0
    rows = int(sums.rows.sum())
    counted = units + pending if options.open_at_worst else units
    are = f"{_within(options)} {'is' if rows == 1 else 'are'}"
    notes = [f"{_rows(rows)}{are} {plural(counted, 'reward')}: one per {columns.unit} and arm"]
    if options.seconds is not None:
        notes.append(_on_open(options, columns.unit or "", pending))
    if unnamed:
        notes.append(f"{_rows(unnamed)} without {columns.unit} left out")
    return tuple(notes)


def _within(options: LogOptions) -> str:
    return "" if options.seconds is None else f" within the windows of {options.counted}"


def _on_open(options: LogOptions, unit: str, pending: int) -> str:
    """The treatment of units whose window is still open, in words."""
    window = (
        options.window
        if isinstance(options.window, str)
        else f"{options.seconds:,.12g} second{'' if options.seconds == 1.0 else 's'}"
    )
    who = f"{pending:,} {options.counted if pending != 1 else unit} whose window of {window} is not over"
    if options.open_at_worst:
        return f"{who} count at their worst, as 0 for good and as 1 for bad"
    return f"{who} {'is' if pending == 1 else 'are'} left out"


def _check_scale(family: SubGaussian, sums: Sums) -> tuple[str, ...]:
    """Refuse a declared scale that the spread or tail of any arm refutes.

    If the declaration is true, at most one log in 10,000 is refused, over any number of looks. Half of that probability
    is for the spread (of all arms together, and of each arm), and half for the reward farthest from its arm's mean.
    """
    sigma, n = family.scale, np.maximum(sums.pulls, 1.0)
    mean = sums.total / n
    if sums.squares is not None:
        squares = np.nan_to_num(np.maximum(sums.squares - sums.total * mean, 0.0))
        count, spread = np.append(n, n.sum()), np.append(squares, squares.sum())
        evidence = log_scale_evidence(count, spread / sigma**2) - numbered(0.5 * FALSE_ALARMS, count.size)
        worst = int(evidence.argmax())
        if evidence[worst] >= 0.0:
            who = f"arm {sums.arm[worst]!r}" if worst < n.size else "the arms"
            raise InvalidValue(
                f"within {who} the rewards spread with a standard deviation of "
                f"{math.sqrt(spread[worst] / count[worst]):.4g}, more than the declared {sigma:g}, so verdicts would "
                f"be wrong too often. {_other_families(sums)}"
            )
    if sums.smallest is None or sums.largest is None:
        what = "tail" if sums.squares is not None else "spread and tail"
        needed = family.assumption
        return (Doubt(f"that {needed} is not checked, because totals do not show their {what}", condition=needed),)
    away = np.nan_to_num(np.maximum(sums.largest - mean, mean - sums.smallest)) / sigma
    limit = farthest_reward(n, n.size, float(n.sum()), 0.5 * FALSE_ALARMS)
    worst = int((away - limit).argmax())
    if away[worst] > limit[worst]:
        raise InvalidValue(
            f"a reward of arm {sums.arm[worst]!r} lies {away[worst]:.3g} times the declared scale {sigma:g} from the "
            f"arm's mean, but at most {limit[worst]:.3g} is possible if {family.assumption}. Their tail is heavier, so "
            f"verdicts would be wrong too often. {_other_families(sums)}"
        )
    return ()


def _other_families(sums: Sums) -> str:
    """Advice on what to declare instead of a refuted scale. A scale fitted to this log would prove nothing."""
    if sums.smallest is None or (sums.smallest < 0.0).any():
        return (
            "A larger scale chosen to fit this log would not make the verdicts valid. If rewards can't lie outside a "
            "range that was known beforehand, give `rewards='bounded:LOW,HIGH'`."
        )
    return (
        "A larger scale chosen to fit this log would not make the verdicts valid. Give `rewards='nonnegative'`, which "
        "needs no scale, or `rewards='nonnegative:CAP'`, which cuts rewards at a cap that was fixed beforehand."
    )


def per_segment(sums: Sums, values: Floats) -> Floats:
    """The sum of the values over the arm's segment."""
    which = segment_numbers(sums)
    together: Floats = np.zeros(which.size)
    np.add.at(together, which, values)
    return np.asarray(together[which])


def segment_numbers(sums: Sums) -> NDArray[np.int64]:
    """The number of each arm's segment."""
    if not sums.segment:
        return np.zeros(sums.arm.size, dtype=np.int64)
    keys = list(zip(*sums.segment, strict=True))
    numbers = {key: j for j, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def taken(sums: Sums, which: NDArray[np.int64]) -> Sums:
    """The arms at these indices, in this order."""
    numbers = {field.name: getattr(sums, field.name) for field in fields(Sums) if field.name != "segment"}
    cut: dict[str, Any] = {name: None if values is None else values[which] for name, values in numbers.items()}
    return Sums(segment=tuple(key[which] for key in sums.segment), **cut)
