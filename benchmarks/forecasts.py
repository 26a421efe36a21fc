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
from goodarm.engine.evidence import Setup, evidence_for
from goodarm.engine.totals import evidence_from_totals
from goodarm.forecast import Forecast, in_range
from goodarm.planning.costs import Prices
from goodarm.planning.kinds import PlannedThreshold
from goodarm.planning.under_way import to_finish
from goodarm.policies import LIVE_POLICY, policy
from goodarm.problem import NonNegative, Problem
from goodarm.question import Threshold
from goodarm.rules.identification.bet_mixture import bets, from_sums
from goodarm.rules.identification.gap_mixture import gap_mixture

Floats = NDArray[np.float64]
Law = Callable[[Generator, int, float], Floats]
SEED, PROBLEMS, GROWTH, LONGEST = 2026, 200, 0.02, 1e10
LOG_SEEDS = (SEED, 7, 8, 9, 10)
"""Logs are cheap to simulate: `PROBLEMS` from each of these seeds."""
BY_POLICY = 300_000
"""Samples of a campaign that the policy chooses; the rest goes to the undecided arms in equal parts. What an arm takes
until its verdict does not depend on when it is sampled."""
OF_AN_ARM = 0.1
"""Maximum size of a block, as a share of the samples of an average arm: samples in a block that come after the verdict
are wasted."""
ARMS, BARS = (5, 10, 20, 40), (0.1, 0.3, 0.7)
MANY_ARMS, SMALL_BARS, LARGE = 200, (0.02, 0.1, 0.3), 60
"""Larger logs: their arms and bars, and the number of problems."""
LARGE_LOG = f"log, {MANY_ARMS} arms"
BUT_SOME = "campaign, all but some arms"
"""Ranges that leave out the arms that take longest (`Finish.near`): until no more than that many are undecided."""
QUICK_POLICY = "settle+gap-mixture"
"""Policy that decides the quickest arms first. Only such policies have these ranges."""
LAWS: dict[str, Law] = {
    "beta": lambda chance, arms, xi: chance.beta(20.0 * xi, 20.0 * (1.0 - xi), arms),
    "narrow": lambda chance, arms, xi: chance.beta(100.0 * xi, 100.0 * (1.0 - xi), arms),
    "two groups": lambda chance, arms, xi: np.where(chance.random(arms) < 0.5, _moved(xi, 0.3), _moved(xi, -0.3)),
    "uniform": lambda chance, arms, xi: chance.uniform(_moved(xi, -1.0), _moved(xi, 1.0), arms),
    "few good": lambda chance, arms, xi: np.where(
        chance.random(arms) < 0.1,
        _moved(xi, 0.4),
        chance.beta(100.0 * _moved(xi, -0.5), 100.0 * (1.0 - _moved(xi, -0.5)), arms),
    ),
}
"""How the means are drawn, given the bar."""
AMOUNTS: dict[str, Callable[[Generator, int], Floats]] = {
    "pareto": lambda chance, count: 10.0 * (1.0 + chance.pareto(1.7, count)),
    "lognormal": lambda chance, count: chance.lognormal(2.5, 1.2, count),
    "exponential": lambda chance, count: chance.exponential(20.0, count),
}
"""What a buyer pays; a tenth of the visitors buy."""
BUYERS, CAP, VISITORS, AMOUNT_LOGS, MOST_VISITORS = 0.1, 200.0, (1000, 3000, 9000), 240, 200_000
"""Logs of amounts: share of buyers, cap, visitors of each arm at the forecast, logs, and visitors at the end."""
OF_AMOUNTS = "log of amounts"


def _moved(xi: float, logits: float) -> float:
    return 1.0 / (1.0 + (1.0 - xi) / xi * math.exp(-logits))


class State(NamedTuple):
    """Samples and successes of each arm after some rows, and which arms have a verdict by these totals."""

    rows: float
    pulls: Floats
    totals: Floats
    decided: NDArray[np.bool_]


class Setting(NamedTuple):
    """One problem: its number, the law of its means by name, how many arms it has, and the bar."""

    number: int
    law: str
    arms: int
    xi: float

    def means(self, chance: Generator) -> Floats:
        return np.clip(LAWS[self.law](chance, self.arms, self.xi), 1e-6, 1.0 - 1e-6)

    @property
    def problem(self) -> Problem:
        return Problem(threshold=self.xi, arms=self.arms)


class Case(NamedTuple):
    """A forecast and what came true; `near` arms may still be undecided then."""

    setting: Setting
    at: str
    forecast: Forecast | None
    truth: float
    near: int = 0

    @property
    def told(self) -> bool:
        return self.forecast is not None and self.forecast.told

    @property
    def holds(self) -> bool:
        return self.forecast is not None and self.forecast.low <= self.truth <= self.forecast.high


def of_logs(setting: Setting, seed: int) -> Iterator[Case]:
    """Rows until half of the undecided arms have had a verdict, if every arm keeps its share of the rows."""
    chance, problem = default_rng((seed, setting.number, 0)), setting.problem
    means = setting.means(chance)
    states = log_states(means, problem, chance)
    rows, decided = np.array([state.rows for state in states]), np.stack([state.decided for state in states])
    end = rows[int(np.argmax(np.logical_or.accumulate(decided).mean(axis=1) >= 0.5))]
    for at, share in (("start", 0.05), ("quarter", 0.25), ("half", 0.5)):
        place = int(np.searchsorted(rows, share * end))
        ids = [f"{arm:03}" for arm in range(setting.arms)]
        table = {"arm": ids, "pulls": states[place].pulls, "total": states[place].totals}
        found = judge(table, threshold=setting.xi)
        open_arms = np.array([int(arm) for arm in found.open], dtype=np.intp)
        if open_arms.size:
            had = np.logical_or.accumulate(decided[place:, open_arms]).sum(axis=1) >= math.ceil(open_arms.size / 2)
            yield Case(setting, at, found.forecast, rows[place + int(np.argmax(had))] - rows[place])


def log_states(means: Floats, problem: Problem, chance: Generator) -> list[State]:
    """A log in batches of 2%, until every arm has had a verdict; decided arms go on."""
    shares = chance.dirichlet(np.full(means.size, 5.0))
    states, had = [_nothing(means.size)], np.zeros(means.size, dtype=bool)
    while not had.all() and states[-1].rows < LONGEST:
        more = chance.multinomial(math.ceil(GROWTH * states[-1].rows) or means.size, shares)
        states.append(_after(states[-1], more, means, problem, chance))
        had |= states[-1].decided
    return states


def of_campaigns(setting: Setting, seed: int) -> Iterator[Case]:
    """Samples until every arm has its verdict; at the start the plan, which is told the law of the means."""
    chance, problem = default_rng((seed, setting.number, 1)), setting.problem
    means = setting.means(chance)
    states = campaign_states(means, problem, chance)
    end = states[-1].rows
    draws = [setting.means(chance) for _ in range(99)]
    samples, _ = PlannedThreshold(Threshold(setting.xi)).spent(draws, problem, Prices(), chance)
    yield Case(setting, "start", in_range(samples[:, -1]), end)
    rows = np.array([state.rows for state in states])
    for at, share in (("quarter", 0.25), ("half", 0.5)):
        state = states[int(np.searchsorted(rows, share * end))]
        open_arms = np.flatnonzero(~state.decided)
        if open_arms.size:
            levels = np.full(setting.arms, problem.bar.budget)
            ahead = to_finish(state.pulls, state.totals, problem, gap_mixture, (), levels, open_arms, quick_first=False)
            yield Case(setting, at, ahead.samples, end - state.rows)


def of_quick_policies(setting: Setting, seed: int) -> Iterator[Case]:
    """Samples of `QUICK_POLICY` until all but the `near` arms are decided, where arms close to the bar are left out.

    The range counts the samples of the arms that are decided, and so does the truth: without those of the arms that are
    undecided at that time. The campaign ends after `BY_POLICY` samples, so only ranges that end before are counted.
    """
    chance, problem = default_rng((seed, setting.number, 2)), setting.problem
    states = campaign_states(setting.means(chance), problem, chance, QUICK_POLICY, BY_POLICY)
    rows = np.array([state.rows for state in states])
    for at, share in (("start", 0.05), ("quarter", 0.25), ("half", 0.5)):
        state = states[int(np.searchsorted(rows, share * rows[-1]))]
        open_arms = np.flatnonzero(~state.decided)
        if open_arms.size:
            levels = np.full(setting.arms, problem.bar.budget)
            samples, near, *_ = to_finish(
                state.pulls, state.totals, problem, gap_mixture, (), levels, open_arms, quick_first=True
            )
            if near and state.rows + samples.high <= BY_POLICY:
                decided = np.array([(~each.decided).sum() <= near for each in states])
                truth = math.inf
                if decided.any():
                    then = states[int(np.argmax(decided))]
                    truth = float((then.pulls - state.pulls)[then.decided].sum())
                yield Case(setting, at, samples, truth, near)


def of_amounts(number: int, seed: int = SEED) -> Iterator[Case]:
    """Rows until half of the undecided arms have had a verdict about amounts cut at `CAP`; 16 arms of equal traffic."""
    chance, law = default_rng((seed, number, 3)), list(AMOUNTS)[number % len(AMOUNTS)]
    arms, visitors = 16, VISITORS[number // len(AMOUNTS) % len(VISITORS)]
    sizes = np.exp(chance.normal(0.0, 0.25, arms))
    xi = BUYERS * float(np.minimum(AMOUNTS[law](chance, 1_000_000), CAP).mean())
    problem = Problem(threshold=xi, arms=arms, rewards=NonNegative(CAP))
    log = _paid(chance, law, sizes, visitors)
    ids = [f"{arm:02}" for arm in range(arms)]
    table = {"arm": np.repeat(ids, visitors), "reward": log.ravel()}
    found = judge(table, threshold=xi, rewards=f"nonnegative:{CAP:g}")
    waiting = np.isin(ids, found.open)
    had, rows, logs = ~waiting, visitors, _logs(log, problem)
    while (had & waiting).sum() < math.ceil(waiting.sum() / 2) and rows < MOST_VISITORS:
        more = math.ceil(0.05 * rows)
        logs, rows = logs + _logs(_paid(chance, law, sizes, more), problem), rows + more
        had = had | (np.array([max(from_sums(each, problem.bar)) for each in logs]) >= problem.bar.budget)
    truth = math.inf if rows >= MOST_VISITORS else float((rows - visitors) * arms)
    yield Case(Setting(number, law, arms, xi), f"{visitors:,} visitors", found.forecast, truth)


def _paid(chance: Generator, law: str, sizes: Floats, visitors: int) -> Floats:
    """What the visitors of each arm pay, shape (arms, visitors)."""
    bought = chance.random((sizes.size, visitors)) < BUYERS
    amounts = AMOUNTS[law](chance, bought.size).reshape(bought.shape)
    return np.where(bought, sizes[:, None] * amounts, 0.0)


def _logs(amounts: Floats, problem: Problem) -> Floats:
    """Sums of log(1 + l (x - xi)) for every bet, shape (arms, bets)."""
    beyond = np.minimum(amounts, problem.bar.ceiling) - problem.threshold
    return np.stack([np.log1p(bet * beyond).sum(axis=1) for bet in bets(problem.bar)], axis=1)


def campaign_states(
    means: Floats, problem: Problem, chance: Generator, name: str = LIVE_POLICY, longest: float = LONGEST
) -> list[State]:
    """A campaign until every arm has its verdict, in blocks that are small beside an arm's samples.

    After `BY_POLICY` samples the undecided arms are sampled in equal parts.
    """
    ids = [str(arm) for arm in range(means.size)]
    step = evidence_for(Threshold(problem.threshold)).step(Setup(policy(name), problem, ids))
    states = [_nothing(means.size)]
    while not states[-1].decided.all() and states[-1].rows < longest:
        last, left = states[-1], (~states[-1].decided).sum()
        if last.rows < BY_POLICY:
            more = step.choose_block(math.ceil(min(GROWTH, OF_AN_ARM / means.size) * last.rows) or 1)
            states.append(_after(last, more, means, problem, chance))
            step.absorb_block(more, states[-1].totals - last.totals)
        else:
            more = np.where(last.decided, 0, math.ceil(GROWTH * last.rows / left))
            states.append(_after(last, more, means, problem, chance))
    return states


def _nothing(arms: int) -> State:
    return State(0.0, np.zeros(arms), np.zeros(arms), np.zeros(arms, dtype=bool))


def _after(last: State, more: NDArray[np.int64], means: Floats, problem: Problem, chance: Generator) -> State:
    """The state when each arm has these samples more."""
    pulls, totals, decided = last.pulls + more, last.totals.copy(), last.decided.copy()
    arms = np.flatnonzero(more)
    totals[arms] += chance.binomial(more[arms], means[arms])
    evidence = np.maximum(*evidence_from_totals(gap_mixture, pulls[arms], totals[arms], problem.bar))
    decided[arms] = evidence >= problem.bar.budget
    return State(last.rows + float(more.sum()), pulls, totals, decided)


def cases(problems: int = PROBLEMS, seed: int = SEED) -> Iterator[tuple[str, Case]]:
    """Forecasts of this many problems, one kind after the other."""
    for number in range(problems):
        yield from (("log", case) for case in of_logs(setting_of(number), seed))
        yield from (("campaign", case) for case in of_campaigns(setting_of(number), seed))
        yield from ((BUT_SOME, case) for case in of_quick_policies(setting_of(number), seed))


def setting_of(number: int) -> Setting:
    """The problem of this number."""
    law = list(LAWS)[number % len(LAWS)]
    return Setting(number, law, ARMS[number // 5 % len(ARMS)], BARS[number // 20 % len(BARS)])


def more_logs(problems: int = PROBLEMS, large: int = LARGE) -> Iterator[tuple[str, Case]]:
    """Forecasts of the logs of the other seeds, and of logs with many arms."""
    for seed in LOG_SEEDS[1:]:
        for number in range(problems):
            yield from (("log", case) for case in of_logs(setting_of(number), seed))
    for number in range(large):
        law = list(LAWS)[number % len(LAWS)]
        setting = Setting(number, law, MANY_ARMS, SMALL_BARS[number // len(LAWS) % len(SMALL_BARS)])
        yield from ((LARGE_LOG, case) for case in of_logs(setting, SEED + 1))


def run() -> Section:
    found = [*cases(), *more_logs()]
    found += [(OF_AMOUNTS, case) for number in range(AMOUNT_LOGS) for case in of_amounts(number)]
    rows: list[Row] = []
    for kind in ("log", LARGE_LOG, OF_AMOUNTS, "campaign", BUT_SOME):
        for at in dict.fromkeys(case.at for each, case in found if each == kind):
            of = [case for each, case in found if (each, case.at) == (kind, at)]
            if not of:
                continue
            told = [(case.truth, case.forecast) for case in of if case.forecast is not None and case.told]
            many = max(len(told), 1)
            fewer = sum(truth < each.low for truth, each in told) / many
            more = sum(truth > each.high for truth, each in told) / many
            cells = {
                "forecast": kind,
                "at": at,
                "problems": len(of),
                "told": len(told),
                "fewer than low": f"{fewer:.1%}",
                "more than high": f"{more:.1%}",
                "high / low": f"{np.median([each.high / max(each.low, 1.0) for _, each in told]):.3g}",
            }
            rows.append(Row(cells, 1.0 - fewer - more, Target(at_least=0.72, at_most=0.88)))
    notes = [
        f"{PROBLEMS} problems from seed {SEED}: {', '.join(LAWS)}; {ARMS[0]} to {ARMS[-1]} arms; bars of "
        f"{', '.join(map(str, BARS))}; delta 0.05. Logs: as many from each of the seeds "
        f"{', '.join(map(str, LOG_SEEDS))}; "
        f"{LARGE} with {MANY_ARMS} arms and bars of {', '.join(map(str, SMALL_BARS))}. "
        "Log: rows until half of the undecided arms have had a verdict by "
        "`gap-mixture`, from 5%, a quarter and half of the rows after which half of all arms had theirs. Campaign of "
        f"`{LIVE_POLICY}`: samples until every arm is decided, from the start (the plan, given the law of the means), "
        f"a quarter and half of them. {AMOUNT_LOGS} logs of amounts: 16 arms, a tenth of the visitors pay "
        f"({', '.join(AMOUNTS)}), cut at {CAP:g}. Told: the range was shown; it is not where high is more than 1,000 "
        "times low."
    ]
    return Section("forecasts", "how often the 80% range of a forecast contains the truth", "held", rows, notes)
