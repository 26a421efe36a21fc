"""How often the range of a forecast contains the truth: logs and campaigns, at the start, at a quarter and at half."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from benchmarks.section import Row, Section, Target
from goodarm import judge
from goodarm.engine.totals import evidence_from_totals
from goodarm.forecast import Forecast, in_range
from goodarm.planning.kinds import PlannedThreshold
from goodarm.planning.under_way import to_finish
from goodarm.problem import Problem
from goodarm.rules.identification.gap_mixture import gap_mixture

Floats = NDArray[np.float64]
Law = Callable[[Generator, int, float], Floats]
SEED, PROBLEMS, GROWTH, LONGEST = 2026, 200, 0.02, 3e7
ARMS, BARS = (8, 20, 50, 120), (0.02, 0.3, 0.7)
LAWS: dict[str, Law] = {
    "beta": lambda chance, arms, xi: chance.beta(20.0 * xi, 20.0 * (1.0 - xi), arms),
    "narrow": lambda chance, arms, xi: chance.beta(300.0 * xi, 300.0 * (1.0 - xi), arms),
    "two groups": lambda chance, arms, xi: np.where(chance.random(arms) < 0.5, _moved(xi, 0.3), _moved(xi, -0.3)),
    "uniform": lambda chance, arms, xi: chance.uniform(_moved(xi, -1.0), _moved(xi, 1.0), arms),
    "few good": lambda chance, arms, xi: np.where(
        chance.random(arms) < 0.1,
        _moved(xi, 0.4),
        chance.beta(100.0 * _moved(xi, -0.5), 100.0 * (1.0 - _moved(xi, -0.5)), arms),
    ),
}
"""How the means are drawn, given the bar."""


def _moved(xi: float, logits: float) -> float:
    return 1.0 / (1.0 + (1.0 - xi) / xi * math.exp(-logits))


class State(NamedTuple):
    """Samples and successes of each arm after some rows, and which arms had had a verdict."""

    rows: float
    pulls: Floats
    totals: Floats
    decided: NDArray[np.bool_]


class Case(NamedTuple):
    """A forecast and what came true."""

    problem: str
    at: str
    forecast: Forecast | None
    truth: float

    @property
    def told(self) -> bool:
        return self.forecast is not None and self.forecast.told

    @property
    def holds(self) -> bool:
        return self.forecast is not None and self.forecast.low <= self.truth <= self.forecast.high


def played(
    means: Floats, problem: Problem, next_rows: Callable[[State, float], Floats], chance: Generator
) -> list[State]:
    """A log or a campaign to its end, in batches of 2%; a verdict is final."""
    nothing = np.zeros(means.size)
    states = [State(0.0, nothing, nothing, np.zeros(means.size, dtype=bool))]
    while not states[-1].decided.all() and states[-1].rows < LONGEST:
        last = states[-1]
        more = next_rows(last, max(GROWTH * last.rows, 1.0))
        pulls = last.pulls + more
        totals = last.totals + chance.binomial(more.astype(np.int64), means)
        evidence = np.maximum(*evidence_from_totals(gap_mixture, pulls, totals, problem.bar))
        states.append(State(last.rows + more.sum(), pulls, totals, last.decided | (evidence >= problem.bar.budget)))
    return states


def log_rows(shares: Floats, chance: Generator) -> Callable[[State, float], Floats]:
    """Rows of a log: every arm keeps its share, decided or not."""
    return lambda state, many: chance.multinomial(int(many), shares).astype(np.float64)


def campaign_rows(chance: Generator) -> Callable[[State, float], Floats]:
    """Samples of a campaign that asks for each undecided arm once, then for the half with the highest upper bounds."""

    def following(state: State, many: float) -> Floats:
        left = np.flatnonzero(~state.decided)
        if (state.pulls[left] == 0.0).any():
            return np.where(state.pulls == 0.0, 1.0, 0.0)
        index = state.totals[left] / state.pulls[left] + np.sqrt(2.0 / state.pulls[left])
        best = left[np.argsort(-index)][: max(1, left.size // 2)]
        found = np.zeros(state.pulls.size)
        found[best] = math.ceil(many / best.size)
        return found

    return following


def of_logs(number: int, name: str, law: Law, arms: int, xi: float) -> Iterator[Case]:
    chance = default_rng((SEED, number, 0))
    means, problem = np.clip(law(chance, arms, xi), 1e-6, 1.0 - 1e-6), Problem(threshold=xi, arms=arms)
    shares = chance.dirichlet(np.full(arms, 5.0))
    states = played(means, problem, log_rows(shares, chance), chance)
    rows = np.array([state.rows for state in states])
    decided = np.stack([state.decided for state in states])
    end = rows[int(np.argmax(decided.mean(axis=1) >= 0.5))]
    for at, share in (("start", 0.05), ("quarter", 0.25), ("half", 0.5)):
        place = int(np.searchsorted(rows, share * end))
        state = states[place]
        found = judge({"arm": list(map(str, range(arms))), "pulls": state.pulls, "total": state.totals}, threshold=xi)
        open_arms = np.array([int(arm) for arm in found.open])
        if open_arms.size and end > 0.0:
            half = decided[place:, open_arms].sum(axis=1) >= math.ceil(open_arms.size / 2)
            truth = rows[place + int(np.argmax(half))] - rows[place] if half.any() else math.inf
            yield Case(name, at, found.forecast, truth)


def of_campaigns(number: int, name: str, law: Law, arms: int, xi: float) -> Iterator[Case]:
    chance = default_rng((SEED, number, 1))
    means, problem = np.clip(law(chance, arms, xi), 1e-6, 1.0 - 1e-6), Problem(threshold=xi, arms=arms)
    states = played(means, problem, campaign_rows(chance), chance)
    end = states[-1].rows if states[-1].decided.all() else math.inf
    draws = [np.clip(law(chance, arms, xi), 1e-6, 1.0 - 1e-6) for _ in range(99)]
    yield Case(name, "start", in_range(PlannedThreshold(xi).spent(draws, problem, chance)[:, -1]), end)
    rows = np.array([state.rows for state in states])
    for at, share in (("quarter", 0.25), ("half", 0.5)):
        state = states[int(np.searchsorted(rows, share * states[-1].rows))]
        open_arms = np.flatnonzero(~state.decided)
        if open_arms.size:
            levels = np.full(arms, problem.bar.budget)
            found = to_finish(state.pulls, state.totals, problem, gap_mixture, (), levels, open_arms)
            yield Case(name, at, found, end - state.rows)


def cases(problems: int = PROBLEMS) -> Iterator[tuple[str, Case]]:
    """Forecasts of this many problems, one kind after the other."""
    for number in range(problems):
        name = list(LAWS)[number % len(LAWS)]
        setting = (number, name, LAWS[name], ARMS[number // 5 % len(ARMS)], BARS[number // 20 % len(BARS)])
        yield from (("log", case) for case in of_logs(*setting))
        yield from (("campaign", case) for case in of_campaigns(*setting))


def run() -> Section:
    found = list(cases())
    rows: list[Row] = []
    for kind in ("log", "campaign"):
        for at in ("start", "quarter", "half"):
            of = [case for each, case in found if (each, case.at) == (kind, at)]
            told = [case for case in of if case.told]
            share = sum(case.holds for case in told) / max(len(told), 1)
            wide = float(
                np.median([case.forecast.high / max(case.forecast.low, 1.0) for case in told if case.forecast])
            )
            cells = {"forecast": kind, "at": at, "problems": len(of), "told": len(told), "high / low": f"{wide:.3g}"}
            rows.append(Row(cells, share, Target(at_least=0.72, at_most=0.88)))
    notes = [
        f"{PROBLEMS} problems from seed {SEED}: {', '.join(LAWS)}; {ARMS[0]} to {ARMS[-1]} arms; bars of "
        f"{', '.join(map(str, BARS))}; delta 0.05, `gap-mixture`. Log: rows until half of the undecided arms have "
        "had a verdict, from 5%, a quarter and half of the rows after which half of all arms had theirs. Campaign: "
        "samples until every arm is decided; at the start the plan under the law of the means. Told: the range was "
        "shown; it is not where high is more than 1,000 times low."
    ]
    return Section("forecasts", "how often the 80% range of a forecast contains the truth", "held", rows, notes)
