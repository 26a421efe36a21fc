"""Forecasts of a running campaign are forecasts of what its own policy does."""

from __future__ import annotations

import json
import math
import re
from functools import partial

import numpy as np
import pytest

from goodarm import Campaign
from goodarm.campaign.rows import Finish
from goodarm.campaign.words import count_words, headline
from goodarm.engine.evidence import Setup, evidence_for
from goodarm.planning.under_way import to_finish
from goodarm.policies import policy
from goodarm.problem import Problem
from goodarm.question import Threshold
from goodarm.rules.identification.gap_mixture import gap_mixture


@pytest.mark.slow
def test_a_policy_that_looks_for_good_arms_promises_no_early_end() -> None:
    campaign = Campaign.create("memory:", "c", [f"arm {i}" for i in range(12)], 0.5)
    for i in range(12):
        for turn in range(4000 if i < 1 else 60):
            campaign.tell_arm(f"arm {i}", float(turn % 2 if i < 1 else turn % 10 < 3))
    found = campaign.finish()
    assert found is not None
    assert (found.near, found.high) == (0, math.inf)
    assert Finish.from_json(json.loads(json.dumps(found.as_json()))) == found
    said = campaign.headline().split("; ")
    assert re.fullmatch(r"at least [\d,]+ more samples to finish", said[1])
    assert said[2] == (
        f"value looks for arms above 50% first and leaves {found.waiting} worse-looking arms for later: about "
        f"{count_words(found.waiting_samples)} samples would decide them (sample them yourself, or use "
        "settle+gap-mixture in a new campaign)"
    )
    assert found.waiting == 11
    samples = 0
    for i in range(1, 12):
        for turn in range(60, 2000):
            samples += 1
            if campaign.tell_arm(f"arm {i}", float(turn % 10 < 3)).verdicts:
                break
    assert found.waiting_samples / 2 < samples < 2 * found.waiting_samples
    assert campaign.headline().startswith("0 of 12 above 50%, 11 below, 1 undecided")


@pytest.mark.slow
def test_who_gets_the_samples_decides_whether_arms_can_be_left_out_of_a_forecast() -> None:
    """Under `value` one arm at the bar gets the samples while arms far below it wait."""
    means = np.array([0.1] * 8 + [0.3] + [0.6] * 4)
    chance, problem = np.random.default_rng(1), Problem(threshold=0.3, arms=means.size)
    step = evidence_for(Threshold(0.3)).step(Setup(policy("value+gap-mixture"), problem, [str(i) for i in range(13)]))
    pulls, totals = np.zeros(means.size), np.zeros(means.size)

    def go_on(samples: int) -> None:
        for _ in range(samples // 10):
            more = step.choose_block(10)
            rewards = chance.binomial(more, means).astype(float)
            step.absorb_block(more, rewards)
            pulls[:], totals[:] = pulls + more, totals + rewards

    def undecided() -> np.ndarray:
        return np.flatnonzero([step.row(arm).verdict == 0 for arm in range(means.size)])

    go_on(5000)
    levels = np.full(means.size, problem.bar.budget)
    ask = partial(to_finish, pulls, totals, problem, gap_mixture, (), levels, undecided())
    own, twin = ask(quick_first=False), ask(quick_first=True)
    assert own.near == 0
    assert own.look_bad >= 6
    assert not own.samples.told
    assert twin.near >= 1
    assert twin.samples.high < 1000
    go_on(20 * int(twin.samples.high))
    assert undecided().size > twin.near  # what another order of the arms would have decided long ago


def test_half_of_the_undecided_arms_need_less_than_nine_in_ten_and_these_less_than_all() -> None:
    pulls, totals = np.full(20, 200.0), 200.0 * np.linspace(0.42, 0.58, 20)
    problem, levels = Problem(0.5, 20, 0.05), np.full(20, -math.log(0.05 / 20))
    told = partial(to_finish, pulls, totals, problem, gap_mixture, (), levels, quick_first=True)
    found = told(np.arange(20))
    assert 0.0 < found.half < found.ninety < found.samples.median
    alone = told(np.arange(1))
    assert (alone.half, alone.ninety) == (math.inf, math.inf)  # no part of one arm


def test_a_control_is_called_by_its_label_where_names_are_given() -> None:
    arms = [{"id": "h0", "label": "Now\x1b[31m on the page"}, {"id": "h1", "label": "New"}]
    campaign = Campaign.create("memory:", "c", arms, control="h0")
    assert campaign.headline().startswith("0 of 1 better than h0, ")
    asked = campaign.terms.shown()
    assert asked.question["above"] == "better than “Now [31m on the page”"
    assert (asked.control, asked.question["references"]) == ("h0", ["h0"])
    assert headline(campaign.terms, campaign.tally(), None, campaign.terms.names).startswith("0 of 1 better than “Now ")
