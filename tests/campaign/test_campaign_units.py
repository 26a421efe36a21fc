"""Units in campaigns: one ticket and one reward per person, and the promise with people who come back."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hand_clock import HandClock
from typer.testing import CliRunner

from goodarm import Campaign, Gaussian, NonNegative
from goodarm.campaign import journal, replay, session
from goodarm.campaign.journal import chained
from goodarm.campaign.units import OpenUnit, UnitTerms
from goodarm.cli import app
from goodarm.engine.compile import Patience
from goodarm.engine.totals import evidence_from_totals
from goodarm.errors import DamagedJournal, InvalidValue, Refused, UnknownName
from goodarm.numerics import binomial_tail
from goodarm.problem import Problem
from goodarm.rules.identification.gap_mixture import gap_mixture


def made(store: str = "memory:", **options: Any) -> Campaign:
    usual = {"threshold": 0.3, "policy": "uniform+gap-mixture", "per_unit": "mean"}
    return Campaign.create(store, "pages", ["old", "new"], **(usual | options))


def totals(campaign: Campaign) -> tuple[int, int, float]:
    tally = campaign.tally()
    return tally.told, tally.pending, math.fsum(row.total for row in campaign.arms())


def test_a_unit_keeps_its_arm_and_counts_once(address: str) -> None:
    with made(address) as campaign, Campaign.open(address, "pages") as other:  # or after a restart
        comes_back(campaign, other)


def comes_back(campaign: Campaign, other: Campaign) -> None:
    first = campaign.ask(unit="anna")
    assert campaign.ask(unit="anna") == other.ask(unit="anna") == first
    for reward in (1.0, 0.0, 1.0):
        campaign.tell_unit("anna", reward)
    other.tell_unit("anna", True)
    assert totals(campaign) == (0, 1, 0.0)
    assert [each.unit for each in campaign.waiting()] == ["anna"]
    other.close_units("anna")
    other.close_units("anna")  # again, after a lost answer
    assert totals(campaign) == (1, 0, 0.75)
    assert campaign.ask(unit="anna") == first  # she still sees the same page, and does not count again
    assert campaign.tell_unit("anna", 1.0).late == [first[0].ticket]
    assert totals(campaign) == (1, 0, 0.75)
    assert campaign.check().ok


def test_a_row_with_an_id_counts_once(address: str) -> None:
    options: dict[str, Any] = {"rewards": NonNegative(), "threshold": 2.0, "policy": "uniform+bet-mixture"}
    with made(address, per_unit="sum", **options) as campaign:
        campaign.ask(unit="anna")
        for _ in range(2):
            campaign.tell_units([("anna", 5.0, 1.0, "order 1"), ("anna", 2.5, 1.0, "order 2")])
        with pytest.raises(Refused, match=r"'order 1' was told 5\.0 before"):
            campaign.tell_unit("anna", 6.0, row="order 1")
        campaign.close_units("anna")
        assert campaign.tell_unit("anna", 5.0, row="order 1").late == []  # the answer was lost: told before
        assert totals(campaign) == (1, 0, 7.5)


def test_a_window_closes_units_by_the_clock_alone(address: str, clock: HandClock) -> None:
    with made(address, per_unit="any", window="1h", clock=clock) as campaign:
        closes(campaign, clock)


def closes(campaign: Campaign, clock: HandClock) -> None:
    anna = campaign.ask(unit="anna")[0]
    clock.now += 1800.0
    campaign.ask(unit="bert")
    campaign.tell_unit("bert", 1.0)
    with pytest.raises(Refused, match="closes every unit by itself"):
        campaign.close_units("bert")
    campaign.close_units()
    assert campaign.tally().told == 0
    clock.now += 1801.0
    assert campaign.tell_unit("anna", 1.0).late == [anna.ticket]  # her window is over
    assert totals(campaign) == (1, 1, 0.0)
    clock.now += 3600.0
    campaign.close_units()
    assert totals(campaign) == (2, 0, 1.0)
    assert campaign.check().ok


def grown(store: str, units: int, clock: HandClock, **options: Any) -> Campaign:
    """A campaign whose units come back at random, some of them open at the end."""
    campaign, chance = made(store, clock=clock, **options), np.random.default_rng(3)
    for unit in range(units):
        clock.now += 60.0
        campaign.ask(unit=f"unit {unit}")
        known = [f"unit {each}" for each in range(max(unit - 20, 0), unit + 1)]
        rows = [(str(chance.choice(known)), float(chance.random() < 0.3)) for _ in range(4)]
        campaign.tell_units(rows)
    return campaign


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"window": "15min"},
        {"window": "15min", "per_unit": "ratio", "unit_limit": 6},
        {"window": "15min", "policy": "uniform+bet-mixture"},
        {"window": "15min", "control": "old", "threshold": None, "policy": "uniform+versus"},
    ],
    ids=["mean", "ratio", "in-order", "control"],
)
def test_the_journal_has_it_all(
    options: dict[str, Any], tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replayed, from a snapshot, compiled, and after export and import: the same units, bit for bit."""
    monkeypatch.setattr(session, "SNAPSHOT_EVERY", 100)
    store = f"sqlite:///{tmp_path / 'units.db'}"
    campaign = grown(store, 60, clock, **options)
    fold = campaign._session.fold
    assert fold.units is not None
    assert fold.units.open
    assert campaign.tally().told > 20
    assert campaign.check().ok
    opened = Campaign.open(store, "pages", clock=clock)
    assert opened._session.snapshot_at > 0
    campaign.export(tmp_path / "units.jsonl")
    imported = Campaign.import_from("memory:", tmp_path / "units.jsonl", "again", clock=clock)
    monkeypatch.setattr(replay, "JOURNAL", Patience(1))
    compiled = Campaign.import_from("memory:", tmp_path / "units.jsonl", "compiled", clock=clock)
    for other in (opened, imported, compiled):
        found = other._session.fold
        assert found.units is not None
        assert found.units.open == fold.units.open
        assert (found.pending, other.arms()) == (fold.pending, campaign.arms())
        assert {ticket for _, ticket in found.deadlines} >= found.pending.keys()


def test_a_reward_that_is_not_that_of_the_rows_is_noticed(clock: HandClock) -> None:
    campaign = made(clock=clock)
    campaign.ask(unit="anna")
    campaign.tell_unit("anna", 0.0)
    fold = campaign._session.fold
    forged = chained(fold.chain, fold.number + 1, journal.TOLD, fold.at, ticket=1, arm=0, reward=1.0)
    with pytest.raises(DamagedJournal, match=r"whose rows give 0\.0"):
        fold.apply(forged)


def test_the_reward_of_a_ratio_has_the_bar_as_its_mean_where_the_ratio_has() -> None:
    """Exact, over all sets of rows of a unit: mean of the reward at least xi if and only if E sum x >= xi E sum d."""
    chance = np.random.default_rng(5)
    for _ in range(200):
        xi, terms, beyond, rewards = chance.uniform(0.05, 0.95), UnitTerms("ratio", None, 6.0), 0.0, []
        for _ in range(5):
            unit = OpenUnit("someone")
            for _ in range(chance.integers(0, 7)):
                unit = unit.plus(float(chance.random() < 0.4), 1.0)
            rewards.append(terms.reward(unit, xi))
            beyond += unit.total - xi * unit.size
        assert all(0.0 <= reward <= 1.0 for reward in rewards)
        assert math.fsum(rewards) / 5 - xi == pytest.approx(beyond / 30.0, abs=1e-12)


def test_a_ratio_counts_no_more_than_its_limit() -> None:
    campaign = made(per_unit="ratio", unit_limit=3, threshold=0.5)
    ticket = campaign.ask(unit="anna")[0]
    campaign.tell_unit("anna", 2.0, 2.0)
    assert campaign.tell_unit("anna", 1.5, 1.5).late == [ticket.ticket]
    campaign.tell_unit("anna", 1.0)
    campaign.close_units("anna")
    assert totals(campaign) == (1, 0, 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"per_unit": "most"}, "way to combine the rows of a unit"),
        ({"per_unit": "ratio"}, "needs unit_limit"),
        ({"unit_limit": 5}, "needs unit_limit"),
        ({"per_unit": "ratio", "unit_limit": math.inf}, "needs unit_limit"),
        ({"window": "soon"}, "window must be a positive time"),
        ({"window": math.nan}, "window must be a positive time"),
        ({"per_unit": None, "window": "7d"}, "window and unit_limit require units"),
        ({"after": "1h"}, "units have no unanswered tickets"),
        ({"rewards": Gaussian(1.0)}, "counts as 0"),
        ({"rewards": NonNegative(), "per_unit": "any", "policy": "uniform+bet-mixture"}, r"rewards in \[0, 1\]"),
        ({"cases": 50}, r"rewards in \[0, 1\]"),
        ({"threshold": None, "bars": "correct >= 0.9"}, "needs a campaign with a threshold"),
        ({"threshold": None, "control": "old", "per_unit": "ratio", "unit_limit": 9}, "needs a campaign with a thresh"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidValue, UnknownName), match=message):
        made(**options)


def test_wrong_calls_are_refused_and_leave_nothing_behind() -> None:
    campaign = made(per_unit="sum")
    with pytest.raises(Refused, match="Ask for it first"):
        campaign.tell_unit("anna", 1.0)
    ticket = campaign.ask(unit="anna")[0]
    before = campaign.number
    wrong: list[tuple[Any, str]] = [
        (lambda: campaign.ask(unit=""), "1 to 1,000 characters"),
        (lambda: campaign.ask(2, unit="bert"), "Leave n and key out"),
        (lambda: campaign.ask(unit="bert", key="k"), "Leave n and key out"),
        (lambda: campaign.ask(), "ask without unit="),
        (lambda: campaign.ask_block(5), "ask_block is refused"),
        (lambda: campaign.tell(ticket, 1.0), "tell is refused"),
        (lambda: campaign.step(ticket, 1.0), "step is refused"),
        (lambda: campaign.tell_arm("old", 1.0), "tell_arm is refused"),
        (lambda: campaign.tell_unit("anna", math.nan), "finite"),
        (lambda: campaign.tell_unit("anna", "much"), "must be a number"),
        (lambda: campaign.tell_unit("anna", -0.5), "at least 0"),
        (lambda: campaign.tell_unit("anna", 0.5, 2.0), "belongs to per_unit='ratio'"),
        (lambda: campaign.tell_unit("anna", 0.5, row=""), "id of a row"),
        (lambda: campaign.tell_units([("anna", 0.7), ("anna", 0.7)]), "sums to 1.4"),
        (lambda: campaign.tell_units([("anna", 0.7), ("bert", 0.7)]), "Ask for it first"),
        (lambda: campaign.tell_units(["anna"]), "a row of a unit is"),
        (lambda: campaign.close_units("anna", "bert"), "Ask for it first"),
    ]
    for call, message in wrong:
        with pytest.raises((InvalidValue, Refused), match=message):
            call()
    assert (campaign.number, totals(campaign)) == (before, (0, 1, 0.0))
    plain = made("memory:", per_unit=None)
    for call in (lambda: plain.ask(unit="anna"), lambda: plain.tell_unit("anna", 1.0), lambda: plain.close_units()):
        with pytest.raises(InvalidValue, match="has no units"):
            call()


def test_a_unit_that_came_while_no_arm_was_open_may_come_again() -> None:
    campaign = made()
    for arm in ("old", "new"):
        campaign.suspend(arm)
    assert campaign.ask(unit="anna") == []
    campaign.resume("new")
    assert campaign.ask(unit="anna")[0].arm == "new"


def test_the_audit_says_what_a_reward_is(clock: HandClock) -> None:
    campaign = made(threshold=0.5, window="7d", clock=clock)
    for unit in range(200):
        if not campaign.ask(unit=str(unit)):
            break
        campaign.tell_unit(str(unit), 1.0)
        clock.now += 86400.0
    audit = campaign.audit("old")
    assert audit is not None
    assert audit["notes"] == ["one reward per unit: the mean of all rows of the unit within 1 week of its ask"]
    assert campaign.check().ok


@pytest.mark.slow
def test_from_the_shell(tmp_path: Path) -> None:
    runner, where = CliRunner(), [f"sqlite:///{tmp_path / 'a.db'}", "pages"]

    def run(verb: str, *words: str, code: int = 0, **options: Any) -> str:
        result = runner.invoke(app, ["campaign", verb, *where, *words], **options)
        assert result.exit_code == code, result.output
        return result.output

    run("create", "--arms", "old,new", "--threshold", "0.3", "--per-unit", "mean")
    first = run("ask", "--unit", "Änne 7")
    assert run("ask", "--unit", "Änne 7") == first
    run("tell-unit", "Änne 7", "1", "--row", "visit 1")
    run("tell-unit", input="Änne 7\t1\t1\tvisit 1\nÄnne 7\t0\n\n")
    run("tell-unit", input="Änne 7 1\n", code=2)
    run("tell-unit", "Änne 7", code=2)
    run("tell-unit", "nobody", "1", code=2)
    assert json.loads(run("close-units", "Änne 7", "--json")) == {"open": 0, "verdicts": []}
    assert json.loads(run("arms", "--json"))["arms"][0]["total"] == 0.5
    assert run("check").startswith("ok")


def people(run: int, bar: float, icc: float, rows: int, count: int) -> list[np.ndarray]:
    """The clicks of people whose own rates vary around the bar with this correlation between two of their rows."""
    chance, size = np.random.default_rng(run), (1.0 - icc) / icc
    return [(chance.random(rows) < chance.beta(bar * size, (1.0 - bar) * size)).astype(float) for _ in range(count)]


@pytest.mark.slow
def test_the_promise_with_people_who_come_back() -> None:
    """Both arms at the bar, correlation 0.3, 20 rows per person: each side is called with probability <= delta = 0.2.

    A false alarm has probability below 1e-4 for each side. A side that errs with probability 2 delta is detected with
    probability above 90%. Windows overlap: ten people are open at any time. The broken twin counts every row of a
    person, and the same test detects it.
    """
    runs, bar, delta, alarm = 150, 0.3, 0.2, 1e-4
    fewest = next(errors for errors in range(runs) if binomial_tail(errors, runs, delta) < alarm)
    assert binomial_tail(fewest, runs, 2 * delta) > 0.9
    problem, good, bad, twin = Problem(threshold=bar, arms=2, delta=delta), 0, 0, 0
    for run in range(runs):
        clock = HandClock()
        campaign, called = made(f"memory:promise-{run}", delta=delta, window=10.0, clock=clock), False
        counts, sums = np.zeros(2), np.zeros(2)
        for person, clicks in enumerate(people(run, bar, 0.3, 20, 80)):
            clock.now += 1.0
            asked = campaign.ask(unit=str(person))
            if not asked:
                break
            campaign.tell_units((str(person), click) for click in clicks)
            counts[int(asked[0].arm == "new")] += clicks.size
            sums[int(asked[0].arm == "new")] += clicks.sum()
            if person % 5 == 4:
                for_good, _ = evidence_from_totals(gap_mixture, counts, sums, problem.bar)
                called |= bool((for_good >= problem.bar.budget).any())
        tally = campaign.tally()
        good, bad, twin = good + (tally.good > 0), bad + (tally.bad > 0), twin + called
    assert max(good, bad) < fewest
    assert twin >= fewest


@pytest.mark.slow
def test_a_cut_that_depends_on_rewards_would_break_the_promise() -> None:
    """Why a window refuses `close_units`: the broken twin closes each person at the best mean so far.

    It calls an arm at the bar good in nearly every campaign. A false alarm has probability below 1e-6.
    """
    runs, bar, delta, wrong = 20, 0.3, 0.1, 0
    for run in range(runs):
        campaign = made(f"memory:cut-{run}", delta=delta)
        for person, clicks in enumerate(people(100 + run, bar, 0.3, 50, 150)):
            if not campaign.ask(unit=str(person)):
                break
            best = int(np.argmax(np.cumsum(clicks) / np.arange(1, clicks.size + 1))) + 1
            campaign.tell_units((str(person), click) for click in clicks[:best])
            campaign.close_units(str(person))
        wrong += campaign.tally().good > 0
    assert binomial_tail(wrong, runs, delta) < 1e-6


def test_a_unit_with_rows_can_not_be_voided() -> None:
    """Its rewards are known, and voiding it would be a way around the window."""
    campaign = made(window="1d")
    (ticket,) = campaign.ask(unit="anna")
    campaign.tell_unit("anna", 0.0)
    with pytest.raises(Refused, match="the unit 'anna' has 1 row, whose rewards are known"):
        campaign.void(ticket, "changed my mind")
    (unseen,) = campaign.ask(unit="ben")
    campaign.void(unseen, "the page was never shown")
    assert (campaign.tally().pending, campaign.tally().void) == (1, 1)
