"""Check that a live campaign keeps its guarantee if rewards come late, in an adverse order, or never.

The adversary drives a `Campaign` through its public methods. It decides when a reward is told, and it lets the rewards
of a batch depend on each other. Certified verdicts allow both (docs/live-verdicts.md): they assume only that a
reward's mean is the arm's mean, given everything told before the ask and the earlier rewards of the same arm.

All arms have the same mean, next to the threshold on the side on which the verdict of interest is wrong. In each batch
one draw decides the rewards of all arms; if an arm is in the batch several times, its other rewards are drawn
independently. The misleading rewards are told first. Some of the others are told after the next batch has been asked,
and some never.

A bet that uses anything told after its ticket was issued gains against this adversary, because the first rewards of a
batch reveal the others. Nine tenths of delta belong to one arm, whose rewards are told last.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import nextafter
from typing import Any

from goodarm.campaign import Campaign
from goodarm.campaign.tickets import Ticket
from goodarm.policies import Policy
from goodarm.testing.error_rates import Trial, require_few

Rewards = list[tuple[Ticket, float]]


@dataclass(frozen=True)
class LiveAdversary:
    """Arms next to the threshold, and the times of their rewards.

    arms      : number of arms, and of tickets in a batch
    batches   : number of batches in a run
    threshold : bar that the arms are compared with
    wrong     : the verdict that the adversary tries to obtain: "good" for arms just below the threshold, "bad" for
                arms exactly at it
    shared    : whether the rewards of a batch share one draw
    late      : share of the rewards that do not mislead and are told only after the next batch has been asked
    never     : share of the rewards that do not mislead and are never told
    """

    arms: int = 10
    batches: int = 60
    threshold: float = 0.5
    wrong: str = "bad"
    shared: bool = True
    late: float = 0.0
    never: float = 0.0

    @property
    def mean(self) -> float:
        """The mean of every arm."""
        return nextafter(self.threshold, 0.0) if self.wrong == "good" else self.threshold

    def __str__(self) -> str:
        parts = [f"{self.arms} arms wrongly called {self.wrong}", "shared draws" if self.shared else "own draws"]
        parts += [f"{share:.0%} {word}" for share, word in ((self.late, "late"), (self.never, "never")) if share]
        return ", ".join(parts)

    def described(self) -> list[dict[str, Any]]:
        """The arms of the campaign. Their features are nearly equal, so a model generalises at once."""
        weights = [0.1 / self.arms] * (self.arms - 1) + [0.9]
        return [{"id": str(i), "features": [1.0 + 0.01 * i], "weight": weight} for i, weight in enumerate(weights)]

    def rewards(self, tickets: list[Ticket], draws: random.Random) -> Rewards:
        """The rewards of a batch, in the order of asking."""
        common = draws.random()
        seen: set[str] = set()
        found: Rewards = []
        for ticket in tickets:
            draw = common if self.shared and ticket.arm not in seen else draws.random()
            seen.add(ticket.arm)
            found.append((ticket, float(draw < self.mean)))
        return found

    def split(self, batch: Rewards, draws: random.Random) -> tuple[list[Rewards], Rewards]:
        """Rewards to tell now, part by part, and rewards to tell after the next batch has been asked for."""
        misleading = 1.0 if self.wrong == "good" else 0.0
        parts: list[Rewards] = [[], [], []]
        later: Rewards = []
        for ticket, reward in batch:
            heavy = ticket.arm == str(self.arms - 1)
            if reward != misleading and draws.random() < self.never:
                continue
            if reward != misleading and draws.random() < self.late:
                later.append((ticket, reward))
            else:
                parts[2 if heavy else 0 if reward == misleading else 1].append((ticket, reward))
        return parts, later

    def errs(self, policy: str | Policy, delta: float, seed: int) -> bool:
        """Play one campaign; returns whether any arm gets the wrong verdict."""
        draws = random.Random(seed)
        waiting: Rewards = []
        with Campaign.create("memory:", "live", self.described(), self.threshold, delta, policy, seed=seed) as campaign:
            for _ in range(self.batches):
                parts, later = self.split(self.rewards(campaign.ask(self.arms), draws), draws)
                for part in (waiting, *parts):
                    if part and any(row.verdict == self.wrong for row in campaign.tell_many(part).verdicts):
                        return True
                waiting = later
        return False


def play_live(policy: str | Policy, adversary: LiveAdversary, trial: Trial) -> Iterator[bool]:
    """For each campaign of a trial, whether it gave a wrong verdict."""
    for number in range(trial.runs):
        yield adversary.errs(policy, trial.delta, trial.seed + number)


def require_live_error_rate(policy: str | Policy, adversary: LiveAdversary, trial: Trial) -> None:
    """P(any wrong verdict in a campaign) <= delta, by an exact binomial test; ends as soon as the outcome is certain.

    >>> require_live_error_rate("uniform+kt", LiveAdversary(arms=2, batches=5), Trial(runs=20))
    """
    wrong = 0
    for played, erred in enumerate(play_live(policy, adversary, trial), start=1):
        wrong += erred
        if wrong >= trial.critical or wrong + trial.runs - played < trial.critical:
            break
    require_few(wrong, trial, f"{policy} live, {adversary}")
