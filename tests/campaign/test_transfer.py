"""A campaign moves from one store to another and back, chain included."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from test_campaign import play

from goodarm import Campaign
from goodarm.errors import DamagedJournal, InvalidValue, Refused

FORMATS = ("jsonl", "parquet")


def entries(campaign: Campaign) -> list[object]:
    return list(campaign.store.read(campaign.store.find(campaign.name) or 0))


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_from_sqlite_to_postgresql_and_back(format: str, tmp_path: Path, new_database: Callable[[], str]) -> None:
    here, there, back = f"sqlite:///{tmp_path / 'here.db'}", new_database(), f"sqlite:///{tmp_path / 'back.db'}"
    first, second = tmp_path / f"first.{format}", tmp_path / f"second.{format}"
    with Campaign.create(here, "c", ["a", "b\x00", "ü"], 0.5, reserve=0.1) as campaign:
        play(campaign, {"a": 0.6, "b\x00": 0.4, "ü": 0.5}, limit=60)
        campaign.add_arms(["d"])
        (open_ticket,) = campaign.ask()
        campaign.export(first)
        original = entries(campaign)
    with Campaign.import_from(there, first) as moved:
        assert entries(moved) == original
        moved.export(second)
    with Campaign.import_from(back, second, "another name") as returned:
        assert entries(returned) == original
        returned.tell(open_ticket, 1.0)
        assert returned.check().ok


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_changed_in_the_file_is_noticed(format: str, tmp_path: Path) -> None:
    file = tmp_path / f"c.{format}"
    campaign = Campaign.create("memory:", "c", ["a"], 0.5)
    campaign.tell(campaign.ask()[0], 1.0)
    campaign.export(file)
    damaged = tmp_path / f"damaged.{format}"
    damaged.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(DamagedJournal):
        Campaign.import_from("memory:", damaged)
    if format == "jsonl":
        damaged.write_text(file.read_text().replace('"reward":1.0', '"reward":0.0'))
        with pytest.raises(DamagedJournal, match="entry 3"):
            Campaign.import_from("memory:", damaged)
        head = json.loads(file.read_text().splitlines()[0])
        damaged.write_text(json.dumps({**head, "goodarm campaign": 99}) + "\n")
        with pytest.raises(DamagedJournal, match="newer"):
            Campaign.import_from("memory:", damaged)


def test_a_name_that_is_there_already_is_refused(tmp_path: Path) -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5)
    campaign.export(tmp_path / "c.jsonl")
    with pytest.raises(Refused, match="already"):
        Campaign.import_from(campaign.store, tmp_path / "c.jsonl")
    assert campaign.store.names() == ["c"]


def test_other_formats_are_refused(tmp_path: Path) -> None:
    campaign = Campaign.create("memory:", "c", ["a"], 0.5)
    with pytest.raises(InvalidValue, match="jsonl or"):
        campaign.export(tmp_path / "c.csv")
    assert list(tmp_path.iterdir()) == []
