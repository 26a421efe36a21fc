"""The dashboard as a place to decide: honest intervals, what to do now, the list of a hundred campaigns, the audit."""

from __future__ import annotations

import csv
import io
import re
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest
from browsing import PATIENCE, NewPage
from serving import Server, path_of

from goodarm import Campaign

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'goodarm[test]'").expect
expect.set_options(timeout=PATIENCE)


def create(server: Server, name: str, arms: list[Any], **terms: Any) -> str:
    made = server.call("POST", "/api/v1/campaigns", {"name": name, "arms": arms, **terms})
    assert made.status == 201, made.body
    return f"{server.address}/#/campaign/{name}"


def tell(server: Server, name: str, arm: str, pulls: int, total: int) -> None:
    """`total` ones among `pulls` rewards, spread evenly; by another process than the server's, in one commit."""
    with Campaign.open(server.store, name) as campaign, campaign.transaction():
        for i in range(pulls):
            campaign.tell_arm(arm, float((i + 1) * total // pulls > i * total // pulls))


def opened(page: Page, address: str) -> Page:
    page.goto(address)
    expect(page.locator("main h1").first).to_be_visible()
    expect(page.get_by_text(re.compile("^Fetching"))).to_have_count(0)
    return page


@pytest.fixture(scope="module")
def decided(server: Server) -> str:
    """A campaign with three good arms, a bad one, one that is known little and one without samples."""
    arms = [{"id": id, "label": f"Option {id}"} for id in ("a", "b", "c", "low", "little", "none")]
    about = {"title": "Which options work?", "measured": "pass rate", "by": "the eval team"}
    address = create(server, "decided", arms, threshold=0.4, metadata=about)
    for arm, pulls, total in (("a", 600, 330), ("b", 600, 318), ("c", 600, 312), ("low", 600, 180), ("little", 2, 1)):
        tell(server, "decided", arm, pulls, total)
    return address


def test_the_title_is_the_campaigns_and_one_line_says_what_is_asked(decided: str, new_page: NewPage) -> None:
    page = opened(new_page(), decided)
    expect(page.get_by_role("heading", level=1)).to_have_text("Which options work?")
    line = r"Pass rate of 6 arms · bar 40% · 5% allowed error · since \w+ \d+, \d{4} by the eval team"
    expect(page.locator(".terms")).to_have_text(re.compile(line))


def test_an_interval_that_is_cut_off_says_so_with_its_numbers(decided: str, new_page: NewPage) -> None:
    page = opened(new_page(), decided)
    row = page.locator('.spacer [data-arm="little"]')
    ends = row.locator(".numbers").inner_text()
    found = re.fullmatch(r"([\d.]+) to ([\d.]+)%", ends)
    assert found
    shown = [float(text.inner_text().partition("%")[0]) for text in page.locator(".ends i").all()]
    assert float(found[2]) > shown[1]
    expect(row.locator("svg.interval")).to_have_class(re.compile("on-right"))
    expect(row.locator(".more.right")).to_be_visible()
    expect(page.locator(".tools .beyond")).to_contain_text(f"↑ 1 interval goes on, up to {found[2]}%.")
    whole = page.locator('.spacer [data-arm="b"]')
    expect(whole.locator("svg.interval")).not_to_have_class(re.compile("on-"))
    expect(whole.locator(".more.right")).to_be_hidden()


def test_there_is_no_point_without_data(decided: str, new_page: NewPage) -> None:
    page = opened(new_page(), decided)
    row = page.locator('.spacer [data-arm="none"]')
    expect(row.locator("circle")).to_be_hidden()
    expect(row.locator(".span")).to_be_hidden()
    expect(row.locator(".numbers")).to_have_text("no samples yet")
    expect(page.locator('.spacer [data-arm="a"] circle')).to_be_visible()


def test_an_arm_with_samples_and_no_interval_says_why(server: Server, new_page: NewPage) -> None:
    arms = [{"id": id} for id in ("today", "better", "worse", "new")]
    address = create(server, "paired", arms, control="today", cases=200)
    passes = {"today": 0.5, "better": 0.9, "worse": 0.1}
    with Campaign.open(server.store, "paired") as campaign, campaign.transaction():
        campaign.suspend("new")
        while tickets := campaign.ask():
            for ticket in tickets:
                campaign.tell(ticket, float(int(ticket.case or 0) % 10 < 10 * passes[ticket.arm]))
    page = opened(new_page(), address)
    row = page.locator('.spacer [data-arm="better"]')
    expect(row).to_have_attribute("data-verdict", "good")
    expect(row.locator(".numbers")).to_have_text("no interval")
    expect(row.locator(".numbers")).to_have_attribute("title", re.compile("order of the results"))
    expect(row.locator("circle")).to_be_visible()
    expect(row.locator(".span")).to_be_hidden()
    expect(page.locator('.spacer [data-arm="today"] .numbers')).to_be_hidden()  # its mean has a column here
    expect(page.locator('.spacer [data-arm="today"] circle')).to_be_hidden()
    expect(page.locator('.spacer [data-arm="new"] .numbers')).to_have_text("no samples yet")


def test_what_now_copies_exports_and_ends_away_from_the_exports(
    server: Server, decided: str, new_page: NewPage
) -> None:
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    opened(page, decided)
    now = page.get_by_label("What now")
    expect(now).to_contain_text("Use the 3 arms above 40%.")
    expect(now).to_contain_text("Keep running to decide the 2 undecided arms")
    now.get_by_role("button", name="Copy the names").click()
    expect(now.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "Option a\nOption b\nOption c"
    with page.expect_download() as good:
        now.get_by_role("link", name="As CSV").click()
    rows = list(csv.DictReader(io.StringIO(good.value.path().read_text())))
    assert [(row["arm"], row["verdict"], row["pulls"]) for row in rows] == [(arm, "good", "600") for arm in "abc"]
    data = page.get_by_label("Data", exact=True)
    with page.expect_download() as everything:
        data.get_by_role("link", name="Verdicts as CSV").click()
    name = unquote(decided.rsplit("/", 1)[-1])
    downloads = (good.value.suggested_filename, everything.value.suggested_filename)
    assert downloads == (f"{name}-good.csv", f"{name}-verdicts.csv")
    rows = list(csv.DictReader(io.StringIO(everything.value.path().read_text())))
    assert {row["arm"]: row["verdict"] for row in rows}["low"] == "bad"
    assert len(rows) == 6
    expect(data.get_by_role("button")).to_have_count(0)
    expect(now.get_by_role("button", name="End the campaign")).to_be_visible()


def test_a_table_for_a_spreadsheet_runs_no_formula(server: Server) -> None:
    create(server, "formulas", ["=1+1", "@x", "calm"], threshold=0.5)
    text = server.call("GET", path_of("formulas", "/verdicts.csv")).body.decode()
    assert [row["arm"] for row in csv.DictReader(io.StringIO(text))] == ["'=1+1", "'@x", "calm"]
    assert server.call("GET", path_of("formulas", "/verdicts.csv?only=best")).status == 422


def test_against_a_control_baseline_lift_and_numbers_are_in_the_row(server: Server, new_page: NewPage) -> None:
    address = create(server, "lifted", ["now", "new"], control="now", metadata={"measured": "orders"})
    tell(server, "lifted", "now", 80, 20)
    tell(server, "lifted", "new", 80, 30)
    page = opened(new_page(), address)
    row = page.locator('.spacer [data-arm="new"]')
    expect(row.locator(".mean")).to_have_text("+12.50 pp")
    expect(row.locator(".lift")).to_have_text("+50%")
    expect(row.locator(".own")).to_have_text("37.50%")
    expect(row.locator(".numbers")).to_have_text(re.compile(r"^[+-][\d.]+ to \+[\d.]+ pp$"))
    control = page.locator('.spacer [data-arm="now"]')
    expect(control.locator(".own")).to_have_text("25.00%")
    expect(control.locator(".mean")).to_have_text("")
    expect(control.locator("circle")).to_be_hidden()
    expect(page.locator(".baseline")).to_have_text("◆ Control now: 25.00% after 80 samples.")


def test_a_control_is_called_by_its_label_and_has_no_forecast(server: Server, new_page: NewPage) -> None:
    arms = [{"id": "h0", "label": "Now on the page"}, {"id": "h1", "label": "New"}]
    address = create(server, "labelled", arms, control="h0", margin=0.01)
    tell(server, "labelled", "h0", 20, 5)
    tell(server, "labelled", "h1", 20, 6)
    page = opened(new_page(), address)
    name = "“Now on the page”"
    expect(page.locator(".words .headline")).to_contain_text(f"0 of 1 better than {name} by 1 pp or more")
    expect(page.locator(".terms")).to_contain_text(f"against {name}: better by 1 pp")
    expect(page.locator(".now")).to_contain_text(f"No arm is certain to be better than {name} by 1 pp or more yet.")
    expect(page.locator(".now")).to_contain_text("number of remaining samples can't be estimated")
    page.goto(server.address)
    card = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="labelled", exact=True))
    expect(card).to_contain_text(f"better than {name}")
    assert server.call("GET", path_of("labelled")).json["control"] == "h0"


def test_arms_with_few_samples_are_a_strip_at_the_end(server: Server, new_page: NewPage) -> None:
    page = opened(new_page(), server.address)
    rows = [{"arm": f"g{i}", "verdict": "good", "mean": 0.3, "low": 0.2, "high": 0.4} for i in range(5)]
    rows += [{"arm": f"o{i}", "verdict": "open", "mean": 0.2, "low": 0.1, "high": 0.3} for i in range(4)]
    rows += [{"arm": f"f{i}", "verdict": "open", "mean": 0.5, "low": 0.0, "high": 1.0} for i in range(90)]
    rows += [{"arm": "n", "verdict": "open", "mean": None, "low": None, "high": None}]
    rows += [{"arm": "b", "verdict": "bad", "mean": 0.1, "low": 0.05, "high": 0.15}]
    found = page.evaluate(
        """async (rows) => {
          const { Layout } = await import("/js/layout.js");
          const layout = new Layout(rows, [0, 0.5]);
          const there = layout.rows.map((row, i) => layout.at(layout.place(i)) === i);
          const last = layout.sections.at(-1);
          const few = new Layout(rows.slice(0, 12), [0, 0.5]);
          return {
            main: layout.main, sections: layout.sections.map(({ kind, many }) => [kind, many]),
            share: (last.to - last.from) / (layout.end - 0.5), there: there.every(Boolean), few: few.main,
          };
        }""",
        rows,
    )
    assert found["main"] == 10
    assert found["sections"] == [["good", 5], ["open", 4], ["bad", 1], ["few", 91]]
    assert 0.1 < found["share"] < 0.25
    assert found["there"] is True
    assert found["few"] == 12  # each of a dozen arms has its place


def test_thousands_of_arms_leave_the_scale_to_the_decided(server: Server, new_page: NewPage) -> None:
    arms = [f"h{i}" for i in range(2_000)]
    address = create(server, "thousands", arms, threshold=0.1)
    for arm, total in {"h0": 160, "h1": 150, "h2": 140, "h3": 130, "h4": 0}.items():
        tell(server, "thousands", arm, 400, total)
    for i, arm in enumerate(arms[5:65]):
        tell(server, "thousands", arm, 2, i % 2)
    page = opened(new_page(), address)
    range_ = "async rows => (await import('/js/domain.js')).domain(rows, 0.1, true)"
    rows = [{"mean": 0.2, "low": 0.11, "high": 0.3, "verdict": "good"}] * 5
    wide = [{"mean": 0.1, "low": 0.0, "high": 0.95, "verdict": "open"}] * 500
    low, high = page.evaluate(range_, rows + wide)
    assert low <= 0.1
    assert 0.3 <= high < 0.4
    known = server.call("GET", path_of("thousands")).json
    decided, beyond = known["good"] + known["bad"], page.locator(".tools .beyond")
    assert decided == 5
    only = page.get_by_role("button", name="decided only")
    chart = page.get_by_role("slider", name="Arms by rank")
    expect(only).to_have_attribute("aria-pressed", "true")  # the few decided arms would be lost among the others
    expect(chart).to_have_attribute("aria-valuemax", str(decided))
    expect(beyond).to_contain_text("1,995 undecided arms not shown.")
    only.click()
    expect(only).to_have_attribute("aria-pressed", "false")
    expect(chart).to_have_attribute("aria-valuemax", "2000")
    expect(beyond).to_contain_text("1,995 arms have too few samples for an interval on this scale.")
    expect(chart).to_have_attribute("aria-valuetext", re.compile("^1: h0: above"))
    only.click()
    expect(chart).to_have_attribute("aria-valuemax", str(decided))


def test_a_new_campaign_shows_how_to_feed_it(server: Server, new_page: NewPage) -> None:
    address = create(server, "it's new", ["a", "b"], threshold=0.5)
    page = opened(new_page(), address)
    feed = page.get_by_label("Feed it")
    program = feed.get_by_label("Program")
    expect(program).to_contain_text(f"curl '{server.address}/api/v1/campaigns/it%27s%20new/ask'")
    feed.get_by_role("button", name="Python").click()
    expect(program).to_contain_text(f'Campaign.open("{server.address}", "it\'s new")')
    feed.get_by_role("button", name="JavaScript").click()
    expect(program).to_contain_text("await post(")
    script = program.inner_text().replace("await measure(arm)", "1")
    page.evaluate(f"async () => {{ {script}\n}}")
    assert server.call("GET", path_of("it's new")).json["told"] == 10
    expect(feed).to_be_hidden()


def test_the_list_holds_a_hundred_campaigns(server: Server, new_page: NewPage) -> None:
    for i in range(100):
        create(server, f"week {i}", ["a", "b"], threshold=0.5)
        if i % 4 == 0:
            assert server.call("POST", path_of(f"week {i}", "/end"), {}).status == 200
    create(server, "late", ["a", "b"], threshold=0.5, after="0.001s")
    assert server.call("POST", path_of("late", "/ask"), {"n": 3}).status == 200
    page = new_page()
    page.goto(server.address)
    first = page.locator(".campaigns").first.get_by_role("listitem").first
    expect(first.get_by_role("link")).to_have_text("late")  # it needs attention
    expect(first).to_contain_text("3 tickets overdue")
    page.get_by_role("searchbox").fill("week 9")
    expect(page.locator(".campaigns").first.get_by_role("listitem")).to_have_count(
        9
    )  # of eleven; weeks 92 and 96 have ended
    page.get_by_role("searchbox").fill("")
    page.get_by_role("button", name="overdue").click()
    expect(page.get_by_role("listitem").filter(has=page.get_by_role("link", name="late"))).to_be_visible()
    red = page.locator(".tag.late")
    expect(red).to_have_text("3 tickets overdue")
    page.get_by_role("button", name="all").click()
    page.get_by_label("Order").select_option("by name")
    fold = page.locator("details.ended")
    expect(fold.locator("summary")).to_contain_text("that have ended")
    names = page.locator(".campaigns").first.locator("h2").all_inner_texts()
    assert [name for name in names if name.startswith("week")][:3] == ["week 1", "week 2", "week 3"]


def test_the_audit_is_grouped_and_words_are_explained(decided: str, new_page: NewPage) -> None:
    page = opened(new_page(), f"{decided}/arm/a")
    audit = page.get_by_label("Audit")
    expect(audit.get_by_role("heading", level=3)).to_have_text(
        ["The decision", "The data at that moment", "Provenance"]
    )
    expect(audit.locator("section").nth(2)).to_contain_text("policy")
    word = page.get_by_role("button", name="interval", exact=True)
    word.focus()
    expect(page.get_by_role("tooltip").filter(has_text="however often you look")).to_be_visible()


def test_on_a_phone_the_table_comes_directly_below_the_headline(decided: str, new_page: NewPage) -> None:
    order = "[...document.querySelectorAll('.grid > .card:not([hidden])')].map(card => card.getAttribute('aria-label'))"
    page = opened(new_page(viewport={"width": 390, "height": 844}), decided)
    assert page.evaluate(order)[:2] == ["Arms", "What now"]
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator(".grid > .card:not([hidden])").first).to_have_attribute("aria-label", re.compile("^Every arm"))


def test_a_forecast_is_a_range_with_a_date_and_is_smoothed(server: Server, new_page: NewPage) -> None:
    page = opened(new_page(), server.address)
    found = page.evaluate(
        """async () => {
          const { Forecast, rate } = await import("/js/forecast.js");
          const forecast = new Forecast();
          forecast.note({ remaining: 2000, finish: { low: 1000, high: 4000 }, open: 3 });
          const first = forecast.samples;
          forecast.note({ remaining: 8000, finish: { low: 4000, high: 16000 }, open: 3 });
          const at = seconds => new Date(Date.now() - 1000 * seconds).toISOString();
          const points = [{ told: 0, at: at(3600) }, { told: 800, at: at(600) }, { told: 1000, at: at(0) }];
          const shown = [first, forecast.low, forecast.samples, rate(points), forecast.when(points)];
          const old = [{ told: 800, at: at(1600) }, { told: 1000, at: at(930) }, { told: 1000, at: at(5) }];
          shown.push(forecast.when(old));
          forecast.note({ remaining: null, finish: { low: 5000, high: null }, open: 3 });
          return [...shown, forecast.samples, forecast.when(points)];
        }"""
    )
    assert found[0] == "1,000 to 4,000 more samples"
    assert 1_000 < found[1] < 4_000  # one estimate does not move it all the way
    assert abs(found[3] - 200 / 600) < 0.01
    assert re.fullmatch(r"between .+ and .+ at the present rate", found[4])
    assert found[5] == "but there were no samples for 15 minutes"  # a later event without a sample changes nothing
    assert re.fullmatch(r"more than [\d,]+ more samples", found[6])
    assert re.fullmatch(r"not before .+ at the present rate", found[7])


def test_an_estimate_that_is_read_twice_counts_once(server: Server, new_page: NewPage) -> None:
    page = opened(new_page(), server.address)
    first, again = page.evaluate(
        """async () => {
          const { Forecast } = await import("/js/forecast.js");
          const forecast = new Forecast();
          const estimate = (low) => ({ remaining: low, finish: { low, high: 4 * low }, open: 3 });
          for (const low of [1000, 8000]) forecast.note(estimate(low));
          const first = forecast.samples;
          for (const low of [8000, 8000]) forecast.note(estimate(low));
          return [first, forecast.samples];
        }"""
    )
    assert first == again


def test_the_table_shows_the_control_then_verdicts_in_the_order_of_the_chart(server: Server, new_page: NewPage) -> None:
    address = create(server, "ordered", ["lucky", "sure", "now"], control="now")
    for arm, pulls, total in (("now", 400, 120), ("sure", 400, 240), ("lucky", 2, 2)):
        tell(server, "ordered", arm, pulls, total)
    page = opened(new_page(viewport={"width": 390, "height": 844}), address)
    rows = page.locator(".spacer .line")
    expect(rows).to_have_count(3)
    shown = {row.get_attribute("aria-rowindex"): row.get_attribute("data-arm") for row in rows.all()}
    assert [shown[str(i)] for i in (2, 3, 4)] == ["now", "sure", "lucky"]
    expect(page.locator('.spacer [data-arm="now"] .numbers')).to_have_text("mean 30.00%")  # a phone has no such column


def test_costs_exact_means_and_overdue_tickets_are_shown(server: Server, new_page: NewPage) -> None:
    arms = [{"id": "small", "cost": 0.02}, {"id": "large", "cost": 0.5}]
    address = create(server, "priced", arms, threshold=0.5, cases=4)
    page = opened(new_page(), address)
    expect(page.locator('.spacer [data-arm="large"] .cost')).to_have_text("0.5")
    exact = page.evaluate(
        """async () => {
          const { scaleOf } = await import("/js/format.js");
          return scaleOf(await (await fetch("/api/v1/campaigns/priced")).json()).between(0.75, 0.75);
        }"""
    )
    assert exact == "exactly 75.0%"
    late = create(server, "unanswered", ["a", "b"], threshold=0.5, after="0.001s")
    server.call("POST", path_of("unanswered", "/ask"), {"n": 3})
    opened(page, late)
    expect(page.locator(".now .problem")).to_have_text("3 tickets are overdue: tell their rewards or void them.")


def test_an_arm_with_several_bars_has_its_metrics_and_no_empty_chart(server: Server, new_page: NewPage) -> None:
    address = create(server, "bars", ["one", "two"], bars="correct >= 90%, slow <= 5%")
    with Campaign.open(server.store, "bars") as campaign, campaign.transaction():
        for i in range(60):
            campaign.tell_arm("one", {"correct": 1.0, "slow": float(i % 20 == 0)})
    page = opened(new_page(), f"{address}/arm/one")
    expect(page.locator(".subline")).to_contain_text("; a bar lies inside; evidence")
    expect(page.get_by_label("Every metric against its bar")).to_contain_text("○ undecided")
    expect(page.get_by_label("Its interval over time")).to_be_hidden()


def test_events_without_samples_do_not_make_the_last_sample_look_recent(server: Server, new_page: NewPage) -> None:
    page = opened(new_page(), server.address)
    kept = page.evaluate(
        """async () => {
          const { OverTime } = await import("/js/over_time.js");
          const over = { points: [{ told: 7, at: "2026-01-01T00:00:00Z" }] };
          OverTime.prototype.add.call(over, { told: 7, at: "2026-01-01T01:00:00Z" });
          OverTime.prototype.add.call(over, { told: 8, at: "2026-01-01T02:00:00Z" });
          return over.points.map((point) => point.at.slice(11, 13));
        }"""
    )
    assert kept == ["00", "02"]


def test_what_now_leaves_out_arms_close_to_the_bar(server: Server, new_page: NewPage) -> None:
    arms = [f"prompt {i}" for i in range(16)]
    address = create(server, "close", arms, threshold=0.5, policy="settle+gap-mixture")
    for i, arm in enumerate(arms):
        tell(server, "close", arm, *((4000, 2000) if i < 2 else (100, 66 if i % 2 else 34)))
    until = time.monotonic() + PATIENCE / 1000
    while ((server.call("GET", path_of("close")).json["finish"] or {}).get("near")) != 2:  # estimates take turns
        assert time.monotonic() < until
        time.sleep(0.2)
    page = opened(new_page(), address)
    expect(page.locator(".now")).to_contain_text(
        re.compile(
            "the 16 undecided arms: 8 of them need about [0-9,]+ more samples"
            ".*; 2 may lie close to the bar and take longest"
        )
    )
    expect(page.locator(".words")).not_to_contain_text("more samples")  # it is said once


def test_what_now_says_which_arms_wait(server: Server, new_page: NewPage) -> None:
    arms = [f"prompt {i}" for i in range(12)]
    address = create(server, "wait", arms, threshold=0.5)
    for i, arm in enumerate(arms):
        tell(server, "wait", arm, *((4000, 2000) if i < 1 else (60, 18)))
    until = time.monotonic() + PATIENCE / 1000
    while ((server.call("GET", path_of("wait")).json["finish"] or {}).get("waiting")) != 11:  # estimates take turns
        assert time.monotonic() < until
        time.sleep(0.2)
    page = opened(new_page(), address)
    expect(page.locator(".now")).to_contain_text(
        re.compile("11 worse-looking arms wait: about [0-9,]+ samples would decide them. How long the other one takes")
    )
    expect(page.locator(".now")).to_contain_text("To decide them sooner, sample them yourself, or start a new campaign")
    for word in ("tell_arm", "settle", "value"):
        expect(page.locator("main")).not_to_contain_text(word)


def test_what_now_counts_down_to_the_good_arms_that_end_the_campaign(server: Server, new_page: NewPage) -> None:
    address = create(server, "countdown", ["a", "b", "c"], threshold=0.5, stop_after=2)
    for arm, total in (("a", 40), ("c", 0)):
        tell(server, "countdown", arm, 40, total)
    page = opened(new_page(), address)
    expect(page.locator(".now")).to_contain_text("Keep running to find 1 more arm above 50%. Then the campaign ends.")
    tell(server, "countdown", "b", 40, 40)
    expect(page.locator(".now")).to_contain_text("The campaign has ended.")
    for arm, side in (("a", "above"), ("c", "below")):
        opened(page, f"{address}/arm/{arm}")
        expect(page.locator(".words")).to_contain_text(f"{side} the bar of 50%")


def test_the_score_of_a_simulated_campaign_counts_verdicts_and_claims(server: Server, new_page: NewPage) -> None:
    true = {"good": 0.6, "unlucky": 0.45}
    address = create(server, "made up", list(true), threshold=0.5, metadata={"simulated": True, "means": true})
    tell(server, "made up", "unlucky", 12, 11)  # a streak that an ordinary interval takes for a fact
    tell(server, "made up", "good", 400, 240)
    tell(server, "made up", "unlucky", 400, 180)
    score = server.call("GET", path_of("made up", "/score")).json
    assert score["wrong"] == 0
    assert (score["claims"], score["wrong_claims"]) == (2, 1)
    page = opened(new_page(), address)
    banner = page.get_by_label("Simulated rewards")
    expect(banner).to_contain_text(f"0 wrong so far, of {score['verdicts']} verdict")
    expect(banner).to_contain_text("1 wrong so far, of 2 claims")
    odd = {"simulated": True, "means": {"a": "x", "b": [1]}}
    create(server, "odd means", ["a", "b"], threshold=0.5, metadata=odd)
    assert server.call("GET", path_of("odd means", "/score")).json["wrong"] == 0


def test_several_bars_costs_and_a_budget_are_shown(server: Server, new_page: NewPage) -> None:
    arms = [{"id": "calm", "cost": 2.0}, "loud"]
    terms = {"bars": "correct >= 90%, slow <= 5%", "budget": 1000.0}
    address = create(server, "several", arms, **terms)
    page = opened(new_page(), address)
    program = page.get_by_label("Program")
    expect(program).to_contain_text('"reward": {"correct": 1, "slow": 1}')
    with Campaign.open(server.store, "several") as campaign, campaign.transaction():
        for i in range(60):
            campaign.tell_arm("calm", {"correct": 1, "slow": 0})
            campaign.tell_arm("loud", {"correct": float(i % 5 == 0), "slow": 0})
    expect(page.locator(".words .headline")).to_contain_text("0 of 2 clearing all bars (correct at least 90%, slow at")
    expect(page.locator(".subline")).to_contain_text("180 of the budget of 1,000 spent")
    expect(page.locator('.spacer [data-arm="loud"]')).to_contain_text("bad: correct")
    opened(page, f"{address}/arm/loud")
    metrics = page.get_by_label("Every metric against its bar").get_by_role("row")
    expect(metrics.nth(1)).to_contain_text(re.compile(r"correct▼ failsat least 90%[\d.]+%[\d.]+% to"))
    expect(metrics.nth(1)).to_contain_text("fails")
    expect(metrics.nth(2)).not_to_contain_text("fails")
    expect(page.get_by_label("Audit")).to_contain_text("(at least 90%) fails; slow 0.00% (at most 5%)")
    opened(page, f"{address}/arm/calm")
    expect(page.locator(".words")).to_contain_text("A sample costs 2.")
    table = list(csv.DictReader(io.StringIO(server.call("GET", path_of("several", "/verdicts.csv")).body.decode())))
    assert [(row["arm"], row["cost"], row["failed"], row["correct mean"]) for row in table] == [
        ("calm", "2.0", "", "1.0"),
        ("loud", "1.0", "correct", table[1]["correct mean"]),
    ]


def test_several_bars_are_asked_from_the_form_and_cases_are_named(server: Server, new_page: NewPage) -> None:
    page = opened(new_page(quiet=False), f"{server.address}/#/new")
    page.get_by_role("textbox", name="Arms").fill("short\nlong")
    page.get_by_label("Name").fill("asked several")
    page.get_by_label("Question", exact=True).select_option("which arms clear several bars")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.locator("#bars-problem")).to_have_text("Give at least one bar, such as correct >= 90%.")
    page.get_by_label("The bars").fill("correct >> 90%")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.locator("#bars-problem")).to_contain_text("correct >> 90%")
    page.get_by_label("The bars").fill("correct >= 90%, slow <= 5%")
    page.get_by_role("button", name="Start the campaign").click()
    expect(page.locator(".words .headline")).to_contain_text("0 of 2 clearing all bars")
    opened(page, create(server, "on cases", ["a", "b"], threshold=0.5, cases=40))
    expect(page.locator(".terms")).to_contain_text("of 2 arms · bar 50% · 40 cases · 5% allowed error")
