"""Rules of another package in a live campaign: what can't be compiled, or fails, is named before it does harm."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

RULES = """
import math

from goodarm.identification import EvidenceRule
from goodarm.sampling import ChoiceRule, IndexRule
from goodarm.verdict import Guarantee

TABLE = {"bonus": 1.0}

def reads_a_dict(arm, pool, bar):
    return arm.mean + TABLE["bonus"]  # line 11

def fails_at_zero(arm, pool, bar):
    return math.log(arm.mean) if arm.pulls > 1.5 else 0.0  # line 14

def fine(arm, pool, bar):
    return arm.mean + arm.width

def fails_at_the_third(arm, reward, pool, bar):
    return 0.0, math.log(2.0 - arm.pulls), 0.0

def draws_too_far(arms, pool, bar, generator):
    generator.random()
    return 0 if pool.round < 4.0 else 7

reading = IndexRule(name="reading", index=reads_a_dict)
failing = IndexRule(name="failing", index=fails_at_zero)
working = IndexRule(name="working", index=fine)
drawing = ChoiceRule(name="drawing", choose=draws_too_far)
third = EvidenceRule(name="third", guarantee=Guarantee.CERTIFIED, observe=fails_at_the_third)
"""
ENTRY_POINTS = """
[goodarm.sampling]
reading = stranger:reading
failing = stranger:failing
working = stranger:working
drawing = stranger:drawing

[goodarm.identification]
third = stranger:third
"""
CAMPAIGN = """
import sys
from goodarm import Campaign, GoodarmError
try:
    with Campaign.create("memory:", "c", ["a", "b"], 0.5, policy=f"{sys.argv[1]}+gap-mixture") as campaign:
        print("created")
        for _ in range(4):
            (ticket,) = campaign.ask()
            campaign.tell(ticket, 0.0)
        print("told", campaign.check().ok)
except GoodarmError as error:
    print(error)
"""
TRANSACTION = """
import sys
from goodarm import Campaign
from goodarm.campaign.stores import MemoryStore
from goodarm.errors import GoodarmError, RuleFailed
store = MemoryStore()
campaign = Campaign.create(store, "c", ["a", "b"], 0.5, policy=sys.argv[1])
{before}
number, draws = campaign.number, campaign._session.fold.step.generator.bit_generator.state["state"]
try:
    with campaign.transaction():
        campaign.note({{"of": "a neighbour"}})
        try:
            {operation}
        except RuleFailed as error:
            print(error)
except GoodarmError:
    print("undone")
print(campaign.number == number, campaign._session.fold.step.generator.bit_generator.state["state"] == draws)
again = Campaign.open(store, "c")
again.end()
print(again.check().ok)
"""


def ran(package: Path, *arguments: str) -> list[str]:
    """What a program with the package on its path prints."""
    path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    found = subprocess.run(
        [sys.executable, "-c", *arguments],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout.splitlines()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of somebody else, as it lies on the path once it is installed."""
    (tmp_path / "stranger.py").write_text(RULES)
    about = tmp_path / "stranger-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    return tmp_path


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            "reading",
            ["the rule 'reading' runs in Python but can't be compiled: stranger.py, line 11, in reads_a_dict: "],
        ),
        ("failing", ["created", "the rule 'failing' failed: stranger.py, line 14, in fails_at_zero: ValueError: "]),
        ("working", ["created", "told True"]),
    ],
)
def test_what_is_wrong_with_it_is_said_at_once(package: Path, rule: str, said: list[str]) -> None:
    lines = ran(package, CAMPAIGN, rule)
    assert len(lines) == len(said), lines
    assert all(line.startswith(words) for line, words in zip(lines, said, strict=True)), lines


@pytest.mark.parametrize(
    ("policy", "before", "operation", "said"),
    [
        (
            "uniform+third",
            "for _ in range(2): campaign.tell_arm('a', 1.0)",
            "campaign.tell_arm('a', 1.0)",
            "the rule 'third' failed",
        ),
        ("drawing+gap-mixture", "campaign.ask(3)", "campaign.ask()", "chose an arm that is decided or does not exist"),
    ],
)
def test_what_it_fails_at_is_not_written(package: Path, policy: str, before: str, operation: str, said: str) -> None:
    """Even if the caller catches the error, as a server does; if not, the campaign could not be opened any more."""
    error, *rest = ran(package, TRANSACTION.format(before=before, operation=operation), policy)
    assert said in error
    assert rest == ["undone", "True True", "True"]


TWO_TOLD = """
import sys
from goodarm import Campaign
with Campaign.create(sys.argv[1], "c", ["a", "b"], 0.5, policy="uniform+third") as campaign:
    for _ in range(2):
        campaign.tell_arm("a", 1.0)
"""
CHECKED = """
import sys
from goodarm.campaign import open_store
from goodarm.campaign.check import check_named
with open_store(sys.argv[1]) as store:
    print(*check_named(store, "c")[:3])
"""


def test_check_names_the_entry_at_which_a_rule_fails(package: Path) -> None:
    """Its author has changed it since: no traceback, also where the campaign can't be opened."""
    store = f"sqlite:///{package / 'store.db'}"
    ran(package, TWO_TOLD, store)
    (package / "stranger.py").write_text(RULES.replace("math.log(2.0 - arm.pulls)", "math.log(1.0 - arm.pulls)"))
    (line,) = ran(package, CHECKED, store)
    assert line.startswith("False 3 entry 3 can't be replayed: the rule 'third' failed: stranger.py, line 20, in ")


EXPIRED = """
from goodarm import Campaign
now = 0.0
campaign = Campaign.create(
    "memory:", "c", ["a"], 0.5, policy="uniform+third", after=10.0, unanswered="zero", clock=lambda: now
)
for ticket in campaign.ask(3)[:2]:
    campaign.tell(ticket, 1.0)
now = 9.0
(later,) = campaign.ask()
now = 11.0
campaign.void(later, "the visitor left")
print(campaign.tally().pending, campaign.check().ok)
campaign.end()
print(campaign.tally().pending, campaign.check().ok)
"""


def test_a_ticket_at_which_it_fails_stays_out_and_blocks_neither_voiding_nor_ending(package: Path) -> None:
    """The third ticket can't expire: the rule fails at every third reward of an arm."""
    assert ran(package, EXPIRED) == ["1 True", "1 True"]
