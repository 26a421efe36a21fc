"""Several bars on a log. Every metric is a column, and an arm is good if each column's mean clears its bar.

Each metric is summed by a separate scan, like a log with one reward. With E+_j and E-_j the evidence of metric j,
E_good = min_j E+_j and E_bad = mean_j E-_j (`goodarm.rules.identification.several_bars` has the proof). A row may lack
a metric that was dropped as NULL, so each E_j counts its own rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from goodarm.engine.evidence import BarsEvidence, Seen
from goodarm.engine.totals import evidence_from_totals, interval_from_totals
from goodarm.errors import UnreadableTable
from goodarm.judgement.decide import Levels, open_units
from goodarm.judgement.judgement import Arms, MetricColumn
from goodarm.judgement.kinds import ReadLog
from goodarm.judgement.log_columns import LogColumns, check_filter, choose_columns
from goodarm.judgement.options import LogOptions
from goodarm.judgement.sources._base import Floats, LogSource, Progress, Sums
from goodarm.judgement.totals import checked
from goodarm.policies import policy
from goodarm.problem import bar_at
from goodarm.question import Bars, Metric, Threshold


def for_metric(options: LogOptions, metric: Metric) -> LogOptions:
    """The question about a single metric."""
    return replace(options, question=Threshold(metric.bar), reward=metric.name)


def sums_of_all(source: LogSource, options: LogOptions, bars: Bars, progress: Progress) -> ReadLog:
    """The columns of the first metric, the sums of every metric, and notes for readers."""
    found: list[Sums] = []
    chosen: list[LogColumns] = []
    notes: dict[str, None] = {}
    for metric in bars.metrics:
        one = for_metric(options, metric)
        columns = choose_columns(one, source.names(), source.title, source.times())
        sums, said = checked(source, columns, one, source.sums(columns, one, progress))
        notes.update(dict.fromkeys((*columns.notes, *check_filter(one, columns), *said)))
        found.append(sums)
        chosen.append(columns)
        if _with_values(sums) != _with_values(found[0]):
            raise UnreadableTable(
                f"{source.title}: not every arm has values of {metric.name}. An arm is judged by all of its metrics. "
                "Use `where` to leave out arms without values of a metric."
            )
    return ReadLog(chosen[0], tuple(found), tuple(notes), np.ones(found[0].arm.size, dtype=bool))


def _with_values(sums: Sums) -> list[tuple[object, ...]]:
    """The segments and arms with rewards, or with units whose window is open."""
    waiting = np.zeros(sums.arm.size) if sums.pending is None else np.nan_to_num(sums.pending)
    names = zip(*sums.segment, sums.arm, strict=True)
    return [name for name, some in zip(names, (sums.pulls > 0) | (waiting > 0), strict=True) if some]


def decide_bars(options: LogOptions, bars: Bars, sums: Sequence[Sums], offset: Floats) -> Arms:
    """The arms with their verdicts; mean and interval are those of the smallest distance from a bar."""
    metrics, first, rule = bars.metrics, sums[0], options.identification
    problem = options.problem(first.arm.size)
    levels = problem.bar.budget - offset
    good, bad, columns, distances = [], [], [], []
    for metric, each in zip(metrics, sums, strict=True):
        pending = open_units(options, each)
        pulls, total = each.pulls + pending, metric.turned(np.clip(each.total, 0.0, each.pulls), each.pulls)
        bar = bar_at(problem.bar, metric.threshold)
        good.append(evidence_from_totals(rule, pulls, total, bar)[0])
        bad.append(evidence_from_totals(rule, pulls, total + pending, bar)[1])
        low = interval_from_totals(rule, pulls, total, bar, levels)[0]
        high = interval_from_totals(rule, pulls, total + pending, bar, levels)[1]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean, own = total / each.pulls, each.total / each.pulls
        ends = (low, high) if metric.at_least else (1.0 - high, 1.0 - low)
        columns.append(MetricColumn(metric.name, own, *ends))
        distances.append(mean - metric.threshold)
    for_good, for_bad = np.min(good, axis=0), np.logaddexp.reduce(bad, axis=0) - np.log(len(metrics))
    verdict, evidence = Levels((levels, levels), (levels, levels)).decided(for_good, for_bad)
    seen = [
        Seen(
            float(first.pulls[i]),
            tuple(float(each.total[i]) for each in sums),
            float(open_units(options, first)[i]),
        )
        for i in range(first.arm.size)
    ]
    made = policy("uniform", rule, rewards=options.scale.family)
    low, high = BarsEvidence(bars).intervals(made, problem, seen, {}, levels)
    named = np.array([metric.name for metric in metrics], dtype=object)[np.argmax(bad, axis=0)]
    return Arms(
        first.segment,
        first.arm,
        first.pulls,
        np.min(distances, axis=0),
        low,
        high,
        verdict,
        evidence,
        np.where(verdict == 0, np.nan, 0.0),
        metrics=tuple(columns),
        failed=np.where(verdict == -1, named, ""),
    )
