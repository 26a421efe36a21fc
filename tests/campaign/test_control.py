"""Campaigns against a control: what they say, that they can be checked, kept and moved, and that the promise holds."""

from __future__ import annotations

import heapq
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_runs import Live, is_certain, terms_of
from typer.testing import CliRunner

from goodarm.campaign import Campaign, open_store
from goodarm.campaign.fold import Fold
from goodarm.campaign.journal import Event
from goodarm.campaign.snapshot import pack, unpack
from goodarm.campaign.terms import Terms, rules_fingerprint
from goodarm.cli import app
from goodarm.engine.evidence import evidence_for
from goodarm.engine.live.control import LATER, ControlStep
from goodarm.errors import GoodarmError, InvalidValue, Refused, UnknownName, UnsoundPairing
from goodarm.policies import policy
from goodarm.problem import Bounded, Gaussian, Problem, bar_at
from goodarm.question import Control
from goodarm.rules.beliefs import FOR_BAD, FOR_GOOD, PULLS, TOTAL
from goodarm.rules.identification.gap_mixture import gap_mixture
from goodarm.rules.identification.versus import against_control, better_by, versus
from goodarm.testing.error_rates import LAW_LEVEL, Trial

MEANS = {"now": 0.3, "up": 0.55, "down": 0.1}


def played(store: Any = "memory:", pulls: int = 900, **more: Any) -> Campaign:
    """A campaign told ten tickets at a time, the last of each batch first."""
    chance = random.Random(3)
    campaign = Campaign.create(store, "pages", list(MEANS), control="now", margin=0.02, **more)
    for _ in range(pulls // 10):
        for ticket in reversed(campaign.ask(10)):
            campaign.tell(ticket, float(chance.random() < MEANS[ticket.arm]))
    return campaign


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return played()


@pytest.mark.slow
def test_verdicts_words_and_rows(campaign: Campaign) -> None:
    assert campaign.headline() == (
        "1 of 2 better than now by 2 pp or more, 1 not, 0 undecided; every arm is decided; the probability of any "
        "wrong verdict is at most 5%"
    )
    rows = {row.arm: row for row in campaign.arms()}
    assert {arm: row.verdict for arm, row in rows.items()} == {"now": "control", "up": "better", "down": "not better"}
    assert rows["up"].low >= 0.02 > rows["down"].high
    now, up = rows["now"], rows["up"]
    assert up.mean == up.total / up.pulls - now.total / now.pulls
    assert (now.mean, now.weight, up.weight) == (0.0, 0.0, 0.5)
    audit = campaign.audit("up")
    assert audit is not None
    assert audit["verdict"] == "better"
    assert audit["evidence"] >= audit["needed"]
    held = audit["control"]
    worst = better_by(
        audit["asked"], audit["total"], held["asked"], held["total"] + held["pending"], campaign.terms.question.bar
    )
    assert audit["evidence"] == worst


@pytest.mark.slow
def test_the_journal_is_checked_and_a_forged_verdict_is_found(campaign: Campaign, tmp_path: Path) -> None:
    assert campaign.check().ok
    path = tmp_path / "pages.jsonl"
    campaign.export(path)
    with Campaign.import_from("memory:", path) as again:
        assert again.arms() == campaign.arms()
        assert again.check().ok


@pytest.mark.slow
def test_a_snapshot_goes_on_as_the_fold_does(tmp_path: Path) -> None:
    with played(f"sqlite:///{tmp_path / 'a.db'}", pulls=150) as live:
        fold = live._session.fold
        first = next(iter(live.store.read(live._session.campaign, 0, 1)))
        again = unpack(first, fold.chain, pack(fold))
        assert again is not None
        for _ in range(60):
            arm = fold.choose()
            assert arm == again.choose()
            for each in (fold, again):
                event = Event(each.number + 1, "asked", each.tickets + 1, arm, None, None, 0.0, b"")
                each.apply(event)
                each.apply(Event(each.number + 1, "told", each.tickets, arm, 1.0, None, 0.0, b""))
                each.undeclared.clear()
        assert np.array_equal(fold.step.state.arms, again.step.state.arms)
    with Campaign.open(f"sqlite:///{tmp_path / 'a.db'}", "pages") as opened:
        assert opened.terms.question == Control("now", 0.02)
        assert opened.tally().arms == 2


def test_blocks_and_voids() -> None:
    live = Campaign.create("memory:", "x", list(MEANS), control="now", margin=0.02)
    while live.verdicts().open:
        block = live.ask_block(400)
        told = {arm: (count, round(MEANS[arm] * count)) for arm, count in block.pulls.items()}
        live.tell_block(block, {"now": told.pop("now")} if "now" in told else {}, "control")
        live.tell_block(block, told, "others")
    assert [row.verdict for row in live.arms()] == ["control", "better", "not better"]
    assert live.check().ok
    other = Campaign.create("memory:", "y", list(MEANS), control="now")
    for ticket in other.ask(9):
        other.void(ticket, "lost")
    assert [row.void for row in other.arms()] != [0, 0, 0]
    assert other.check().ok


def test_later_arms_have_half_of_their_share_on_either_side() -> None:
    live = Campaign.create("memory:", "x", ["now", "a", "b"], control="now", reserve=0.2)
    live.add_arms(["late"])
    share = live.terms.later_weight(1)
    assert share == pytest.approx(0.2 * 2 / (2 * 3))
    offset = live._session.fold.step.row(3).offset
    assert offset == pytest.approx(np.log(share * 2 * LATER))
    assert live.arm("late").weight == share
    assert {ticket.arm for ticket in live.ask(6)} == {"now", "a", "b", "late"}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"threshold": 0.5, "control": "now"}, InvalidValue),
        ({}, InvalidValue),
        ({"threshold": 0.5, "margin": 0.1}, InvalidValue),
        ({"control": "noww"}, UnknownName),
        ({"control": "now", "margin": 1.0}, InvalidValue),
        ({"control": "now", "margin": float("nan")}, GoodarmError),
        ({"control": "now", "criterion": "fdr"}, UnsoundPairing),
        ({"control": "now", "policy": "value+learned-bets"}, UnsoundPairing),
        ({"control": "now", "policy": "thompson"}, UnsoundPairing),
        ({"control": "now", "policy": "settle"}, UnsoundPairing),
        ({"control": "now", "policy": "ucb@linear"}, UnsoundPairing),
        ({"control": "now", "rewards": Gaussian(1.0)}, GoodarmError),
        ({"control": "now", "arms": ["now"]}, InvalidValue),
        ({"control": "now", "arms": [{"id": "now", "weight": 0.5}, "a"]}, InvalidValue),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], error: type[GoodarmError]) -> None:
    with pytest.raises(error):
        Campaign.create("memory:", "x", **{"arms": ["now", "a", "b"], **given})


def test_the_control_is_neither_paused_nor_retired() -> None:
    live = Campaign.create("memory:", "x", list(MEANS), control="now")
    for turn in (live.suspend, live.retire):
        with pytest.raises(Refused, match="control"):
            turn("now")
    with pytest.raises(InvalidValue, match="control"):
        live.remaining()


@pytest.mark.slow
def test_the_command_line(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'c.db'}"
    run = CliRunner().invoke
    made = run(app, ["campaign", "create", store, "x", "--arms", "now,a,b", "--control", "now", "--margin", "0.02"])
    assert made.exit_code == 0
    assert "0 of 2 better than now by 2 pp or more" in made.output
    asked = run(app, ["campaign", "ask", store, "x", "-n", "3"])
    for line in asked.output.splitlines():
        assert run(app, ["campaign", "tell", store, "x", line.split("\t")[0], "1"]).exit_code == 0
    shown = run(app, ["campaign", "arms", store, "x"])
    assert "difference" in shown.output
    assert "control" in shown.output
    assert run(app, ["campaign", "create", store, "y", "--arms", "now,a"]).exit_code == 2


def test_python_and_native_code_round_alike() -> None:
    """`check` compares evidence bit for bit, and the first looks of a process are plain Python."""
    from goodarm.engine.compile import just_in_time

    chance = np.random.default_rng(1)
    for _ in range(60):
        n, n0 = map(float, chance.integers(1, 3000, 2))
        s, s0 = (float(chance.binomial(int(each), chance.random() ** 3)) for each in (n, n0))
        given = (n, s, n0, s0, float(chance.choice([0.0, 0.02, -0.05])))
        assert against_control(*given) == just_in_time(against_control)(*given)


# The promise

DELTA = 0.1
TRIAL = Trial(level=LAW_LEVEL, runs=100, delta=DELTA)
LEVELS = (0.001, 0.02, 0.1, 0.5)


class KnownControl(ControlStep):
    """A twin that takes the control's mean for the truth."""

    def _evidence(self, which: Any, *, choosing: bool) -> None:
        arms = self.state.arms
        super()._evidence(which, choosing=choosing)
        pulls, total = arms[self.control, PULLS], arms[self.control, TOTAL]
        if 0.0 < total < pulls:
            bar = bar_at(self.problem.bar, total / pulls)
            for arm in which:
                if arms[arm, PULLS] > 0.0:
                    arms[arm, FOR_GOOD], arms[arm, FOR_BAD] = gap_mixture.totals(
                        arms[arm, PULLS], arms[arm, TOTAL], bar
                    )


class CountedWhenTold(ControlStep):
    """A twin that forgets what is still out."""

    def _evidence(self, which: Any, *, choosing: bool) -> None:
        arms, held = self.state.arms, self.state.arms[self.control]
        super()._evidence(which, choosing=choosing)
        for arm in which:
            if arms[arm, PULLS] > 0.0 and held[PULLS] > 0.0:
                arms[arm, FOR_GOOD], arms[arm, FOR_BAD] = against_control(
                    arms[arm, PULLS], arms[arm, TOTAL], held[PULLS], held[TOTAL], self.margin
                )


def against(arms: int, sampling: str) -> Terms:
    made = evidence_for(Control("arm 0")).policy(sampling, Bounded(), None)
    plain = terms_of(arms + 1, 0.5, "uniform+gap-mixture", DELTA, 0.0, "fwer")
    return replace(plain, question=Control("arm 0"), policy=made.name, rules=rules_fingerprint(made))


def twin(kind: type[ControlStep]) -> type[Fold]:
    class Broken(Fold):
        def __init__(self, created: Event) -> None:
            super().__init__(created)
            step, terms = self.step, self.terms
            assert isinstance(step, ControlStep)
            self.step = kind(terms.made, terms.problem, step.control, step.margin)

    return Broken


def wrong_runs(mean: float, early: float, kind: type[Fold] = Fold, asks: int = 240, sampling: str = "value") -> int:
    """Runs with a wrong verdict on two arms that equal the control, or lie just below it, looked at all the time.

    At a margin of 0 equal arms lie on the border: either verdict has a probability of at most delta. Here only "not
    better" is counted of them, and of arms just below only "better". The count ends when the outcome is certain.
    """
    terms, total = against(2, sampling), 0
    below = early == 1.0
    for seed in range(TRIAL.runs):
        rng, live = random.Random(seed), Live(replace(terms, seed=seed), kind)
        out: list[tuple[int, float, int, float]] = []
        wrong = "better" if below else "not better"
        for now in range(asks):
            ticket = live.ask()
            if ticket is None or wrong in live.verdicts():
                break
            is_control = live.fold.pending[ticket][0] == 0
            reward = float(rng.random() < (mean if is_control or not below else mean * 0.999))
            # what helps the wrong verdict comes at once: of an arm `early`, of the control the other one
            helps = reward == (1.0 - early if is_control else early)
            heapq.heappush(out, (now if helps else now + 60, rng.random(), ticket, reward))
            while out and out[0][0] <= now:
                live.tell(*heapq.heappop(out)[2:])
        for *_, ticket, reward in sorted(out):
            live.tell(ticket, reward)
        total += wrong in live.verdicts()
        if is_certain(total, seed + 1, TRIAL):
            break
    return total


@pytest.mark.slow
@pytest.mark.parametrize("mean", LEVELS)
@pytest.mark.parametrize("early", [1.0, 0.0])
def test_the_promise_under_delays_that_depend_on_the_reward(mean: float, early: float) -> None:
    assert wrong_runs(mean, early) < TRIAL.critical


@pytest.mark.slow
@pytest.mark.parametrize("kind", [KnownControl, CountedWhenTold])
def test_a_broken_twin_is_caught(kind: type[ControlStep]) -> None:
    assert wrong_runs(0.5, 1.0, twin(kind), sampling="uniform") >= TRIAL.critical


def test_the_step_agrees_with_totals_told_one_by_one() -> None:
    """Told at once, an arm's evidence after its own reward is the formula of the totals, and nothing else."""
    step = ControlStep(policy("uniform", versus), Problem(threshold=0.5, arms=2, delta=0.01), control=1, margin=0.0)
    chance = random.Random(0)
    for _ in range(80):
        arm = step.choose()
        step.ask(arm)
        step.absorb(arm, float(chance.random() < 0.4))
        if arm != 1:
            n, s, n0, s0 = (*step.state.arms[arm, [PULLS, TOTAL]], *step.state.arms[1, [PULLS, TOTAL]])
            assert tuple(step.state.arms[arm, [FOR_GOOD, FOR_BAD]]) == against_control(n, s, n0, s0, 0.0)


def test_a_store_lists_it(campaign: Campaign) -> None:
    with open_store("memory:") as store, played(store, pulls=50):
        assert store.names() == ["pages"]
