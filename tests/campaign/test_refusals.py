"""Bad input is refused with the value, the reason and the fix; and the journal is the same afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from goodarm import Campaign, Gaussian, policy
from goodarm.campaign import open_store
from goodarm.errors import GoodarmError, InvalidValue, Refused, UnknownName, UnsoundPairing
from goodarm.sampling import IndexRule

NO_REWARDS = [
    math.nan, math.inf, -0.1, 1.1, "1", None, [1.0], 1j, np.array([1.0]), 10**400, -(10**400),
    np.nextafter(1.0, 2.0), Decimal(1), b"1",
]  # fmt: skip


@pytest.fixture
def campaign(address: str) -> Any:
    with Campaign.create(address, "c", ["a", "b"], 0.5, reserve=0.1) as made:
        made.tell(made.ask()[0], 1.0)
        made.ask(2)
        yield made


@pytest.mark.parametrize("reward", NO_REWARDS, ids=lambda reward: repr(reward)[:20])
def test_what_is_no_reward_is_refused(campaign: Campaign, reward: Any) -> None:
    before = list(campaign.history())
    ticket = next(entry["ticket"] for entry in before[::-1] if entry["kind"] == "asked")
    for tell in (lambda: campaign.tell(ticket, reward), lambda: campaign.tell_arm("a", reward)):
        with pytest.raises(GoodarmError, match="reward"):
            tell()
    with pytest.raises(GoodarmError, match="reward"):
        campaign.step(ticket, reward)
    assert list(campaign.history()) == before
    campaign.tell(ticket, np.float32(1.0))  # numpy's numbers are fine
    assert campaign.check().ok


def endless() -> dict[str, Any]:
    """Deeper than JSON can be written."""
    inside: dict[str, Any] = {}
    for _ in range(100_000):
        inside = {"a": inside}
    return inside


REFUSED: dict[str, Callable[[Campaign], object]] = {
    "unknown arm": lambda campaign: campaign.tell_arm("z", 1.0),
    "arm that is no text": lambda campaign: campaign.suspend(0),  # type: ignore[arg-type]  # on purpose
    "pass no criterion": lambda campaign: campaign.ask(0),
    "ask for half of one": lambda campaign: campaign.ask(0.5),  # type: ignore[arg-type]  # on purpose
    "ask for true": lambda campaign: campaign.ask(True),
    "ask for too many": lambda campaign: campaign.ask(10**7),
    "empty key": lambda campaign: campaign.ask(1, key=""),
    "same id twice": lambda campaign: campaign.add_arms(["d", "d"]),
    "id in use": lambda campaign: campaign.add_arms(["a"]),
    "no arms": lambda campaign: campaign.add_arms([]),
    "weight of a later arm": lambda campaign: campaign.add_arms([{"id": "d", "weight": 0.5}]),
    "unknown ticket": lambda campaign: campaign.void("99-0000", "lost"),
    "void a told ticket": lambda campaign: campaign.void(next(campaign.history(after=1))["ticket"], "lost"),
    "block of a single ticket": lambda campaign: campaign.tell_block(
        next(campaign.history(after=3))["ticket"], {"a": (1, 1.0)}
    ),
    "rewards that are no pairs": lambda campaign: campaign.tell_many([1, 2]),  # type: ignore[list-item]  # on purpose
    "rewards that are none": lambda campaign: campaign.tell_many(None),  # type: ignore[arg-type]  # on purpose
    "history before the first entry": lambda campaign: list(campaign.history(-5)),
    "history of a negative length": lambda campaign: list(campaign.history(0, -5)),
    "a note with two kinds of keys": lambda campaign: campaign.note({1: 1, "a": 2}),  # type: ignore[dict-item]  # on purpose
    "a note without a bottom": lambda campaign: campaign.note(endless()),
    "a reason that is no JSON": lambda campaign: campaign.end(object()),  # type: ignore[arg-type]  # on purpose
    "a note that is no JSON": lambda campaign: campaign.note({"a": object()}),
}  # fmt: skip


@pytest.mark.parametrize("operation", REFUSED.values(), ids=REFUSED.keys())
def test_what_can_not_be_done_changes_nothing(campaign: Campaign, operation: Callable[[Campaign], object]) -> None:
    before = list(campaign.history())
    with pytest.raises(GoodarmError) as caught:
        operation(campaign)
    assert str(caught.value).endswith((".", "?"))
    assert list(campaign.history()) == before
    assert campaign.check().ok


WRONG_TERMS: dict[str, tuple[dict[str, Any], type[Exception]]] = {
    "threshold outside": ({"threshold": 1.5}, InvalidValue),
    "threshold nan": ({"threshold": math.nan}, InvalidValue),
    "threshold text": ({"threshold": "half"}, InvalidValue),
    "delta outside": ({"delta": 1.0}, InvalidValue),
    "delta true": ({"delta": True}, InvalidValue),
    "unknown policy": ({"policy": "valeu"}, UnknownName),
    "unknown criterion": ({"criterion": "fer"}, UnknownName),
    "unanswered": ({"unanswered": "ignore"}, UnknownName),
    "zero without a time": ({"unanswered": "zero"}, InvalidValue),
    "time": ({"after": "soon"}, InvalidValue),
    "negative time": ({"after": -1}, InvalidValue),
    "reserve": ({"reserve": 1.0}, InvalidValue),
    "seed": ({"seed": -1}, InvalidValue),
    "horizon": ({"horizon": 0}, InvalidValue),
    "no arms": ({"arms": []}, InvalidValue),
    "arms are a text": ({"arms": "abc"}, InvalidValue),
    "numbers as ids": ({"arms": [1, 2]}, InvalidValue),
    "empty id": ({"arms": [""]}, InvalidValue),
    "duplicate ids": ({"arms": ["a", "a"]}, InvalidValue),
    "unknown field": ({"arms": [{"id": "a", "colour": "red"}]}, InvalidValue),
    "features of some": ({"arms": [{"id": "a", "features": [1.0]}, "b"]}, InvalidValue),
    "weights": ({"arms": [{"id": "a", "weight": -1.0}]}, InvalidValue),
    "metadata": ({"metadata": {"a": math.nan}}, InvalidValue),
    "model without features": ({"policy": "ucb+kt@linear"}, InvalidValue),
    "rule for other rewards": ({"policy": "value+kt", "rewards": Gaussian(1.0)}, UnsoundPairing),
    "zero without bounds": (
        {"policy": "ucb+normal-mixture", "rewards": Gaussian(1.0), "unanswered": "zero", "after": 1}, InvalidValue,
    ),
    "name": ({"name": " "}, InvalidValue),
    "threshold without end": ({"threshold": 10**400}, InvalidValue),
    "delta without end": ({"delta": 10**400}, InvalidValue),
    "delta too small": ({"delta": 5e-324}, InvalidValue),
    "margin without end": ({"threshold": None, "control": "a", "margin": 10**400}, InvalidValue),
    "horizon without end": ({"horizon": 10**400}, InvalidValue),
    "time without end": ({"after": 10**400}, InvalidValue),
    "rewards by an unknown name": ({"rewards": "bound"}, InvalidValue),
    "weights too large": ({"arms": [{"id": "a", "weight": 1e308}, {"id": "b", "weight": 1e308}]}, InvalidValue),
    "weights too small": ({"arms": [{"id": "a", "weight": 5e-324}, "b"]}, InvalidValue),
    "features too large": ({"arms": [{"id": "a", "features": [10**400]}]}, InvalidValue),
    "features that the model refuses": (
        {"arms": [{"id": i, "features": [1.0]} for i in "ab"], "policy": "ucb+gap-mixture@linear"}, InvalidValue,
    ),
    "arms are a number": ({"arms": 5}, InvalidValue),
    "labels are numbers": ({"arms": {"a": 3}}, InvalidValue),
    "two ids for one arm": ({"arms": {"a": {"id": "b"}}}, InvalidValue),
    "metadata with two kinds of keys": ({"metadata": {1: 1, "a": 2}}, InvalidValue),
    "name with control characters": ({"name": "a\nb"}, InvalidValue),
}  # fmt: skip


@pytest.mark.parametrize(("terms", "error"), WRONG_TERMS.values(), ids=WRONG_TERMS.keys())
def test_terms_that_make_no_sense_leave_no_campaign(terms: dict[str, Any], error: type[Exception]) -> None:
    store = open_store("memory:")
    with pytest.raises(error):
        Campaign.create(store, **{"name": "c", "arms": ["a", "b"], "threshold": 0.5, **terms})
    assert store.names() == []


def test_a_policy_that_other_processes_could_not_find_is_refused() -> None:
    def index(arm: Any, pool: Any, bar: Any) -> float:
        return -float(arm.pulls)

    mine = IndexRule(name="mine", reference="a test", index=index)
    with pytest.raises(Refused, match="registered"):
        Campaign.create("memory:", "c", ["a", "b"], 0.5, policy=policy(mine, "gap-mixture"))


def test_ids_and_labels_may_contain_anything_that_can_be_told_apart(address: str) -> None:
    names = ["<script>", "a,b", 'quo"te', "tab\tnew\nline", "\u202eright to left", "\x00nul", "🙂", "\ud800"]
    arms = [{"id": name, "label": f" \u200b{name}"} for name in names]
    with Campaign.create(address, "c", arms, 0.5) as campaign:
        tickets = campaign.ask(len(names))
        assert [ticket.arm for ticket in tickets] == names
        campaign.tell_many([(ticket, 0.5) for ticket in tickets])
        assert campaign.check().ok
    with Campaign.open(address, "c") as again:
        assert [row.label for row in again.arms()] == [arm["label"] for arm in arms]


HINTS: list[tuple[dict[str, Any], str]] = [
    ({"arms": [1, 2, 3]}, "got 1. Write [str(arm) for arm in arms]."),
    ({"arms": ["a", ""]}, "got ''. Give the arm a name."),
    ({"unanswered": "drop"}, "'drop'. Known: void, wait, zero."),
    (
        {"threshold": 1, "cases": 400},
        "pass all 400 cases, write a bar between the last two values: 399.5/400 = 0.99875.",
    ),
    ({"threshold": 0, "cases": 400}, "at least one of the cases, write a bar between the last two values: 0.5/400"),
    ({"threshold": "150%"}, "for rewards in [0, 1]; got 150%. If rewards have another range"),
    ({"threshold": "80"}, "got 80. Did you mean 80%?"),
    ({"delta": "500%"}, "delta must lie strictly between 0 and 1; got 5.0."),
]


@pytest.mark.parametrize(("change", "words"), HINTS)
def test_hints_are_what_the_caller_can_do(change: dict[str, Any], words: str) -> None:
    with pytest.raises(GoodarmError) as raised:
        Campaign.create("memory:", "c", **({"arms": ["a", "b"], "threshold": 0.5} | change))
    assert words in str(raised.value)


def test_delta_may_be_a_percentage() -> None:
    assert Campaign.create("memory:", "c", ["a"], 0.5, delta="5%").terms.delta == 0.05


def test_the_bar_below_all_cases_finds_arms_that_pass_all() -> None:
    campaign = Campaign.create("memory:", "c", ["all", "but one"], 39.5 / 40, cases=40)
    missed = False
    while tickets := campaign.ask():
        (ticket,) = tickets
        failed = ticket.arm == "but one" and not missed
        missed = missed or failed
        campaign.tell(ticket, float(not failed))
    assert {row.arm: row.verdict for row in campaign.arms()} == {"all": "good", "but one": "bad"}


@pytest.mark.parametrize("arguments", [{"after": "30"}, {"after": "30.5", "unanswered": "zero"}])
def test_a_time_without_a_unit_is_refused(arguments: dict[str, Any]) -> None:
    bare = arguments["after"]
    with pytest.raises(InvalidValue, match=f"after: {bare} what[?] Write {bare}d, {bare}h, {bare}min or {bare}s[.]"):
        Campaign.create("memory:", "c", ["a"], 0.5, **arguments)
    with pytest.raises(InvalidValue, match=r"window: 7 what[?] Write 7d"):
        Campaign.create("memory:", "c", ["a"], 0.5, per_unit="mean", window="7")


def test_void_withdraws_one_ticket(campaign: Campaign) -> None:
    with pytest.raises(InvalidValue, match=r"void withdraws one ticket; got a list of 2\. Call void"):
        campaign.void(campaign.ask(2), "lost")  # type: ignore[arg-type]  # the slip
