"""Three bars, one of which an option fails by 2 points: how often is it shipped?

Samples of one option are looked at after every 50, up to 10,000: correct at least 90%, slow at most 5%, unsafe at most
1%. The three metrics of a sample depend on each other. Each method ships the option at the first look that it allows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from benchmarks.section import Row, Section
from goodarm.engine.totals import evidence_from_totals
from goodarm.problem import Problem
from goodarm.question import Bars
from goodarm.rules.identification.gap_mixture import gap_mixture

RUNS, SAMPLES, EVERY, DELTA, SEED = 1000, 10_000, 50, 0.05, 41
QUESTION = Bars("correct >= 0.9, slow <= 0.05, unsafe <= 0.01")
CLEARS = (0.96, 0.02, 0.002)
OPTIONS = {
    "fails correct by 2 points": (0.88, 0.02, 0.002),
    "fails slow by 2 points": (0.96, 0.07, 0.002),
    "fails unsafe by 2 points": (0.96, 0.02, 0.03),
    "fails slow by 0.1 points": (0.96, 0.051, 0.002),
    "clears every bar": CLEARS,
}
TOGETHER = 0.5
"""Probability that a metric of a sample is drawn from the number that the three metrics share."""
ONE_SIDED = 1.645
"""Quantile of the usual test at level 5%."""
Floats = NDArray[np.float64]


def run() -> Section:
    rows = []
    for option, means in OPTIONS.items():
        rows += _methods(option, np.array(means))
    notes = [
        f"{RUNS} runs, delta {DELTA:g}, a look after every {EVERY} of at most {SAMPLES:,} samples; metrics that "
        f"clear their bar are at {', '.join(f'{mean:g}' for mean in CLEARS)}.",
        "Three tests: the usual one-sided test of each metric at level 5%, all significant at one look. Guardrails: "
        "correct is significant, and neither slow nor unsafe is significantly worse. Mean of metrics: the mean of "
        "correct, 1 - slow and 1 - unsafe against that of the bars, by a certified rule.",
        "samples: the median until the option is shipped, of the runs in which it is.",
    ]
    title = "three bars: wrongly shipped options of 1,000, and what a good one costs"
    return Section("bars", title, "shipped", rows, notes)


def _methods(option: str, means: Floats) -> list[Row]:
    totals, pulls = _totals(means)
    rows = []
    for method, shipped in (
        ("goodarm, Bars", _certified(totals, pulls)),
        ("three tests, each look", _tests(totals, pulls)),
        ("one test and guardrails, each look", _guardrails(totals, pulls)),
        ("mean of metrics, certified", _composite(totals, pulls)),
    ):
        ever = shipped.any(axis=1)
        first = (shipped.argmax(axis=1)[ever] + 1) * EVERY
        cells = {
            "option": option,
            "method": method,
            "samples": f"{np.median(first):,.0f}" if ever.any() else "-",
        }
        rows.append(Row(cells, float(ever.sum())))
    return rows


def _totals(means: Floats) -> tuple[Floats, Floats]:
    """Sums of the turned metrics at each look, (runs, looks, metrics), and the samples by then."""
    rng, looks = np.random.default_rng(SEED), SAMPLES // EVERY
    totals = np.empty((RUNS, looks, len(means)))
    for i in range(RUNS):
        own, shared = rng.random((SAMPLES, len(means))), rng.random((SAMPLES, 1))
        drawn = np.where(rng.random((SAMPLES, len(means))) < TOGETHER, shared, own) < means
        turned = np.stack(
            [metric.turned(drawn[:, j].astype(float)) for j, metric in enumerate(QUESTION.metrics)], axis=1
        )
        totals[i] = turned.cumsum(axis=0)[EVERY - 1 :: EVERY]
    return totals, np.broadcast_to(np.arange(EVERY, SAMPLES + 1, EVERY, dtype=float), (RUNS, looks))


def _certified(totals: Floats, pulls: Floats) -> NDArray[np.bool_]:
    good = [
        evidence_from_totals(gap_mixture, pulls, totals[:, :, j], Problem(metric.threshold, 1, DELTA).bar)[0]
        for j, metric in enumerate(QUESTION.metrics)
    ]
    return np.min(good, axis=0) >= math.log(1.0 / DELTA)


def _scores(totals: Floats, pulls: Floats) -> Floats:
    """(mean - bar)/standard error at the bar, of each metric."""
    thresholds = np.array([metric.threshold for metric in QUESTION.metrics])
    means = totals / pulls[:, :, None]
    found: Floats = (means - thresholds) / np.sqrt(thresholds * (1.0 - thresholds) / pulls[:, :, None])
    return found


def _tests(totals: Floats, pulls: Floats) -> NDArray[np.bool_]:
    return (_scores(totals, pulls) > ONE_SIDED).all(axis=2)


def _guardrails(totals: Floats, pulls: Floats) -> NDArray[np.bool_]:
    scores = _scores(totals, pulls)
    return (scores[:, :, 0] > ONE_SIDED) & (scores[:, :, 1:] > -ONE_SIDED).all(axis=2)


def _composite(totals: Floats, pulls: Floats) -> NDArray[np.bool_]:
    bar = float(np.mean([metric.threshold for metric in QUESTION.metrics]))
    good = evidence_from_totals(gap_mixture, pulls, totals.mean(axis=2), Problem(bar, 1, DELTA).bar)[0]
    return good >= math.log(1.0 / DELTA)
