"""Units in campaigns: one ticket and one reward per person, and the promise with people who come back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from goodarm import Campaign, Gaussian
from goodarm.campaign import Units
from goodarm.campaign.units import unit_reward
from goodarm.engine.totals import evidence_from_totals
from goodarm.errors import InvalidValue, Refused, UnknownName
from goodarm.numerics import binomial_tail
from goodarm.problem import Problem
from goodarm.rules.identification.gap_mixture import gap_mixture


def made(**options: Any) -> Campaign:
    usual = {"threshold": 0.3, "policy": "uniform+gap-mixture"}
    return Campaign.create("memory:", "pages", ["old", "new"], **(usual | options))


def test_a_unit_keeps_its_arm_and_counts_once() -> None:
    campaign, other = made(), None
    units = Units(campaign)
    first = units.ask("anna")
    assert units.ask("anna") == first
    other = Units(campaign)  # another process, or the same one after a restart
    assert other.ask("anna") == first
    for reward in (1.0, 0.0, 1.0, 1.0):
        units.tell("anna", reward)
    assert (campaign.tally().told, campaign.tally().pending, units.open) == (0, 1, ["anna"])
    units.close("anna")
    assert (campaign.tally().told, campaign.tally().pending, units.open) == (1, 0, [])
    assert sum(row.total for row in campaign.arms()) == 0.75


def test_a_window_closes_units_and_ignores_later_rows() -> None:
    now = [0.0]
    campaign = made()
    units = Units(campaign, "any", window="1h", clock=lambda: now[0])
    units.ask("anna")
    now[0] = 1800.0
    units.ask("bert")
    assert units.close_due().verdicts == []
    assert campaign.tally().told == 0
    now[0] = 3600.0
    units.tell("anna", 1.0)  # too late
    units.tell("bert", 1.0)
    units.close_due()
    assert (campaign.tally().told, units.open) == (1, ["bert"])
    now[0] = 5400.0
    units.close_due()
    assert (campaign.tally().told, sum(row.total for row in campaign.arms())) == (2, 1.0)


def test_the_reward_of_a_ratio_has_the_bar_as_its_mean_where_the_ratio_has() -> None:
    """Exact, over all sets of rows of a unit: mean of the reward at least xi if and only if E sum x >= xi E sum d."""
    chance = np.random.default_rng(5)
    for _ in range(200):
        xi, limit = chance.uniform(0.05, 0.95), 6.0
        people = [[(float(chance.random() < 0.4), 1.0) for _ in range(chance.integers(0, 7))] for _ in range(5)]
        rewards = [unit_reward(rows, "ratio", xi, limit) for rows in people]
        assert all(0.0 <= reward <= 1.0 for reward in rewards)
        beyond = sum(x - xi * d for rows in people for x, d in rows)
        assert math.fsum(rewards) / 5 - xi == pytest.approx(beyond / (5 * limit), abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"per_unit": "most"}, "way to sum up a unit"),
        ({"per_unit": "ratio"}, "needs unit_limit"),
        ({"per_unit": "mean", "unit_limit": 5}, "needs unit_limit"),
        ({"per_unit": "ratio", "unit_limit": math.inf}, "needs unit_limit"),
        ({"window": "soon"}, "must be a positive time"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidValue, UnknownName), match=message):
        Units(made(), **options)


def test_wrong_calls_are_refused_and_leave_nothing_behind() -> None:
    campaign = made()
    units = Units(campaign, "ratio", unit_limit=3)
    with pytest.raises(Refused, match="Ask for it first"):
        units.tell("anna", 1.0)
    with pytest.raises(InvalidValue, match="non-empty string"):
        units.ask("")
    units.ask("anna")
    wrong = ((math.nan, 1.0, "finite"), (2.0, 1.0, "between 0 and"), (1.0, 4.0, "more than"))
    for reward, denominator, message in wrong:
        with pytest.raises(InvalidValue, match=message):
            units.tell("anna", reward, denominator)
    with pytest.raises(Refused, match="Ask for it first"):
        units.close("anna", "bert")
    assert campaign.tally().told == 0
    with pytest.raises(InvalidValue, match="without a window"):
        units.close_due()
    with pytest.raises(InvalidValue, match=r"rewards in \[0, 1\]"):
        Units(made(threshold=0.0, rewards=Gaussian(1.0)), "any")


@pytest.mark.slow
def test_the_promise_with_people_who_come_back() -> None:
    """Both arms at the bar, correlation 0.3, 50 rows per person, delta 0.1; a false alarm has probability below 1e-6.

    The broken twin counts every row: it must err in more than 2 delta of the campaigns, by the same test.
    """
    runs, bar, delta, icc, rows, people = 30, 0.3, 0.1, 0.3, 50, 200
    problem, size, wrong, twin = Problem(threshold=bar, arms=2, delta=delta), (1.0 - icc) / icc, 0, 0
    for run in range(runs):
        chance = np.random.default_rng(run)
        units, counts, totals, called = Units(made(delta=delta)), np.zeros(2), np.zeros(2), False
        for person in range(people):
            ticket = units.ask(str(person))
            if ticket is None:
                break
            clicks = (chance.random(rows) < chance.beta(bar * size, (1.0 - bar) * size)).astype(float)
            counts[int(ticket.arm == "new")] += rows
            totals[int(ticket.arm == "new")] += clicks.sum()
            for click in clicks:
                units.tell(str(person), click)
            if person % 10 == 9:
                units.close(*units.open)
                evidence = evidence_from_totals(gap_mixture, counts, totals, problem.bar)
                called |= bool((np.maximum(*evidence) >= problem.bar.budget).any())
        tally = units.campaign.tally()
        wrong += tally.good + tally.bad > 0
        twin += called
    assert binomial_tail(wrong, runs, 2 * delta) > 1e-6  # good or bad, delta each
    assert binomial_tail(twin, runs, 2 * delta) < 1e-6
