"""The table of a comparison, for a terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.containers import Lines
from rich.table import Table
from rich.text import Text

from goodarm.report.numbers import NOTHING, count, counted, percent, plain, short
from goodarm.simulation.runs import Estimate
from goodarm.simulation.summary import PolicySummary, Summary

WIDE = 104
"""Minimum terminal width for a separate column per number."""

_LAST = ("found", "wrong", "rounds/s")

_PIECE = re.compile(r"[+(]?[^\s+(-]*-?")
"""A part of a policy's name that is kept on one line."""

_COLOURS = {"certified": "green", "calibrated": "yellow", "heuristic": "red"}


class PolicyText(Text):
    """A policy's name, which is broken before `+` and `(` or after `-` where it is wider than its column."""

    def wrap(self, console: Console, width: int, **how: Any) -> Lines:
        lines = self.divide(name_breaks(self.plain, width))
        return Text("\n").join(lines).wrap(console, width, **how)


def name_breaks(text: str, width: int) -> list[int]:
    """Where to break words wider than `width`. Pieces without `+`, `(` or `-` may still be wider.

    >>> name_breaks("apt-g-printed certified", 10), name_breaks("dgai-offline(beta=0.01)+learned-bets", 15)
    ([6], [12, 23])
    """
    found = []
    for word in re.finditer(r"\S+", text):
        start = word.start()
        if len(word[0]) <= width:
            continue
        for piece in _PIECE.finditer(text, word.start(), word.end()):
            if piece.start() > start and piece.end() - start > width:
                start = piece.start()
                found.append(start)
    return found


def headline(summary: Summary) -> Iterator[str]:
    """The heading above the table."""
    good = f", {plain(summary.good_arms)} good" if summary.policies else ""
    arms = f"{counted(summary.arms, 'arm')}{good}"
    yield f"{summary.environment}: {arms}; {summary.setting}; {summary.reading}"
    goal = f" or {counted(summary.stop_after, 'good arm')}" if summary.stop_after is not None else ""
    yield (
        f"{counted(summary.runs, 'run')} of at most {counted(summary.horizon, 'round')}{goal}; seed {summary.seed}; "
        f"{summary.criterion} at delta {summary.delta:g}{_money(summary)}"
    )


def _money(summary: Summary) -> str:
    """Costs and budget, in the heading."""
    if summary.money is None:
        return ""
    least, largest, budget = summary.money.values()
    costs = f"each sample costs {least:g}" if least == largest else f"samples cost {least:g} to {largest:g}"
    return f"; {costs}" + ("" if budget is None else f"; budget {budget:,g}")


def footnotes(summary: Summary) -> Iterator[str]:
    """Explanations of the columns, below the table."""
    if summary.money is not None:
        yield f"mean spent per run, and median until half of the good arms are found: {_spendings(summary)}"
    if summary.stop_after is not None:
        yield (
            "rounds: mean round at which a run ended with an answer; found: runs that called that many arms good; "
            "fewer: runs that gave every arm its verdict and called fewer good; open: runs without an answer; "
            "wrong: runs with a wrong answer"
        )
        return
    limit = "" if math.isnan(summary.limit) else f", the limit of an oracle {short(summary.limit)}"
    gain = "(mean - threshold)" if "threshold" in summary.question else "(smallest distance from a bar)"
    yield (
        f"exploit score: sum over the arms called good of (rounds left) x {gain}, a mean over runs with its "
        f"95% interval; its ceiling is {short(summary.ceiling)}{limit}"
    )
    if not math.isnan(summary.informed_limit):
        shares = ", ".join(f"{each.policy} {percent(each.share_of_informed_limit)}" for each in summary.policies)
        yield (
            f"the informed limit, of someone who knows how the means are distributed but not which arm has which, is "
            f"{short(summary.informed_limit)}: {shares}"
        )
    yield (
        "τ1, τstop: mean round of the first good verdict and of the last verdict ('in n': only n runs got there); "
        "found: good arms called good; wrong: runs with any wrong verdict"
    )


def _spendings(summary: Summary) -> str:
    found = []
    for each in summary.policies:
        half = f"{each.half_found:,.6g}" if math.isfinite(each.half_found) else NOTHING
        found.append(f"{each.policy} {each.spent.mean if each.spent else math.nan:,.6g}, {half}")
    return "; ".join(found)


def table(summary: Summary, width: int) -> Table:
    """One row per policy; in a narrow terminal, cells that belong together are stacked."""
    if summary.stop_after is not None:
        return _answers_table(summary)
    return _wide_table(summary) if width >= WIDE else _narrow_table(summary)


def _wide_table(summary: Summary) -> Table:
    drawn = _empty_table("policy", "guarantee", "exploit score", "of ceiling", "of limit", "τ1", "τstop", *_LAST)
    for policy in summary.policies:
        cells = _cells(policy, summary.good_arms)
        score = _joined(cells.score, " ± ", cells.half) if cells.half else cells.score
        drawn.add_row(cells.name, cells.guarantee, score, *cells[4:])
    return drawn


def _answers_table(summary: Summary) -> Table:
    """The table for `stop_after`: the time and kind of each policy's answer."""
    drawn = _empty_table("policy", "guarantee", "rounds", "± 95%", "found", "fewer", "open", "wrong")
    for policy in summary.policies:
        cells, at, answers = _cells(policy, summary.good_arms), policy.stopped_at, policy.answers
        half = (at.high - at.low) / 2.0
        ends = (answers.found, answers.fewer, answers.open) if answers else ()
        wrong = answers.wrong if answers else 0
        drawn.add_row(
            cells.name,
            cells.guarantee,
            count(at.mean) if at.runs else NOTHING,
            count(half) if math.isfinite(half) else NOTHING,
            *(Text(str(each)) for each in ends),
            Text(f"{wrong}/{policy.runs}", style="bold red" if wrong else ""),
        )
    return drawn


def _narrow_table(summary: Summary) -> Table:
    drawn = _empty_table("policy\nguarantee", "exploit score\n± 95%", "of ceiling\nof limit", "τ1\nτstop", *_LAST)
    for policy in summary.policies:
        cells = _cells(policy, summary.good_arms)
        stacked = (
            PolicyText.assemble(cells.name, "\n", cells.guarantee),
            _joined(cells.score, "\n± ", cells.half) if cells.half else cells.score,
            _joined(cells.of_ceiling, "\n", cells.of_limit),
            _joined(cells.first, "\n", cells.stop),
        )
        drawn.add_row(*stacked, *cells[8:])
    return drawn


def _empty_table(first: str, *others: str) -> Table:
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    drawn.add_column(first, overflow="fold")
    for heading in others:
        drawn.add_column(heading, justify="left" if heading == "guarantee" else "right", no_wrap=True)
    return drawn


def _joined(*pieces: Text | str) -> Text:
    return Text.assemble(*pieces)


class _Cells(NamedTuple):
    """One policy's row, cell by cell, in the table's order."""

    name: Text
    guarantee: Text
    score: Text
    half: Text
    of_ceiling: Text
    of_limit: Text
    first: Text
    stop: Text
    found: Text
    wrong: Text
    speed: Text


def _cells(policy: PolicySummary, good_arms: float) -> _Cells:
    score = policy.exploit_score
    half = (score.high - score.low) / 2.0
    first = policy.output_at[0] if policy.output_at else None
    return _Cells(
        name=PolicyText(policy.policy, style="bold"),
        guarantee=Text(policy.promise, style=_COLOURS.get(policy.guarantee, "")),
        score=Text(short(score.mean)),
        half=Text(short(half, digits=2) if math.isfinite(half) else ""),
        of_ceiling=Text(percent(policy.share_of_ceiling)),
        of_limit=Text(percent(policy.share_of_limit)),
        first=Text(_time(first, policy.runs)),
        stop=Text(_time(policy.stopped_at, policy.runs)),
        found=Text(f"{plain(policy.found)}/{plain(good_arms)}"),
        wrong=Text(f"{policy.wrong_runs}/{policy.runs}", style="bold red" if policy.wrong_runs else ""),
        speed=Text(short(policy.rounds_per_second, digits=3)),
    )


def _time(at: Estimate | None, runs: int) -> str:
    """A mean round, with the number of runs that reached it unless all did."""
    if at is None or at.runs == 0:
        return NOTHING
    return count(at.mean) if at.runs == runs else f"{count(at.mean)} in {at.runs}"
