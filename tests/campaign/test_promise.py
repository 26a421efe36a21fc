"""The promise under delay: rewards whose time of arrival depends on their value, and still at most delta is wrong.

Each test plays 300 campaigns at delta = 0.1 and fails at so many wrong ones that a true error rate of 0.1 shows them
with probability 1e-9 (exact binomial tail); a true error rate of 0.25 is caught with probability 0.9. The broken twins,
which do what looks natural, are caught by the same test. A test ends as soon as its outcome is certain.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from live_runs import Delay, Live, is_certain, play, terms_of, wrong

from goodarm import Campaign
from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import Event
from goodarm.engine.compile import Patience, just_in_time
from goodarm.engine.live import assembly
from goodarm.engine.live.step import Asked
from goodarm.engine.live.threshold import ThresholdStep
from goodarm.fingerprint import reachable
from goodarm.policies import policy
from goodarm.problem import Problem
from goodarm.rules.beliefs import FOR_BAD, FOR_GOOD, Arm
from goodarm.rules.identification.kt import kt
from goodarm.rules.parameters import Formula
from goodarm.testing.error_rates import LAW_LEVEL, Trial

pytestmark = pytest.mark.slow

DELTA = 0.1
TRIAL = Trial(level=LAW_LEVEL, runs=300, delta=DELTA)
JUST_BELOW = 0.2999
AT = 0.3

SUCCESSES_FIRST, FAILURES_FIRST = Delay(early=1.0), Delay(early=0.0)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mixtures as native code, which rounds as Python does: three quarters of the time are theirs."""
    as_it_is = assembly.as_native_rounds

    def mixtures(function: Formula, patience: Patience | None = None) -> Formula:
        mixed = any("mixture" in each.__module__ for each in reachable([function]))
        return just_in_time(function) if mixed else as_it_is(function, patience)

    monkeypatch.setattr(assembly, "as_native_rounds", mixtures)


def wrong_runs(rule: str, delay: Delay, means: list[float], criterion: str = "fwer", reserve: float = 0.0) -> int:
    """Runs with a wrong verdict; under fdr the shares of wrong ones, added up. At least as many, or fewer than that, as
    the trial allows: the count ends where it can't change sides any more."""
    terms = terms_of(len(means), AT, rule, DELTA, reserve, criterion)
    total = 0.0
    for seed in range(TRIAL.runs):
        mistakes, decided = wrong(play(terms, means, delay, seed), means, AT)
        total += mistakes / max(decided, 1) if criterion == "fdr" else mistakes > 0
        if is_certain(total, seed + 1, TRIAL):
            break
    return int(total)


def means_for(delay: Delay) -> list[float]:
    """Where early rewards mislead most: just below the bar if successes come first, at it if failures do."""
    return [JUST_BELOW if delay.early == 1.0 else AT] * 2


LATE = [
    ("uniform+gap-mixture", SUCCESSES_FIRST), ("uniform+gap-mixture", FAILURES_FIRST),
    ("value+gap-mixture", SUCCESSES_FIRST), ("uniform+beta-mixture", SUCCESSES_FIRST),
    ("uniform+hoeffding", FAILURES_FIRST), ("uniform+kt", SUCCESSES_FIRST), ("uniform+kt", FAILURES_FIRST),
    ("value+learned-bets", SUCCESSES_FIRST),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "delay"), LATE, ids=str)
def test_arrival_that_depends_on_the_reward(rule: str, delay: Delay) -> None:
    assert wrong_runs(rule, delay, means_for(delay)) < TRIAL.critical


OTHER_WAYS = [
    ("uniform+gap-mixture", Delay(early=1.0, batch=10)),
    ("uniform+hoeffding", Delay(early=1.0, batch=1000, asks=1000)),
    ("uniform+kt", Delay(early=0.0, batch=10, lost=0.2)),
    ("uniform+gap-mixture", Delay(early=1.0, batch=4, lost=0.3)),
    ("uniform+gap-mixture", Delay(early=1.0, retire=True)),
    ("uniform+kt", Delay(early=1.0, retire=True)),
    ("uniform+kt", Delay(early=None, batch=4)),
]


@pytest.mark.parametrize(("rule", "delay"), OTHER_WAYS, ids=str)
def test_batches_workers_losses_and_withdrawals(rule: str, delay: Delay) -> None:
    assert wrong_runs(rule, delay, means_for(delay)) < TRIAL.critical


@pytest.mark.parametrize("delay", [SUCCESSES_FIRST, Delay(early=0.0, batch=10)], ids=str)
def test_the_false_discovery_rate_by_totals(delay: Delay) -> None:
    assert wrong_runs("uniform+gap-mixture", delay, means_for(delay) * 2, criterion="fdr") < TRIAL.critical


def test_later_arms_pay_for_their_place() -> None:
    """The twin without the debt is below."""
    delay = Delay(early=1.0, asks=400, later=20)
    assert wrong_runs("uniform+kt", delay, [JUST_BELOW], reserve=0.2) < TRIAL.critical


class CountedWhenTold(Fold):
    """A twin that counts rewards when they are told, and forgets what is still out."""

    def _asked(self, event: Event) -> Iterable[int]:
        arm, ticket = event.arm or 0, event.ticket or 0
        self.tickets = ticket
        self.books[arm].asked += 1
        self.pending[ticket] = (arm, event.at)
        return ()

    def _came_back(self, event: Event, reward: float | None) -> Iterable[int]:
        arm, _ = self.pending.pop(event.ticket or 0)
        if reward is None:
            return ()
        self.books[arm].told += 1
        self.books[arm].total += reward
        asked = self.step.ticket(arm)
        self.step.ask(arm)
        return self.step.absorb(arm, reward, asked) if self.in_order else self.step.absorb(arm, reward)


class BetAtTheTell(Fold):
    """A twin that folds rewards of a rule in order as they come, each bet made when its reward is told."""

    def _came_back(self, event: Event, reward: float | None) -> Iterable[int]:
        arm, _ = self.pending.pop(event.ticket or 0)
        book = self.books[arm]
        if reward is None:
            book.asked -= 1
            return self.step.void(arm)
        book.told += 1
        book.total += reward
        return self.step.absorb(arm, reward, self.step.ticket(arm))


class DroppedWhenLate(Fold):
    """A twin that drops what has not come back, as if it had never been asked."""

    def _came_back(self, event: Event, reward: float | None) -> Iterable[int]:
        return super()._came_back(event, None if reward == 0.0 and (event.ticket or 0) % 10 < 4 else reward)


class LaterWithoutDebt(Fold):
    """A twin in which every later arm has the share of the first ones, as if delta had no end."""

    def _added(self, event: Event) -> Iterable[int]:
        before = len(self.books)
        super()._added(event)
        self.step.state.arms[before:, [FOR_GOOD, FOR_BAD]] = 0.0
        return ()


BROKEN: list[tuple[str, Delay, dict[str, Any]]] = [
    ("uniform+gap-mixture", Delay(early=1.0, batch=20, kind=CountedWhenTold), {}),
    ("uniform+gap-mixture", Delay(early=0.0, window=120, asks=480, kind=CountedWhenTold), {}),
    ("uniform+kt", Delay(early=1.0, batch=20, kind=BetAtTheTell), {}),
    ("value+learned-bets", Delay(early=1.0, batch=20, kind=BetAtTheTell), {}),
    ("uniform+gap-mixture", Delay(early=1.0, batch=20, kind=DroppedWhenLate, asks=480), {}),
    ("uniform+kt", Delay(early=1.0, asks=800, later=40, kind=LaterWithoutDebt), {"arms": 1, "reserve": 0.2}),
]


@pytest.mark.parametrize(("rule", "delay", "more"), BROKEN, ids=lambda value: str(getattr(value, "kind", value)))
def test_a_broken_twin_is_caught(rule: str, delay: Delay, more: dict[str, Any]) -> None:
    means = [means_for(delay)[0]] * more.get("arms", 2)
    assert wrong_runs(rule, delay, means, reserve=more.get("reserve", 0.0)) >= TRIAL.critical


PREFIX = Trial(level=LAW_LEVEL, runs=400, delta=1.0 / 3.0)


def shown_evidence(rule: str, seed: int) -> float:
    """E+ of an arm at the bar at the moment that an adversary picks, who lets rewards in and keeps others back.

    Sixty tickets are out. Rewards come back in the order of asking, as far as the evidence of a bettor who sees them
    one by one is largest; the rest has not come yet when somebody looks.
    """
    rng = random.Random(seed)
    rewards = [float(rng.random() < AT) for _ in range(60)]
    live = Live(terms_of(1, AT, rule, 1e-30, 0.0, "fwer"))
    tickets = [live.ask() or 0 for _ in rewards]
    for ticket, reward in zip(tickets[: best_prefix(rewards)], rewards, strict=False):
        live.tell(ticket, reward)
    return math.exp(live.evidence(0))


def best_prefix(rewards: list[float]) -> int:
    """How many rewards make the most of the bets of `kt`."""
    arm, bar = Arm(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), Problem(threshold=AT, arms=1).bar
    best, most = 0, 0.0
    for n, reward in enumerate(rewards, start=1):
        for_good, for_bad, _ = kt.observe(arm, reward, None, bar)  # type: ignore[arg-type]  # kt looks at no pool
        arm = arm._replace(pulls=float(n), total=arm.total + reward, for_good=for_good, for_bad=for_bad)
        if for_good > most:
            best, most = n, for_good
    return best


def beyond_a_random_bar(rule: str) -> int:
    """Runs in which the shown evidence reaches a bar that is drawn between 0 and 3, until the outcome is certain.

    Evidence at a stopping time has expectation at most 1, and so does so with probability at most E[E]/3 = 1/3. Under
    fdr the bar is moved by the other arms' verdicts, K/(delta times their number): that is why it must hold for any.
    """
    total = 0
    for seed in range(PREFIX.runs):
        total += shown_evidence(rule, seed) >= 3.0 * random.Random(f"bar {seed}").random()
        if is_certain(total, seed + 1, PREFIX):
            break
    return total


def test_evidence_by_totals_may_be_looked_at_whenever() -> None:
    assert beyond_a_random_bar("uniform+gap-mixture") < PREFIX.critical


def test_the_prefix_with_fdr_is_caught() -> None:
    """In order, what is shown is the largest of many: why fdr is refused there, with the same test."""
    assert beyond_a_random_bar("uniform+kt") >= PREFIX.critical


def test_what_the_tests_can_see() -> None:
    """The figures of docs/campaign.md."""
    assert (TRIAL.critical, PREFIX.critical) == (66, 192)
    assert round(TRIAL.detectable(), 2) == 0.25
    assert round(PREFIX.detectable(), 2) == 0.51


# Bets that use a model of the arms

MODELLED = [
    "uniform+learned-bets@linear", "uniform+learned-bets-normal@linear", "uniform+learned-bets-normal@mixed",
    "uniform+learned-bets-normal@kernel", "uniform+learned-bets@neural", "dgai@linear",
]  # fmt: skip


@pytest.mark.parametrize("rule", MODELLED)
def test_a_bet_does_not_know_what_was_told_after_its_ticket_was_asked(rule: str) -> None:
    """Whatever the other arms of a batch bring, told first, the evidence of the arm that is told last is the same."""
    arms = [{"id": f"arm {i}", "features": [1.0 + 0.01 * i, 0.1 * i]} for i in range(4)]
    found = set()
    for others in (0.0, 1.0):
        campaign = Campaign.create("memory:", "c", arms, 0.5, policy=rule)
        campaign.tell_many([(ticket, float(ticket.arm > "arm 1")) for ticket in campaign.ask(8)])
        tickets = campaign.ask(8)
        last = tickets[-1].arm
        assert {ticket.arm for ticket in tickets} > {last}, "another arm is in the batch"
        campaign.tell_many([(ticket, others) for ticket in tickets if ticket.arm != last])
        campaign.tell_many([(ticket, 1.0) for ticket in tickets if ticket.arm == last])
        row = campaign._session.fold.step.row(int(last.split()[1]))
        found.add((row.for_good, row.for_bad))
        assert campaign.check().ok
    assert len(found) == 1


class ModelAtTheTell(ThresholdStep):
    """A twin whose bets read the model when the reward is told."""

    def absorb(self, arm: int, reward: float, asked: Asked | None = None) -> list[int]:
        assert asked is not None
        now = self.ticket(arm)
        return super().absorb(arm, reward, asked._replace(mean=now.mean, width=now.width))


BATCHES = Trial(level=LAW_LEVEL, runs=200, delta=DELTA)


def misled_by_a_shock(kind: type[ThresholdStep]) -> int:
    """Runs in which an arm just below the bar is called good.

    Six arms with nearly the same features are asked in batches of one pull each. A batch has one reward for all of
    them: a shock. The last arm has nearly all of delta and is told last, when the model knows the shock.
    """
    made, bar, arms, wrong = policy("uniform+learned-bets-normal@linear"), 0.2, 6, 0
    weights = [0.001] * (arms - 1) + [1.0 - 0.001 * (arms - 1)]
    features = np.linspace(1.0, 1.001, arms)[:, None]
    for seed in range(BATCHES.runs):
        rng = random.Random(seed)
        step = kind(made, Problem(threshold=bar, arms=arms, delta=DELTA), features=features, weights=weights)
        for _ in range(300):
            shock, asked = float(rng.random() < bar - 1e-4), []
            for arm in range(arms):
                asked.append(step.ticket(arm))
                step.ask(arm)
            decided = [each for arm in range(arms) for each in step.absorb(arm, shock, asked[arm])]
            if any(step.row(each).verdict > 0 for each in decided):
                wrong += 1
                break
        if is_certain(wrong, seed + 1, BATCHES):
            break
    return wrong


@pytest.mark.slow
def test_batches_whose_rewards_share_a_shock() -> None:
    assert misled_by_a_shock(ThresholdStep) < BATCHES.critical


@pytest.mark.slow
def test_a_bet_that_reads_the_model_when_told_is_caught() -> None:
    assert misled_by_a_shock(ModelAtTheTell) >= BATCHES.critical
