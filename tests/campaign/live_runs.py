"""Simulated live campaigns: the fold and the rules as they are, without a store, rewards that come late."""

from __future__ import annotations

import heapq
import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from goodarm.campaign import journal
from goodarm.campaign.arms import read_arms
from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import Event, as_payload
from goodarm.campaign.terms import Terms, rules_fingerprint
from goodarm.policies import policy
from goodarm.problem import Bounded
from goodarm.question import Threshold
from goodarm.testing.error_rates import Trial


def terms_of(arms: int, threshold: float, rule: str, delta: float, reserve: float, criterion: str) -> Terms:
    made = policy(rule, criterion=criterion)
    return Terms(
        question=Threshold(threshold), delta=delta, policy=made.name, criterion=criterion, rewards=Bounded(),
        horizon=None, reserve=reserve, after=None, unanswered="wait", seed=0, metadata={}, key="",
        arms=tuple(read_arms([f"arm {i}" for i in range(arms)])), version="", rules=rules_fingerprint(made),
    )  # fmt: skip


class Live:
    """A campaign in memory, entry by entry, as `Campaign` writes them."""

    def __init__(self, terms: Terms, kind: type[Fold] = Fold) -> None:
        self.fold = kind(Event(1, journal.CREATED, None, None, None, as_payload(terms.as_json()), 0.0, b""))

    def write(self, kind: str, ticket: int | None, arm: int | None, reward: float | None, payload: str | None) -> None:
        self.fold.apply(Event(self.fold.number + 1, kind, ticket, arm, reward, payload, 0.0, b""))
        while self.fold.undeclared:
            decided = self.fold.undeclared[0]
            content = json.dumps({"verdict": self.fold.verdict_by_rules(decided)})
            self.fold.apply(Event(self.fold.number + 1, journal.VERDICT, None, decided, None, content, 0.0, b""))

    def ask(self) -> int | None:
        arm = self.fold.choose()
        if arm < 0:
            return None
        self.write(journal.ASKED, self.fold.tickets + 1, arm, None, None)
        return self.fold.tickets

    def tell(self, ticket: int, reward: float | None) -> None:
        arm = self.fold.pending[ticket][0]
        if reward is None:
            self.write(journal.VOID, ticket, arm, None, '{"reason":"lost"}')
        else:
            self.write(journal.TOLD, ticket, arm, reward, None)

    def add_arm(self, weight: float) -> None:
        content = {"arms": [{"id": f"arm {len(self.fold.books)}"}], "weights": [weight]}
        self.write(journal.ADDED, None, None, None, as_payload(content))

    def evidence(self, arm: int) -> float:
        """log E+ as it is shown."""
        return self.fold.step.row(arm).for_good

    def verdicts(self) -> list[str]:
        return [book.decision["verdict"] if book.decision else "open" for book in self.fold.books]


@dataclass(frozen=True)
class Delay:
    """When rewards come back: those equal to `early` at once, the others after this many more asks.

    lost  : share of tickets that are voided, whatever their reward
    later : arms that are added on the way, each at the mean of the first
    retire: share of the arms that are withdrawn when their evidence looks worst
    """

    early: float | None = 1.0
    window: int = 60
    batch: int = 1
    asks: int = 160
    lost: float = 0.0
    later: int = 0
    retire: bool = False
    kind: type[Fold] = field(default=Fold, repr=False)

    def __str__(self) -> str:
        first = {1.0: "successes first", 0.0: "failures first", None: "in any order"}[self.early]
        more = [f"batch {self.batch}", f"{self.lost:.0%} lost" if self.lost else "", "retired" if self.retire else ""]
        return ", ".join([first, *filter(None, more), *([f"{self.later} later arms"] if self.later else [])])


def play(terms: Terms, means: list[float], delay: Delay, seed: int) -> list[str]:
    """One run: the verdicts when all that is out has been told."""
    rng = random.Random(seed)
    live = Live(replace(terms, seed=seed), delay.kind)
    out: list[tuple[int, float, int, float | None]] = []
    asked = 0
    while asked < delay.asks:
        if delay.later and len(live.fold.books) < len(means) + delay.later and asked % 4 == 0:
            add_later(live)
        for _ in range(min(delay.batch, delay.asks - asked)):
            ticket = live.ask()
            if ticket is None:
                break
            arm = live.fold.pending[ticket][0]
            reward: float | None = float(rng.random() < means[min(arm, len(means) - 1)])
            wait = delay.window if reward != delay.early else 0
            if delay.early is None:
                wait = rng.randrange(delay.window)
            if rng.random() < delay.lost:
                reward = None
            heapq.heappush(out, (asked + wait, rng.random(), ticket, reward))
            asked += 1
        else:
            deliver(live, out, asked)
            if delay.retire:
                retire_worst(live)
            if not wrong(live.verdicts(), means, terms.question.bar)[0] or terms.criterion == "fdr":
                continue
        break
    deliver(live, out, 10**9)
    return live.verdicts()


def deliver(live: Live, out: list[tuple[int, float, int, float | None]], now: int) -> None:
    while out and out[0][0] <= now:
        _, _, ticket, reward = heapq.heappop(out)
        live.tell(ticket, reward)


def add_later(live: Live) -> None:
    terms = live.fold.terms
    later = len(live.fold.books) - len(terms.arms) + 1
    live.add_arm(terms.later_weight(later))


def retire_worst(live: Live) -> None:
    """Withdraw an arm as soon as it looks bad: what is left was chosen by its rewards."""
    fold = live.fold
    still = [book for book in fold.books if book.status == "open" and book.decision is None and book.told > 10]
    if len(still) > 1:
        worst = min(still, key=lambda book: book.total / book.told)
        if worst.total / worst.told < fold.terms.question.bar - 0.2:
            live.write(journal.RETIRED, None, worst.number, None, None)


def wrong(verdicts: Iterable[str], means: list[float], threshold: float) -> tuple[int, int]:
    """Wrong verdicts, and all verdicts, on arms of these means; later arms have the last one's."""
    given = list(verdicts)
    true = ["good" if means[min(i, len(means) - 1)] >= threshold else "bad" for i in range(len(given))]
    decided = [(verdict, right) for verdict, right in zip(given, true, strict=True) if verdict != "open"]
    return sum(verdict != right for verdict, right in decided), len(decided)


def is_certain(wrong: float, played: int, trial: Trial) -> bool:
    """Whether the runs that are left can't change the outcome of a trial any more."""
    return wrong >= trial.critical or wrong + trial.runs - played < trial.critical
