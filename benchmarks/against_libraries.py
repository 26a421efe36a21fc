"""Rounds per second at K = 50 against MABWiser's UCB1 and River's UCB, each used as its documentation shows."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.section import Row, Section, Target
from benchmarks.timing import Contender, goodarm_contender, in_turns, median, plan_for, problem_means, ratio

ARMS = 50
REPETITIONS = 5
ROUNDS = {"mabwiser": 500, "river": 5_000}
OUR_ROUNDS = 500_000
LABELS = {"mabwiser": "MABWiser UCB1", "river": "River UCB"}


def run() -> Section:
    ours = {name: goodarm_contender(plan_for(name, ARMS, OUR_ROUNDS)) for name in ("ucb+kt", "hdoc")}
    theirs: dict[str, Contender] = {"mabwiser": mabwiser_contender(), "river": river_contender()}
    seconds = in_turns(theirs | ours, REPETITIONS)
    rows = [
        Row(
            {
                "goodarm": our_name,
                "against": LABELS[name],
                "goodarm rounds/s": 1.0 / median(seconds[our_name]),
                "their rounds/s": 1.0 / median(seconds[name]),
            },
            ratio(seconds[name], seconds[our_name]),
            Target(at_least=300.0),
        )
        for our_name in ours
        for name in theirs
    ]
    return Section(
        "libraries",
        f"rounds per second at K = {ARMS}, one thread",
        "goodarm / theirs",
        rows,
        [
            "MABWiser: `predict()` and `partial_fit([arm], [reward])` per round. River: `pull(arms)` and "
            "`update(arm, reward)` per round. Rewards are drawn beforehand for them, so that their round is choosing "
            "and counting; a round of goodarm also draws the reward, adds up the evidence and gives verdicts. "
            "They are made for decisions that come one at a time, goodarm's engine for simulating many."
        ],
    )


def drawn_rewards(rounds: int) -> list[list[int]]:
    """rewards[n][arm], as plain numbers: drawing them costs the libraries nothing."""
    table = np.random.default_rng(2).random((rounds, ARMS)) < problem_means(ARMS)
    return table.astype(int).tolist()


def mabwiser_contender() -> Contender:
    from mabwiser.mab import MAB, LearningPolicy

    rewards = drawn_rewards(ROUNDS["mabwiser"])

    def seconds_per_round() -> float:
        arms = list(range(ARMS))
        bandit = MAB(arms, LearningPolicy.UCB1(alpha=1.0))
        bandit.fit(arms, rewards[0])  # it wants to be fitted before it predicts: each arm once
        started = time.thread_time()
        for reward in rewards:
            arm = bandit.predict()
            bandit.partial_fit([arm], [reward[arm]])
        return (time.thread_time() - started) / len(rewards)

    return seconds_per_round


def river_contender() -> Contender:
    from river import bandit

    rewards = drawn_rewards(ROUNDS["river"])

    def seconds_per_round() -> float:
        arms = range(ARMS)
        policy = bandit.UCB(delta=1, seed=1)
        started = time.thread_time()
        for reward in rewards:
            arm = policy.pull(arms)
            policy.update(arm, reward[arm])
        return (time.thread_time() - started) / len(rewards)

    return seconds_per_round
