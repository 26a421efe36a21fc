"""Every arm of a log against a control: better by the margin, not better, or undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.compile import DIFFERENCES
from goodarm.engine.totals import Floats, evidence_from_totals, in_chunks, interval_from_totals
from goodarm.errors import UnknownName, UnreadableTable
from goodarm.judgement.decide import MOST, Decided, needed
from goodarm.judgement.judgement import Arms
from goodarm.judgement.options import LogOptions
from goodarm.judgement.shares import Shares
from goodarm.judgement.sources._base import Sums
from goodarm.judgement.totals import segment_numbers
from goodarm.judgement.words import visible
from goodarm.rules.identification.versus import as_if_paired, better_by, versus
from goodarm.rules.identification.versus_squares import (
    CLOSE,
    Moments,
    against_control_by_squares,
    better_by_squares,
)

CHOICE = 4.0
"""Approximate cost, in evidence, of not knowing the best bet."""
LOOKS = 8
LIFTS = (0.05, 0.1, 0.2, 0.5)
"""Lifts of the control's mean for which a note gives the number of rewards needed."""
FEWEST, LONGEST, HALVINGS = 100, 1e10, 14
"""Minimum and maximum number of rewards in that note, and the steps in which it is found, to half a percent."""
STEPS = 14
"""Maximum number of steps in which the rows still needed are interpolated."""


def control_of(control: str, sums: Sums, title: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether each row of the sums is the control. With segments, each segment must have one."""
    is_control = np.asarray(sums.arm == control)
    if not is_control.any():
        raise UnknownName("control", control, sorted(set(sums.arm.tolist())))
    segments = set(zip(*sums.segment, strict=True))
    held = set(zip(*(key[is_control] for key in sums.segment), strict=True))
    if segments - held:
        raise UnreadableTable(f"{title}: the control {control!r} has no row in the segment {min(segments - held)}.")
    return is_control


def decide_versus(
    options: LogOptions,
    pulls: Floats,
    totals: Floats,
    control_pulls: float,
    control_total: float,
    arms: int,
    offset: Floats | float = 0.0,
) -> Decided:
    """Judge arms against one control by their totals. Mean and interval are of the difference, mapped to [0, 1].

    offset : log(K w), where w is the arm's share of delta; 0 if all shares are equal
    """
    margin = options.kind.scaled.bar
    problem = options.problem(arms)
    mean = control_total / control_pulls
    paired = as_if_paired(pulls, totals, mean)
    values = (control_pulls, mean)
    for_good, for_bad = evidence_from_totals(versus, pulls, paired, problem.bar, values, DIFFERENCES)
    levels = needed(options.criterion, (for_good, for_bad), problem, offset)
    low, high = interval_from_totals(versus, pulls, paired, problem.bar, levels.now[0], values, DIFFERENCES)
    if (levels.now[1] != levels.now[0]).any():
        high = interval_from_totals(versus, pulls, paired, problem.bar, levels.now[1], values, DIFFERENCES)[1]
    verdict, evidence = levels.decided(for_good, for_bad)
    difference = paired / pulls
    needs = np.zeros(pulls.size)
    for j, level in enumerate(levels.next):
        waiting = (verdict == 0) & ((difference >= problem.threshold) == (j == 0))
        needs[waiting] = _more(pulls[waiting], totals[waiting], control_pulls, control_total, margin, level[waiting])
    return Decided(difference, low, high, verdict, evidence, needs)


def decide_by_squares(
    options: LogOptions, arms: Moments, control: Moments, count: int, offset: Floats | float = 0.0
) -> Decided:
    """Judge arms against one control by counts, sums and sums of squares."""
    margin = options.kind.scaled.bar
    problem = options.problem(count)
    for_good, for_bad = against_control_by_squares(arms, control, margin)
    levels = needed(options.criterion, (for_good, for_bad), problem, offset)
    verdict, evidence = levels.decided(for_good, for_bad)
    difference = arms.total / arms.pulls - control.total / control.pulls
    low = _least(arms, control, difference, levels.now[0])
    high = -_least(arms.turned(), control.turned(), -difference, levels.now[1])
    low = np.where(verdict == 1, np.maximum(low, margin), np.minimum(low, margin))
    high = np.where(verdict == -1, np.minimum(high, margin), np.maximum(high, margin))
    needs, above = np.zeros(difference.size), difference >= margin
    for better in (True, False):
        which = np.flatnonzero((verdict == 0) & (above == better))
        waiting = Moments(*(each[which] for each in arms))
        if better:
            needs[which] = _more_by_squares(waiting, control, margin, levels.next[0][which])
        else:
            needs[which] = _more_by_squares(waiting.turned(), control.turned(), -margin, levels.next[1][which])
    mean, low, high = (0.5 * (1.0 + each) for each in (difference, low, high))
    return Decided(mean, low, high, verdict, evidence, needs)


def _more_by_squares(arms: Moments, control: Moments, margin: float, level: Floats) -> Floats:
    """Further pulls of each arm until it is called better, if arm and control grow in their present proportion.

    With d the present difference beyond the margin and v its variance, d^2 is too large by v on average: further
    rewards are assumed to differ by sqrt(d^2 - v). The answer grows as 1/(d^2 - v). It is inf if d is less than its own
    standard error, where no estimate is possible, and above `MOST` times the log. The evidence of a log that is t times
    as long is computed for several t; it grows almost in proportion to t, which is interpolated.
    """
    found = np.full(level.size, math.inf)
    variance = sum(
        np.maximum(each.squares / each.pulls - np.square(each.total / each.pulls), 0.0) / each.pulls
        for each in (arms, control)
    )
    beyond = arms.total / arms.pulls - control.total / control.pulls - margin
    live = np.flatnonzero((beyond > 0.0) & (np.square(beyond) > variance))
    own = Moments(*(each[live] for each in arms))
    less = np.sqrt((np.square(beyond) - variance)[live]) - beyond[live]
    later = Moments(
        own.pulls,
        np.maximum(own.total + own.pulls * less, 0.0),
        np.maximum(own.squares + 2.0 * less * own.total + own.pulls * np.square(less), 0.0),
    )

    def evidence(times: Floats) -> Floats:
        grown = Moments(*(now + (times - 1.0) * more for now, more in zip(own, later, strict=True)))
        return better_by_squares(grown, Moments(*(times * each for each in control)), margin)

    few, many = np.ones(live.size), np.full(live.size, MOST)
    short, enough, needed = (
        np.maximum(each + CHOICE, 0.1) for each in (evidence(few), evidence(many), level[live] + CLOSE)
    )
    never = enough < needed
    for look in range(STEPS):
        slope = np.log(enough / short) / np.log(many / few)
        guess = few * (needed / short) ** (1.0 / np.maximum(slope, 1e-3))
        middle = (
            np.sqrt(few * many) if look % 3 == 2 else np.clip(guess, few**0.98 * many**0.02, few**0.02 * many**0.98)
        )
        seen = np.maximum(evidence(middle) + CHOICE, 0.1)
        there = seen >= needed
        few, short = np.where(there, few, middle), np.where(there, short, seen)
        many, enough = np.where(there, middle, many), np.where(there, seen, enough)
        if (many - few <= 0.01 * (many - 1.0)).all():
            break
    found[live] = np.where(never, math.inf, np.ceil((many - 1.0) * arms.pulls[live]))
    return found


def _least(arms: Moments, control: Moments, difference: Floats, level: Floats) -> Floats:
    """The lower end of the interval: the largest difference found that the evidence refutes, or -1.

    The root of the evidence is nearly linear in the difference, and is interpolated. An end between two evaluated
    differences is rounded outwards, so that the interval is never too short.
    """
    spread = sum(
        (each.squares / each.pulls - np.square(each.total / each.pulls)) / each.pulls for each in (arms, control)
    )
    inner, short = difference.copy(), np.full(difference.size, -CHOICE)
    outer = np.full(difference.size, -1.0 + 1e-12)
    beyond = better_by_squares(arms, control, outer)
    closed = beyond >= level  # otherwise nothing is refuted
    step = np.sqrt(2.0 * (level + CHOICE) * (spread + 1e-12))
    for look in range(LOOKS):
        root = [np.sqrt(np.maximum(each + CHOICE, 0.0)) for each in (beyond, short, level)]
        share = np.clip((root[2] - root[1]) / np.maximum(root[0] - root[1], 1e-12), 0.02, 0.98)
        middle = inner - step * 1.2 if look == 0 else inner + (outer - inner) * share
        middle = np.clip(middle, np.minimum(outer, inner), np.maximum(outer, inner))
        seen = better_by_squares(arms, control, middle)
        enough = seen >= level
        outer, beyond = np.where(enough, middle, outer), np.where(enough, seen, beyond)
        inner, short = np.where(enough, inner, middle), np.where(enough, short, seen)
    return np.where(closed, outer, -1.0)


def _more(n: Floats, s: Floats, n0: float, s0: float, margin: float, level: Floats) -> Floats:
    """Further pulls of each arm until a verdict, if arm and control grow in their present proportion."""
    found = np.empty(n.size)
    loop = DIFFERENCES.form(_more_loop, n.size)

    def work(part: slice) -> None:
        loop(n[part], s[part], n0, s0, margin, level[part], found[part])

    in_chunks(work, n.size)
    return found


def _evidence_at(times: float, n: float, s: float, n0: float, s0: float, margin: float) -> float:
    """Evidence on the side of the mean if arm and control were this many times as large."""
    if s / n >= s0 / n0 + margin:
        return better_by(times * n, times * s, times * n0, times * s0, margin)
    return better_by(times * n, times * (n - s), times * n0, times * (n0 - s0), -margin)


def _more_loop(n: Floats, s: Floats, n0: float, s0: float, margin: float, level: Floats, found: Floats) -> None:
    """The evidence grows almost in proportion to the size of the log: double the size, then regula falsi."""
    for i in range(n.size):
        few, many = 1.0, 2.0
        short, beyond = level[i] - _evidence_at(few, n[i], s[i], n0, s0, margin), -1.0
        while many <= MOST:
            beyond = level[i] - _evidence_at(many, n[i], s[i], n0, s0, margin)
            if beyond <= 0.0:
                break
            few, short, many = many, beyond, 2.0 * many
        for step in range(12):
            if many > MOST or (many - few) * n[i] < 1.0 or many - few < 0.01 * (many - 1.0):
                break
            share = 0.5 if step % 3 == 2 else short / (short - beyond)
            middle = few + (many - few) * min(max(share, 0.02), 0.98)
            missing = level[i] - _evidence_at(middle, n[i], s[i], n0, s0, margin)
            if missing > 0.0:
                few, short = middle, missing
            else:
                many, beyond = middle, missing
        found[i] = math.ceil((many - 1.0) * n[i]) if many <= MOST else math.inf


def decide_segments(
    options: LogOptions, sums: Sums, judged: NDArray[np.bool_], shares: Shares
) -> tuple[Arms, tuple[str, ...]]:
    """Judge each segment's arms against its control. Means and intervals are of the difference."""
    totals = np.clip(sums.total, 0.0, sums.pulls)
    segment, arms = segment_numbers(sums), int(judged.sum())
    offset = np.zeros(sums.arm.size)
    offset[judged] = shares.offset
    parts: list[tuple[NDArray[Any], ...]] = []
    for control in np.flatnonzero(~judged):
        here = (segment == segment[control]) & judged
        # there is nothing to compare until both have a closed unit
        which = np.flatnonzero(here & (sums.pulls > 0.0) & (sums.pulls[control] > 0.0))
        waiting = np.setdiff1d(np.flatnonzero(here), which)
        unknown, none = np.full(waiting.size, math.nan), np.zeros(waiting.size)
        widest = np.full(waiting.size, options.scale.length)
        parts.append((waiting, unknown, -widest, widest, none.astype(np.int8), none, unknown))
        if which.size == 0:
            continue
        if options.by_squares:
            assert sums.squares is not None
            seen = Moments(
                sums.pulls, totals, np.clip(sums.squares, np.square(totals) / np.maximum(sums.pulls, 1.0), totals)
            )
            mine, other = (Moments(*(each[rows] for each in seen)) for rows in (which, [control]))
            found = decide_by_squares(options, mine, other, arms, offset[which])
        else:
            found = decide_versus(
                options, sums.pulls[which], totals[which], sums.pulls[control], totals[control], arms, offset[which]
            )
        own = [(2.0 * each - 1.0) * options.scale.length for each in (found.mean, found.low, found.high)]
        parts.append((which, *map(np.asarray, own), found.verdict, found.evidence, found.needs))
    which, mean, low, high, verdict, evidence, needs = (np.concatenate(each) for each in zip(*parts, strict=True))
    note = (
        f"mean and interval are those of the difference from {_name(options)}; rows needed are rows of the arm, "
        "assuming that the control grows in proportion"
    )
    keys = tuple(key[which] for key in sums.segment)
    found_arms = Arms(keys, sums.arm[which], sums.pulls[which], mean, low, high, verdict, evidence, needs)
    return found_arms, (note, *_power(options, sums, judged, found_arms))


def _power(options: LogOptions, sums: Sums, judged: NDArray[np.bool_], found: Arms) -> tuple[str, ...]:
    """A note on the rewards that lifts of the control's mean need, if arms are undecided and there is one control."""
    controls = np.flatnonzero(~judged)
    if controls.size != 1 or not options.by_squares or options.question.bar or not (found.verdict == 0).any():
        return ()
    assert sums.squares is not None
    control = Moments(*(np.atleast_1d(each[controls[0]]) for each in (sums.pulls, sums.total, sums.squares)))
    if control.pulls[0] < FEWEST or control.total[0] <= 0.0 or options.scale.low != 0.0:
        return ()
    problem = options.problem(int(judged.sum()))
    needed = [f"{_rounded(n):,.0f}" for n in rewards_for_lifts(control, problem.bar.budget, LIFTS)]
    lifts, name, counted = [f"{lift:.0%}" for lift in LIFTS], _name(options), visible(options.counted)
    return (
        f"by the spread of the rewards of {name}, an arm whose mean is {_either(lifts)} higher is called better after "
        f"about {_either(needed)} {counted}, and as many of {name}",
    )


def _name(options: LogOptions) -> str:
    return visible(options.question.references[0])


def _either(texts: list[str]) -> str:
    """
    >>> _either(["5%", "10%", "20%"])
    '5%, 10% or 20%'
    """
    return f"{', '.join(texts[:-1])} or {texts[-1]}"


def _rounded(number: float) -> float:
    return float(f"{number:.2g}")


def rewards_for_lifts(control: Moments, level: float, lifts: Sequence[float]) -> Floats:
    """Number of rewards of an arm (and as many of the control) until a lift of the control's mean is called better.

    The arm is assumed to have the control's rewards, with those above 0 more frequent by the lift. Half of such arms
    need more rewards, and half need fewer. The evidence of expected sums is computed for several numbers of rewards.

    >>> clicks = Moments(*(np.array([each]) for each in (10_000.0, 200.0, 200.0)))
    >>> [float(f"{n:.2g}") for n in rewards_for_lifts(clicks, math.log(20.0), (0.1, 0.2, 0.5))]
    [130000.0, 35000.0, 6500.0]
    """
    mean, square = control.total[0] / control.pulls[0], control.squares[0] / control.pulls[0]
    more = 1.0 + np.asarray(lifts, dtype=np.float64)
    few, many = np.full(more.size, math.log(FEWEST)), np.full(more.size, math.log(LONGEST))
    for _ in range(HALVINGS):
        middle = 0.5 * (few + many)
        n = np.exp(middle)
        arms = Moments(n, n * np.minimum(mean * more, 1.0), n * np.minimum(square * more, 1.0))
        enough = better_by_squares(arms, Moments(n, n * mean, n * square), 0.0) >= level
        few, many = np.where(enough, few, middle), np.where(enough, middle, many)
    return np.asarray(np.exp(many))
