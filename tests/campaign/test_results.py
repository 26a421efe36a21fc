"""The table of results has every reward that counts, beside its arm, its case and its place in the order of asking."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import pytest
from hand_clock import HandClock

import goodarm
from goodarm import Campaign
from goodarm.errors import UnusableFolder
from goodarm.problem import GradedCases

PASSED = {
    (arm, str(case)): float(case % 5 < pass_of_5) for arm, pass_of_5 in (("a", 5), ("b", 3)) for case in range(40)
}
CASES = [str(case) for case in range(40)]


def test_every_told_cell_is_there_once_and_void_and_pending_ones_are_not(address: str) -> None:
    campaign = Campaign.create(address, "x", ["a", "b"], threshold=0.7, cases=CASES)
    first, second, third = campaign.ask(3)
    campaign.tell(third, PASSED[third.arm, third.case])
    campaign.tell(first, PASSED[first.arm, first.case])
    campaign.void(second, "the model timed out")
    (out,) = campaign.ask()
    found = campaign.results()
    assert [(row.arm, row.case) for row in found] == [(each.arm, each.case) for each in (first, third)]  # not as told
    assert all(row.reward == PASSED[row.arm, row.case] for row in found if row.case is not None)
    assert [row.asked for row in found] == sorted(row.asked for row in found)
    assert (len(found), found.out, found.in_blocks) == (2, 1, 0)
    assert "1 ticket awaits its reward" in str(found)
    campaign.tell(out, PASSED[out.arm, out.case])
    assert campaign.results().notes == []
    campaign.run(lambda ticket: PASSED[ticket.arm, ticket.case], workers=1, progress=False)
    found = campaign.results()
    assert len(found) == campaign.tally().told
    for arm in campaign.arms():
        mine = [row for row in found if row.arm == arm.arm]
        assert len({row.case for row in mine}) == len(mine) == arm.pulls
        assert sum(PASSED[row.arm, str(row.case)] for row in mine) == arm.total
    campaign.close()


def test_rewards_without_cases_with_times(clock: HandClock) -> None:
    campaign = Campaign.create(
        "memory:", "x", ["a"], threshold=0.5, after="1min", unanswered="zero", seed=1, clock=clock
    )
    assert str(campaign.results()) == "no results yet"
    late, told = campaign.ask(2)
    clock.now += 30.0
    campaign.tell(told, 1)
    clock.now += 45.0
    campaign.tell_arm("a", 0.5)
    found = campaign.results()
    assert found.columns == ("arm", "reward", "told_at", "asked")
    assert [(row.arm, row.case, row.unit, row.reward) for row in found] == [
        ("a", None, None, 0.0),  # expired, and counted as 0
        ("a", None, None, 1.0),
        ("a", None, None, 0.5),
    ]
    assert found.rows[1].told_at < found.rows[0].told_at <= found.rows[2].told_at
    assert found.out == 0 == campaign.tally().pending
    assert late.arm == "a"


def test_blocks_have_no_rows_and_the_table_says_so() -> None:
    campaign = Campaign.create("memory:", "x", ["a", "b"], threshold=0.5)
    campaign.tell_arm("a", 1)
    block = campaign.ask_block(30)
    campaign.tell_block(block, {arm: (pulls, 0) for arm, pulls in block.pulls.items()})
    found = campaign.results()
    assert (len(found), found.in_blocks) == (1, 30)
    assert "30 rewards were told in blocks, which keep only sums" in str(found)
    assert found.as_json()["in_blocks"] == 30


def test_several_metrics_are_columns_and_a_metric_called_arm_does_not_hide_the_arm(tmp_path: Path) -> None:
    campaign = Campaign.create("memory:", "x", ["a"], bars="correct >= 90%, arm <= 50%")
    campaign.tell_arm("a", {"correct": 1, "arm": 0.25})
    found = campaign.results()
    assert found.columns == ("arm", "correct", "reward arm", "told_at", "asked")
    assert found.rows[0].reward == {"correct": 1.0, "arm": 0.25}
    with found.to_csv(tmp_path / "x.csv").open(newline="") as lines:
        (row,) = csv.DictReader(lines)
    assert (row["arm"], row["correct"], row["reward arm"]) == ("a", "1.0", "0.25")


def test_a_unit_is_one_row() -> None:
    campaign = Campaign.create("memory:", "x", ["a"], threshold=0.5, per_unit="any")
    campaign.ask(unit="anna")
    campaign.ask(unit="ben")
    campaign.tell_units([("anna", 0), ("anna", 1), ("ben", 0)])
    assert (len(campaign.results()), campaign.results().out) == (0, 2)
    campaign.close_units("anna", "ben")
    found = campaign.results()
    assert found.columns == ("arm", "unit", "reward", "told_at", "asked")
    assert [(row.unit, row.reward) for row in found] == [("anna", 1.0), ("ben", 0.0)]


def test_files_hold_names_as_they_are_and_the_printed_table_fits(tmp_path: Path) -> None:
    case = 'Ω, "quoted"' + 300 * "x"
    campaign = Campaign.create("memory:", "x", ["tea ☕, hot"], threshold=0.5, cases=[case])
    campaign.tell(campaign.ask()[0], 1)
    found = campaign.results()
    with found.to_csv(tmp_path / "x.csv").open(newline="", encoding="utf-8") as lines:
        (row,) = csv.DictReader(lines)
    assert (row["arm"], row["case"], row["reward"]) == ("tea ☕, hot", case, "1.0")
    assert found.to_pandas()["case"].tolist() == [case]
    assert max(map(len, str(found).splitlines())) <= 80
    with pytest.raises(UnusableFolder, match="is a folder"):
        found.to_csv(tmp_path)
    with pytest.raises(UnusableFolder, match="can't write into"):
        found.to_csv(tmp_path / "missing" / "x.csv")


@pytest.mark.slow
def test_judging_the_results_of_a_campaign_gives_the_campaigns_verdicts() -> None:
    chance = random.Random(5)
    graded = {(arm, case): chance.random() ** power for arm, power in (("a", 0.2), ("b", 3.0)) for case in CASES}
    for told, options, policy, rewards in (
        (PASSED, {}, "value+gap-mixture", None),
        (graded, {"order": "asked"}, "uniform+bet-mixture", GradedCases(40)),
    ):
        campaign = Campaign.create(
            "memory:",
            "x",
            ["a", "b"],
            threshold=0.7,
            cases=CASES,
            policy=policy,
            **({"rewards": rewards} if rewards else {}),
        )
        campaign.run(lambda ticket, told=told: told[ticket.arm, ticket.case], workers=1, progress=False)
        assert len(campaign.results()) < len(told)
        judged = goodarm.judge(
            campaign.results().to_pandas(), threshold=0.7, arm="arm", reward="reward", case="case", cases=40, **options
        )
        mine = {row.arm: row.verdict for row in campaign.arms()}
        assert dict(zip(judged.columns()["arm"], judged.columns()["verdict"], strict=True)) == mine
        assert set(mine.values()) == {"good", "bad"}


def test_repetitions_have_one_row_each() -> None:
    campaign = Campaign.create("memory:", "x", ["a"], threshold=0.5, cases=2, repeats=3)
    for ticket in campaign.ask(6):
        campaign.tell(ticket, 1)
    assert sorted(row.case or "" for row in campaign.results()) == ["1"] * 3 + ["2"] * 3


@pytest.mark.slow
def test_a_second_question_on_the_same_results_keeps_its_promise() -> None:
    """Of 60 campaigns at 70%, at most 8 are wrong at 60%, and 8 against `now`: P(Binomial(60, 0.05) > 8) < 0.003 each.

    `b` passes 23 of 40 cases, `now` 24, `c` 25: next to the second bar. Twin: failures are told last, and the results
    are judged before; more than a quarter of the campaigns are wrong then.
    """
    wrong = {"bar": 0, "control": 0, "twin": 0}
    for seed in range(60):
        chance = random.Random(seed)
        passes = {arm: set(chance.sample(CASES, many)) for arm, many in (("b", 23), ("now", 24), ("c", 25))}
        campaign = Campaign.create("memory:", "x", list(passes), threshold=0.7, cases=CASES, seed=seed)
        campaign.run(lambda ticket, passes=passes: float(ticket.case in passes[ticket.arm]), workers=1, progress=False)
        table = campaign.results().to_pandas()
        given = {"arm": "arm", "reward": "reward", "case": "case", "cases": 40}
        at_bar = goodarm.judge(table, threshold=0.6, **given)
        wrong["bar"] += "b" in at_bar.good or bool({"now", "c"} & set(at_bar.bad))
        paired = goodarm.judge(table, versus="now", order="asked", **given)
        wrong["control"] += "b" in paired.good or "c" in paired.bad
        without_failures = table[(table.reward == 1.0) | (table.asked % 5 == 0)]
        wrong["twin"] += "b" in goodarm.judge(without_failures, threshold=0.6, **given).good
    assert wrong["bar"] <= 8
    assert wrong["control"] <= 8
    assert wrong["twin"] > 15
