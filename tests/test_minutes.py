"""Long jobs without a terminal write one line per minute."""

from __future__ import annotations

import pytest

from goodarm import Campaign
from goodarm.campaign import workers
from goodarm.minutes import every_minute


def test_a_line_per_minute(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = 0.0
    say = every_minute(lambda: seconds)
    for seconds in (0.0, 59.0, 61.0, 100.0, 122.0):
        say(f"at {seconds:.0f}")
    assert capsys.readouterr().err == "goodarm: at 61\ngoodarm: at 122\n"


def test_a_campaign_without_a_terminal_says_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goodarm.minutes.SECONDS", 0.0)
    campaign = Campaign.create("memory:", "prompts", ["a", "b"], threshold=0.5)
    update, stop = workers.progress_bar(campaign)
    update(campaign.tally())
    stop()
    assert "goodarm: prompts: 0 samples, 0 of 2 arms decided" in capsys.readouterr().err
