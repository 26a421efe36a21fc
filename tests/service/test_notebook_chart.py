"""The interval chart as a notebook widget, in a real browser: its one module, its style, its model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from browsing import PATIENCE, NewPage
from serving import Server

import goodarm
from goodarm.errors import InvalidValue, MissingExtra
from goodarm.integrations import notebook

LOG = {"arm": ["calm", "loud", "odd"], "pulls": [1000, 1000, 20], "total": [500, 10, 2]}


def test_a_judgement_and_a_campaign_become_the_same_rows(tmp_path: Path) -> None:
    found = goodarm.judge(LOG, threshold=0.1)
    by_log = notebook.shown(found)
    with goodarm.Campaign.create(f"sqlite:///{tmp_path}/a.db", "c", LOG["arm"], threshold=0.1) as campaign:
        campaign.tell_arm("calm", 1.0)
        by_campaign = notebook.shown(campaign)
        assert by_campaign["sentence"].startswith("c: 0 of 3 above 10%")
    assert by_log["summary"] == by_campaign["summary"]
    assert {row["arm"]: row["sign"] for row in by_log["rows"]} == {"calm": 1, "loud": -1, "odd": 0}
    assert by_log["rows"][0].keys() <= by_campaign["rows"][0].keys()
    json.dumps([by_log, by_campaign], allow_nan=False)


def test_what_is_no_result_is_refused_and_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidValue, match="a Campaign or a Judgement; got dict"):
        notebook.shown({})  # type: ignore[arg-type]
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"\.\[notebook\]"):
        notebook.interval_chart(goodarm.judge(LOG, threshold=0.1))


def test_the_widget_shows_what_is_known_when_it_is_refreshed(tmp_path: Path) -> None:
    pytest.importorskip("anywidget")
    with goodarm.Campaign.create(f"sqlite:///{tmp_path}/a.db", "c", ["a", "b"], threshold=0.5) as campaign:
        chart = notebook.interval_chart(campaign)
        assert [row["pulls"] for row in chart.rows] == [0, 0]
        campaign.tell_arm("b", 1.0)
        chart.refresh()
        assert [row["pulls"] for row in chart.rows] == [0, 1]


@pytest.mark.slow
def test_the_module_draws_hears_changes_and_tells_the_chosen_arm(server: Server, new_page: NewPage) -> None:
    expect = pytest.importorskip("playwright.sync_api").expect
    expect.set_options(timeout=PATIENCE)
    page = new_page(color_scheme="dark")
    page.set_content("<body><div id='widget' style='width: 700px'></div></body>")
    page.add_style_tag(content=notebook.style())
    first: dict[str, Any] = notebook.shown(goodarm.judge(LOG, threshold=0.1))
    page.evaluate(
        """async ([text, values]) => {
          const code = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
          const heard = {};
          window.model = {
            values: { ...values, chosen: "" },
            get: (name) => window.model.values[name],
            set: (name, value) => { window.model.values[name] = value; heard[`change:${name}`]?.(); },
            save_changes: () => { window.saved = window.model.values.chosen; },
            on: (event, act) => { heard[event] = act; },
            off: (event) => { delete heard[event]; },
          };
          const { default: widget } = await import(code);
          window.ended = widget.render({ model: window.model, el: document.getElementById("widget") });
        }""",
        [notebook.module(), first],
    )
    chart = page.get_by_role("slider", name="Arms by rank")
    expect(chart).to_have_attribute("aria-valuemax", "3")
    expect(page.locator("#widget .sentence")).to_contain_text("1 of 3")
    ground = page.evaluate("getComputedStyle(document.getElementById('widget')).backgroundColor")
    assert ground == "rgb(24, 28, 33)"
    page.wait_for_function(
        """() => { const canvas = document.querySelector("canvas"), { width, height } = canvas;
          const drawn = canvas.getContext("2d").getImageData(0, 0, width, height).data;
          return new Set(drawn.filter((_, i) => i % 4 < 3)).size > 20 }"""
    )
    chart.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("window.saved") == "calm"
    page.evaluate("window.model.set('rows', window.model.get('rows').slice(0, 2))")
    expect(chart).to_have_attribute("aria-valuemax", "2")
    page.evaluate("window.ended()")
    assert page.locator("canvas").count() == 0
