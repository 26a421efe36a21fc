"""Verdicts of `bet-mixture` from sums of log(1 + l_j (x - xi)) over an arm's rewards.

The log's engine computes the sums in the same scan as count and total. They do not depend on the order of the rows, so
the evidence is the same on every engine, up to rounding.

**Intervals.** The bar xi is known before the scan, and the sums hold for this bar alone. They bound the evidence at any
other threshold t from below, for the same bets. For l > 0 and rewards in [0, C],

    t <= xi:  log(1 + l (x - t)) >= log(1 + l (x - xi)) + log(1 + l (xi - t)/(1 + l (C - xi))),
    t >= xi:  log(1 + l (x - t)) >= log(1 + l (x - xi)) + log(1 - l (t - xi)/(1 - l xi)),

since 1 + l (x - t) = (1 + l (x - xi)) (1 + l (xi - t)/(1 + l (x - xi))), and the last factor is smallest at x = C, or
at x = 0. The second line needs l t < 1; other bets are left out. A mixture of these lower bounds is at most the
evidence of these bets at t, a supermartingale that starts at most at 1 if the mean is at most t. So the evidence at t
refutes every t that this bound refutes, and the interval of all others is certified like the verdict. At t = xi the
bound is
the evidence itself: the interval never contradicts the verdict. For l < 0 the lines are mirrored (x -> C - x). The
bound is looser the farther t is from xi: the interval is valid but wide.

For rewards in [0, 1], `gap-mixture` at t narrows the interval beyond the bar. If an arm is good, thresholds t > xi need
not agree with any verdict: *good* is right if the mean is t. There the average of both evidences at t is used, which is
    also a supermartingale that starts at most at 1. Each of the two therefore refutes t at log 2 above the level. If an
    arm is bad,
the same holds for thresholds below xi.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from goodarm.engine.compile import TOTALS
from goodarm.engine.totals import in_chunks, interval_from_totals
from goodarm.judgement.decide import Decided, Look, needed, rows_until
from goodarm.judgement.options import LogOptions
from goodarm.problem import Bar, NonNegative
from goodarm.rules.identification.bet_mixture import STEPS as STEPS_OF_BETS
from goodarm.rules.identification.bet_mixture import bets, from_sums, log_shares
from goodarm.rules.identification.bet_mixture import sums as one_reward
from goodarm.rules.identification.gap_mixture import gap_mixture

Floats = NDArray[np.float64]
HALVINGS = 30
"""Number of bisection steps for an end of an interval."""


def decide_by_sums(look: Look, pulls: Floats, totals: Floats, logs: Floats) -> Decided:
    """Judge all arms together by their sums of logarithms.

    logs : shape (K, J), a sum per arm and bet, in the order of `bet_mixture.bets`
    """
    bar = look.problem.bar
    waiting = np.broadcast_to(look.pending, pulls.shape)[:, None]
    for_good = evidence(logs + waiting * one_reward(0.0, bar), bar)[0] if waiting.any() else evidence(logs, bar)[0]
    for_bad = evidence(logs + waiting * one_reward(1.0, bar), bar)[1] if waiting.any() else evidence(logs, bar)[1]
    levels = needed(look.options.criterion, (for_good, for_bad), look.problem, look.offset)
    verdict, strength = levels.decided(for_good, for_bad)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = totals / pulls
    level = np.where(mean >= bar.threshold, levels.next[0], levels.next[1])
    needs = np.where(verdict == 0, _more(logs, pulls, mean >= bar.threshold, level, bar), 0.0)
    n = pulls + waiting[:, 0]
    ends = lower_end, upper_end
    worst = [logs + waiting * one_reward(reward, bar) for reward in (0.0, 1.0)]
    low, high = (end(worst[j], n, levels.now[j], bar) for j, end in enumerate(ends))
    if bar.bounded > 0.0:
        more = [level + math.log(2.0) for level in levels.now]
        sides = [(n, totals), (n, totals + waiting[:, 0])]
        far = [interval_from_totals(gap_mixture, *sides[j], bar, more[j])[j] for j in (0, 1)]
        near = [end(worst[j], n, more[j], bar) for j, end in enumerate(ends)]
        low = np.where(verdict == 1, np.maximum(np.maximum(far[0], near[0]), bar.threshold), low)
        high = np.where(verdict == -1, np.minimum(np.minimum(far[1], near[1]), bar.threshold), high)
    return Decided(mean, low, high, verdict, strength, np.where(np.isnan(mean), math.nan, needs))


def lower_end(logs: Floats, pulls: Floats, level: Floats, bar: Bar) -> Floats:
    """The smallest threshold that is not refuted from above; 0 if none is."""
    shares = log_shares(bar)
    return _end(logs[:, :STEPS_OF_BETS], bets(bar)[:STEPS_OF_BETS], shares, pulls, level, bar.threshold, bar.ceiling)


def upper_end(logs: Floats, pulls: Floats, level: Floats, bar: Bar) -> Floats:
    """The largest threshold that is not refuted from below: C minus the lower end for C - x; inf without a ceiling."""
    if math.isinf(bar.ceiling):
        return np.full(pulls.size, math.inf)
    down = -bets(bar)[STEPS_OF_BETS:]
    beyond = bar.ceiling - bar.threshold
    return np.asarray(
        bar.ceiling - _end(logs[:, STEPS_OF_BETS:], down, log_shares(bar), pulls, level, beyond, bar.ceiling)
    )


def _end(logs: Floats, bet: Floats, shares: Floats, pulls: Floats, level: Floats, xi: float, ceiling: float) -> Floats:
    """The largest t with log sum_j w_j e^(bound_j(t)) >= level, by bisection on the side of xi where it lies."""
    found = np.empty(pulls.size)
    needed = np.broadcast_to(level, pulls.shape)

    def work(part: slice) -> None:
        n, sums, least = pulls[part, None], logs[part], needed[part]

        def refuted(t: Floats) -> NDArray[np.bool_]:
            gap = t[:, None] - xi
            with np.errstate(divide="ignore", invalid="ignore"):
                below = np.log1p(bet * -gap / (1.0 + bet * (ceiling - xi)))  # 0 without a ceiling
                above = np.where(bet * t[:, None] < 1.0, np.log1p(-bet * gap / (1.0 - bet * xi)), -math.inf)
                terms = shares + sums + n * np.where(gap <= 0.0, below, above)
            top = np.maximum(terms.max(axis=1), -1e300)
            return np.asarray(top + np.log(np.exp(terms - top[:, None]).sum(axis=1)) >= least)

        at_bar = refuted(np.full(n.size, xi))
        low = np.where(at_bar, xi, 0.0)
        high = np.where(at_bar, min(ceiling, 1.0 / bet.min()), xi)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            there = refuted(middle)
            low, high = np.where(there, middle, low), np.where(there, high, middle)
        found[part] = np.where(pulls[part] > 0.0, low, 0.0)

    in_chunks(work, pulls.size)
    return found


def notes_on_sums(options: LogOptions) -> tuple[str, ...]:
    """Notes for readers on verdicts from sums."""
    said = [
        "intervals of bet-mixture are certified. They are wide for arms far from the bar, because its sums are "
        "computed at the bar"
    ]
    if isinstance(options.scale.family, NonNegative) and options.scale.family.cap is None:
        said.append(
            "rewards have no ceiling, so no arm can be called bad: a single large reward could lift any mean. To "
            "judge rewards cut at a cap as well, give `rewards='nonnegative:CAP'`"
        )
    return tuple(said)


def evidence(logs: Floats, bar: Bar) -> tuple[Floats, Floats]:
    """log E+ and log E- of every arm, shapes (K,)."""
    for_good, for_bad = np.empty(len(logs)), np.empty(len(logs))
    loop, rows = TOTALS.form(_evidence_loop, len(logs)), np.ascontiguousarray(logs)

    def work(part: slice) -> None:
        loop(rows[part], bar, for_good[part], for_bad[part])

    in_chunks(work, len(rows))
    return for_good, for_bad


def _evidence_loop(logs: Floats, bar: Bar, for_good: Floats, for_bad: Floats) -> None:
    for i in range(for_good.size):
        for_good[i], for_bad[i] = from_sums(logs[i], bar)


def _more(logs: Floats, pulls: Floats, above: NDArray[np.bool_], level: Floats, bar: Bar) -> Floats:
    """Approximate number of further rows until a verdict if the arm's rewards continue as before."""

    def enough(times: Floats) -> NDArray[np.bool_]:
        both = evidence(logs * times[:, None], bar)
        return np.asarray(np.where(above, both[0], both[1]) >= level)

    return rows_until(enough, pulls)
