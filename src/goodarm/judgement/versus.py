"""Every arm of a log against a control: better by the margin, worse, or open."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from goodarm.engine.compile import compiled
from goodarm.engine.from_totals import Floats, evidence_from_totals, interval_from_totals
from goodarm.errors import UnknownName, UnreadableTable
from goodarm.judgement.decide import Decided, needed
from goodarm.judgement.question import Question
from goodarm.judgement.sources._base import Sums
from goodarm.problem import Problem
from goodarm.rules.identification.versus import against_control, as_if_paired, versus

FEW = 10
"""Each look at an arm costs 48 bets at several means of the control: from so many arms on, compile."""
MOST = 1e6
"""Needing more than so many times the log is never."""


def control_of(question: Question, sums: Sums, title: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows of the sums are the control; with segments, each must have one."""
    is_control = np.asarray(sums.arm == question.versus)
    if not is_control.any():
        raise UnknownName("control", str(question.versus), sorted(set(sums.arm.tolist())))
    segments = set(zip(*sums.segment, strict=True))
    held = set(zip(*(key[is_control] for key in sums.segment), strict=True))
    if segments - held:
        raise UnreadableTable(
            f"{title}: the control {question.versus!r} has no row in the segment {min(segments - held)}."
        )
    return is_control


def decide_versus(
    question: Question, pulls: Floats, totals: Floats, control_pulls: float, control_total: float, arms: int
) -> Decided:  # fmt: skip
    """Judge arms against one control by their totals; mean and interval are of the difference, mapped to [0, 1]."""
    margin = question.margin / question.scale.length
    problem = Problem(threshold=0.5 * (1.0 + margin), arms=arms, delta=question.delta)
    mean = control_total / control_pulls
    paired = as_if_paired(pulls, totals, mean)
    values = (control_pulls, mean)
    for_good, for_bad = evidence_from_totals(versus, pulls, paired, problem.bar, values, few=FEW)
    levels = needed(question.criterion, (for_good, for_bad), problem)
    low, high = (
        interval_from_totals(versus, pulls, paired, problem.bar, level, values, few=FEW)[j]
        for j, level in enumerate(levels.now)
    )
    verdict = np.where(for_good >= levels.now[0], 1, np.where(for_bad >= levels.now[1], -1, 0)).astype(np.int8)
    evidence = np.where(verdict == 1, for_good, np.where(verdict == -1, for_bad, np.maximum(for_good, for_bad)))
    difference = paired / pulls
    needs = np.zeros(pulls.size)
    for j, level in enumerate(levels.next):
        waiting = (verdict == 0) & ((difference >= problem.threshold) == (j == 0))
        needs[waiting] = _more(pulls[waiting], totals[waiting], control_pulls, control_total, margin, level)
    return Decided(difference, low, high, verdict, evidence, needs)


def _more(n: Floats, s: Floats, n0: float, s0: float, margin: float, level: float) -> Floats:
    """More pulls of each arm until a verdict, if arm and control go on together, in the proportion that they have."""
    if n.size == 0:
        return np.zeros(0)

    def missing(times: Floats) -> Floats:
        return level - np.maximum(*_evidence(times * n, times * s, times * n0, times * s0, margin))

    few, many = np.ones(n.size), np.full(n.size, 2.0)
    while True:
        short = (missing(many) > 0.0) & (many < MOST)
        if not short.any():
            break
        few[short], many[short] = many[short], 2.0 * many[short]
    for _ in range(7):
        middle = 0.5 * (few + many)
        short = missing(middle) > 0.0
        few, many = np.where(short, middle, few), np.where(short, many, middle)
    return np.where(many < MOST / 2, np.ceil((many - 1.0) * n), math.inf)


def _evidence(n: Floats, s: Floats, n0: Floats, s0: Floats, margin: float) -> tuple[Floats, Floats]:
    for_good, for_bad = np.empty(n.size), np.empty(n.size)
    _loop(n.size > FEW)(n, s, n0, s0, margin, for_good, for_bad)
    return for_good, for_bad


@cache
def _loop(fast: bool) -> Callable[..., None]:
    def loop(
        n: Floats, s: Floats, n0: Floats, s0: Floats, margin: float, for_good: Floats, for_bad: Floats
    ) -> None:  # fmt: skip
        for i in range(n.size):
            for_good[i], for_bad[i] = against_control(n[i], s[i], n0[i], s0[i], margin)

    built: Callable[..., None] = compiled(loop) if fast else loop
    return built
