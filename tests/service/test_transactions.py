"""What the desk relies on: a transaction in which an operation failed half-way is not committed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from goodarm import Campaign
from goodarm.errors import InvalidValue, Refused, UnusableStore


def test_a_refused_operation_leaves_its_neighbours_in_place(tmp_path: Path) -> None:
    with Campaign.create(f"sqlite:///{tmp_path}/a.db", "c", ["a"], 0.5) as campaign:
        with campaign.transaction():
            campaign.tell_arm("a", 1.0)
            with pytest.raises(InvalidValue):
                campaign.tell_arm("a", 2.0)
            campaign.tell_arm("a", 0.0)
        assert campaign.tally().told == 2
        assert campaign.check().ok


def test_one_that_failed_half_way_undoes_all_of_it_even_if_nobody_says_so(tmp_path: Path) -> None:
    store, answers = f"sqlite:///{tmp_path}/a.db", []

    def clock() -> float:
        if answers and not answers.pop(0):
            raise Refused("the clock has stopped.")
        return 1.0

    with Campaign.create(store, "c", ["a"], 0.5, clock=clock) as campaign:
        (ticket,) = campaign.ask()
        number = campaign.number
        answers += [True, False]
        with pytest.raises(UnusableStore, match="half-way"), campaign.transaction(), suppress(Refused):
            campaign.ask(2)  # writes one entry, and is refused at the second
        assert campaign.number == number
        assert campaign.tally().pending == 1
        assert campaign.tell(ticket, 1.0).late == []
    with Campaign.open(store, "c") as campaign:
        assert campaign.tally().told == 1
        assert campaign.check().ok
