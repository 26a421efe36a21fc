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


def test_a_job_that_wrote_a_line_writes_its_last_one(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = 0.0
    long, short = every_minute(lambda: seconds), every_minute(lambda: seconds)
    for seconds, last in ((61.0, False), (70.0, True)):
        long(f"at {seconds:.0f}", last=last)
    seconds = 1.0
    short("done", last=True)
    assert capsys.readouterr().err == "goodarm: at 61\ngoodarm: at 70\n"


def test_a_campaign_without_a_terminal_says_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goodarm.minutes.SECONDS", 0.0)
    campaign = Campaign.create("memory:", "prompts", ["a", "b"], threshold=0.5)
    update, stop = workers.progress_bar(campaign)
    update(campaign.tally())
    stop()
    assert "goodarm: prompts: 0 samples, 0 of 2 arms decided" in capsys.readouterr().err
