"""`step` with a key: the same answer again, and a refusal before anything counts."""

from __future__ import annotations

import pytest

from goodarm import Campaign
from goodarm.errors import Refused


def test_a_step_is_answered_again_after_the_campaign_has_ended() -> None:
    """If not, the ticket would stay pending without the caller knowing of it."""
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5)
    (ticket,) = campaign.ask()
    following = campaign.step(ticket, 1.0, key="k")
    campaign.end()
    assert following is not None
    assert campaign.step(ticket, 1.0, key="k") == following
    assert campaign.tally().told == 1


def test_a_step_that_decides_an_arm_says_so_again() -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5, 0.5)
    (ticket,) = campaign.ask()
    for turn in range(100):
        told, following = campaign.tell_and_ask(ticket, 1.0, key=str(turn))
        if following is None:
            break
        assert told.verdicts == []
        ticket = following
    assert [(row.arm, row.verdict) for row in told.verdicts] == [("a", "good")]
    number = campaign.number
    assert campaign.tell_and_ask(ticket, 1.0, key=str(turn)) == (told, None)
    assert campaign.number == number


@pytest.mark.parametrize("ended", [False, True])
def test_a_step_with_a_key_of_another_request_counts_nothing(ended: bool) -> None:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5)
    first, second = campaign.ask(2, key="asked")
    campaign.step(first, 1.0, key="stepped")
    if ended:
        campaign.end()
    for key in ("asked", "stepped"):
        with pytest.raises(Refused, match="used for another request"):
            campaign.step(second, 1.0, key=key)
    assert campaign.tally().told == 1


def test_a_key_of_a_step_after_the_end_is_used_too() -> None:
    campaign = Campaign.create("memory:", "c", ["a", "b"], 0.5)
    first, second = campaign.ask(2)
    campaign.end()
    assert campaign.step(first, 1.0, key="k") is campaign.step(first, 1.0, key="k") is None
    with pytest.raises(Refused, match="used for another request"):
        campaign.step(second, 1.0, key="k")
    assert campaign.tally().told == 1
