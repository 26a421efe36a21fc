"""The forest plot of a campaign."""

from __future__ import annotations

import numpy as np
import pytest

from goodarm import Campaign
from goodarm.campaign.written import forest_of
from goodarm.forest import FEW, MOST


@pytest.mark.slow
def test_a_figure_shows_every_arm_against_the_bar() -> None:
    with Campaign.create(
        "memory:", "c", ["low", "high", "new"], threshold=0.5, policy="uniform+gap-mixture"
    ) as campaign:
        for _ in range(60):
            campaign.tell_arm("low", 0.0)
            campaign.tell_arm("high", 1.0)
        campaign.tell_arm("new", 1.0)
        shown = forest_of("sentence", campaign.terms, campaign.arms())
        assert (list(shown.names), shown.verdict.tolist()) == (["high", "low", "new"], [1, -1, 0])
        assert shown.low[0] >= 0.5 >= shown.high[1]
        assert (shown.bar, shown.percent, shown.signed) == (0.5, True, False)
        axes = campaign.plot().axes[0]
        assert [text.get_text() for text in axes.get_legend().get_texts()] == ["good", "bad", "undecided"]


def test_against_a_control_it_shows_differences_and_leaves_the_control_out() -> None:
    with Campaign.create("memory:", "c", ["now", "new"], control="now", margin=0.1) as campaign:
        campaign.tell_arm("now", 0.0)
        campaign.tell_arm("new", 1.0)
        shown = forest_of("sentence", campaign.terms, campaign.arms())
        assert (list(shown.names), shown.mean.tolist(), shown.bar, shown.signed) == (["new"], [1.0], 0.1, True)


@pytest.mark.slow
def test_before_the_first_reward_and_with_many_arms() -> None:
    arms = [f"arm {i}" for i in range(MOST + 40)]
    with Campaign.create("memory:", "c", arms, threshold=0.5) as campaign:
        shown = forest_of("sentence", campaign.terms, campaign.arms())
        assert (len(shown.names), np.isnan(shown.mean).all()) == (FEW, True)
        campaign.plot().draw_without_rendering()
        campaign.tell_arm("arm 3", 1.0)
        assert sum(int(counts.sum()) for counts in forest_of("", campaign.terms, campaign.arms()).counts.values()) == 1
